//! How much a packed file may unpack to: a few megabytes can unpack to many gigabytes.

use crate::import::fault;
use knockout_base::error::Error;
use std::sync::OnceLock;

/// MiB that a packed file may unpack to, unless it is told otherwise.
const USUAL_MIB: u64 = 1024;
/// A text that unpacks to no more than this many times its size is read however long it is: no table of measurements shrinks further.
const USUAL_RATIO: u64 = 100;

static LIMIT_MIB: OnceLock<u64> = OnceLock::new();

/// Sets how many MiB a packed file may unpack to, for the whole process; the first call counts. The variable `KNOCKOUT_UNPACK_MIB` does
/// the same.
pub fn set_unpack_limit_mib(mib: u64) {
    LIMIT_MIB.set(mib.min(1 << 30)).ok();
}

pub(super) fn unpack_limit_mib() -> u64 {
    *LIMIT_MIB.get_or_init(|| {
        let given = std::env::var("KNOCKOUT_UNPACK_MIB").ok().and_then(|text| text.parse().ok());
        given.unwrap_or(USUAL_MIB).min(1 << 30)
    })
}

/// Refuses a stream that has unpacked to more than the limit and to more than any real one of its size.
pub(super) fn check_unpacked(packed: u64, unpacked: u64) -> Result<(), Error> {
    let limit_mib = unpack_limit_mib();
    let is_bomb = unpacked > limit_mib << 20 && unpacked / USUAL_RATIO > packed;
    if is_bomb { Err(fault::unpacked(limit_mib)) } else { Ok(()) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_bomb_is_large_and_out_of_proportion() {
        let gib = 1 << 30;
        check_unpacked(1000, gib).unwrap();
        check_unpacked(gib, 50 * gib).unwrap();
        let error = check_unpacked(1 << 20, gib + 1).unwrap_err();
        assert!(error.to_string().contains("more than 1024 MiB"), "{error}");
    }
}
