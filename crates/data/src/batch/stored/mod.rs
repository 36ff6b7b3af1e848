//! Deletions computed beforehand and kept on disk, in LMDB.
//!
//! A store is a folder with one LMDB environment. Its keys are rows of the dataset (four bytes, big-endian), its values the
//! mask of that row in one of three forms, each behind a checksum; the key of one zero byte holds [`StoreHeader`] as TOML:
//! which graph and which samples it was made for, how far it has come. Rows are written in ascending order, many to a
//! transaction, and every transaction also records how many rows are done: a kill at any moment leaves a store that can be
//! resumed.
//!
//! A finished store never changes, so it is read without locks.
//!
//! The size of a store is computed by counting pages. The time is measured by writing up to 256 samples to the same disk
//! and removing them again. A transaction holds at most 256 samples or 32 MiB. A store records the hashes of its graph,
//! of all gene sets and of the chosen rows. A file that is shorter than LMDB's own header states is rejected before it is
//! mapped, because a missing page would end the process.

mod error;
mod estimate;
mod filesystem;
mod header;
mod probe;
mod read;
mod value;
mod write;

pub use estimate::StoreEstimate;
pub use filesystem::free_bytes;
pub use header::{Origin, StoreHeader, StoredForm};
pub use probe::Probe;
pub use read::Store;
pub use write::StoreWriter;

/// The key of [`StoreHeader`]: before every row.
const HEADER_KEY: &[u8] = &[0];

fn key_of(row: u32) -> [u8; 4] {
    row.to_be_bytes()
}
