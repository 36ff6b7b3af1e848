//! Public file formats in, dataset out.
//!
//! A [`Recipe`] names the files. [`import`] turns them into a dataset and a [`ImportReport`] of the rows left out, and why.

pub mod altered;
pub mod annotations;
mod fault;
pub mod features;
pub mod genes;
pub mod lmdb;
pub mod metabolism;
pub mod names;
pub mod networks;
pub mod read;
pub mod recipe;
pub mod report;
mod run;
pub mod screens;
pub mod source;
pub(crate) mod strain;

pub use recipe::Recipe;
pub use report::ImportReport;
pub use run::{Import, import};
