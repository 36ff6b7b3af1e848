//! Tables as Parquet files.
//!
//! [`Columns`] are written, a [`ParquetTable`] is what this program wrote, with every type checked, and [`Rows`] are those of any flat
//! file. Only this module uses the `parquet` crate, without its `arrow` feature: what the columns are to Arrow's readers (a
//! dictionary, for example) is written by this crate (`arrow_schema.rs`), because Arrow's crates would be a seventh of every
//! fresh build and five megabytes of the program. The module does not depend on genes or scores.

mod arrow_schema;
mod coded;
mod error;
mod kind;
mod pages;
mod read;
mod rows;
mod write;

pub use read::{NumberColumn, ParquetTable, WordColumn};
pub use rows::Rows;
pub use write::Columns;
