//! Ways to disturb a command: a kill, an error of the operating system, a limit of the process.

use crate::program::{Ended, Home, Surroundings};
use crate::random::Random;
use knockout_testdata::faults;
use std::ffi::OsStr;
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
/// Files that the system opens to load the program, at most; without them it ends it with 127.
const LOADER_FILES: usize = 8;
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
        Disturbance::Kill => kill(home, random, folder, args, longest_millis).map(|_| None),
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

/// Kills a command at a random instant or system call, and returns whether it ended the command.
pub(crate) fn kill(
    home: &Home,
    random: &mut Random,
    folder: &Path,
    args: &[&str],
    longest_millis: usize,
) -> Result<bool, String> {
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
        return status.map(|status| status.code().is_none()).map_err(|error| error.to_string());
    }
    let mut child = home.program.start(folder, args)?;
    std::thread::sleep(Duration::from_micros(random.below(1000 * longest_millis) as u64));
    child.kill().map_err(|error| error.to_string())?;
    child.wait().map(|status| status.code().is_none()).map_err(|error| error.to_string())
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
        let when = if *call == "openat" { LOADER_FILES + when } else { when };
        return Ok(Fault::Traced(format!("{call}:error={error}:when={when}{further}")));
    }
    let library = interposed(home)?;
    Ok(Fault::Preloaded(library, format!("{} {}", random.of(&PRELOADED), 1 + random.below(60))))
}

/// Returns the library that makes calls of the C library fail; compiled when it is first needed.
fn interposed(home: &Home) -> Result<PathBuf, String> {
    let library = home.path().join("faults.so");
    if library.exists() { Ok(library) } else { faults::compile(home.path()) }
}
