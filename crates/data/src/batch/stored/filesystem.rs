//! The file system of a store: free space, and whether LMDB may be used there at all.

use super::error::refused;
use knockout_base::error::{Context as _, Error, Result};
use std::path::{Path, PathBuf};

/// File systems over a network or in user space, by the number `statfs` gives. LMDB forbids the former: their memory maps
/// are not coherent and their locks not reliable. The latter cannot be told from them.
#[cfg(target_os = "linux")]
const UNSAFE: [(u32, &str); 19] = [
    (0x6969, "NFS"),
    (0x517b, "SMB"),
    (0xff53_4d42, "CIFS"),
    (0xfe53_4d42, "SMB2"),
    (0x6573_5546, "FUSE"),
    (0x0bd0_0bd0, "Lustre"),
    (0x4750_4653, "GPFS"),
    (0x00c3_6400, "Ceph"),
    (0x1983_0326, "BeeGFS"),
    (0xaad7_aaea, "PanFS"),
    (0x0102_1997, "9P"),
    (0x5346_414f, "AFS"),
    (0x6b41_4653, "AFS"),
    (0x7375_7245, "Coda"),
    (0x564c, "NCP"),
    (0x7461_636f, "OCFS2"),
    (0x0116_1970, "GFS2"),
    (0x786f_4256, "VirtualBox shared folders"),
    (0x2003_0528, "OrangeFS"),
];

/// Refuses a folder on a file system where LMDB is unsafe; the folder need not exist yet.
pub(super) fn check(folder: &Path) -> Result<()> {
    #[cfg(target_os = "linux")]
    {
        let found = rustix::fs::statfs(existing(folder))
            .map_err(|error| refused("looked at")(error.into()))
            .in_file(folder)?;
        // The numbers are 32 bits wide; some machines sign-extend them.
        if let Some(name) = unsafe_name(found.f_type as u32) {
            return Err(Error::request(format!(
                "it is on {name}, a file system over a network or in user space, where LMDB's memory map is unsafe; choose a \
                 folder on a local disk with --out"
            ))
            .in_file(folder));
        }
    }
    #[cfg(not(target_os = "linux"))]
    let _ = folder;
    Ok(())
}

#[cfg(target_os = "linux")]
fn unsafe_name(number: u32) -> Option<&'static str> {
    UNSAFE.iter().find(|(unsafe_number, _)| *unsafe_number == number).map(|(_, name)| *name)
}

/// Bytes free for this user on the disk of a folder that need not exist yet.
pub fn free_bytes(folder: &Path) -> Result<u64> {
    let found = rustix::fs::statvfs(existing(folder))
        .map_err(|error| refused("looked at")(error.into()))
        .in_file(folder)?;
    Ok(found.f_bavail.saturating_mul(found.f_frsize))
}

/// The folder or the nearest one above it that exists.
fn existing(folder: &Path) -> PathBuf {
    let is_there = |path: &&Path| path.exists();
    let found = folder.ancestors().find(is_there).filter(|path| !path.as_os_str().is_empty());
    found.map_or_else(|| PathBuf::from("."), Path::to_owned)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn local_disks_have_room_and_are_allowed() {
        let folder = std::env::temp_dir();
        assert!(free_bytes(&folder.join("not/there/yet")).is_ok());
        assert!(check(&folder.join("not/there/yet")).is_ok());
        assert_eq!(existing(Path::new("not-there")), Path::new("."));
    }

    #[cfg(target_os = "linux")]
    #[test]
    fn network_file_systems_are_known_by_number() {
        for (number, name) in
            [(0x6969, "NFS"), (0xff53_4d42, "CIFS"), (0x6573_5546, "FUSE"), (0x0bd0_0bd0, "Lustre")]
        {
            assert_eq!(unsafe_name(number), Some(name));
        }
        // ext4, xfs, btrfs, tmpfs, overlayfs, zfs
        for number in [0xef53, 0x5846_5342, 0x9123_683e, 0x0102_1994, 0x794c_7630, 0x2fc1_2fc1] {
            assert_eq!(unsafe_name(number), None, "{number:#x}");
        }
    }
}
