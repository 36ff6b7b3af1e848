//! The program that is attacked, run with limits of time and memory, and the files that attacks begin with.

use std::ffi::OsStr;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

/// Seconds of CPU time; longer than anything here takes, however busy the machine is.
const MOST_CPU_SECONDS: u64 = 60;
/// A process that waits forever uses no CPU time.
const MOST_TIME: Duration = Duration::from_mins(10);
/// Address space in KiB; what needs more was not refused in time.
const MOST_MEMORY_KIB: u64 = 12 << 20;

pub(crate) struct TestedProgram {
    path: PathBuf,
}

/// Differences from the usual surroundings of the program.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct Surroundings<'a> {
    /// Commands of the shell that set limits.
    pub(crate) limits: &'a str,
    /// The command that runs the program.
    pub(crate) before: &'a str,
    /// Variables of the environment.
    pub(crate) variables: &'a [(&'a str, &'a OsStr)],
}

/// How a run of the program ended.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Ended {
    /// `None` after a signal.
    pub(crate) code: Option<i32>,
    pub(crate) is_late: bool,
    pub(crate) said: String,
}

impl TestedProgram {
    pub(crate) fn new(path: &Path) -> Result<Self, String> {
        let path = fs::canonicalize(path).map_err(|error| {
            format!("{}: {error}; build it with: cargo build -p knockout", path.display())
        })?;
        Ok(Self { path })
    }

    pub(crate) fn path(&self) -> &Path {
        &self.path
    }

    fn command(&self, folder: &Path, args: &[&str], surroundings: Surroundings<'_>) -> Command {
        let Surroundings { limits, before, variables } = surroundings;
        let usual = format!("ulimit -v {MOST_MEMORY_KIB}; ulimit -t {MOST_CPU_SECONDS}");
        let limits = if limits.is_empty() { ":" } else { limits };
        let mut command = Command::new("sh");
        command
            .args(["-c", &format!("{usual}; {limits}; exec {before} \"$0\" \"$@\"")])
            .envs(variables.iter().copied())
            .arg(&self.path)
            .args(args)
            .current_dir(folder)
            .env("RUST_BACKTRACE", "0")
            .stdin(Stdio::null())
            .stdout(Stdio::null());
        command
    }

    pub(crate) fn start(&self, folder: &Path, args: &[&str]) -> Result<Child, String> {
        let mut command = self.command(folder, args, Surroundings::default());
        command.stderr(Stdio::null()).spawn().map_err(|error| error.to_string())
    }

    /// Runs to the end, or to the limit of time.
    pub(crate) fn run(&self, folder: &Path, args: &[&str]) -> Result<Ended, String> {
        self.run_in(folder, args, Surroundings::default())
    }

    /// Runs to the end in other surroundings than the usual ones.
    pub(crate) fn run_in(
        &self,
        folder: &Path,
        args: &[&str],
        surroundings: Surroundings<'_>,
    ) -> Result<Ended, String> {
        let stderr = tempfile::NamedTempFile::new().map_err(|error| error.to_string())?;
        let file = stderr.reopen().map_err(|error| error.to_string())?;
        let mut command = self.command(folder, args, surroundings);
        let mut child = command.stderr(file).spawn().map_err(|error| error.to_string())?;
        let end = Instant::now() + MOST_TIME;
        let mut pause = Duration::from_micros(200);
        let (code, is_late) = loop {
            if let Some(status) = child.try_wait().map_err(|error| error.to_string())? {
                break (status.code(), false);
            }
            if Instant::now() > end {
                child.kill().ok();
                child.wait().ok();
                break (None, true);
            }
            std::thread::sleep(pause);
            pause = (2 * pause).min(Duration::from_millis(5));
        };
        let said = fs::read(stderr.path()).unwrap_or_default();
        Ok(Ended { code, is_late, said: String::from_utf8_lossy(&said).trim().to_owned() })
    }

    /// Runs, and finds fault with every end but an exit with one of these codes and without an internal error.
    pub(crate) fn expect(&self, folder: &Path, args: &[&str], codes: &[i32]) -> Result<Ended, String> {
        let ended = self.run(folder, args)?;
        let wrong = if ended.is_late {
            Some(format!("not over after {MOST_TIME:?}"))
        } else if ended.code.is_none_or(|code| !codes.contains(&code)) {
            Some(format!("exit {:?}, expected one of {codes:?}", ended.code))
        } else if ended.said.contains("internal error") || ended.said.contains("panicked") {
            Some("an internal error".to_owned())
        } else {
            None
        };
        match wrong {
            None => Ok(ended),
            Some(wrong) => Err(format!("knockout {}: {wrong}: {}", args.join(" "), cut(&ended.said))),
        }
    }
}

fn cut(text: &str) -> String {
    text.chars().take(300).collect()
}

/// A folder with a dataset, a store, a trained run and traces that are sound.
pub(crate) struct Home {
    pub(crate) program: TestedProgram,
    folder: tempfile::TempDir,
}

/// Training that takes a second and ends inside of an epoch and of a group of accumulated batches.
pub(crate) const TRAIN: [&str; 13] = [
    "train",
    "tiny",
    "--model",
    "dango",
    "--batch",
    "200",
    "--max-steps",
    "31",
    "-q",
    "model.width=8",
    "run.checkpoint_every=0",
    "run.predict_batch=50",
    "optimiser.accumulate=[\"1:3\"]",
];

/// Predictions in ten blocks.
pub(crate) const PREDICT: [&str; 10] =
    ["predict", "run", "--pairs", "--block", "2000", "--full", "--csv", "-q", "--out", "hits"];

/// A sweep of a second.
pub(crate) const SWEEP: [&str; 11] = [
    "sweep",
    "tiny",
    "--model",
    "dango",
    "model.width=4",
    "epochs=1",
    "--budget",
    "1s",
    "-q",
    "--out",
    "sweep",
];

/// A benchmark of one cell.
pub(crate) const BENCHMARK: [&str; 11] = [
    "benchmark",
    "tiny",
    "--split",
    "random",
    "--models",
    "additive-ridge",
    "--resamples",
    "20",
    "-q",
    "--out",
    "benchmark",
];

impl Home {
    pub(crate) fn make(program: TestedProgram) -> Result<Self, String> {
        let folder = tempfile::tempdir().map_err(|error| error.to_string())?;
        let home = Self { program, folder };
        let make = |args: &[&str]| home.program.expect(home.path(), args, &[0]).map(drop);
        make(&["data", "synth", "tiny", "--preset", "tiny", "-q"])?;
        make(&["data", "split", "tiny", "--out", "split.parquet", "-q"])?;
        make(&["data", "precompute", "tiny", "--masks", "-q"])?;
        make(&[&TRAIN[..], &["--out", "run"]].concat())?;
        make(&["evaluate", "run", "-q", "--resamples", "10"])?;
        make(&PREDICT)?;
        make(&[
            "profile",
            "tiny",
            "--model",
            "dango",
            "--steps",
            "2",
            "--out",
            "profile",
            "-q",
            "model.width=8",
        ])?;
        make(&SWEEP)?;
        make(&BENCHMARK)?;
        make(&["trace", "convert", "profile/trace.json.gz", "trace.json", "-q"])?;
        make(&["trace", "convert", "profile/trace.json.gz", "trace.json.gz", "-q"])?;
        Ok(home)
    }

    pub(crate) fn path(&self) -> &Path {
        self.folder.path()
    }

    /// A new folder for one try, with links to what is only read.
    pub(crate) fn scratch(&self) -> Result<tempfile::TempDir, String> {
        let scratch = tempfile::tempdir().map_err(|error| error.to_string())?;
        for name in ["tiny", "trace.json", "trace.json.gz"] {
            link(&self.path().join(name), &scratch.path().join(name))?;
        }
        Ok(scratch)
    }
}

#[cfg(unix)]
pub(crate) fn link(from: &Path, to: &Path) -> Result<(), String> {
    std::os::unix::fs::symlink(from, to).map_err(|error| error.to_string())
}

#[cfg(not(unix))]
pub(crate) fn link(from: &Path, to: &Path) -> Result<(), String> {
    copy(from, to)
}

/// Copies a file or a folder with everything in it.
pub(crate) fn copy(from: &Path, to: &Path) -> Result<(), String> {
    let failed = |error: std::io::Error| format!("{}: {error}", from.display());
    if from.is_dir() {
        fs::create_dir_all(to).map_err(failed)?;
        for entry in fs::read_dir(from).map_err(failed)? {
            let name = entry.map_err(failed)?.file_name();
            copy(&from.join(&name), &to.join(&name))?;
        }
        return Ok(());
    }
    fs::copy(from, to).map(drop).map_err(failed)
}
