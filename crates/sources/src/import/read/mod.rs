//! Reading files: bytes to lines to cells, whatever the packing.
//!
//! Text is plain or gzip (detected by its first bytes), UTF-8 or UTF-16 (detected by its byte-order mark), with LF or CRLF line
//! ends. A sheet or a Parquet file gives the same rows of cells. Memory holds one line or one batch, never a file. The module
//! does not depend on genes.

mod cells;
mod decimal;
mod header;
mod input;
mod lines;
mod parquet;
mod row;
mod sheet;
mod table;
mod unpacked;
mod utf16;

pub use cells::{Quotes, Separator};
pub use decimal::DecimalMark;
pub use header::ColumnNames;
pub(crate) use header::Header;
pub use input::{InputBytes, Tally};
pub(crate) use input::{hash_whole, read_error};
pub(crate) use lines::Lines;
pub(crate) use lines::shown;
pub use row::Row;
pub(crate) use row::is_missing;
pub use table::{Style, TextTable};
