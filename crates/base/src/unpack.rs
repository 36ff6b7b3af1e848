//! The bytes that a packed file may unpack to: a few megabytes can unpack to many gigabytes.

use crate::error::{Error, Result};
use std::sync::OnceLock;

/// MiB that a packed file may unpack to without a setting.
const USUAL_MIB: u64 = 1024;
/// A text that unpacks to at most this many times its size is read however long it is: no table of measurements shrinks further.
pub const TEXT_RATIO: u64 = 100;
/// Like [`TEXT_RATIO`], but of columns, in which runs of equal values take hardly any space.
pub const COLUMN_RATIO: u64 = 1000;

static LIMIT_MIB: OnceLock<u64> = OnceLock::new();

/// Sets the number of MiB that a packed file may unpack to, for the whole process; the first call counts. The variable
/// `KNOCKOUT_UNPACK_MIB` does the same.
pub fn set_limit_mib(mib: u64) {
    LIMIT_MIB.set(mib.min(1 << 30)).ok();
}

/// Returns the number of MiB that a packed file may unpack to.
pub fn limit_mib() -> u64 {
    *LIMIT_MIB.get_or_init(|| {
        let set = std::env::var("KNOCKOUT_UNPACK_MIB").ok().and_then(|text| text.parse().ok());
        set.unwrap_or(USUAL_MIB).min(1 << 30)
    })
}

/// Refuses what has unpacked to more than the limit and to more than `ratio` times its packed size.
pub fn check(packed: u64, unpacked: u64, ratio: u64) -> Result<()> {
    let limit_mib = limit_mib();
    let is_bomb = unpacked > limit_mib << 20 && unpacked / ratio > packed;
    if is_bomb { Err(refusal(limit_mib)) } else { Ok(()) }
}

/// Returns the error of a packed file that has more than it may.
pub fn refusal(limit_mib: u64) -> Error {
    Error::damage(format!(
        "unpacked it has more than {limit_mib} MiB; if that is right, raise the limit: KNOCKOUT_UNPACK_MIB, or --unpack-mib of data import"
    ))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_bomb_is_large_and_out_of_proportion() {
        let gib = 1 << 30;
        check(1000, gib, TEXT_RATIO).unwrap();
        check(gib, 50 * gib, TEXT_RATIO).unwrap();
        let error = check(1 << 20, gib + 1, TEXT_RATIO).unwrap_err();
        assert!(error.to_string().contains("more than 1024 MiB"), "{error}");
    }
}
