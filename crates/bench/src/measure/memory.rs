//! Memory of the process at its peak, and what is free, where the operating system reports it.

use std::fs;

/// Resets the peak to the present value. Without effect where the system does not support it.
pub fn reset_peak() {
    fs::write("/proc/self/clear_refs", "5").ok();
}

/// Returns the largest resident size since the last [`reset_peak`].
pub fn peak_rss_bytes() -> Option<u64> {
    bytes_of_line("/proc/self/status", "VmHWM:")
}

/// Returns the available memory.
pub fn free_bytes() -> Option<u64> {
    bytes_of_line("/proc/meminfo", "MemAvailable:")
}

/// Returns the value of a line of a system file, such as `VmHWM:  1234 kB`, in bytes.
fn bytes_of_line(file: &str, name: &str) -> Option<u64> {
    let text = fs::read_to_string(file).ok()?;
    let line = text.lines().find_map(|line| line.strip_prefix(name))?;
    let kib: u64 = line.trim().strip_suffix("kB")?.trim().parse().ok()?;
    Some(kib * 1024)
}
