//! Memory of the process at its peak, where the operating system reports it.

use std::fs;

/// Resets the peak to the present value. Without effect where the system does not support it.
pub fn reset_peak() {
    fs::write("/proc/self/clear_refs", "5").ok();
}

/// Returns the largest resident size since the last [`reset_peak`].
pub fn peak_rss_bytes() -> Option<u64> {
    let status = fs::read_to_string("/proc/self/status").ok()?;
    let line = status.lines().find_map(|line| line.strip_prefix("VmHWM:"))?;
    let kib: u64 = line.trim().strip_suffix("kB")?.trim().parse().ok()?;
    Some(kib * 1024)
}
