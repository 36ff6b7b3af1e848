//! Progress bars in the log of a training run become rates, and what averages over their figures contained.
//!
//! Bytes in, values out: knows nothing of files or renderings. A bar prints three kinds of figures: a mean since the
//! bar began, a smoothed one, and seconds per iteration; none of them is the rate of the steps alone. So the rate here
//! comes from the counts and the clock that stand beside the figure.

use super::average::{self, Average, Lists, Printed};
use super::bar::{BarKind, BarLine, bars_in};
use super::plain::plain;
use super::rate::{Figures, measure};
use super::series::SeriesTable;
use knockout_base::error::{Class, Classified};
use serde::Serialize;

/// Version of the document; grows when a key changes its meaning.
const SCHEMA: u32 = 1;
/// A longer line is taken in parts: bars are short, and memory stays bounded.
const MAX_LINE_BYTES: usize = 1 << 20;
/// Control characters that make a text binary, in a thousand bytes.
const MAX_CONTROL_PER_MILLE: u64 = 50;

/// The `--json` document of `logs`.
#[derive(Debug, Clone, Serialize)]
pub struct Logs {
    /// Version of the document.
    pub schema: u32,
    /// One per bar, in the order in which they began.
    pub rows: Vec<LogRow>,
    /// What averages over printed figures contained.
    pub averages: Vec<Average>,
}

/// One progress bar from its beginning to its end.
#[derive(Debug, Clone, Serialize, PartialEq)]
pub struct LogRow {
    /// The log as it was named.
    pub file: String,
    /// `training`, `validation`, `sanity check`, `testing`, `predicting`, or what the bar calls itself (`unnamed` if nothing).
    pub bar: String,
    /// What the bar calls itself.
    pub name: String,
    /// From the bar's name, or that of the training bar before it.
    pub epoch: Option<u64>,
    /// From the label in front of the line; `None` when there is none.
    pub rank: Option<u64>,
    /// Counts the bars of one name and rank that cannot be one: a bar that began again, or ranks without labels.
    pub series: usize,
    /// Iterations the rate rests on.
    pub count: u64,
    /// Iterations per second by the bar's own clock; `None` when there is too little to go by, and `note` says why.
    pub it_per_s: Option<f64>,
    /// Slowest stretch, as low as the clock's rounding allows.
    pub low: Option<f64>,
    /// Fastest stretch, as high as the clock's rounding allows; `None` if that is unbounded.
    pub high: Option<f64>,
    /// Stretches the spread comes from.
    pub stretches: usize,
    /// Iterations done.
    pub steps: u64,
    /// Iterations planned; `None` if the bar does not say.
    pub total: Option<u64>,
    /// Iterations at the start that were left out.
    pub warmup: u64,
    /// Seconds the bar's clock went on without an iteration at its end: validation, checkpoints.
    pub idle_after_s: u64,
    /// Iterations left out because another bar ran between them.
    pub interrupted: u64,
    /// What the bar printed.
    pub figures: Figures,
    /// Why there is no rate, or what to know about it.
    pub note: Option<String>,
}

/// Why a log gives no rates.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum LogError {
    /// No bytes, or only white space.
    #[error(
        "the log is empty; bars go to standard error in most programs, so record both: `COMMAND 2>&1 | tee run.log`"
    )]
    Empty,
    /// Gzip.
    #[error("the log is gzip; unpack it first: `gunzip -k LOG`")]
    Gzip,
    /// Not text.
    #[error(
        "not a text log: {controls} control characters in {bytes} bytes, the first at offset {offset}; name the file that `tee` wrote"
    )]
    Binary {
        /// Number of control characters.
        controls: u64,
        /// Of so many bytes.
        bytes: u64,
        /// Where the first is.
        offset: u64,
    },
    /// Text without bars.
    #[error(
        "no progress bar in {lines} lines (looked for `40%|####    | 4/10 [00:02<00:03, 2.00it/s]`); \
         switch bars on (`enable_progress_bar=True`) and record standard error too"
    )]
    NoBars {
        /// Lines that were read.
        lines: u64,
    },
    /// Bars, but none moved.
    #[error(
        "there are progress bars, but not one iteration was done; look at the end of the log for what stopped the run"
    )]
    NoSteps,
}

impl Classified for LogError {
    fn class(&self) -> Class {
        Class::Damage
    }
}

/// Takes a log in pieces of any size.
#[derive(Debug, Default)]
pub struct LogReader {
    line: Vec<u8>,
    series: SeriesTable,
    printed: Vec<Printed>,
    lists: Lists,
    /// The first bytes, as far as they tell gzip.
    magic: Vec<u8>,
    bytes: u64,
    lines: u64,
    controls: u64,
    first_control: Option<u64>,
    any_text: bool,
    any_bar: bool,
}

/// One log, read.
#[derive(Debug)]
pub struct Log {
    rows: Vec<LogRow>,
    averages: Vec<Average>,
}

impl LogReader {
    /// Takes the next piece.
    pub fn feed(&mut self, piece: &[u8]) {
        let missing = 2_usize.saturating_sub(self.magic.len());
        self.magic.extend(piece.iter().take(missing));
        for part in piece.split_inclusive(|byte| matches!(byte, b'\n' | b'\r')) {
            self.line.extend_from_slice(part);
            let ends = matches!(part.last(), Some(b'\n' | b'\r'));
            if ends || self.line.len() >= MAX_LINE_BYTES {
                self.end_line();
            }
        }
    }

    /// What was in the log; `file` is what to call it.
    pub fn finish(mut self, file: &str) -> Result<Log, LogError> {
        self.end_line();
        let lists = std::mem::take(&mut self.lists).finish();
        let (places, all) = std::mem::take(&mut self.series).finish();
        if all.is_empty() && lists.is_empty() {
            return Err(self.nothing());
        }
        let rows: Vec<LogRow> = all.iter().map(|series| measure(file, series)).collect();
        let averages = average::averages(file, &self.printed, &lists, &rows, &places);
        Ok(Log { rows, averages })
    }

    fn nothing(&self) -> LogError {
        if self.any_bar {
            LogError::NoSteps
        } else if self.magic == [0x1f, 0x8b] {
            LogError::Gzip
        } else if self.controls * 1000 > self.bytes * MAX_CONTROL_PER_MILLE {
            let offset = self.first_control.unwrap_or(0);
            LogError::Binary { controls: self.controls, bytes: self.bytes, offset }
        } else if self.any_text {
            LogError::NoBars { lines: self.lines }
        } else {
            LogError::Empty
        }
    }

    fn end_line(&mut self) {
        let line = std::mem::take(&mut self.line);
        self.take_line(&line);
        self.line = line;
        self.line.clear();
    }

    fn take_line(&mut self, line: &[u8]) {
        if line.is_empty() {
            return;
        }
        self.lines += 1;
        self.count_bytes(line);
        let text = plain(line);
        if text.trim().is_empty() {
            return;
        }
        self.any_text = true;
        let mut found = false;
        for bar in bars_in(&text) {
            found = true;
            self.any_bar = true;
            self.take_bar(&bar);
        }
        if !found {
            self.lists.line(&text);
        }
    }

    fn take_bar(&mut self, bar: &BarLine) {
        let Some(series) = self.series.add(bar) else { return };
        if let Some(figure) = bar.figure {
            self.printed.push(Printed { series, figure });
        }
    }

    fn count_bytes(&mut self, line: &[u8]) {
        let is_control = |byte: &u8| matches!(byte, 0..=8 | 14..=26 | 28..=31 | 127);
        let controls = line.iter().filter(|byte| is_control(byte)).count() as u64;
        if controls > 0 && self.first_control.is_none() {
            let within = line.iter().position(is_control).unwrap_or(0);
            self.first_control = Some(self.bytes + within as u64);
        }
        self.controls += controls;
        self.bytes += line.len() as u64;
    }
}

impl Logs {
    /// Several logs together.
    pub fn of(logs: Vec<Log>) -> Self {
        let mut all = Self { schema: SCHEMA, rows: Vec::new(), averages: Vec::new() };
        for mut log in logs {
            all.rows.append(&mut log.rows);
            all.averages.append(&mut log.averages);
        }
        all
    }
}

/// What a kind of bar is called in the document.
pub(super) fn bar_name(kind: BarKind, name: &str) -> String {
    match kind {
        BarKind::Sanity => "sanity check".to_owned(),
        BarKind::Training => "training".to_owned(),
        BarKind::Validation => "validation".to_owned(),
        BarKind::Testing => "testing".to_owned(),
        BarKind::Predicting => "predicting".to_owned(),
        BarKind::Other if name.is_empty() => "unnamed".to_owned(),
        BarKind::Other => name.to_owned(),
    }
}

#[cfg(test)]
mod tests;
