//! `metrics.jsonl`: one JSON object a line, appended as training goes.
//!
//! A line is one write, so a killed process leaves whole lines and at most one torn at the end. A checkpoint remembers the
//! [`LogPosition`] it was taken at; resuming cuts the file back to it, so that no line appears twice.

use crate::checkpoint::{Digest, LogPosition};
use crate::context::at;
use crate::fit::EpochReport;
use crate::metrics::Metrics;
use knockout_base::error::{Error, Result};
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;
use std::fs::{self, File};
use std::io::{Seek as _, SeekFrom, Write as _};
use std::path::{Path, PathBuf};

/// A line of `metrics.jsonl`: an epoch, or the end of a run inside one.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct MetricsLine {
    /// Version of this line: 1.
    pub schema: u32,
    /// Batches seen.
    pub step: u64,
    /// Zero-based epoch.
    pub epoch: u32,
    /// Mean loss over the epoch's samples so far, on standardised scores.
    pub train_loss: f64,
    /// Learning rate.
    pub learning_rate: f64,
    /// Over the full validation part.
    pub val: Metrics,
    /// blake3 over all parameters, in the order of their names.
    pub weights_hash: String,
    /// Means of the loss's parts and of their weights, by name; earlier versions wrote none.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub loss_parts: BTreeMap<String, f64>,
    /// Time that it took; earlier versions wrote none.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub times: Option<EpochTimes>,
}

impl MetricsLine {
    /// The line of an epoch.
    pub(super) fn of(report: &EpochReport, times: EpochTimes) -> Self {
        Self {
            schema: 1,
            step: report.position.step,
            epoch: report.position.epoch,
            train_loss: report.train_loss,
            learning_rate: report.learning_rate,
            val: report.validation,
            weights_hash: report.weights_hash.clone(),
            loss_parts: report.loss_parts.clone(),
            times: Some(times),
        }
    }
}

/// Time of an epoch. Of one that was interrupted, the time of all sittings, each up to the checkpoint that the next resumed from.
#[derive(Debug, Clone, Copy, PartialEq, Default, Serialize, Deserialize)]
pub struct EpochTimes {
    /// Wall time of training, checkpoints included, in seconds.
    pub train_seconds: f64,
    /// Wall time of the validation.
    pub validation_seconds: f64,
    /// CPU time of both, of all threads.
    pub cpu_seconds: f64,
    /// Samples trained on by wall time of training.
    pub samples_per_second: f64,
}

/// Reads the metrics of a run, one line per epoch. A torn last line of a killed run is left out; any other line that cannot be
/// read is an error that names it.
pub fn read_metrics(folder: &Path) -> Result<Vec<MetricsLine>> {
    let path = folder.join("metrics.jsonl");
    let bytes = fs::read(&path).map_err(at("read", &path))?;
    let whole = bytes.split_inclusive(|&byte| byte == b'\n').filter(|line| line.ends_with(b"\n"));
    whole
        .enumerate()
        .map(|(index, line)| {
            serde_json::from_slice(line).map_err(|error| at("read", &path)(bad_line(index + 1, error)))
        })
        .collect()
}

/// Advice of every error of the metrics file.
const ADVICE: &str = "move the file away to resume without its history";

fn damaged(reason: &str) -> Error {
    Error::damage(format!("it is damaged: {reason}; {ADVICE}"))
}

fn bad_line(line: usize, error: serde_json::Error) -> Error {
    Error::damage(format!("line {line} is damaged: {error}; {ADVICE}")).caused_by(error)
}

/// Lines that resuming found in the metrics file.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Resumed {
    /// Whole lines that were written after the checkpoint and are cut off: they will be written again.
    pub cut_lines: u64,
    /// Lines before the checkpoint that are missing: the file was moved away.
    pub missing_lines: u64,
}

/// The file, to append to.
#[derive(Debug)]
pub struct MetricsLog {
    path: PathBuf,
    file: File,
    position: LogPosition,
    /// Over everything before the position.
    hasher: blake3::Hasher,
}

impl MetricsLog {
    /// Opens the file at a position, and cuts off what comes after it.
    ///
    /// A missing file is created again; see [`Resumed::missing_lines`]. One that ends before the position, or whose
    /// lines before it are not those of the checkpoint, is damaged.
    pub fn resume(path: &Path, from: LogPosition) -> Result<(Self, Resumed)> {
        let is_there = path.try_exists().map_err(at("open", path))?;
        let file = File::options().create(true).truncate(false).read(true).write(true).open(path);
        let mut file = file.map_err(at("open", path))?;
        let bytes = fs::read(path).map_err(at("read", path))?;
        let kept = match bytes.get(..from.bytes as usize) {
            Some(kept) => kept,
            None if !is_there => &[],
            None => {
                let found = bytes.len();
                let expected = format!("of {} that were there at the checkpoint", from.bytes);
                return Err(at("resume from", path)(damaged(&format!("it has {found} bytes {expected}"))));
            }
        };
        let mut lines = 0;
        for line in kept.split_inclusive(|&byte| byte == b'\n') {
            lines += 1;
            serde_json::from_slice::<serde::de::IgnoredAny>(line)
                .map_err(|error| at("resume from", path)(bad_line(lines as usize, error)))?;
        }
        let cut_lines = bytes[kept.len()..]
            .split_inclusive(|&byte| byte == b'\n')
            .filter(|line| line.ends_with(b"\n"))
            .count() as u64;
        let is_other = from.blake3.is_some_and(|digest| digest != Digest::of(kept)) || lines != from.lines;
        if is_there && (is_other || !(kept.is_empty() || kept.ends_with(b"\n"))) {
            let lines = from.lines;
            let error = damaged(&format!("its first {lines} lines are not those of the checkpoint"));
            return Err(at("resume from", path)(error));
        }
        let position = LogPosition { bytes: kept.len() as u64, lines, blake3: None };
        let mut hasher = blake3::Hasher::new();
        hasher.update(kept);
        file.set_len(position.bytes).map_err(at("shorten", path))?;
        file.seek(SeekFrom::End(0)).map_err(at("open", path))?;
        let missing_lines = from.lines.saturating_sub(lines);
        Ok((Self { path: path.to_owned(), file, position, hasher }, Resumed { cut_lines, missing_lines }))
    }

    /// Appends one line, in one write: after a kill it is there or not (a torn one is cut off on resuming).
    pub fn append(&mut self, line: &impl Serialize) -> Result<()> {
        let mut text = serde_json::to_vec(line)
            .map_err(|error| at("write", &self.path)(std::io::Error::other(error)))?;
        text.push(b'\n');
        self.file.write_all(&text).map_err(at("write", &self.path))?;
        self.hasher.update(&text);
        self.position.bytes += text.len() as u64;
        self.position.lines += 1;
        Ok(())
    }

    /// Makes everything written so far survive a power cut; returns the end of the file, for a checkpoint.
    pub fn sync(&mut self) -> Result<LogPosition> {
        self.file.sync_data().map_err(at("sync", &self.path))?;
        Ok(LogPosition { blake3: Some(Digest(*self.hasher.finalize().as_bytes())), ..self.position })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use knockout_base::error::chain;
    use serde_json::json;

    fn text(path: &Path) -> String {
        fs::read_to_string(path).unwrap()
    }

    /// A log of two steps, and where it ends.
    fn two_lines(path: &Path) -> (MetricsLog, LogPosition) {
        let (mut log, _) = MetricsLog::resume(path, LogPosition::START).unwrap();
        log.append(&json!({"step": 1})).unwrap();
        log.append(&json!({"step": 2})).unwrap();
        let checkpoint = log.sync().unwrap();
        (log, checkpoint)
    }

    #[test]
    fn resuming_cuts_back_to_the_checkpoint() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("metrics.jsonl");
        let (mut log, checkpoint) = two_lines(&path);
        // The validation of the same step comes after the checkpoint: it will come again.
        log.append(&json!({"step": 2, "val": {}})).unwrap();
        log.append(&json!({"step": 3})).unwrap();
        drop(log);
        let (mut log, resumed) = MetricsLog::resume(&path, checkpoint).unwrap();
        assert_eq!(resumed, Resumed { cut_lines: 2, missing_lines: 0 });
        log.append(&json!({"step": 2, "val": {}})).unwrap();
        assert_eq!(text(&path), "{\"step\":1}\n{\"step\":2}\n{\"step\":2,\"val\":{}}\n");
    }

    #[test]
    fn a_torn_line_behind_the_checkpoint_is_cut() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("metrics.jsonl");
        let whole = "{\"step\":1}\n{\"step\":2}\n";
        for end in 11..=whole.len() {
            fs::write(&path, &whole[..end]).unwrap();
            let from = LogPosition { bytes: 11, lines: 1, blake3: Some(Digest::of(&whole.as_bytes()[..11])) };
            let (mut log, resumed) = MetricsLog::resume(&path, from).unwrap();
            assert_eq!(resumed, Resumed { cut_lines: u64::from(end == 22), missing_lines: 0 });
            log.append(&json!({"step": 9})).unwrap();
            assert_eq!(text(&path), "{\"step\":1}\n{\"step\":9}\n");
        }
    }

    #[test]
    fn a_cut_or_changed_file_is_damaged_and_a_missing_one_begins_anew() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("metrics.jsonl");
        let (_, checkpoint) = two_lines(&path);
        let whole = text(&path);
        for end in 0..whole.len() {
            fs::write(&path, &whole[..end]).unwrap();
            let error = MetricsLog::resume(&path, checkpoint).unwrap_err();
            assert!(chain(&error).contains("that were there at the checkpoint"), "cut at {end}: {error:?}");
            assert_eq!(text(&path), &whole[..end], "what is damaged is left as it is");
        }
        fs::write(&path, whole.replace('2', "3")).unwrap();
        let error = MetricsLog::resume(&path, checkpoint).unwrap_err();
        assert!(chain(&error).contains("its first 2 lines are not those"), "{error:?}");
        fs::remove_file(&path).unwrap();
        let (_, resumed) = MetricsLog::resume(&path, checkpoint).unwrap();
        assert_eq!(resumed, Resumed { cut_lines: 0, missing_lines: 2 });
    }

    #[test]
    fn a_damaged_line_is_named() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("metrics.jsonl");
        fs::write(&path, "{\"step\":1}\nnonsense\n{\"step\":3}\n").unwrap();
        let error = MetricsLog::resume(&path, LogPosition { bytes: 31, lines: 3, blake3: None }).unwrap_err();
        assert!(chain(&error).contains("line 2 is damaged"), "{error:?}");
        // What comes after the checkpoint does not matter.
        let (_, resumed) =
            MetricsLog::resume(&path, LogPosition { bytes: 11, lines: 1, blake3: None }).unwrap();
        assert_eq!(resumed, Resumed { cut_lines: 2, missing_lines: 0 });
    }
}
