//! Why ranks could not go on together.

use knockout_base::error::{Class, Classified};
use std::time::Duration;

/// Ranks that cannot go on together.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum WorldError {
    /// A rank did not answer.
    #[error(
        "rank {rank} on {host} has not answered for {} s: it hangs, was stopped or is far slower than the others; see its log, and raise \
         KNOCKOUT_RANK_PATIENCE (seconds) if it only needs longer",
        waited.as_secs()
    )]
    Silent {
        /// The rank that was waited for.
        rank: usize,
        /// The machine it runs on.
        host: String,
        /// How long it was waited for.
        waited: Duration,
    },
    /// A rank whose process has ended.
    #[error("rank {rank} on {host} has ended")]
    Ended {
        /// Zero-based number of the rank.
        rank: usize,
        /// The machine it ran on.
        host: String,
    },
    /// A message of another length than expected: ranks do not do the same.
    #[error("rank {rank} sent {found} bytes instead of {expected}: its program or its input is another one")]
    Length {
        /// The sender.
        rank: usize,
        /// Bytes it sent.
        found: usize,
        /// Bytes that were expected.
        expected: usize,
    },
    /// Something that must be the same on all ranks is not.
    #[error("rank {rank} on {host} has another {what} than rank 0: {there} and {here}; {advice}")]
    Differs {
        /// The rank that differs.
        rank: usize,
        /// The machine it runs on.
        host: String,
        /// What differs.
        what: &'static str,
        /// On rank 0.
        here: String,
        /// On that rank.
        there: String,
        /// What to do about it.
        advice: &'static str,
    },
    /// A rank that there is not: a bug.
    #[error("there is no rank {rank} among {size}")]
    NoSuchRank {
        /// Zero-based number of the rank.
        rank: usize,
        /// Number of ranks.
        size: usize,
    },
    /// The launcher started several processes that do not know of each other.
    #[error("{variable}={size} says that there are {size} ranks, and this process sees {seen}: {why}")]
    NotOneWorld {
        /// Variable of the launcher.
        variable: &'static str,
        /// Its value.
        size: usize,
        /// Ranks that this process sees.
        seen: usize,
        /// The cause, as far as it is known, and what to do.
        why: String,
    },
    /// MPI could not be started.
    #[error("MPI could not be started: {0}")]
    Start(String),
}

impl Classified for WorldError {
    fn class(&self) -> Class {
        match self {
            Self::NotOneWorld { .. } | Self::Differs { .. } | Self::Start(_) => Class::Request,
            _ => Class::Failure,
        }
    }
}
