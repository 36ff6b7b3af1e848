//! One row of a table, its cells as text and numbers; every error names the line.

use super::cells::CellSpan;
use super::decimal::Decimals;
use super::header::Header;
use super::lines::shown;
use crate::import::fault;
use knockout_base::error::Error;
use std::path::Path;

/// A row, borrowed from its table.
#[derive(Debug, Clone, Copy)]
pub struct Row<'r> {
    pub(super) path: &'r Path,
    pub(super) header: &'r Header,
    pub(super) text: &'r [u8],
    pub(super) cells: &'r [CellSpan],
    pub(super) decimals: &'r Decimals,
    pub(super) line: u64,
}

impl<'r> Row<'r> {
    /// The line, from 1.
    pub fn line(&self) -> u64 {
        self.line
    }

    /// Number of cells.
    pub fn width(&self) -> usize {
        self.cells.len()
    }

    /// A cell's bytes without surrounding spaces; nothing where the row is shorter.
    pub fn bytes(&self, column: usize) -> &'r [u8] {
        match self.cells.get(column) {
            Some(&(from, to)) => self.text[from as usize..to as usize].trim_ascii(),
            None => &[],
        }
    }

    /// A cell as text.
    pub fn text(&self, column: usize) -> Result<&'r str, Error> {
        match std::str::from_utf8(self.bytes(column)) {
            Ok(text) => Ok(text.trim()),
            Err(_) => Err(self.bad(column, "UTF-8 text (Excel: save as CSV UTF-8)")),
        }
    }

    /// A whole number; an empty cell is an error.
    pub fn whole(&self, column: usize, expected: &str) -> Result<u32, Error> {
        let digits = self.bytes(column);
        let mut value = 0_u32;
        for &digit in digits {
            let is_fine = digit.is_ascii_digit() && digits.len() <= 9;
            if !is_fine {
                return Err(self.bad(column, expected));
            }
            value = value * 10 + u32::from(digit - b'0');
        }
        if digits.is_empty() { Err(self.bad(column, expected)) } else { Ok(value) }
    }

    /// A finite number; `None` where the cell marks a missing one.
    pub fn number(&self, column: usize, expected: &str) -> Result<Option<f64>, Error> {
        let text = self.text(column)?;
        if is_missing_number(text) {
            return Ok(None);
        }
        match self.decimals.parse(text, (self.line, column)) {
            Ok(value) => Ok(Some(value)),
            Err(None) => Err(self.bad(column, expected)),
            Err(Some(reason)) => Err(self.bad(column, &format!("{expected} ({reason})"))),
        }
    }

    /// A finite number in a column that may be missing as a whole.
    pub(crate) fn maybe_number(&self, column: Option<usize>, expected: &str) -> Result<Option<f64>, Error> {
        column.map_or(Ok(None), |column| self.number(column, expected))
    }

    /// An error about a cell.
    pub fn bad(&self, column: usize, expected: &str) -> Error {
        let value = shown(self.bytes(column));
        self.fail(Some(column), fault::bad_value(value, expected.to_owned()))
    }

    /// Names the row, or one of its cells, in an error.
    pub fn fail(&self, column: Option<usize>, error: Error) -> Error {
        let error = error.in_file(self.path).on_line(self.line);
        match column {
            Some(column) => error.for_key(format!("column {:?}", self.header.label(column))),
            None => error,
        }
    }
}

/// Whether a cell of a gene marks that there is none.
pub(crate) fn is_missing(text: &str) -> bool {
    matches!(text, "" | "-" | "NA" | "N/A" | "NaN" | "nan" | "NAN" | "null" | "None" | "#N/A")
}

/// Whether a cell of a number marks that it was not measured, in any case: an empty cell, `n.d.`, or the error of a formula.
pub(crate) fn is_missing_number(text: &str) -> bool {
    const MARKS: [&str; 21] = [
        "-", "--", ".", "?", "na", "n/a", "n.a.", "n.a", "nan", "nd", "n.d.", "n.d", "n/d", "null", "none",
        "#n/a", "#div/0!", "#value!", "#num!", "#ref!", "#name?",
    ];
    // Nearly every cell ends with a digit.
    match text.as_bytes().last() {
        None => true,
        Some(last) if last.is_ascii_digit() => false,
        Some(_) => text == "#NULL!" || MARKS.iter().any(|mark| text.eq_ignore_ascii_case(mark)),
    }
}
