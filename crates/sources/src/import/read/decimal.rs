//! The decimal mark of a table: `0.5`, or `0,5` as European spreadsheets write it.
//!
//! A table has one mark. Its numbers show which one; `1,234` shows nothing, because it may be a thousand.

use std::borrow::Cow;
use std::cell::Cell;

/// The minus sign of word processors, which is not the hyphen of programs.
const MINUS: char = '\u{2212}';

/// The character before the fraction of a number.
#[derive(Debug, Clone, Copy, PartialEq, Eq, serde::Serialize, serde::Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum DecimalMark {
    /// `0.5`.
    Point,
    /// `0,5`.
    Comma,
}

/// A cell, by its line and column.
pub(super) type CellPosition = (u64, usize);

/// The decimal mark that the numbers of a table have shown so far.
#[derive(Debug, Default)]
pub(super) struct Decimals {
    /// The mark that was requested.
    requested: Option<DecimalMark>,
    /// Whether points come from cells of the type number, which show nothing about texts beside them.
    has_typed_cells: bool,
    /// Line of the first decimal point.
    point: Cell<Option<u64>>,
    /// Line of the first comma that must be a decimal one.
    comma: Cell<Option<u64>>,
    /// The first number such as `1,234`.
    ambiguous: Cell<Option<CellPosition>>,
}

impl Decimals {
    /// Creates the state of a table; a workbook and Parquet have cells of the type number.
    pub(super) fn new(has_typed_cells: bool) -> Self {
        Self { has_typed_cells, ..Self::default() }
    }

    /// Requests a mark; without one the numbers decide.
    pub(super) fn request(&mut self, mark: Option<DecimalMark>) {
        self.requested = mark;
    }

    /// Reads a finite number; the error is the reason where the mark is at fault.
    pub(super) fn parse(&self, text: &str, position: CellPosition) -> Result<f64, Option<String>> {
        let line = position.0;
        let text: &str = &if text.contains(MINUS) {
            Cow::Owned(text.replacen(MINUS, "-", 1))
        } else {
            Cow::Borrowed(text)
        };
        if let Some(value) = finite(text) {
            if self.has_typed_cells || !text.contains('.') {
                return Ok(value);
            }
            if self.requested == Some(DecimalMark::Comma) {
                return Err(Some("it has a decimal point, and decimal=comma is given".to_owned()));
            }
            if let Some(first) = self.comma.get().or(self.ambiguous.get().map(|(line, _)| line))
                && self.requested.is_none()
            {
                let reason = format!("it has a decimal point, and line {first} has a comma in its number");
                return Err(Some(reason));
            }
            self.point.set(self.point.get().or(Some(line)));
            return Ok(value);
        }
        let is_one_comma = text.matches(',').count() == 1 && !text.contains('.');
        let value = if is_one_comma { finite(&text.replace(',', ".")) } else { None };
        let value = value.ok_or(None)?;
        match (self.requested, self.point.get()) {
            (Some(DecimalMark::Comma), _) => return Ok(value),
            (Some(DecimalMark::Point), _) => {
                return Err(Some("it has a decimal comma, and decimal=point is given".to_owned()));
            }
            (None, Some(first)) => {
                return Err(Some(format!("it has a comma, and line {first} has a decimal point")));
            }
            (None, None) => {}
        }
        if is_ambiguous(text) {
            self.ambiguous.set(self.ambiguous.get().or(Some(position)));
        } else {
            self.comma.set(self.comma.get().or(Some(line)));
        }
        Ok(value)
    }

    /// Returns the first number whose comma remains ambiguous after the whole table was read.
    pub(super) fn undecided(&self) -> Option<CellPosition> {
        if self.comma.get().is_some() { None } else { self.ambiguous.get() }
    }
}

fn finite(text: &str) -> Option<f64> {
    text.parse::<f64>().ok().filter(|value| value.is_finite())
}

/// Whether the comma of a number may separate thousands: one to three digits before it, and exactly three after it.
fn is_ambiguous(text: &str) -> bool {
    let digits = text.trim_start_matches(['+', '-']);
    let is_whole = |part: &str| part.bytes().all(|byte| byte.is_ascii_digit());
    digits.split_once(',').is_some_and(|(before, after)| {
        (1..=3).contains(&before.len())
            && !before.starts_with('0')
            && after.len() == 3
            && is_whole(before)
            && is_whole(after)
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(texts: &[&str]) -> (Vec<Option<f64>>, Option<CellPosition>) {
        let decimals = Decimals::default();
        let values = texts.iter().zip(2..).map(|(text, line)| decimals.parse(text, (line, 0)).ok()).collect();
        (values, decimals.undecided())
    }

    #[test]
    fn one_mark_holds_for_the_table() {
        assert_eq!(read(&["0,5", "-1,234", "7", "1,5E-3"]).0, [0.5, -1.234, 7.0, 0.0015].map(Some));
        assert_eq!(read(&["1,234", "0,5"]), (vec![Some(1.234), Some(0.5)], None), "a later number decides");
        assert_eq!(read(&["1,234", "7"]).1, Some((2, 0)), "nothing decides");
        assert_eq!(read(&["0.5", "0,5"]).0, [Some(0.5), None]);
        assert_eq!(read(&["0.5", "1,234"]).0, [Some(0.5), None]);
        assert_eq!(read(&["1,234", "0.5"]).0, [Some(1.234), None]);
        assert_eq!(read(&["1.234,5", "1,234,567", "1,2.3", ",", "x,5"]).0, [None; 5]);
    }

    #[test]
    fn the_minus_sign_of_word_processors_is_read() {
        assert_eq!(read(&["\u{2212}0.5", "1e\u{2212}3", "\u{2212}"]).0, [Some(-0.5), Some(0.001), None]);
    }

    #[test]
    fn a_requested_mark_decides() {
        let decimals = Decimals { requested: Some(DecimalMark::Comma), ..Decimals::default() };
        assert_eq!(decimals.parse("1,234", (2, 0)), Ok(1.234));
        assert!(decimals.parse("1.234", (3, 0)).is_err());
        assert_eq!(decimals.undecided(), None);
        let decimals = Decimals { requested: Some(DecimalMark::Point), ..Decimals::default() };
        assert!(decimals.parse("0,5", (2, 0)).is_err());
        assert_eq!(decimals.parse("1.234", (3, 0)), Ok(1.234));
    }

    #[test]
    fn numbers_of_a_workbook_say_nothing_about_its_texts() {
        let decimals = Decimals { has_typed_cells: true, ..Decimals::default() };
        assert_eq!(decimals.parse("0.5", (2, 0)), Ok(0.5));
        assert_eq!(decimals.parse("0,25", (3, 0)), Ok(0.25));
        assert_eq!(decimals.parse("0.75", (4, 0)), Ok(0.75));
    }
}
