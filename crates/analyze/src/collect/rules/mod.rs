//! Rules that give events their categories, and the words their names are made of.

mod table;
mod words;

pub(crate) use table::{CategoryId, Claim};
pub use table::{Rules, RulesError};
pub(crate) use words::words;
