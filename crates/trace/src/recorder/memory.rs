//! Resident memory of the process, where the operating system reports it.

use std::fs::File;

/// Name of the counter of resident memory; in a trace file it also becomes the memory events of other profilers.
pub const RESIDENT_BYTES: &str = "rss bytes";

/// Reads the resident size again and again, through one open file.
#[derive(Debug, Default)]
pub struct ResidentMemory {
    #[cfg_attr(not(unix), expect(dead_code, reason = "only Linux tells"))]
    statm: Option<File>,
}

impl ResidentMemory {
    /// Opens the file of the system, where there is one.
    pub fn open() -> Self {
        Self { statm: File::open("/proc/self/statm").ok() }
    }

    /// Returns the bytes now; `None` where the system does not report them.
    #[cfg(unix)]
    pub fn bytes(&self) -> Option<u64> {
        use std::os::unix::fs::FileExt as _;
        let mut text = [0; 128];
        let length = self.statm.as_ref()?.read_at(&mut text, 0).ok()?;
        let text = std::str::from_utf8(text.get(..length)?).ok()?;
        let pages: u64 = text.split_ascii_whitespace().nth(1)?.parse().ok()?;
        Some(pages * rustix::param::page_size() as u64)
    }

    /// Returns the bytes now; `None` where the system does not report them.
    #[cfg(not(unix))]
    pub fn bytes(&self) -> Option<u64> {
        None
    }
}

#[cfg(all(test, target_os = "linux"))]
mod tests {
    use super::*;

    #[test]
    fn touched_memory_is_counted() {
        let memory = ResidentMemory::open();
        let before = memory.bytes().unwrap();
        let block = std::hint::black_box(vec![1_u8; 64 << 20]);
        let grown = memory.bytes().unwrap().saturating_sub(before);
        assert!(grown >= 48 << 20, "{grown} bytes after touching {}", block.len());
    }
}
