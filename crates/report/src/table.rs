//! Plain text tables: columns as wide as they need to be. Knows nothing of what they hold.

/// A table being filled.
pub(crate) struct Table {
    left: Vec<bool>,
    rows: Vec<Vec<String>>,
}

impl Table {
    /// Columns by their headings; one that begins with `<` is set to the left.
    pub(crate) fn new(headings: &[&str]) -> Self {
        let left = headings.iter().map(|heading| heading.starts_with('<')).collect();
        let first = headings.iter().map(|heading| heading.trim_start_matches('<').to_owned()).collect();
        Self { left, rows: vec![first] }
    }

    pub(crate) fn row(&mut self, cells: Vec<String>) {
        self.rows.push(cells);
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.rows.len() < 2
    }

    /// Appends the table, indented by two.
    pub(crate) fn print(&self, out: &mut String) {
        let width = |column: usize| {
            self.rows
                .iter()
                .filter_map(|row| row.get(column))
                .map(|cell| cell.chars().count())
                .max()
                .unwrap_or(0)
        };
        let widths: Vec<usize> = (0..self.left.len()).map(width).collect();
        for row in &self.rows {
            let mut line = String::from(" ");
            for ((cell, width), left) in row.iter().zip(&widths).zip(&self.left) {
                let pad = " ".repeat(width.saturating_sub(cell.chars().count()));
                line.push(' ');
                if *left {
                    line.push_str(cell);
                    line.push_str(&pad);
                } else {
                    line.push_str(&pad);
                    line.push_str(cell);
                }
                line.push(' ');
            }
            out.push_str(line.trim_end());
            out.push('\n');
        }
    }
}
