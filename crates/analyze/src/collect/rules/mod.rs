//! Rules that give events their categories, and the words their names are made of.

mod table;
mod words;

pub use table::{Category, Role, Rules};
pub(crate) use table::{EventOrigin, KindCategories, LaneKind};
pub(crate) use words::words;
