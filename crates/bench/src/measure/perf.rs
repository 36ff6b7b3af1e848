//! Linux's `perf record` beside a measurement: attached to this process, and on only around the steps that are measured.

use knockout_analyze::profile::functions::CpuSamples;
use knockout_base::error::{Error, Result};
use std::ffi::OsStr;
use std::fs;
use std::io::{self, BufRead as _, BufReader, Read as _, Write as _};
use std::path::{Path, PathBuf};
use std::process::{Child, ChildStdin, ChildStdout, Command, Stdio};

/// Samples per second of CPU time; not a divisor of a second, so that it does not beat with what repeats.
const HERTZ: &str = "997";
/// File of the samples in the folder of a measurement.
const DATA: &str = "perf.data";
/// File of the samples while events are checked.
const CHECKED: &str = "perf.check.data";
/// Name by which samples of reads from memory are known.
const READ: &str = "memory-read";
/// Reads between two samples; a prime, so that it does not beat with what repeats.
const READ_PERIOD: u64 = 20_011;
/// Bytes that a sample of a read stands for: lines have 64 bytes.
pub(crate) const BYTES_PER_READ_SAMPLE: u64 = 64 * READ_PERIOD;
/// Events of AMD's processors since Zen 3: lines that come from memory into the first cache, and those that are fetched ahead into the second.
const READS_OF_AMD: [&str; 2] = ["cpu/event=0x44,umask=0x48/", "cpu/event=0x72,umask=0xff/"];
/// Event of other processors; on Intel's it includes the lines that the hardware fetches ahead.
const READS: &str = "cache-misses";

/// Events that together count the lines that are read from memory.
#[derive(Debug, Clone)]
pub(crate) struct ReadEvents {
    events: Vec<String>,
    name: String,
}

impl ReadEvents {
    /// Returns the named event, or those of this processor.
    pub(crate) fn new(named: Option<&str>) -> Self {
        let is_amd = || fs::read_to_string("/proc/cpuinfo").is_ok_and(|text| text.contains("AuthenticAMD"));
        let events = match named {
            Some(event) => vec![event.to_owned()],
            None if is_amd() => READS_OF_AMD.map(str::to_owned).to_vec(),
            None => vec![READS.to_owned()],
        };
        Self { name: events.join(" + "), events }
    }

    /// Returns their names.
    pub(crate) fn name(&self) -> &str {
        &self.name
    }

    /// Returns whether perf can sample them here.
    pub(crate) fn are_supported(&self) -> Result<bool> {
        let mut probe = perf(["record", "--quiet", "-N", "-o", "/dev/null"]);
        probe.args(self.options()).args(["--", "true"]);
        probe.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null());
        Ok(probe.status().map_err(not_started)?.success())
    }

    /// Returns how often they were sampled during some work of this process; the samples are in the folder for as long.
    pub(crate) fn count(&self, folder: &Path, work: impl FnOnce()) -> Result<u64> {
        let file = folder.join(CHECKED);
        let mut perf = Perf::start(file.clone(), Some(self))?;
        perf.switch(true)?;
        work();
        perf.switch(false)?;
        let samples = perf.finish()?;
        fs::remove_file(file).ok();
        Ok(samples.reads.samples.len() as u64)
    }

    /// Returns the options that sample them.
    fn options(&self) -> impl Iterator<Item = String> {
        self.events.iter().map(|event| {
            let terms = format!("period={READ_PERIOD},name={READ}/");
            match event.strip_suffix('/') {
                Some(event) => format!("--event={event},{terms}"),
                None => format!("--event={event}/{terms}"),
            }
        })
    }
}

/// Samples of a measurement.
#[derive(Debug)]
pub(crate) struct PerfSamples {
    /// Of CPU time.
    pub(crate) cpu: CpuSamples,
    /// Of reads from memory; empty where they were not sampled.
    pub(crate) reads: CpuSamples,
}

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
    pub(crate) fn attach(folder: &Path, reads: Option<&ReadEvents>) -> Result<Self> {
        Self::start(folder.join(DATA), reads)
    }

    fn start(data: PathBuf, reads: Option<&ReadEvents>) -> Result<Self> {
        // Hardware cycles where they can be counted, else the clock of the CPU: perf chooses. Commands come from its standard input, and it
        // answers each on its standard output.
        let mut program = perf(["record", "-N", "-D", "-1", "--control", "fd:0,1"]);
        program
            .args(["-k", "CLOCK_MONOTONIC", "-F", HERTZ, "-p", &std::process::id().to_string(), "-o"])
            .arg(&data);
        if let Some(reads) = reads {
            program.arg("--event=cycles:P").args(reads.options());
        }
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
    pub(crate) fn finish(mut self) -> Result<PerfSamples> {
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
        let (mut reads, mut cpu): (Vec<_>, Vec<_>) =
            samples?.into_iter().partition(|samples| samples.event == READ);
        if !status.success() {
            return Err(Error::failure(format!(
                "perf script could not read {} ({status})",
                self.data.display()
            )));
        }
        let Some(cpu) = cpu.pop() else {
            return Err(Error::failure(format!(
                "perf took no samples: the steps used little CPU time, and there are {HERTZ} samples in a second of it; measure more steps"
            )));
        };
        Ok(PerfSamples { cpu, reads: reads.pop().unwrap_or_default() })
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

/// Refuses a system that has no `perf`.
pub(crate) fn check_system() -> Result<()> {
    if cfg!(target_os = "linux") {
        return Ok(());
    }
    Err(Error::request("only Linux has perf, which samples functions; leave out --perf"))
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
