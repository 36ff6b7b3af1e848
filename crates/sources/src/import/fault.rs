//! Errors that importers have in common.
//!
//! Each function describes a fault; callers add the file with [`Error::in_file`], the line and the column. The module does not depend on
//! the formats.

use knockout_base::error::{Class, Error, class_of_path};
use std::fmt::Display;
use std::io;

/// An error of a library that decodes a format.
pub(crate) type BoxedError = Box<dyn std::error::Error + Send + Sync>;

/// A file that cannot be opened.
pub(crate) fn open(error: io::Error) -> Error {
    let class = match error.kind() {
        // A name that the operating system does not take.
        io::ErrorKind::InvalidInput => Class::Request,
        kind => class_of_path(kind),
    };
    Error::new(class, "could not be opened").caused_by(error)
}

/// Reading that failed.
pub(crate) fn read(error: io::Error) -> Error {
    Error::failure("could not be read").caused_by(error)
}

/// Compressed data that end early or do not decompress.
pub(crate) fn compressed(cause: impl Display) -> Error {
    Error::damage(format!(
        "the compressed data are cut off or damaged ({cause}); expected a complete gzip file: download it again"
    ))
}

/// A line beyond any real one.
pub(crate) fn long_line(limit: usize) -> Error {
    Error::damage(format!(
        "the line is longer than {limit} bytes; expected a text file with one record per line"
    ))
}

/// Another kind of file than expected.
pub(crate) fn something_else(found: impl Display, expected: impl Display) -> Error {
    Error::damage(format!("this is {found}; expected {expected}"))
}

/// Columns that are missing; `have` is the header found.
pub(crate) fn missing_columns(missing: &[String], have: &[String], help: &str) -> Error {
    let (missing, have) = (quoted(missing), quoted(have));
    Error::damage(format!("missing column {missing} (have: {have}){help}"))
}

/// A row with too few or too many cells; `hint` guesses at the reason.
pub(crate) fn cell_count(found: usize, expected: usize, hint: &str) -> Error {
    Error::damage(format!("the row has {found} cells, expected {expected}{hint}"))
}

/// A value that its column cannot hold.
pub(crate) fn bad_value(value: impl AsRef<str>, expected: impl Display) -> Error {
    Error::damage(format!("{:?} is not {expected}", value.as_ref()))
}

/// A quoted cell without its end.
pub(crate) fn open_quote() -> Error {
    Error::damage("a quoted cell is not closed before the end of the line; expected a second '\"'")
}

/// A file without what it should hold.
pub(crate) fn empty(what: &str) -> Error {
    Error::damage(format!("there is no {what} in it"))
}

/// Too many rows that name genes outside of the table; `share` is in per cent.
pub(crate) fn too_many_unknown(
    left_out: u64,
    rows: u64,
    share: f64,
    examples: &[String],
    hint: &str,
) -> Error {
    Error::damage(format!(
        "{left_out} of {rows} rows ({share:.0} %) name genes not in the table, e.g. {}; give a larger gene table or aliases \
         (--genes, --aliases), or accept the loss with --allow-missing{hint}",
        quoted(examples)
    ))
}

/// Genes and kind of a sample that occurred before, where repeats are refused.
pub(crate) fn duplicate(genes: &str, kind: &str, first: u64, source_name: &str) -> Error {
    Error::damage(format!(
        "{genes} ({kind}) was measured before, in line {first} of {source_name:?}; merge repeats with --duplicates mean or \
         first"
    ))
}

/// More than the format holds.
pub(crate) fn too_many(what: &str, limit: usize) -> Error {
    Error::damage(format!("there are more than {limit} {what}"))
}

/// A gene-protein-reaction rule that does not parse.
pub(crate) fn rule(rule: impl AsRef<str>, cause: Error) -> Error {
    Error::damage(format!("the rule {:?} does not parse", rule.as_ref())).caused_by(cause)
}

/// A file that a library cannot decode.
pub(crate) fn decode(what: &str, cause: impl Into<BoxedError>) -> Error {
    Error::damage(format!("{what} cannot be decoded")).caused_by(cause)
}

/// A request that cannot be carried out.
pub(crate) fn request(text: impl Into<String>) -> Error {
    Error::request(text)
}

fn quoted(names: &[String]) -> String {
    names.iter().map(|name| format!("{name:?}")).collect::<Vec<_>>().join(", ")
}

/// Bad rows that a message lists.
const LISTED: usize = 10;

/// Rows that cannot be read, gathered so that one message names them together.
#[derive(Debug, Default)]
pub(crate) struct BadRows {
    first: Vec<Error>,
    count: u64,
}

impl BadRows {
    /// Takes the error of a row; an error that concerns more than a row stays.
    pub(crate) fn note(&mut self, result: Result<(), Error>) -> Result<(), Error> {
        match result {
            Err(error) if error.class() == Class::Damage && error.line().is_some() => {
                self.count += 1;
                if self.first.len() < LISTED {
                    self.first.push(error);
                }
                Ok(())
            }
            Err(error) => Err(self.with_last(error)),
            Ok(()) => Ok(()),
        }
    }

    /// Returns the error of all rows so far and of one that ends the reading.
    pub(crate) fn with_last(&mut self, error: Error) -> Error {
        if self.count == 0 || error.class() != Class::Damage {
            return error;
        }
        self.count += 1;
        self.first.push(error);
        self.taken()
    }

    /// Ends with an error if there are bad rows.
    pub(crate) fn finish(&mut self) -> Result<(), Error> {
        if self.count == 0 { Ok(()) } else { Err(self.taken()) }
    }

    fn taken(&mut self) -> Error {
        let mut first = std::mem::take(&mut self.first);
        let count = std::mem::take(&mut self.count);
        match first.pop() {
            Some(error) if count == 1 => error,
            last => {
                first.extend(last);
                joined(&first, count)
            }
        }
    }
}

/// One error of several rows of a file.
fn joined(first: &[Error], count: u64) -> Error {
    let mut rows: Vec<String> = first.iter().map(described).collect();
    let unlisted = count - rows.len() as u64;
    if unlisted > 0 {
        rows.push(format!("and {unlisted} more"));
    }
    let error = Error::damage(format!("{count} rows cannot be read: {}", rows.join("; ")));
    match first.iter().find_map(Error::path) {
        Some(path) => error.in_file(path),
        None => error,
    }
}

/// The error of a row without its file.
fn described(error: &Error) -> String {
    let line = error.line().map(|line| format!("line {line}"));
    let context: Vec<String> = line.into_iter().chain(error.key().map(str::to_owned)).collect();
    if context.is_empty() {
        return error.message().to_owned();
    }
    format!("{}: {}", context.join(", "), error.message())
}
