//! `metrics.jsonl`: one JSON object a line, appended as training goes.
//!
//! Each line is one write, so a killed process leaves complete lines and at most one incomplete line at the end. A checkpoint
//! contains its [`LogPosition`]; resuming truncates the file to it, so that no line appears twice.
//!
//! `metrics.seal` is the [`LogPosition`] behind the last complete line, replaced after every line. Readers verify the lines before it and
//! ignore those after it, which only a kill between the two writes leaves. So every edit of a line is damage. The seal detects
//! edits; it does not prove who wrote the file.

use crate::checkpoint::{Digest, LogPosition};
use crate::context::at;
use crate::fit::EpochReport;
use crate::metrics::Metrics;
use knockout_base::error::{Error, Result};
use knockout_base::files::Folder;
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;
use std::fs::File;
use std::io::{Read as _, Seek as _, SeekFrom, Write as _};
use std::path::PathBuf;

/// Name of the file in a run's folder.
const FILE: &str = "metrics.jsonl";
/// Name of its seal: the length and checksum of the lines that are complete.
const SEAL: &str = "metrics.seal";

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

/// Time of an epoch. For an interrupted epoch, the sum over its sessions, each up to the checkpoint that the next one resumed
/// from.
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

/// The metrics of a run.
#[derive(Debug, Clone, PartialEq)]
pub struct MetricsHistory {
    /// One line per epoch.
    pub lines: Vec<MetricsLine>,
    /// Whether the lines were verified with their seal; runs of earlier versions have none.
    pub is_sealed: bool,
    /// Whether a line behind the seal was left out: a killed run leaves one, and so does an edit.
    pub has_more: bool,
}

/// Reads the metrics of a run, one line per epoch. See [`read_history`].
pub fn read_metrics(folder: impl Into<Folder>) -> Result<Vec<MetricsLine>> {
    read_history(folder).map(|history| history.lines)
}

/// Reads the metrics of a run and verifies them with their seal. A last line that a killed run left incomplete or not yet
/// sealed is left out; any other unreadable line is an error that names it.
pub fn read_history(folder: impl Into<Folder>) -> Result<MetricsHistory> {
    let folder = folder.into();
    let path = folder.path().join(FILE);
    let (bytes, is_sealed, has_more) = read_sealed(&folder)?;
    let whole = bytes.split_inclusive(|&byte| byte == b'\n').filter(|line| line.ends_with(b"\n"));
    let lines = whole.enumerate().map(|(index, line)| {
        serde_json::from_slice(line).map_err(|error| at("read", &path)(bad_line(index + 1, error)))
    });
    Ok(MetricsHistory { lines: lines.collect::<Result<_>>()?, is_sealed, has_more })
}

/// Returns the sealed part of the file and whether there is more behind it; all of it where there is no seal. A run writes a line and
/// then seals it, so more than one line behind the seal is damage.
fn read_sealed(folder: &Folder) -> Result<(Vec<u8>, bool, bool)> {
    loop {
        // The seal first: it never covers more than the file has, unless the run is resumed at this moment.
        let seal = folder.find(SEAL)?;
        let mut bytes = folder.read(FILE)?;
        let Some(seal) = seal else { return Ok((bytes, false, false)) };
        let position = serde_json::from_slice::<LogPosition>(&seal).ok();
        let is_sealed = |position: &LogPosition| {
            let kept = bytes.get(..position.bytes as usize);
            kept.is_some_and(|kept| position.blake3 == Some(Digest::of(kept)))
        };
        let mut reason = "it was changed: it does not match";
        if let Some(position) = position.filter(is_sealed) {
            let more = bytes.split_off(position.bytes as usize);
            if more.split_inclusive(|&byte| byte == b'\n').count() <= 1 {
                return Ok((bytes, true, !more.is_empty()));
            }
            reason = "it was changed: it has more lines than";
        }
        // A run that continues meanwhile has replaced the seal.
        if folder.find(SEAL)?.as_ref() == Some(&seal) {
            let path = folder.path().join(FILE);
            let reason = format!("{reason} {SEAL}; restore both files");
            return Err(at("read", &path)(Error::damage(format!("it is damaged: {reason}"))));
        }
    }
}

/// Next step in every error of the metrics file.
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
    /// Complete lines after the checkpoint, which are removed and will be written again.
    pub cut_lines: u64,
    /// Lines before the checkpoint that are missing: the file was moved away.
    pub missing_lines: u64,
}

/// The file, to append to.
#[derive(Debug)]
pub struct MetricsLog {
    folder: Folder,
    file: File,
    position: LogPosition,
    /// Over everything before the position.
    hasher: blake3::Hasher,
}

impl MetricsLog {
    /// Writes the empty file of a new run and its seal.
    pub(super) fn create(folder: &Folder) -> Result<()> {
        folder.write_new(FILE, "")?;
        folder.write_new(SEAL, seal_text(&blake3::Hasher::new(), LogPosition::START)?)
    }

    /// Opens the file of a run at a position, and cuts off what comes after it.
    ///
    /// A missing file is created again; see [`Resumed::missing_lines`]. One that ends before the position, or whose
    /// lines before it are not those of the checkpoint, is damaged.
    pub fn resume(folder: impl Into<Folder>, from: LogPosition) -> Result<(Self, Resumed)> {
        let folder = folder.into();
        let path = &folder.path().join(FILE);
        let is_there = folder.has(FILE);
        let mut file = folder.update(FILE)?;
        let mut bytes = Vec::new();
        file.read_to_end(&mut bytes).map_err(at("read", path))?;
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
        let mut log = Self { folder, file, position, hasher };
        // The seal first: a reader must not find one of lines that are gone.
        log.seal()?;
        log.file.set_len(position.bytes).map_err(at("shorten", path))?;
        log.file.seek(SeekFrom::End(0)).map_err(at("open", path))?;
        let missing_lines = from.lines.saturating_sub(lines);
        Ok((log, Resumed { cut_lines, missing_lines }))
    }

    fn path(&self) -> PathBuf {
        self.folder.path().join(FILE)
    }

    /// Replaces the seal by one of everything written so far.
    fn seal(&self) -> Result<()> {
        let text = seal_text(&self.hasher, self.position)?;
        self.folder.replace(SEAL, |out| out.write_all(text.as_bytes()))
    }

    /// Appends one line, in one write, and then seals it: after a kill it is there or not (an incomplete or unsealed line is
    /// left out, and removed on resuming).
    pub fn append(&mut self, line: &impl Serialize) -> Result<()> {
        let mut text = serde_json::to_vec(line)
            .map_err(|error| at("write", &self.path())(std::io::Error::other(error)))?;
        text.push(b'\n');
        self.file.write_all(&text).map_err(at("write", &self.path()))?;
        // Durable before its seal: after a power cut a seal never covers more than the file has.
        self.file.sync_data().map_err(at("sync", &self.path()))?;
        self.hasher.update(&text);
        self.position.bytes += text.len() as u64;
        self.position.lines += 1;
        self.seal()
    }

    /// Makes everything written so far survive a power cut; returns the end of the file, for a checkpoint.
    pub fn sync(&mut self) -> Result<LogPosition> {
        self.file.sync_data().map_err(at("sync", &self.path()))?;
        Ok(sealed_position(&self.hasher, self.position))
    }
}

/// The position with the digest of all lines before it.
fn sealed_position(hasher: &blake3::Hasher, position: LogPosition) -> LogPosition {
    LogPosition { blake3: Some(Digest(*hasher.finalize().as_bytes())), ..position }
}

fn seal_text(hasher: &blake3::Hasher, position: LogPosition) -> Result<String> {
    let text = serde_json::to_string(&sealed_position(hasher, position));
    text.map(|text| text + "\n").map_err(|error| Error::failure(error.to_string()).caused_by(error))
}

#[cfg(test)]
mod tests {
    use super::*;
    use knockout_base::error::{Class, chain};
    use serde_json::json;
    use std::fs;
    use std::path::Path;

    fn text(path: &Path) -> String {
        fs::read_to_string(path).unwrap()
    }

    /// A log of two steps, and where it ends.
    fn two_lines(folder: &Path) -> (MetricsLog, LogPosition) {
        let (mut log, _) = MetricsLog::resume(folder, LogPosition::START).unwrap();
        log.append(&json!({"step": 1})).unwrap();
        log.append(&json!({"step": 2})).unwrap();
        let checkpoint = log.sync().unwrap();
        (log, checkpoint)
    }

    #[test]
    fn resuming_cuts_back_to_the_checkpoint() {
        let home = tempfile::tempdir().unwrap();
        let (folder, path) = (home.path(), home.path().join(FILE));
        let (mut log, checkpoint) = two_lines(folder);
        // The validation of the same step comes after the checkpoint: it will come again.
        log.append(&json!({"step": 2, "val": {}})).unwrap();
        log.append(&json!({"step": 3})).unwrap();
        drop(log);
        let (mut log, resumed) = MetricsLog::resume(folder, checkpoint).unwrap();
        assert_eq!(resumed, Resumed { cut_lines: 2, missing_lines: 0 });
        log.append(&json!({"step": 2, "val": {}})).unwrap();
        assert_eq!(text(&path), "{\"step\":1}\n{\"step\":2}\n{\"step\":2,\"val\":{}}\n");
    }

    #[test]
    fn a_torn_line_behind_the_checkpoint_is_cut() {
        let home = tempfile::tempdir().unwrap();
        let (folder, path) = (home.path(), home.path().join(FILE));
        let whole = "{\"step\":1}\n{\"step\":2}\n";
        for end in 11..=whole.len() {
            fs::write(&path, &whole[..end]).unwrap();
            let from = LogPosition { bytes: 11, lines: 1, blake3: Some(Digest::of(&whole.as_bytes()[..11])) };
            let (mut log, resumed) = MetricsLog::resume(folder, from).unwrap();
            assert_eq!(resumed, Resumed { cut_lines: u64::from(end == 22), missing_lines: 0 });
            log.append(&json!({"step": 9})).unwrap();
            assert_eq!(text(&path), "{\"step\":1}\n{\"step\":9}\n");
        }
    }

    #[test]
    fn a_cut_or_changed_file_is_damaged_and_a_missing_one_begins_anew() {
        let home = tempfile::tempdir().unwrap();
        let (folder, path) = (home.path(), home.path().join(FILE));
        let (_, checkpoint) = two_lines(folder);
        let whole = text(&path);
        for end in 0..whole.len() {
            fs::write(&path, &whole[..end]).unwrap();
            let error = MetricsLog::resume(folder, checkpoint).unwrap_err();
            assert!(chain(&error).contains("that were there at the checkpoint"), "cut at {end}: {error:?}");
            assert_eq!(text(&path), &whole[..end], "what is damaged is left as it is");
        }
        fs::write(&path, whole.replace('2', "3")).unwrap();
        let error = MetricsLog::resume(folder, checkpoint).unwrap_err();
        assert!(chain(&error).contains("its first 2 lines are not those"), "{error:?}");
        fs::remove_file(&path).unwrap();
        let (_, resumed) = MetricsLog::resume(folder, checkpoint).unwrap();
        assert_eq!(resumed, Resumed { cut_lines: 0, missing_lines: 2 });
    }

    #[test]
    fn a_damaged_line_is_named() {
        let home = tempfile::tempdir().unwrap();
        let (folder, path) = (home.path(), home.path().join(FILE));
        fs::write(&path, "{\"step\":1}\nnonsense\n{\"step\":3}\n").unwrap();
        let error =
            MetricsLog::resume(folder, LogPosition { bytes: 31, lines: 3, blake3: None }).unwrap_err();
        assert!(chain(&error).contains("line 2 is damaged"), "{error:?}");
        // What comes after the checkpoint does not matter.
        let (_, resumed) =
            MetricsLog::resume(folder, LogPosition { bytes: 11, lines: 1, blake3: None }).unwrap();
        assert_eq!(resumed, Resumed { cut_lines: 2, missing_lines: 0 });
    }

    fn line(epoch: u32) -> MetricsLine {
        MetricsLine {
            schema: 1,
            step: 1,
            epoch,
            train_loss: 0.5,
            learning_rate: 0.1,
            val: Metrics::of(&[1.0, 2.0, 4.0], &[1.0, 3.0, 2.0]),
            weights_hash: "h".to_owned(),
            loss_parts: BTreeMap::new(),
            times: None,
        }
    }

    #[test]
    fn every_edit_of_a_sealed_line_is_damage() {
        let home = tempfile::tempdir().unwrap();
        let (folder, path) = (home.path(), home.path().join(FILE));
        let (mut log, _) = MetricsLog::resume(folder, LogPosition::START).unwrap();
        let written = [line(0), line(1)];
        for line in &written {
            log.append(line).unwrap();
        }
        let whole = text(&path);
        let history = read_history(folder).unwrap();
        assert!(history.is_sealed && history.lines == written);
        let edits = [
            whole.replace("0.5", "0.4"),
            whole[..whole.len() - 1].to_owned(),
            whole.lines().take(1).collect(),
        ];
        for edited in edits {
            fs::write(&path, edited).unwrap();
            let error = read_history(folder).unwrap_err();
            assert_eq!(error.class(), Class::Damage);
            assert!(chain(&error).contains("metrics.jsonl: it is damaged"), "{error:?}");
        }
        // A kill between a line and its seal: the line is not there yet.
        let first = whole.lines().next().unwrap();
        for more in [format!("{first}\n"), first[..9].to_owned()] {
            fs::write(&path, whole.clone() + &more).unwrap();
            let history = read_history(folder).unwrap();
            assert!(history.has_more && history.lines == written);
        }
        // No kill leaves more than one.
        fs::write(&path, whole.clone() + &whole).unwrap();
        let error = read_history(folder).unwrap_err();
        assert!(chain(&error).contains("it has more lines than metrics.seal"), "{error:?}");
        // An earlier version left no seal.
        fs::remove_file(folder.join(SEAL)).unwrap();
        let history = read_history(folder).unwrap();
        assert_eq!((history.is_sealed, history.lines.len()), (false, 4));
        // Resuming seals what it keeps.
        drop(MetricsLog::resume(folder, LogPosition::START).unwrap());
        assert_eq!(
            read_history(folder).unwrap(),
            MetricsHistory { lines: Vec::new(), is_sealed: true, has_more: false }
        );
    }
}
