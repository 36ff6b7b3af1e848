//! From bytes to events, in the order of the path: source (plain or packed; zip archives in `zip`) -> block -> scan, lex and fields -> batch -> deliver ->
//! the caller's sink. [`parallel`] runs the scan on several threads.

mod batch;
mod block;
mod deliver;
mod digits;
mod feed;
mod fields;
mod find;
mod input;
mod keys;
mod lex;
mod parallel;
mod raw;
pub(crate) mod reader;
mod scan;
mod select;
mod sink;
mod source;
mod text;
mod zip;

pub use raw::{field_range, repair};
pub use reader::{ReadOptions, ReadOutcome, read};
pub use select::{CONVERTED, Selection, Selector};
pub use sink::Sink;
