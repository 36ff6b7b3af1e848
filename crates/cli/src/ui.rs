//! Output of the program: results to standard output, everything else to standard error.
//!
//! No other module prints.

use crate::args::Global;
use crate::failure::{Failure, FailureContext as _, Result, Unexpected as _, request_error};
use indicatif::{BinaryBytes, HumanCount, HumanDuration, ProgressBar, ProgressDrawTarget, ProgressStyle};
use knockout_base::text::{one_line, visible};
use std::io::{self, IsTerminal as _, Write as _};
use std::time::Duration;

/// How much is printed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Verbosity {
    /// Progress bars only: the command is a part of another one.
    BarsOnly,
    /// Results and notes.
    Usual,
    /// Details too.
    Detailed,
}

/// The user's choices about output.
pub(crate) struct Ui {
    json: bool,
    quiet: bool,
    verbosity: Verbosity,
    #[cfg(feature = "lab")]
    threads: usize,
    /// The processes that were started together with this one.
    #[cfg(feature = "lab")]
    ranks: std::sync::OnceLock<knockout_ranks::Ranks>,
}

impl Ui {
    pub(crate) fn new(global: &Global) -> Self {
        // The first rank prints for all of them, also before they have met.
        #[cfg(feature = "lab")]
        let quiet = global.quiet || knockout_ranks::ProcessRank::is_started();
        #[cfg(not(feature = "lab"))]
        let quiet = global.quiet;
        let level = match (quiet, global.verbose) {
            (true, _) => tracing::Level::ERROR,
            (false, 0) => tracing::Level::WARN,
            (false, 1) => tracing::Level::INFO,
            (false, _) => tracing::Level::DEBUG,
        };
        tracing_subscriber::fmt()
            .with_max_level(level)
            .with_writer(io::stderr)
            .with_ansi(io::stderr().is_terminal() && std::env::var_os("NO_COLOR").is_none())
            .without_time()
            .with_target(false)
            .init();
        Self {
            json: global.json,
            quiet,
            verbosity: if global.verbose > 0 { Verbosity::Detailed } else { Verbosity::Usual },
            #[cfg(feature = "lab")]
            threads: global.threads,
            #[cfg(feature = "lab")]
            ranks: std::sync::OnceLock::new(),
        }
    }

    /// Returns the output of a command that runs as a part of another one: progress bars only.
    #[cfg(feature = "lab")]
    pub(crate) fn part(&self) -> Self {
        Self {
            verbosity: Verbosity::BarsOnly,
            json: self.json,
            quiet: self.quiet,
            threads: self.threads,
            ranks: self.ranks.clone(),
        }
    }

    /// Lets only the first of several ranks print.
    #[cfg(feature = "lab")]
    pub(crate) fn join(&self, ranks: knockout_ranks::Ranks) {
        self.ranks.set(ranks).ok();
    }

    /// Returns the requested number of threads; 0 for one per core.
    #[cfg(feature = "lab")]
    pub(crate) fn threads(&self) -> usize {
        self.threads
    }

    /// Whether another rank speaks.
    #[cfg(feature = "lab")]
    fn is_silent(&self) -> bool {
        self.ranks.get().is_some_and(|ranks| !ranks.is_first())
    }

    /// Returns whether another rank prints: the trace tools have no ranks.
    #[cfg(not(feature = "lab"))]
    #[expect(clippy::unused_self, reason = "as with ranks")]
    fn is_silent(&self) -> bool {
        false
    }

    /// Prints why the command failed. A rank of several names itself and ends the others.
    pub(crate) fn fail(&self, failure: &Failure) {
        #[cfg(feature = "lab")]
        if let Some(ranks) =
            self.ranks.get().filter(|ranks| !ranks.is_alone() && failure.code() != crate::exit::INTERRUPTED)
        {
            // An error that all ranks have is printed by the first one, which ends the others.
            if !ranks.is_first() {
                std::thread::sleep(Duration::from_secs(2));
            }
            self.error(&format!("{}: {failure}", ranks.label()));
            return ranks.abort(failure.code());
        }
        if !self.is_silent() {
            self.error(failure);
        }
    }

    /// Waits for the other ranks to be done.
    #[cfg_attr(not(feature = "lab"), expect(clippy::unused_self, reason = "as with ranks"))]
    pub(crate) fn leave(&self) {
        #[cfg(feature = "lab")]
        if let Some(ranks) = self.ranks.get() {
            ranks.leave();
        }
    }

    /// Fixes the number of worker threads for the whole process; 0 means one per core. More than eight for each core, and more than
    /// 64, would only take memory.
    pub(crate) fn set_up_threads(&self, threads: usize) -> Result<()> {
        let cores = std::thread::available_parallelism().map_or(1, std::num::NonZero::get);
        let most = (8 * cores).max(64);
        if threads > most {
            self.note(&format!("--threads {threads} is more than this machine can use; taking {most}"));
        }
        let threads = threads.min(most);
        rayon::ThreadPoolBuilder::new().num_threads(threads).build_global().map_err(|error| {
            request_error(format!(
                "could not start the worker threads: {error}; take fewer with --threads, or raise the limits of memory and processes"
            ))
        })
    }

    /// Prints the result: `text` for people, `json` as one document for programs.
    pub(crate) fn result(&self, text: impl FnOnce() -> String, json: &impl serde::Serialize) -> Result<()> {
        if self.json {
            let json = serde_json::to_string_pretty(json).unexpected("could not write the result as JSON")?;
            self.raw(&(visible(&json) + "\n"))
        } else {
            self.raw(&visible(&text()))
        }
    }

    /// Prints the result: a page as text for people, `json` as one document for programs.
    #[cfg(feature = "lab")]
    pub(crate) fn page(
        &self,
        page: impl FnOnce() -> knockout_report::page::Page,
        json: &impl serde::Serialize,
    ) -> Result<()> {
        self.result(|| page().to_text(), json)
    }

    /// Prints text to standard output as it is.
    pub(crate) fn raw(&self, text: &str) -> Result<()> {
        if self.verbosity == Verbosity::BarsOnly || self.is_silent() {
            return Ok(());
        }
        let mut out = io::stdout().lock();
        match out.write_all(text.as_bytes()).and_then(|()| out.flush()) {
            // The reader of our output went away (`knockout … | head`), which is not a failure.
            Err(error) if error.kind() == io::ErrorKind::BrokenPipe => Ok(()),
            written => written.context("could not write to standard output"),
        }
    }

    /// Prints a line on standard error, unless `--quiet`.
    pub(crate) fn note(&self, text: &str) {
        if !self.quiet && self.verbosity != Verbosity::BarsOnly && !self.is_silent() {
            complain(text);
        }
    }

    /// Whether progress is seen on a terminal, which draws bars.
    #[expect(clippy::unused_self, reason = "what is known of the output is asked of the Ui")]
    #[cfg(feature = "lab")]
    pub(crate) fn is_on_terminal(&self) -> bool {
        io::stderr().is_terminal()
    }

    /// Whether [`Ui::detail`] prints.
    pub(crate) fn says_details(&self) -> bool {
        self.verbosity == Verbosity::Detailed && !self.is_silent()
    }

    /// Prints a line under `--verbose`.
    pub(crate) fn detail(&self, text: &str) {
        if self.says_details() {
            complain(text);
        }
    }

    /// One line, with the chain of causes; never silent.
    #[expect(clippy::unused_self, reason = "every print goes through the Ui")]
    pub(crate) fn error(&self, error: &impl std::fmt::Display) {
        report(error);
    }

    /// Returns a progress bar without a total, with the rate of steps; hidden as [`Ui::progress`] is.
    #[cfg(feature = "lab")]
    pub(crate) fn steps(&self, what: &'static str) -> ProgressBar {
        let bar = self.progress(what, 0, Unit::Items);
        bar.unset_length();
        if let Ok(style) =
            ProgressStyle::with_template("{prefix} {spinner} {human_pos} steps ({per_sec}, {elapsed}) {msg}")
        {
            bar.set_style(style);
        }
        bar
    }

    /// Returns a progress bar on standard error; without a terminal it prints a line a minute, with `--quiet` nothing.
    pub(crate) fn progress(&self, what: &'static str, total: u64, unit: Unit) -> ProgressBar {
        let bar = self.bar(what, total, unit);
        if !self.quiet
            && self.verbosity != Verbosity::BarsOnly
            && !self.is_silent()
            && !io::stderr().is_terminal()
        {
            report_in_lines(&bar, what, unit);
        }
        bar
    }

    /// Returns a progress bar that prints nothing without a terminal.
    pub(crate) fn bar(&self, what: &'static str, total: u64, unit: Unit) -> ProgressBar {
        let is_hidden = self.quiet || self.is_silent();
        let target = if is_hidden { ProgressDrawTarget::hidden() } else { ProgressDrawTarget::stderr() };
        let bar = ProgressBar::with_draw_target(Some(total), target);
        let counts = match unit {
            Unit::Items => "{human_pos}/{human_len} ({per_sec}, {eta} left)",
            Unit::Bytes => "{binary_bytes}/{binary_total_bytes} ({binary_bytes_per_sec}, {eta} left)",
        };
        let template = format!("{{prefix}} {{bar:30}} {counts} {{msg}}");
        if let Ok(style) = ProgressStyle::with_template(&template) {
            bar.set_style(style);
        }
        bar.set_prefix(what);
        bar.enable_steady_tick(Duration::from_millis(200));
        bar
    }
}

/// A document of `--json`: its version, then the fields of the content.
#[cfg(feature = "lab")]
#[derive(serde::Serialize)]
pub(crate) struct Versioned<T> {
    schema: u32,
    #[serde(flatten)]
    pub(crate) content: T,
}

#[cfg(feature = "lab")]
impl<T> Versioned<T> {
    /// Returns a document of version 1.
    pub(crate) fn new(content: T) -> Self {
        Self { schema: 1, content }
    }
}

/// Prints an error in one line, from any thread.
pub(crate) fn report(error: &impl std::fmt::Display) {
    complain(&one_line(&format!("knockout: {error}")));
}

/// A line below the message of an argument that was not understood.
pub(crate) fn hint(text: Option<String>) {
    if let Some(text) = text {
        complain(&text);
    }
}

/// Prints the progress of a bar after half a minute, then every minute, until it is finished or dropped.
fn report_in_lines(bar: &ProgressBar, what: &'static str, unit: Unit) {
    const FIRST: Duration = Duration::from_secs(30);
    const LATER: Duration = Duration::from_mins(1);
    let bar = bar.downgrade();
    // The thread is not joined: it ends with the program. Without it there are no lines.
    let reporting = std::thread::Builder::new().spawn(move || {
        let mut wait = FIRST;
        loop {
            std::thread::sleep(wait);
            wait = LATER;
            let Some(bar) = bar.upgrade().filter(|bar| !bar.is_finished()) else { return };
            complain(&progress_line(what, unit, bar.position(), bar.length(), bar.elapsed()));
        }
    });
    drop(reporting);
}

/// Formats progress, time left and rate.
fn progress_line(what: &str, unit: Unit, done: u64, total: Option<u64>, elapsed: Duration) -> String {
    let count = |number: u64| match unit {
        Unit::Items => HumanCount(number).to_string(),
        Unit::Bytes => BinaryBytes(number).to_string(),
    };
    let rate = done as f64 / elapsed.as_secs_f64().max(1e-9);
    let mut line = format!("{what}: {}", count(done));
    if let Some(total) = total.filter(|&total| total > 0) {
        line = format!("{line} of {} ({:.0} %)", count(total), 100.0 * done as f64 / total as f64);
        if done > 0 {
            let left = total.saturating_sub(done) as f64 / rate;
            line = format!("{line}, about {} left", HumanDuration(Duration::from_secs_f64(left.min(1e9))));
        }
    }
    match unit {
        _ if done == 0 => line,
        Unit::Items if rate < 1.0 => format!("{line}, {:.1} s each", rate.recip()),
        Unit::Items | Unit::Bytes => format!("{line}, {}/s", count(rate as u64)),
    }
}

#[cfg(test)]
mod tests {
    use super::{Unit, progress_line};
    use std::time::Duration;

    #[test]
    fn a_line_of_progress_says_how_far_how_long_and_how_fast() {
        let line =
            |done, total| progress_line("predicting", Unit::Items, done, total, Duration::from_secs(30));
        assert_eq!(
            line(3_000, Some(12_000)),
            "predicting: 3,000 of 12,000 (25 %), about 2 minutes left, 100/s"
        );
        assert_eq!(line(0, Some(12_000)), "predicting: 0 of 12,000 (0 %)");
        assert_eq!(line(60, None), "predicting: 60, 2/s");
        assert_eq!(line(12, None), "predicting: 12, 2.5 s each");
    }
}

/// Unit of a progress bar.
#[derive(Clone, Copy)]
pub(crate) enum Unit {
    #[allow(dead_code, reason = "the trace tools count bytes only")]
    Items,
    Bytes,
}

/// Writes a line to standard error; a closed standard error is ignored. Names from files may be in it.
fn complain(text: &str) {
    writeln!(io::stderr().lock(), "{}", visible(text)).ok();
}
