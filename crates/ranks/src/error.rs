//! Errors of ranks that cannot continue together.

use knockout_base::error::{Error, Result};
use std::time::Duration;

/// A rank that did not answer in time.
pub(crate) fn silent(rank: usize, host: &str, waited: Duration) -> Error {
    let seconds = waited.as_secs();
    Error::failure(format!(
        "rank {rank} on {host} has not answered for {seconds} s: it hangs, was stopped or is far slower than the others; see its log, \
         and raise KNOCKOUT_RANK_PATIENCE (seconds) if it only needs longer"
    ))
}

/// A message of another length than expected: ranks run different programs or read different input.
pub fn wrong_length(rank: usize, found: usize, expected: usize) -> Error {
    let reason = "its program or its input differs";
    Error::failure(format!("rank {rank} sent {found} bytes instead of {expected}: {reason}"))
}

/// A rank that does not send or receive any more.
pub(crate) fn ended(rank: usize, host: &str) -> Error {
    Error::failure(format!("rank {rank} on {host} has ended"))
}

/// Returns a rank's number if there is such a rank.
pub(crate) fn named(rank: usize, size: usize) -> Result<usize> {
    if rank < size { Ok(rank) } else { Err(no_such_rank(rank, size)) }
}

/// A rank that does not exist: a bug.
pub(crate) fn no_such_rank(rank: usize, size: usize) -> Error {
    Error::failure(format!("there is no rank {rank} among {size}"))
}
