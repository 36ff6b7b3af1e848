//! Random numbers of the system, which a stranger cannot guess.

use std::fmt::Write as _;

/// Returns so many random bytes as hexadecimal digits; `None` if the system has none.
pub(crate) fn digits<const BYTES: usize>() -> Option<String> {
    let mut bytes = [0; BYTES];
    getrandom::fill(&mut bytes).ok()?;
    let mut text = String::new();
    for byte in bytes {
        write!(text, "{byte:02x}").ok()?;
    }
    Some(text)
}
