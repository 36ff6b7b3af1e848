//! Finds columns by name, for all importers.

use crate::import::fault;
use knockout_base::error::Error;

/// A column that is looked for, under any of several names.
#[derive(Debug, Clone)]
pub struct ColumnNames<'n> {
    names: Vec<&'n str>,
    is_required: bool,
    /// Advice if it is missing, after a semicolon.
    help: &'static str,
}

impl<'n> ColumnNames<'n> {
    /// A column that must be there under one of these names.
    pub fn required(names: impl Into<Vec<&'n str>>) -> Self {
        Self { names: names.into(), is_required: true, help: "" }
    }

    /// A column that may be missing.
    pub fn optional(names: impl Into<Vec<&'n str>>) -> Self {
        Self { names: names.into(), is_required: false, help: "" }
    }

    /// Adds what to do if the column is missing, after a semicolon.
    pub(crate) fn with_help(self, help: &'static str) -> Self {
        Self { help, ..self }
    }
}

/// The names of a table's columns.
#[derive(Debug, Clone, Default)]
pub struct Header {
    names: Vec<String>,
}

/// How many lines may stand above the header: titles, notes, blank lines.
pub(super) const TITLE_LINES: usize = 16;

impl Header {
    /// Takes the names as they stand.
    pub fn new(names: Vec<String>) -> Self {
        Self { names }
    }

    /// The names as they stand.
    pub fn names(&self) -> &[String] {
        &self.names
    }

    /// The name of a column, or its number from 1.
    pub fn label(&self, column: usize) -> String {
        match self.names.get(column) {
            Some(name) if !name.is_empty() => name.clone(),
            _ => (column + 1).to_string(),
        }
    }

    /// Number of the columns that are present.
    pub(super) fn matches(&self, columns: &[ColumnNames<'_>]) -> usize {
        columns.iter().filter(|column| self.position(column).is_some()).count()
    }

    /// The position of every column looked for; an error if a required one is missing or any stands there twice.
    pub fn resolve(&self, columns: &[ColumnNames<'_>]) -> Result<Vec<Option<usize>>, Error> {
        let positions: Vec<Option<usize>> = columns.iter().map(|column| self.position(column)).collect();
        let missing: Vec<String> = columns
            .iter()
            .zip(&positions)
            .filter(|(column, position)| column.is_required && position.is_none())
            .map(|(column, _)| column.names.join(" or "))
            .collect();
        if !missing.is_empty() {
            let help = columns.first().map_or("", |column| column.help);
            return Err(fault::missing_columns(&missing, &self.names, help));
        }
        for &position in positions.iter().flatten() {
            let name = folded(&self.names[position]);
            if self.names.iter().filter(|other| folded(other) == name).count() > 1 {
                return Err(fault::bad_value(
                    self.names[position].clone(),
                    "a column name that stands in the header once".to_owned(),
                ));
            }
        }
        Ok(positions)
    }

    fn position(&self, column: &ColumnNames<'_>) -> Option<usize> {
        column
            .names
            .iter()
            .find_map(|wanted| self.names.iter().position(|name| folded(name) == folded(wanted)))
    }
}

/// A name without what differs from release to release: case, white space, a leading `#`.
fn folded(name: &str) -> String {
    let words: Vec<&str> = name.trim_start_matches('#').split_whitespace().collect();
    words.join(" ").to_lowercase()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn header(names: &[&str]) -> Header {
        Header::new(names.iter().map(|&name| name.to_owned()).collect())
    }

    #[test]
    fn case_space_and_hash_do_not_matter() {
        let header = header(&["#BioGRID  ID", "Query Strain ID", "x"]);
        let found = header.resolve(&[
            ColumnNames::required(["query strain id"]),
            ColumnNames::optional(["y", "X"]),
            ColumnNames::optional(["z"]),
            ColumnNames::required(["biogrid id"]),
        ]);
        assert_eq!(found.unwrap(), [Some(1), Some(2), None, Some(0)]);
    }

    #[test]
    fn a_missing_column_lists_the_header() {
        let error = header(&["a", "b"]).resolve(&[ColumnNames::required(["c", "d"])]).unwrap_err();
        assert_eq!(error.to_string(), "missing column \"c or d\" (have: \"a\", \"b\")");
    }

    #[test]
    fn a_column_that_stands_there_twice_is_refused() {
        let error = header(&["a", "b", "A"]).resolve(&[ColumnNames::required(["a"])]).unwrap_err();
        assert_eq!(error.to_string(), "\"a\" is not a column name that stands in the header once");
    }
}
