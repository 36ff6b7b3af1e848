//! Memory of the process at its peak, and what is free, where the operating system tells.

use std::fs;

/// Forgets the peak so far, so that the next reading is of what follows. Without effect where that is not possible.
pub fn reset_peak() {
    fs::write("/proc/self/clear_refs", "5").ok();
}

/// The largest resident size since the last [`reset_peak`].
pub fn peak_rss_bytes() -> Option<u64> {
    bytes_of_line("/proc/self/status", "VmHWM:")
}

/// Memory that programs could still take.
pub fn free_bytes() -> Option<u64> {
    bytes_of_line("/proc/meminfo", "MemAvailable:")
}

/// A line of a file of the system, such as `VmHWM:  1234 kB`, in bytes.
fn bytes_of_line(file: &str, name: &str) -> Option<u64> {
    let text = fs::read_to_string(file).ok()?;
    let line = text.lines().find_map(|line| line.strip_prefix(name))?;
    let kib: u64 = line.trim().strip_suffix("kB")?.trim().parse().ok()?;
    Some(kib * 1024)
}
