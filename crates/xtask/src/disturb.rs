//! Ways to disturb a command: a kill, an error of the operating system, a limit of the process.

use crate::program::{Ended, Home, Surroundings};
use crate::random::Random;
use std::ffi::OsStr;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::Duration;

/// A way to disturb a command.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Disturbance {
    /// Ends it at a random instant, or at the n-th call of a system call.
    Kill,
    /// Lets system calls fail, or write less than they were given.
    Fault,
    /// Limits its memory, its files or its handles.
    Limit,
}

/// Memory below which the system cannot load the program, debug information included; it ends it by a signal then.
const LOADER_KIB: usize = 40 << 10;
/// Calls that change what is on disk.
const CALLS: [&str; 9] =
    ["openat", "write", "fsync", "renameat", "linkat", "mkdirat", "unlinkat", "ftruncate", "flock"];
/// Calls of the file system that `strace` makes fail, and how.
const FAILING: [(&str, &str); 8] = [
    ("renameat", "EIO"),
    ("renameat", "ENOSPC"),
    ("linkat", "EIO"),
    ("mkdirat", "ENOSPC"),
    ("unlinkat", "EIO"),
    ("fsync", "EIO"),
    ("flock", "EIO"),
    ("openat", "EMFILE"),
];
/// Errors of the library that is loaded before the system's: 5 is EIO, 28 ENOSPC.
const PRELOADED: [&str; 7] =
    ["write 5", "write 28", "fsync 5", "fdatasync 5", "ftruncate 5", "short 0", "writes 28"];

/// Runs a command and disturbs it on the way; returns how it ended, unless it was killed. Ends that are never right are an error.
pub(crate) fn disturbed(
    by: Disturbance,
    home: &Home,
    random: &mut Random,
    folder: &Path,
    args: &[&str],
    longest_millis: usize,
) -> Result<Option<Ended>, String> {
    match by {
        Disturbance::Kill => kill(home, random, folder, args, longest_millis).map(|()| None),
        Disturbance::Limit => {
            let limit = match random.below(3) {
                0 => format!("ulimit -v {}", LOADER_KIB + random.below(400 << 10)),
                1 => format!("ulimit -f {}", random.below(400)),
                _ => format!("ulimit -n {}", 4 + random.below(30)),
            };
            let threads = [&["--threads", "2"], args].concat();
            let surroundings = Surroundings { limits: &limit, ..Surroundings::default() };
            let ended = home.program.run_in(folder, &threads, surroundings)?;
            ordered(&ended, args, &limit).map(|()| Some(ended))
        }
        Disturbance::Fault => {
            let how = fault(home, random)?;
            let ended = match &how {
                Fault::Traced(injected) => {
                    let before = &format!("strace -f -o /dev/null -e inject={injected}")[..];
                    home.program.run_in(folder, args, Surroundings { before, ..Surroundings::default() })?
                }
                Fault::Preloaded(library, fault) => {
                    let variables: [(&str, &OsStr); 2] =
                        [("LD_PRELOAD", library.as_os_str()), ("KNOCKOUT_FAULT", fault.as_ref())];
                    let surroundings = Surroundings { variables: &variables, ..Surroundings::default() };
                    home.program.run_in(folder, args, surroundings)?
                }
            };
            ordered(&ended, args, &format!("{how:?}")).map(|()| Some(ended))
        }
    }
}

/// Finds fault with an end by a signal, after an internal error, too late, or that blames the files.
fn ordered(ended: &Ended, args: &[&str], how: &str) -> Result<(), String> {
    let is_ordered = !ended.is_late
        && ended.code.is_some_and(|code| [0, 1, 2].contains(&code))
        && !["internal error", "panicked"].iter().any(|word| ended.said.contains(word));
    let said: String = ended.said.chars().take(400).collect();
    if is_ordered {
        Ok(())
    } else {
        Err(format!("knockout {}: {how}: exit {:?}: {said}", args.join(" "), ended.code))
    }
}

fn kill(
    home: &Home,
    random: &mut Random,
    folder: &Path,
    args: &[&str],
    longest_millis: usize,
) -> Result<(), String> {
    if random.below(3) == 0 && has_strace() {
        let (call, when) = (random.of(&CALLS), 1 + random.below(40));
        let status = Command::new("strace")
            .args(["-f", "-o", "/dev/null", "-e", &format!("inject={call}:signal=KILL:when={when}")])
            .arg(home.program.path())
            .args(args)
            .current_dir(folder)
            .stdin(Stdio::null())
            .stdout(Stdio::null())
            .stderr(Stdio::null())
            .status();
        return status.map(drop).map_err(|error| error.to_string());
    }
    let mut child = home.program.start(folder, args)?;
    std::thread::sleep(Duration::from_micros(random.below(1000 * longest_millis) as u64));
    child.kill().map_err(|error| error.to_string())?;
    child.wait().map(drop).map_err(|error| error.to_string())
}

fn has_strace() -> bool {
    Path::new("/usr/bin/strace").exists()
}

/// An injected error.
#[derive(Debug)]
enum Fault {
    /// By `strace`: for calls that do not go through the C library.
    Traced(String),
    /// By a library that is loaded first, with the call, the errno and the number of the call.
    Preloaded(PathBuf, String),
}

fn fault(home: &Home, random: &mut Random) -> Result<Fault, String> {
    if random.below(2) == 0 && has_strace() {
        let (call, error) = random.of(&FAILING);
        // Once, or from then on.
        let (when, further) = (1 + random.below(30), random.of(&["", "+"]));
        return Ok(Fault::Traced(format!("{call}:error={error}:when={when}{further}")));
    }
    let library = interposed(home)?;
    Ok(Fault::Preloaded(library, format!("{} {}", random.of(&PRELOADED), 1 + random.below(60))))
}

/// Returns the library that makes calls of the C library fail; compiled when it is first needed.
fn interposed(home: &Home) -> Result<PathBuf, String> {
    let (source, library) = (home.path().join("faults.c"), home.path().join("faults.so"));
    if !library.exists() {
        fs::write(&source, INTERPOSED).map_err(|error| error.to_string())?;
        let compiled =
            Command::new("cc").args(["-shared", "-fPIC", "-O1", "-o"]).args([&library, &source]).output();
        let compiled = compiled.map_err(|error| format!("cc: {error}; install a C compiler"))?;
        if !compiled.status.success() {
            return Err(format!("cc: {}", String::from_utf8_lossy(&compiled.stderr)));
        }
    }
    Ok(library)
}

/// The library, in C: it makes the n-th call on a file or a folder fail once (`write`), all from then on (`writes`), or lets every write
/// take half of what it is given (`short`).
const INTERPOSED: &str = r#"
#define _GNU_SOURCE
#include <errno.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <unistd.h>

static char name[16];
static int code;
static long when;
static atomic_long count;

__attribute__((constructor)) static void read_fault(void) {
    const char *text = getenv("KNOCKOUT_FAULT");
    if (text) sscanf(text, "%15s %d %ld", name, &code, &when);
}

static int is_stored(int fd) {
    struct stat found;
    return syscall(SYS_fstat, fd, &found) == 0 && (S_ISREG(found.st_mode) || S_ISDIR(found.st_mode));
}

static int fails(const char *call, int fd) {
    int goes_on = strcmp(name, "writes") == 0 && strcmp(call, "write") == 0;
    if (!goes_on && strcmp(name, call) != 0) return 0;
    if (!is_stored(fd)) return 0;
    long at = atomic_fetch_add(&count, 1) + 1;
    if (at < when || (at > when && !goes_on)) return 0;
    errno = code;
    return 1;
}

static size_t taken(int fd, size_t size) {
    return strcmp(name, "short") == 0 && size > 1 && is_stored(fd) ? size / 2 : size;
}

ssize_t write(int fd, const void *bytes, size_t size) {
    return fails("write", fd) ? -1 : syscall(SYS_write, fd, bytes, taken(fd, size));
}

ssize_t pwrite64(int fd, const void *bytes, size_t size, off64_t at) {
    return fails("write", fd) ? -1 : syscall(SYS_pwrite64, fd, bytes, taken(fd, size), at);
}

ssize_t writev(int fd, const struct iovec *parts, int length) {
    return fails("write", fd) ? -1 : syscall(SYS_writev, fd, parts, length);
}

int fsync(int fd) { return fails("fsync", fd) ? -1 : (int)syscall(SYS_fsync, fd); }
int fdatasync(int fd) { return fails("fdatasync", fd) ? -1 : (int)syscall(SYS_fdatasync, fd); }
int ftruncate64(int fd, off64_t length) { return fails("ftruncate", fd) ? -1 : (int)syscall(SYS_ftruncate, fd, length); }
"#;
