//! Tables: columns, rows, and their rendering as text.

use crate::units::shortened_apart;
use comfy_table::{CellAlignment, ContentArrangement, presets};
use knockout_base::text::one_line;
use std::borrow::Cow;
use std::fmt::Write as _;

/// Characters of a name in text.
const NAME_WIDTH: usize = 64;

/// Columns and rows.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Table {
    /// Unique name in the page; empty where nothing refers to it.
    pub id: String,
    /// Heading above the table; empty for none.
    pub title: String,
    /// Columns, from left to right.
    pub columns: Vec<Column>,
    /// Rows, each with one cell per column.
    pub rows: Vec<Vec<TableCell>>,
    /// Rows that text shows; `None` for all.
    pub text_rows: Option<usize>,
    /// Rows that HTML shows before it is expanded; `None` for all.
    pub html_rows: Option<usize>,
}

/// Heading and kind of a column.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Column {
    /// Text of the heading.
    pub name: String,
    /// Kind of its cells.
    pub kind: ColumnKind,
    /// Whether a narrow screen leaves it out.
    pub is_wide_only: bool,
}

/// Kind of the cells of a column.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ColumnKind {
    /// Words, aligned to the left.
    Text,
    /// Identifiers that may be long, in a fixed-width font.
    Name,
    /// Numbers, aligned to the right.
    Number,
    /// Bars; in HTML only.
    Bar,
}

impl Column {
    /// Returns a column of words.
    pub fn text(name: impl Into<String>) -> Self {
        Self::of(name, ColumnKind::Text)
    }

    /// Returns a column of identifiers.
    pub fn name(name: impl Into<String>) -> Self {
        Self::of(name, ColumnKind::Name)
    }

    /// Returns a column of numbers.
    pub fn number(name: impl Into<String>) -> Self {
        Self::of(name, ColumnKind::Number)
    }

    /// Returns a column of bars.
    pub fn bar() -> Self {
        Self::of("", ColumnKind::Bar)
    }

    fn of(name: impl Into<String>, kind: ColumnKind) -> Self {
        Self { name: name.into(), kind, is_wide_only: false }
    }

    /// Leaves the column out on narrow screens.
    #[must_use]
    pub fn wide_only(mut self) -> Self {
        self.is_wide_only = true;
        self
    }
}

/// A cell of a table.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct TableCell {
    /// Text to read.
    pub text: String,
    /// Number to sort by.
    pub value: Option<f64>,
    /// Emphasis.
    pub mark: Option<Mark>,
    /// Colour of a dot before the text.
    pub colour: Option<String>,
    /// Bar, in a column of bars.
    pub bar: Option<Bar>,
    /// Address that the text leads to, relative to the page.
    pub link: Option<String>,
}

/// Emphasis of a cell.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Mark {
    /// Important.
    Strong,
    /// Better than before.
    Good,
    /// Worse than before.
    Bad,
}

/// A horizontal bar; lengths and positions are fractions of the column's width.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Bar {
    /// Position of the left end.
    pub start: f64,
    /// Coloured pieces, from left to right.
    pub segments: Vec<BarSegment>,
    /// Interval drawn as a line over the bar.
    pub interval: Option<(f64, f64)>,
    /// Position of a reference line.
    pub reference: Option<f64>,
}

/// A coloured piece of a bar.
#[derive(Debug, Clone, PartialEq)]
pub struct BarSegment {
    /// Length as a fraction of the column's width.
    pub length: f64,
    /// Colour.
    pub colour: String,
    /// Text that appears under the pointer.
    pub title: String,
}

impl Bar {
    /// Returns a bar of one colour.
    pub fn of(length: f64, colour: impl Into<String>) -> Self {
        let colour = colour.into();
        Self { segments: vec![BarSegment { length, colour, title: String::new() }], ..Self::default() }
    }
}

impl TableCell {
    /// Returns a cell with a number to sort by.
    pub fn number(text: impl Into<String>, value: f64) -> Self {
        Self { text: text.into(), value: Some(value), ..Self::default() }
    }

    /// Returns a cell with a coloured dot before its text.
    pub fn coloured(text: impl Into<String>, colour: impl Into<String>) -> Self {
        Self { colour: Some(colour.into()), text: text.into(), ..Self::default() }
    }

    /// Lets the text lead to an address, relative to the page.
    #[must_use]
    pub fn linked(mut self, address: impl Into<String>) -> Self {
        self.link = Some(address.into());
        self
    }

    /// Emphasises the cell.
    #[must_use]
    pub fn marked(mut self, mark: Option<Mark>) -> Self {
        self.mark = mark;
        self
    }
}

impl From<String> for TableCell {
    fn from(text: String) -> Self {
        Self { text, ..Self::default() }
    }
}

impl From<&str> for TableCell {
    fn from(text: &str) -> Self {
        text.to_owned().into()
    }
}

impl From<Bar> for TableCell {
    fn from(bar: Bar) -> Self {
        Self { bar: Some(bar), ..Self::default() }
    }
}

impl Table {
    /// Returns an empty table.
    pub fn new(columns: impl IntoIterator<Item = Column>) -> Self {
        Self { columns: columns.into_iter().collect(), ..Self::default() }
    }

    /// Sets the name of the table.
    #[must_use]
    pub fn id(mut self, id: impl Into<String>) -> Self {
        self.id = id.into();
        self
    }

    /// Sets the heading above the table.
    #[must_use]
    pub fn titled(mut self, title: impl Into<String>) -> Self {
        self.title = title.into();
        self
    }

    /// Limits the rows shown as text, and in HTML before it is expanded.
    #[must_use]
    pub fn limited(mut self, text: usize, html: usize) -> Self {
        (self.text_rows, self.html_rows) = (Some(text), Some(html));
        self
    }

    /// Appends a row.
    pub fn row<C: Into<TableCell>>(&mut self, cells: impl IntoIterator<Item = C>) {
        self.rows.push(cells.into_iter().map(Into::into).collect());
    }

    /// Returns the table with more rows.
    #[must_use]
    pub fn with_rows<C: Into<TableCell>, R: IntoIterator<Item = C>>(
        mut self,
        rows: impl IntoIterator<Item = R>,
    ) -> Self {
        rows.into_iter().for_each(|row| self.row(row));
        self
    }

    /// Whether the table has no rows.
    pub fn is_empty(&self) -> bool {
        self.rows.is_empty()
    }

    /// Renders the table as text: a line of headings, unless all are empty, and one line for each row. Rows are never wrapped.
    pub fn to_text(&self) -> String {
        self.to_indented_text("")
    }

    /// Renders the table as text with something before every line.
    pub(super) fn to_indented_text(&self, indent: &str) -> String {
        let shown = |index: &usize| self.columns[*index].kind != ColumnKind::Bar;
        let columns: Vec<usize> = (0..self.columns.len()).filter(shown).collect();
        let mut grid = comfy_table::Table::new();
        grid.load_style(presets::NOTHING).set_content_arrangement(ContentArrangement::Disabled);
        let names = || columns.iter().map(|&index| &self.columns[index].name);
        if names().any(|name| !name.is_empty()) {
            grid.set_header(names());
        }
        let shown = &self.rows[..self.rows.len().min(self.text_rows.unwrap_or(usize::MAX))];
        let texts: Vec<Vec<String>> = columns.iter().map(|&index| self.column_texts(index, shown)).collect();
        for row in 0..shown.len() {
            grid.add_row(texts.iter().map(|column| &column[row]));
        }
        for (position, &index) in columns.iter().enumerate() {
            if let Some(column) = grid.column_mut(position) {
                column.set_padding((0, 2));
                let is_number = self.columns[index].kind == ColumnKind::Number;
                column.set_cell_alignment(if is_number { CellAlignment::Right } else { CellAlignment::Left });
            }
        }
        let mut text = String::new();
        for line in grid.lines() {
            writeln!(text, "{}", format!("{indent}{line}").trim_end()).ok();
        }
        text
    }

    /// Returns the texts of a column; long names are shortened and stay distinct.
    fn column_texts(&self, index: usize, rows: &[Vec<TableCell>]) -> Vec<String> {
        let texts: Vec<Cow<'_, str>> =
            rows.iter().map(|row| row.get(index).map_or("".into(), |cell| one_line(&cell.text))).collect();
        let texts: Vec<&str> = texts.iter().map(|text| &text[..]).collect();
        match self.columns[index].kind {
            ColumnKind::Name => shortened_apart(&texts, NAME_WIDTH),
            _ => texts.into_iter().map(str::to_owned).collect(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn table() -> Table {
        Table::new([Column::name("model"), Column::bar(), Column::number("Pearson")]).with_rows([
            [TableCell::from("dango"), Bar::of(1.0, "red").into(), "0.51".into()],
            [TableCell::from("a"), Bar::of(0.5, "red").into(), "-0.1".into()],
        ])
    }

    #[test]
    fn text_aligns_numbers_to_the_right_and_has_no_bars() {
        assert_eq!(table().to_text(), "model  Pearson\ndango     0.51\na         -0.1\n");
    }

    #[test]
    fn text_without_headings_has_no_empty_line() {
        let table = Table::new([Column::text(""), Column::text("")]).with_rows([["a", "b"]]);
        assert_eq!(table.to_indented_text("  "), "  a  b\n");
    }

    #[test]
    fn text_shows_as_many_rows_as_it_may() {
        assert_eq!(table().limited(1, 1).to_text().lines().count(), 2);
    }
}
