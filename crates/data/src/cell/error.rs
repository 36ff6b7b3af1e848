//! Errors that several parts of a cell have in common.

use knockout_base::error::Error;

/// More entries than 32-bit indices address.
pub(super) fn too_large(what: &str, count: usize) -> Error {
    Error::damage(format!("{what} has {count} entries; at most {} fit", u32::MAX))
}

/// An index beyond its table.
pub(super) fn out_of_range(list: &str, entry: usize, what: &str, index: u32, count: usize) -> Error {
    Error::damage(format!("entry {entry} of {list} names {what} {index}, but there are only {count}"))
}

/// A weight or coefficient that is not a usable number.
pub(super) fn bad_number(list: &str, entry: usize, value: f64) -> Error {
    Error::damage(format!("entry {entry} of {list} has the value {value}"))
}

/// Content features of another number of genes.
pub(super) fn feature_rows(found: usize, expected: usize) -> Error {
    Error::damage(format!("there are features of {found} genes, the table has {expected}"))
}
