//! The tables of CSV that knockout writes: RFC 4180 with line feeds, through one writer.
//!
//! Spreadsheets run a cell that begins with `=`, `+`, `-` or `@` as a formula. Names come from other people's files, so a text that
//! begins with one of these, a tab or a carriage return gets an apostrophe before it, which marks text there. Numbers are never changed.
//! The Parquet blocks have the names as they are.

use std::borrow::Cow;
use std::io::{self, Write};

/// A table that is written row by row: fields, then [`CsvTable::end_row`].
pub struct CsvTable<W: Write>(::csv::Writer<W>);

impl<W: Write> CsvTable<W> {
    /// Begins a table.
    pub fn new(out: W) -> Self {
        Self(::csv::WriterBuilder::new().flexible(true).from_writer(out))
    }

    /// Appends a text, such as a name.
    pub fn text(&mut self, text: &str) -> io::Result<()> {
        Ok(self.0.write_field(safe(text).as_bytes())?)
    }

    /// Appends a number; nothing where there is none.
    pub fn number(&mut self, number: Option<impl ToString>) -> io::Result<()> {
        Ok(self.0.write_field(number.map_or_else(String::new, |number| number.to_string()))?)
    }

    /// Ends a row.
    pub fn end_row(&mut self) -> io::Result<()> {
        Ok(self.0.write_record(None::<&[u8]>)?)
    }

    /// Writes what is left.
    pub fn finish(mut self) -> io::Result<()> {
        self.0.flush()
    }
}

/// Returns a text that no spreadsheet takes for a formula.
fn safe(text: &str) -> Cow<'_, str> {
    if text.starts_with(['=', '+', '-', '@', '\t', '\r']) { format!("'{text}").into() } else { text.into() }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn fields_are_quoted_and_formulas_are_text() {
        let mut bytes = Vec::new();
        let mut table = CsvTable::new(&mut bytes);
        for name in ["a,b", "\"q\"", "two\nlines", "=1+1", "@x", "plain", ""] {
            table.text(name).unwrap();
        }
        table.number(Some(-0.5)).unwrap();
        table.number(None::<f64>).unwrap();
        table.end_row().unwrap();
        table.text("next").unwrap();
        table.end_row().unwrap();
        table.finish().unwrap();
        let text = String::from_utf8(bytes).unwrap();
        assert_eq!(text, "\"a,b\",\"\"\"q\"\"\",\"two\nlines\",'=1+1,'@x,plain,,-0.5,\nnext\n");
    }
}
