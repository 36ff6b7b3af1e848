//! Available memory, and refusal of requests that exceed it.
//!
//! An allocation that fails ends the process, and one that succeeds may end another one. Code that allocates a size named by a file
//! or a user estimates it first and calls [`check`].

use crate::error::{Error, Result};
use std::fs;

/// Refuses a request that needs more memory than is available. Requests below 64 MiB always pass.
///
/// `what` is the subject of the message.
pub fn check(what: &str, needed_bytes: u64) -> Result<()> {
    const NEGLIGIBLE: u64 = 64 << 20;
    if needed_bytes < NEGLIGIBLE {
        return Ok(());
    }
    check_against(what, needed_bytes, available_bytes())
}

fn check_against(what: &str, needed_bytes: u64, available: Option<u64>) -> Result<()> {
    match available {
        Some(available_bytes) if needed_bytes > available_bytes => {
            let (needed, available) = (text(needed_bytes), text(available_bytes));
            Err(Error::request(format!("{what} needs about {needed}, {available} available")))
        }
        _ => Ok(()),
    }
}

/// Returns the bytes that this process can still allocate, if the operating system reports them: the smaller of the machine's and
/// the control group's.
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

/// A group without a limit reports `max`.
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
    fn a_request_that_does_not_fit_is_refused_with_both_sizes() {
        let gib = 1 << 30;
        let error = check_against("the model", 47 * gib, Some(23 * gib)).unwrap_err();
        assert_eq!(error.to_string(), "the model needs about 47.0 GiB, 23.0 GiB available");
        assert_eq!(error.class(), crate::error::Class::Request);
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
