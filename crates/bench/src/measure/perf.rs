//! Linux's `perf record` beside a measurement: attached to this process, and on only around the steps that are measured.

use knockout_analyze::profile::functions::CpuSamples;
use knockout_base::error::{Error, Result};
use std::ffi::OsStr;
use std::io::{self, BufRead as _, BufReader, Read as _, Write as _};
use std::path::{Path, PathBuf};
use std::process::{Child, ChildStdin, ChildStdout, Command, Stdio};

/// Samples per second of CPU time; not a divisor of a second, so that it does not beat with what repeats.
const HERTZ: &str = "997";
/// File of the samples in the folder of a measurement.
const DATA: &str = "perf.data";

/// A running `perf record`; dropping it ends it.
#[derive(Debug)]
pub(crate) struct Perf {
    program: Child,
    commands: Option<ChildStdin>,
    answers: BufReader<ChildStdout>,
    data: PathBuf,
    is_on: bool,
}

impl Perf {
    /// Attaches to all threads of this process; samples nothing yet. The samples go to a file in the folder.
    pub(crate) fn attach(folder: &Path) -> Result<Self> {
        if !cfg!(target_os = "linux") {
            return Err(Error::request("only Linux has perf, which samples functions; leave out --perf"));
        }
        let data = folder.join(DATA);
        // Hardware cycles where they can be counted, else the clock of the CPU: perf chooses. Commands come from its standard input, and it
        // answers each on its standard output.
        let mut program = perf(["record", "-N", "-D", "-1", "--control", "fd:0,1"]);
        program
            .args(["-k", "CLOCK_MONOTONIC", "-F", HERTZ, "-p", &std::process::id().to_string(), "-o"])
            .arg(&data);
        program.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
        let mut program = program.spawn().map_err(not_started)?;
        let pipes = program.stdin.take().zip(program.stdout.take());
        let (commands, answers) =
            pipes.ok_or_else(|| Error::failure("perf has no standard input or output"))?;
        let answers = BufReader::new(answers);
        let mut perf = Self { program, commands: Some(commands), answers, data, is_on: false };
        // The answer means that it is attached.
        perf.command("disable")?;
        Ok(perf)
    }

    /// Samples from now on, or no longer.
    pub(crate) fn switch(&mut self, is_on: bool) -> Result<()> {
        if self.is_on != is_on {
            self.command(if is_on { "enable" } else { "disable" })?;
            self.is_on = is_on;
        }
        Ok(())
    }

    /// Ends it and reads the samples.
    pub(crate) fn finish(mut self) -> Result<CpuSamples> {
        self.command("stop")?;
        self.commands = None;
        let mut printed = String::new();
        if let Some(mut stderr) = self.program.stderr.take() {
            stderr.read_to_string(&mut printed).map_err(not_read)?;
        }
        let status = self.program.wait().map_err(not_read)?;
        if !status.success() {
            return Err(refused(&printed));
        }
        let mut script = perf(["script", "--ns", "-F", "tid,time,event,ip,sym,dso", "-i"]);
        script.arg(&self.data).stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::null());
        let mut script = script.spawn().map_err(not_started)?;
        let stdout =
            script.stdout.take().ok_or_else(|| Error::failure("perf script has no standard output"))?;
        let samples = CpuSamples::read(BufReader::new(stdout));
        let status = script.wait().map_err(not_read)?;
        let samples = samples?;
        if !status.success() {
            return Err(Error::failure(format!(
                "perf script could not read {} ({status})",
                self.data.display()
            )));
        }
        if samples.samples.is_empty() {
            return Err(Error::failure(format!(
                "perf took no samples: the steps used little CPU time, and there are {HERTZ} samples in a second of it; measure more steps"
            )));
        }
        Ok(samples)
    }

    /// Sends a command and waits for the answer.
    fn command(&mut self, command: &str) -> Result<()> {
        let sent = match &mut self.commands {
            Some(commands) => writeln!(commands, "{command}").and_then(|()| commands.flush()),
            None => Err(io::ErrorKind::BrokenPipe.into()),
        };
        let mut answer = Vec::new();
        let answered = sent.and_then(|()| self.answers.read_until(b'\n', &mut answer));
        // Answers are `ack` and a null after the end of the line.
        if answered.is_ok() && answer.trim_ascii().ends_with(b"ack") {
            return Ok(());
        }
        // It has ended, or it would have answered.
        self.commands = None;
        self.program.kill().ok();
        let mut printed = String::new();
        if let Some(mut stderr) = self.program.stderr.take() {
            stderr.read_to_string(&mut printed).ok();
        }
        Err(refused(&printed))
    }
}

impl Drop for Perf {
    fn drop(&mut self) {
        self.program.kill().ok();
        self.program.wait().ok();
    }
}

/// Returns a command of `perf` that reads no settings of the user.
fn perf<'a>(arguments: impl IntoIterator<Item = &'a str>) -> Command {
    let mut command = Command::new("perf");
    command.args(arguments.into_iter().map(OsStr::new)).env("PERF_CONFIG", "/dev/null").env("LC_ALL", "C");
    command
}

fn not_started(cause: io::Error) -> Error {
    if cause.kind() == io::ErrorKind::NotFound {
        let message = "--perf needs the program perf, which is not on the path; install it (Debian: `apt-get install linux-perf`)";
        return Error::request(message);
    }
    Error::failure("could not start perf").caused_by(cause)
}

fn not_read(cause: io::Error) -> Error {
    Error::failure("could not read what perf printed").caused_by(cause)
}

/// Returns the error of a `perf record` that ended, given what it printed.
fn refused(printed: &str) -> Error {
    if printed.contains("perf_event_paranoid")
        || printed.contains("Permission denied")
        || printed.contains("not permitted")
    {
        return Error::request(
            "the system does not let perf sample this process; as root, `sysctl kernel.perf_event_paranoid=2` allows it (in a container, its \
             host must allow perf_event_open, too)",
        );
    }
    let words: Vec<&str> = printed.split_whitespace().collect();
    Error::failure(format!("perf record failed: {}", words.join(" ")))
}
