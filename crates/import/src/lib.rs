//! Where datasets come from.
//!
//! [`synth`] makes a yeast that never lived, with the size and structure of the real one and a known truth. The other
//! modules read the public files: a [`Recipe`] names them, [`import`] turns them into a dataset and a [`Report`] of
//! what was left out and why. The crate turns descriptions and text into a [`knockout_screen::Dataset`]; it knows
//! nothing of batches, models or the command line.

pub mod error;
pub mod genes;
mod import;
pub mod lmdb;
pub mod metabolism;
pub mod names;
pub mod networks;
pub mod read;
pub mod recipe;
pub mod report;
pub mod screens;
pub mod source;
pub mod synth;

pub use error::{ImportError, ImportErrorKind};
pub use import::{Import, import};
pub use recipe::Recipe;
pub use report::Report;
