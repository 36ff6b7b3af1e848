//! Gene names that a spreadsheet or a data frame has turned into something else: `SEPT1` into `1-Sep`, `2E1` into `20.0`.
//!
//! Such a name cannot be turned back (`1-Mar` was `MARCH1` or `MARC1`), so it is only recognised and reported. What is a name
//! as it stands (`SEPT1`, `sep-1` of the worm, the number of an Entrez gene) is never taken for one.

use serde::Serialize;
use std::collections::BTreeMap;

/// Kind of alteration of a name.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum LooksLike {
    /// `1-Sep`, `Mar-02`, `2026-09-01`, `9/1/2026`.
    Date,
    /// `1E5`, `1.00E+05`, `20.0`, or a whole number between names that are none.
    Number,
    /// `TRUE`, `FALSE`.
    TruthValue,
    /// `NaN`, `NA`, `None`.
    MissingValue,
    /// `#N/A`, `#NAME?`.
    FormulaError,
}

impl LooksLike {
    /// Plural for a message.
    pub fn plural(self) -> &'static str {
        match self {
            Self::Date => "dates",
            Self::Number => "numbers",
            Self::TruthValue => "truth values",
            Self::MissingValue => "missing values",
            Self::FormulaError => "formula errors",
        }
    }

    /// Returns the alteration that a name shows; `None` for a gene's name.
    pub fn of(name: &str) -> Option<Self> {
        if is_date(name) {
            return Some(Self::Date);
        }
        match name.to_ascii_uppercase().as_str() {
            "TRUE" | "FALSE" => return Some(Self::TruthValue),
            "NAN" | "NA" | "N/A" | "NULL" | "NONE" => return Some(Self::MissingValue),
            _ => {}
        }
        if name.starts_with('#') && name.ends_with(['!', '?', 'A']) {
            return Some(Self::FormulaError);
        }
        let has_digit = name.bytes().any(|byte| byte.is_ascii_digit());
        (has_digit && !is_whole(name) && name.parse::<f64>().is_ok()).then_some(Self::Number)
    }
}

/// Advice about altered names, for the end of a message.
pub const ADVICE: &str = "a spreadsheet turns names such as SEPT1, MARCH1 and 2E1 into dates and numbers when it opens a table; \
                          import the file as it was published, or write the names back into columns of the type text";

/// The names that look altered. Whole numbers do where fewer than half of the names are; otherwise they are the names.
pub fn altered<'n>(names: impl Iterator<Item = &'n str> + Clone) -> BTreeMap<String, LooksLike> {
    let (mut all, mut whole) = (0_usize, 0_usize);
    for name in names.clone() {
        all += 1;
        whole += usize::from(is_whole(name));
    }
    let look = |name: &str| {
        let is_odd_number = is_whole(name) && 2 * whole < all;
        if is_odd_number { Some(LooksLike::Number) } else { LooksLike::of(name) }
    };
    names.filter_map(|name| look(name).map(|look| (name.to_owned(), look))).collect()
}

fn is_whole(name: &str) -> bool {
    !name.is_empty() && name.bytes().all(|byte| byte.is_ascii_digit())
}

/// Whether a name is a date as spreadsheets and data frames write them.
///
/// A month's name before a single digit is none: the worm's genes are called `sep-1` and `apr-1`, and Excel puts the day first.
fn is_date(name: &str) -> bool {
    let day_part = name.split([' ', 'T']).next().unwrap_or_default();
    let parts: Vec<&str> = day_part.split(['-', '/', '.']).collect();
    let digits = |part: &str, most: usize| is_whole(part) && part.len() <= most;
    let is_day = |part: &str| digits(part, 2);
    let is_year = |part: &str| is_whole(part) && (part.len() == 2 || part.len() == 4);
    match parts[..] {
        [first, second] => (is_day(first) && is_month(second)) || (is_month(first) && is_year(second)),
        [day, month, year] if is_day(day) => (is_month(month) || is_day(month)) && is_year(year),
        [year, month, day] => year.len() == 4 && is_whole(year) && is_day(month) && is_day(day),
        _ => false,
    }
}

fn is_month(word: &str) -> bool {
    const MONTHS: [&str; 12] = [
        "january",
        "february",
        "march",
        "april",
        "may",
        "june",
        "july",
        "august",
        "september",
        "october",
        "november",
        "december",
    ];
    let word = word.to_ascii_lowercase();
    word == "sept" || MONTHS.iter().any(|month| *month == word || month[..3] == word)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_spreadsheets_make_of_names_is_recognised() {
        for date in [
            "1-Sep",
            "01-Sep",
            "2-MAR",
            "Sep-01",
            "Mar-2032",
            "1-Dec-26",
            "2026-09-01",
            "2026-09-01 00:00:00",
            "2026-09-01T00:00:00",
            "9/1/2026",
            "01.09.2026",
            "1-Sept",
            "3-March",
        ] {
            assert_eq!(LooksLike::of(date), Some(LooksLike::Date), "{date}");
        }
        for (name, look) in [
            ("1E5", LooksLike::Number),
            ("2.31E+13", LooksLike::Number),
            ("20.0", LooksLike::Number),
            ("TRUE", LooksLike::TruthValue),
            ("False", LooksLike::TruthValue),
            ("NAN", LooksLike::MissingValue),
            ("#NAME?", LooksLike::FormulaError),
            ("#N/A", LooksLike::FormulaError),
        ] {
            assert_eq!(LooksLike::of(name), Some(look), "{name}");
        }
    }

    #[test]
    fn names_of_genes_are_left_alone() {
        for name in [
            "SEPT1",
            "MARCH1",
            "OCT1",
            "DEC1",
            "sep-1",
            "apr-1",
            "let-23",
            "YAL001C",
            "YMR31",
            "DUR1,2",
            "21S_rRNA",
            "tA(AGC)D",
            "INF2",
            "NAT1",
            "INF",
            "7157",
            "HLA-A",
            "YDR134C-A",
            "9-1-1",
            "",
            "-",
            "1-",
            "nat-10",
        ] {
            assert_eq!(LooksLike::of(name), None, "{name:?}");
        }
    }

    #[test]
    fn whole_numbers_are_names_where_most_names_are_numbers() {
        let entrez = ["7157", "672", "TP53"];
        assert!(altered(entrez.into_iter()).is_empty());
        let serial = ["TP53", "45170", "BRCA1", "1-Sep"];
        let found = altered(serial.into_iter());
        assert_eq!(found.get("45170"), Some(&LooksLike::Number));
        assert_eq!(found.len(), 2, "{found:?}");
    }
}
