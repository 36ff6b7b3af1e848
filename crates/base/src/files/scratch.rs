//! Hidden names of files and folders that are being written, `.NAME.partial-PROCESS-COUNT-RANDOM`, and their removal after a kill.
//! A long NAME is shortened: file systems allow 255 bytes.
//!
//! A writer locks what it writes, so a lock that can be taken marks what a killed process left.

use super::handle::{EntryKind, Handle};
use rustix::fs::OFlags;
use std::ffi::{OsStr, OsString};
use std::fs::{File, TryLockError};
use std::hash::{BuildHasher as _, RandomState};
use std::io;
use std::sync::atomic::{AtomicU64, Ordering};

/// Returns a new hidden name. Processes in containers share their id, so it has random digits too.
pub(super) fn hidden_name(target: &OsStr) -> OsString {
    static COUNTER: AtomicU64 = AtomicU64::new(0);
    let count = COUNTER.fetch_add(1, Ordering::Relaxed);
    let random = RandomState::new().hash_one(count);
    let target = shortened(target);
    format!(".{target}.partial-{}-{count}-{random:016x}", std::process::id()).into()
}

/// Returns as much of a name as leaves room for the rest of a hidden one.
fn shortened(target: &OsStr) -> String {
    const LONGEST: usize = 180;
    let target = target.to_string_lossy();
    let end = (0..=LONGEST.min(target.len())).rev().find(|&end| target.is_char_boundary(end));
    target[..end.unwrap_or(0)].to_owned()
}

/// Returns whether [`hidden_name`] made this name, for `target` if one is given.
fn is_hidden_name(name: &OsStr, target: Option<&OsStr>) -> bool {
    let parts = name.to_str().and_then(|name| name.strip_prefix('.')?.rsplit_once(".partial-"));
    let Some((of, tail)) = parts else { return false };
    let is_number =
        |text: &str| (1..=20).contains(&text.len()) && text.bytes().all(|byte| byte.is_ascii_digit());
    let is_random =
        |text: &str| text.len() == 16 && text.bytes().all(|byte| matches!(byte, b'0'..=b'9' | b'a'..=b'f'));
    let is_ours = matches!(tail.split('-').collect::<Vec<_>>()[..], [process, count, random]
        if is_number(process) && is_number(count) && is_random(random));
    is_ours && !of.is_empty() && target.is_none_or(|target| shortened(target) == of)
}

/// Removes what killed processes left in a folder while they wrote `target`, or anything if there is none.
pub(super) fn remove_abandoned(folder: &Handle, target: Option<&OsStr>) {
    for (name, kind) in folder.entries().unwrap_or_default() {
        let is_written = matches!(kind, EntryKind::File | EntryKind::Folder);
        if !is_written || !is_hidden_name(&name, target) {
            continue;
        }
        let Ok(held) = folder.open_file(&name, OFlags::RDONLY) else { continue };
        // The lock is held until it is gone. What cannot be removed only takes space.
        if held.try_lock().is_ok() {
            folder.remove(&name).ok();
        }
    }
}

/// Locks a file or folder of our own. On a file system without locks it is merely not cleaned up after a kill.
pub(super) fn lock(file: &File) -> io::Result<()> {
    match file.try_lock() {
        Err(TryLockError::Error(error)) if error.kind() == io::ErrorKind::Unsupported => Ok(()),
        locked => Ok(locked?),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_generated_names_are_hidden_names() {
        let ours = hidden_name(OsStr::new("set"));
        assert!(is_hidden_name(&ours, Some(OsStr::new("set"))) && is_hidden_name(&ours, None));
        assert!(!is_hidden_name(&ours, Some(OsStr::new("other"))));
        let long = "é".repeat(127);
        let hidden = hidden_name(OsStr::new(&long));
        assert!(hidden.len() <= 255 && is_hidden_name(&hidden, Some(OsStr::new(&long))));
        for foreign in [
            ".set.partial-mybackup",
            ".set.partial-1-0",
            ".set.partial-1-0-0123456789abcdeg",
            ".set.partial-1-0-0123456789ABCDEF",
            ".set.partial-1-0-2-0123456789abcdef",
            "set.partial-1-0-0123456789abcdef",
            "..partial-1-0-0123456789abcdef",
            ".set.partial--0-0123456789abcdef",
        ] {
            assert!(!is_hidden_name(OsStr::new(foreign), None), "{foreign}");
        }
    }
}
