//! Available memory, and refusal of requests that exceed it.
//!
//! An allocation that fails ends the process, and one that succeeds may end another one. Code that allocates a size named by a file
//! or a user estimates it first and calls [`check`].

use crate::error::{Error, Result};
use std::fs;
use std::path::Path;

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

/// Returns an empty vector with room for `count` items, or the error of [`check`] where there is no memory for them.
///
/// For buffers whose size comes from a file or a flag.
pub fn vec<T>(what: &str, count: usize) -> Result<Vec<T>> {
    let bytes = (count as u64).saturating_mul(size_of::<T>() as u64);
    check(what, bytes)?;
    let mut room = Vec::new();
    match room.try_reserve_exact(count) {
        Ok(()) => Ok(room),
        Err(error) => Err(Error::request(format!(
            "{what} needs about {}, and the operating system refuses it; use a larger machine or raise the limits of memory",
            text(bytes)
        ))
        .caused_by(error)),
    }
}

/// Returns the bytes that this process can still allocate, if the operating system reports them: the least of what the machine has,
/// what the control groups of the process leave, and what its resource limits leave (`ulimit -v`, `ulimit -d`).
pub fn available_bytes() -> Option<u64> {
    let read = |path: &str| fs::read_to_string(path).ok();
    let machine = read("/proc/meminfo").and_then(|text| field(&text, "MemAvailable:"));
    let groups = read("/proc/self/cgroup").map(|own| of_groups(Path::new("/sys/fs/cgroup"), &own));
    let limits = read("/proc/self/status").map(|status| of_limits(&status));
    machine.into_iter().chain(groups.flatten()).chain(limits.flatten()).min()
}

/// Returns the bytes of a line such as `MemAvailable:   12 kB`.
fn field(text: &str, name: &str) -> Option<u64> {
    let line = text.lines().find_map(|line| line.strip_prefix(name))?;
    line.trim().strip_suffix("kB")?.trim().parse::<u64>().ok()?.checked_mul(1024)
}

/// Returns what the resource limits of the process leave, given what it uses.
fn of_limits(status: &str) -> Option<u64> {
    use rustix::process::{Resource, getrlimit};
    let left = |resource, used| {
        let limit = getrlimit(resource).current?;
        Some(limit.saturating_sub(field(status, used)?))
    };
    left(Resource::As, "VmSize:").into_iter().chain(left(Resource::Data, "VmData:")).min()
}

/// Returns what the control groups that `own` names leave, and those that they are in; `own` is `/proc/self/cgroup`.
///
/// Version 2 has one line, `0::/path`; version 1 has a line for each controller, `4:memory:/path`. In a container the path may be that
/// of the host, and then only the root is found.
fn of_groups(root: &Path, own: &str) -> Option<u64> {
    own.lines()
        .filter_map(|line| {
            let (controllers, path) = line.split_once(':')?.1.split_once(':')?;
            let (mount, names) = match controllers {
                "" => (root.to_owned(), ["memory.max", "memory.current", "inactive_file"]),
                _ if controllers.split(',').any(|name| name == "memory") => (
                    root.join("memory"),
                    ["memory.limit_in_bytes", "memory.usage_in_bytes", "total_inactive_file"],
                ),
                _ => return None,
            };
            let path = Path::new(path.trim_start_matches('/'));
            path.ancestors().filter_map(|path| of_group(&mount.join(path), names)).min()
        })
        .min()
}

/// A group without a limit reports `max`, or a number beyond every machine. Pages of files that can be dropped are free.
fn of_group(folder: &Path, [limit, used, reclaimable]: [&str; 3]) -> Option<u64> {
    let number = |name: &str| fs::read_to_string(folder.join(name)).ok()?.trim().parse::<u64>().ok();
    let (limit, used) = (number(limit)?, number(used)?);
    let stat = fs::read_to_string(folder.join("memory.stat")).unwrap_or_default();
    let reclaimable =
        stat.lines().find_map(|line| line.strip_prefix(reclaimable)?.trim().parse::<u64>().ok());
    Some(limit.saturating_sub(used.saturating_sub(reclaimable.unwrap_or(0))))
}

/// Formats a size in bytes with the unit that suits it: GiB, MiB, KiB or bytes.
pub fn text(bytes: u64) -> String {
    let in_units = |unit: u32| bytes as f64 / f64::from(unit);
    match bytes {
        0..0x400 => format!("{bytes} bytes"),
        0x400..0x10_0000 => format!("{:.0} KiB", in_units(1 << 10)),
        0x10_0000..0x4000_0000 => format!("{:.0} MiB", in_units(1 << 20)),
        _ => format!("{:.1} GiB", in_units(1 << 30)),
    }
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
    fn a_buffer_that_does_not_fit_is_refused() {
        assert_eq!(vec::<u64>("a column", 3).unwrap().capacity(), 3);
        let error = vec::<u64>("a column", usize::MAX / 8).unwrap_err();
        assert!(error.to_string().starts_with("a column needs about"), "{error}");
        assert_eq!(error.class(), crate::error::Class::Request);
    }

    #[test]
    fn a_small_size_is_not_nothing() {
        let texts = [12, 40 << 10, 60 << 20, 3 << 30].map(text);
        assert_eq!(texts, ["12 bytes", "40 KiB", "60 MiB", "3.0 GiB"]);
    }

    #[test]
    fn memory_of_the_machine_and_limits_are_read() {
        assert_eq!(field("MemTotal: 9 kB\nMemAvailable:    12 kB\n", "MemAvailable:"), Some(12 * 1024));
        assert_eq!(field("nothing", "MemAvailable:"), None);
    }

    #[test]
    fn the_tightest_group_above_the_process_counts() {
        let home = tempfile::tempdir().unwrap();
        let write = |path: &str, text: &str| {
            let path = home.path().join(path);
            fs::create_dir_all(path.parent().unwrap()).unwrap();
            fs::write(path, text).unwrap();
        };
        // Version 2, nested as a job of Slurm is.
        write("job/memory.max", "1000\n");
        write("job/memory.current", "400\n");
        write("job/memory.stat", "anon 1\ninactive_file 100\n");
        write("job/step/memory.max", "max\n");
        write("job/step/memory.current", "300\n");
        assert_eq!(of_groups(home.path(), "0::/job/step\n"), Some(700));
        assert_eq!(of_groups(home.path(), "0::/other\n"), None);
        // Version 1, whose path is unknown inside a container.
        write("memory/memory.limit_in_bytes", "9223372036854771712\n");
        write("memory/memory.usage_in_bytes", "5\n");
        assert_eq!(of_groups(home.path(), "5:memory:/host/path\n2:cpu:/\n"), Some(9_223_372_036_854_771_707));
        write("memory/host/memory.limit_in_bytes", "12\n");
        write("memory/host/memory.usage_in_bytes", "5\n");
        assert_eq!(of_groups(home.path(), "5:cpu,memory:/host/path\n2:cpu:/\n"), Some(7));
    }
}
