//! How much memory there is: what would not fit is refused before it is allocated.
//!
//! An allocation that fails ends the process, and one that succeeds may end another one. So whoever makes room for a size that a file
//! or a user names estimates it first and asks here. The crate knows nothing of what the memory is for.

use crate::error::{Class, Classified};
use std::fs;

/// More memory than there is.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{what} needs about {}, {} available", text(*needed_bytes), text(*available_bytes))]
pub struct TooLarge {
    /// Thing that is too large, as the subject of a sentence.
    pub what: String,
    /// Estimate of what it takes.
    pub needed_bytes: u64,
    /// Memory that may be used.
    pub available_bytes: u64,
}

impl Classified for TooLarge {
    fn class(&self) -> Class {
        Class::Request
    }
}

/// Refuses what needs more memory than is available. Below 64 MiB nothing is asked.
pub fn check(what: &str, needed_bytes: u64) -> Result<(), TooLarge> {
    const NEGLIGIBLE: u64 = 64 << 20;
    if needed_bytes < NEGLIGIBLE {
        return Ok(());
    }
    check_against(what, needed_bytes, available_bytes())
}

fn check_against(what: &str, needed_bytes: u64, available: Option<u64>) -> Result<(), TooLarge> {
    match available {
        Some(available_bytes) if needed_bytes > available_bytes => {
            Err(TooLarge { what: what.to_owned(), needed_bytes, available_bytes })
        }
        _ => Ok(()),
    }
}

/// Bytes that this process can still take, where the operating system tells: those of the machine, or of the control group it is in.
pub fn available_bytes() -> Option<u64> {
    let machine = fs::read_to_string("/proc/meminfo").ok().and_then(|text| of_machine(&text));
    let read = |name: &str| fs::read_to_string(format!("/sys/fs/cgroup/{name}")).ok();
    let group = of_group(read("memory.max").as_deref(), read("memory.current").as_deref());
    machine.into_iter().chain(group).min()
}

fn of_machine(meminfo: &str) -> Option<u64> {
    let line = meminfo.lines().find_map(|line| line.strip_prefix("MemAvailable:"))?;
    line.trim().strip_suffix("kB")?.trim().parse::<u64>().ok()?.checked_mul(1024)
}

/// `max` is the word of a group without a limit.
fn of_group(max: Option<&str>, current: Option<&str>) -> Option<u64> {
    let limit: u64 = max?.trim().parse().ok()?;
    Some(limit.saturating_sub(current?.trim().parse().ok()?))
}

fn text(bytes: u64) -> String {
    let gib = bytes as f64 / f64::from(1 << 30);
    if gib < 1.0 { format!("{:.0} MiB", gib * 1024.0) } else { format!("{gib:.1} GiB") }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_does_not_fit_is_refused_with_both_sizes() {
        let gib = 1 << 30;
        let error = check_against("the model", 47 * gib, Some(23 * gib)).unwrap_err();
        assert_eq!(error.to_string(), "the model needs about 47.0 GiB, 23.0 GiB available");
        assert_eq!(error.class(), Class::Request);
        check_against("the model", 22 * gib, Some(23 * gib)).unwrap();
        check_against("the model", u64::MAX, None).unwrap();
        assert!(check("everything", u64::MAX).is_err() || available_bytes().is_none());
    }

    #[test]
    fn the_machine_and_its_group_are_asked() {
        assert_eq!(of_machine("MemTotal: 9 kB\nMemAvailable:    12 kB\n"), Some(12 * 1024));
        assert_eq!(of_machine("nothing"), None);
        assert_eq!(of_group(Some("max\n"), Some("5\n")), None);
        assert_eq!(of_group(Some("12\n"), Some("5\n")), Some(7));
    }
}
