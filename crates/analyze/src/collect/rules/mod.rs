//! Rules that give events their categories, and the words their names are made of.

mod table;
mod words;

pub use table::Rules;
pub(crate) use table::{BACKWARD, CategoryId, Claim, EventOrigin, UNATTRIBUTED};
pub(crate) use words::words;
