//! Ranks: the processes that train one run together, and the messages between them.
//!
//! A [`World`] moves bytes between two ranks and fails after a timeout. [`Ranks`] builds on it: broadcast, gather, a logical OR that is
//! also a barrier, and a check that all ranks agree. There are four worlds: [`Alone`], [`ProcessRank`] (processes of one machine), [`LocalRank`]
//! (threads of one process, for tests and examples) and, with the feature `mpi`, `Mpi`.
//!
//! ```
//! use knockout_ranks::LocalRank;
//!
//! let sums = LocalRank::on_ranks(3, |ranks| {
//!     let parts = ranks.all_gather(&[ranks.rank() as u8]).unwrap();
//!     parts.concat().iter().sum::<u8>()
//! });
//! assert_eq!(sums, [3, 3, 3]);
//! ```
//!
//! The crate adds no numbers: an MPI library chooses the order of its sums, and their bits differ between clusters. The crate does not
//! depend on models, runs or files.

mod alone;
mod error;
mod launch;
mod local;
#[cfg(feature = "mpi")]
mod mpi;
mod process;
mod ranks;

pub use alone::Alone;
pub use error::wrong_length;
pub use launch::{Launch, launched};
pub use local::LocalRank;
#[cfg(feature = "mpi")]
pub use mpi::Mpi;
pub use process::{ProcessRank, end_with_parent};
pub use ranks::Ranks;

use knockout_base::error::Result;
use std::fmt::Debug;
use std::time::Duration;

/// A number of processes that can send each other bytes.
///
/// Messages between two ranks arrive in the order they were sent. Every wait ends: with the message, or with an error after `patience`.
pub trait World: Debug + Send + Sync {
    /// Zero-based number of this process.
    fn rank(&self) -> usize;

    /// Number of processes.
    fn size(&self) -> usize;

    /// Name of the machine that a rank runs on.
    fn host(&self, rank: usize) -> &str;

    /// Sends bytes to another rank; afterwards they may change.
    fn send(&self, to: usize, bytes: &[u8], patience: Duration) -> Result<()>;

    /// Fills `bytes` with what another rank sent: a message of the same length.
    fn receive(&self, from: usize, bytes: &mut [u8], patience: Duration) -> Result<()>;

    /// Ends all ranks at once with this exit code. It returns where this process cannot be ended, as in a test.
    fn abort(&self, code: u8);

    /// Waits until all ranks are done and leaves the world; nothing may be sent afterwards.
    fn leave(&self);
}
