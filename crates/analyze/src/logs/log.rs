//! Progress bars in the log of a training run become rates, and the contents of averages over their figures.
//!
//! Bytes in, values out: independent of files and renderings. A bar prints three kinds of figures: a mean since the
//! bar began, a smoothed one, and seconds per iteration; none of them is the rate of the steps alone. So the rate here
//! comes from the counts and the clock that stand beside the figure.

use super::average::{self, Average, Lists, Printed};
use super::bar::{BarLine, bars_in};
use super::plain::plain;
use super::rate::measure;
use super::ratio::{LogRatio, ratio};
use super::row::LogRow;
use super::series::SeriesTable;
use super::step_line::step_line;
use super::step_rate::StepLines;
use knockout_base::error::{Error, Result};
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
    /// Contents of averages over printed figures.
    pub averages: Vec<Average>,
    /// Training in the second of two logs against the first.
    pub ratio: Option<LogRatio>,
}

/// Takes a log in pieces of any size.
#[derive(Debug, Default)]
pub struct LogReader {
    line: Vec<u8>,
    series: SeriesTable,
    steps: StepLines,
    printed: Vec<Printed>,
    lists: Lists,
    /// The first bytes, as many as identify gzip.
    magic: Vec<u8>,
    bytes: u64,
    lines: u64,
    controls: u64,
    first_control: Option<u64>,
    any_text: bool,
    any_bar: bool,
}

/// The content of one log.
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

    /// Returns whether the log is recognisably not a text, so that reading on is pointless.
    pub fn is_hopeless(&self) -> bool {
        const ENOUGH_BYTES: u64 = 64 << 20;
        self.bytes > ENOUGH_BYTES && !self.any_bar && self.is_binary()
    }

    fn is_binary(&self) -> bool {
        self.controls * 1000 > self.bytes * MAX_CONTROL_PER_MILLE
    }

    /// Returns the contents of the log; `file` names it.
    pub fn finish(mut self, file: &str) -> Result<Log> {
        self.end_line();
        let lists = std::mem::take(&mut self.lists).finish();
        let (places, all) = std::mem::take(&mut self.series).finish();
        let by_program = self.steps.rows(file);
        if all.is_empty() && lists.is_empty() && by_program.is_empty() {
            return Err(Error::damage(self.reason()));
        }
        let mut rows: Vec<LogRow> = all.iter().map(|series| measure(file, series)).collect();
        let averages = average::averages(file, &self.printed, &lists, &rows, &places);
        rows.extend(by_program);
        Ok(Log { rows, averages })
    }

    /// Returns why the log gives no rates.
    fn reason(&self) -> String {
        if self.any_bar {
            "there are progress bars, but not one iteration was done; look at the end of the log for what stopped the run".to_owned()
        } else if self.magic == [0x1f, 0x8b] {
            "the log is gzip; unpack it first: `gunzip -k LOG`".to_owned()
        } else if self.is_binary() {
            format!(
                "not a text log: {} control characters in {} bytes, the first at offset {}; name the file that `tee` wrote",
                self.controls,
                self.bytes,
                self.first_control.unwrap_or(0)
            )
        } else if self.any_text {
            format!(
                "no progress bar in {} lines (looked for `40%|####    | 4/10 [00:02<00:03, 2.00it/s]`, and for lines of Keras, nanoGPT, Megatron, \
                 DeepSpeed, torchtitan, mmengine and Hugging Face Trainer); switch bars on (`enable_progress_bar=True`) and record standard error too",
                self.lines
            )
        } else {
            "the log is empty; bars go to standard error in most programs, so record both: `COMMAND 2>&1 | tee run.log`".to_owned()
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
        // A hole of a sparse file.
        if line.iter().all(|&byte| byte == 0) {
            return;
        }
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
            if let Some(line) = step_line(&text) {
                self.steps.push(line);
            }
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
        let mut all = Self { schema: SCHEMA, rows: Vec::new(), averages: Vec::new(), ratio: None };
        for mut log in logs {
            all.rows.append(&mut log.rows);
            all.averages.append(&mut log.averages);
        }
        all.ratio = ratio(&all.rows);
        all
    }
}

#[cfg(test)]
mod tests;
