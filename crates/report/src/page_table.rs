//! A table of an HTML report, as data. Knows nothing of how a page draws it.

/// Columns and rows of a table.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct PageTable {
    /// Heading above the table; empty for none.
    pub title: String,
    /// Its columns, from left to right.
    pub columns: Vec<Column>,
    /// Its rows, each with one cell per column.
    pub rows: Vec<Vec<String>>,
}

/// Heading of a column and what its cells hold.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Column {
    /// Text of the heading.
    pub name: String,
    /// What its cells hold.
    pub kind: ColumnKind,
}

/// What the cells of a column hold; numbers are set to the right.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ColumnKind {
    /// Words.
    Text,
    /// Figures.
    Number,
}

impl Column {
    /// A column of words.
    pub fn text(name: impl Into<String>) -> Self {
        Self { name: name.into(), kind: ColumnKind::Text }
    }

    /// A column of figures.
    pub fn number(name: impl Into<String>) -> Self {
        Self { name: name.into(), kind: ColumnKind::Number }
    }
}
