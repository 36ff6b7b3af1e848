//! Ranks: the processes that train one run together, and what they send each other.
//!
//! A [`World`] moves bytes between two ranks and gives up when it has waited for too long; [`Ranks`] makes of it what training needs: everybody
//! gets what the first rank has, the first rank gets what everybody has, somebody wants to stop. There are three worlds: [`Alone`], [`Local`]
//! (threads of one process, for tests and examples) and, with the feature `mpi`, `Mpi`.
//!
//! The crate adds up nothing: sums of floating-point numbers whose order an MPI library chooses are not the same bits on two clusters. It
//! knows nothing of models, runs or files.

mod alone;
mod error;
mod launch;
mod local;
#[cfg(feature = "mpi")]
mod mpi;
mod ranks;

pub use alone::Alone;
pub use error::WorldError;
pub use launch::{Launch, launched};
pub use local::Local;
#[cfg(feature = "mpi")]
pub use mpi::Mpi;
pub use ranks::Ranks;

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
    fn send(&self, to: usize, bytes: &[u8], patience: Duration) -> Result<(), WorldError>;

    /// Fills `bytes` with what another rank sent: a message of the same length.
    fn receive(&self, from: usize, bytes: &mut [u8], patience: Duration) -> Result<(), WorldError>;

    /// Tells all ranks to end at once with this exit code; what they hold is lost. Where this process cannot be ended, as in a
    /// test, it returns.
    fn abort(&self, code: u8);

    /// Waits until all ranks are done and leaves the world; nothing may be sent afterwards.
    fn leave(&self);
}
