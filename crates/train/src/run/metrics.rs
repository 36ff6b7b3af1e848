//! `metrics.jsonl`: one JSON object a line, appended as training goes.
//!
//! A line is one write, so a killed process leaves whole lines and at most one torn at the end. A checkpoint remembers the
//! [`LogPosition`] it was taken at; resuming cuts the file back to it, so that no line appears twice.

use super::folder::{RunFolderError, RunFolderErrorKind, at};
use crate::metrics::Metrics;
use serde::{Deserialize, Serialize};
use std::fs::{self, File};
use std::io::{Seek as _, SeekFrom, Write as _};
use std::path::{Path, PathBuf};

/// A place in the file between two lines.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct LogPosition {
    /// Bytes before it.
    pub bytes: u64,
    /// Lines before it.
    pub lines: u64,
}

impl LogPosition {
    /// Before the first line.
    pub const START: Self = Self { bytes: 0, lines: 0 };
}

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
}

/// Reads the metrics of a run, one line per epoch. A torn last line of a killed run is left out; any other line that cannot be
/// read is an error that names it.
pub fn read_metrics(folder: &Path) -> Result<Vec<MetricsLine>, RunFolderError> {
    let path = folder.join("metrics.jsonl");
    let bytes = fs::read(&path).map_err(at("read", &path))?;
    let whole = bytes.split_inclusive(|&byte| byte == b'\n').filter(|line| line.ends_with(b"\n"));
    whole
        .enumerate()
        .map(|(place, line)| {
            serde_json::from_slice(line).map_err(|source| {
                at("read", &path)(RunFolderErrorKind::Line { line: place as u64 + 1, source })
            })
        })
        .collect()
}

/// What resuming found.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Resumed {
    /// Whole lines that were written after the checkpoint and are cut off: they will be written again.
    pub cut_lines: u64,
    /// Lines before the checkpoint that are not there any more: somebody else changed the file.
    pub missing_lines: u64,
}

/// The file, to append to.
#[derive(Debug)]
pub struct MetricsLog {
    path: PathBuf,
    file: File,
    position: LogPosition,
}

impl MetricsLog {
    /// Opens the file at a position, and cuts off what comes after it.
    ///
    /// A file that ends before the position (somebody shortened it) is kept up to its last whole line; see
    /// [`Resumed::missing_lines`]. A line that is not JSON before the position is an error.
    pub fn resume(path: &Path, from: LogPosition) -> Result<(Self, Resumed), RunFolderError> {
        let file = File::options().create(true).truncate(false).read(true).write(true).open(path);
        let mut file = file.map_err(at("open", path))?;
        let bytes = fs::read(path).map_err(at("read", path))?;
        let kept = bytes.get(..from.bytes as usize).unwrap_or(&bytes);
        // Of a shortened or edited file, whole lines only.
        let kept = &kept[..kept.iter().rposition(|&byte| byte == b'\n').map_or(0, |last| last + 1)];
        let mut lines = 0;
        for line in kept.split_inclusive(|&byte| byte == b'\n') {
            lines += 1;
            serde_json::from_slice::<serde::de::IgnoredAny>(line).map_err(|error| {
                at("resume from", path)(RunFolderErrorKind::Line { line: lines, source: error })
            })?;
        }
        let cut_lines = bytes[kept.len()..]
            .split_inclusive(|&byte| byte == b'\n')
            .filter(|line| line.ends_with(b"\n"))
            .count() as u64;
        let position = LogPosition { bytes: kept.len() as u64, lines };
        file.set_len(position.bytes).map_err(at("shorten", path))?;
        file.seek(SeekFrom::End(0)).map_err(at("open", path))?;
        let missing_lines = from.lines.saturating_sub(lines);
        Ok((Self { path: path.to_owned(), file, position }, Resumed { cut_lines, missing_lines }))
    }

    /// Appends one line, in one write: after a kill it is there or not (a torn one is cut off on resuming).
    pub fn append(&mut self, line: &impl Serialize) -> Result<(), RunFolderError> {
        let mut text = serde_json::to_vec(line)
            .map_err(|error| at("write", &self.path)(std::io::Error::other(error)))?;
        text.push(b'\n');
        self.file.write_all(&text).map_err(at("write", &self.path))?;
        self.position.bytes += text.len() as u64;
        self.position.lines += 1;
        Ok(())
    }

    /// Makes everything written so far survive a power cut, and says where the file ends: for a checkpoint.
    pub fn sync(&mut self) -> Result<LogPosition, RunFolderError> {
        self.file.sync_data().map_err(at("sync", &self.path))?;
        Ok(self.position)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn text(path: &Path) -> String {
        fs::read_to_string(path).unwrap()
    }

    #[test]
    fn resuming_cuts_back_to_the_checkpoint() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("metrics.jsonl");
        let (mut log, _) = MetricsLog::resume(&path, LogPosition::START).unwrap();
        log.append(&json!({"step": 1})).unwrap();
        log.append(&json!({"step": 2})).unwrap();
        let checkpoint = log.sync().unwrap();
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
    fn a_torn_last_line_is_cut() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("metrics.jsonl");
        let whole = "{\"step\":1}\n{\"step\":2}\n";
        for end in 0..=whole.len() {
            fs::write(&path, &whole[..end]).unwrap();
            let (mut log, resumed) =
                MetricsLog::resume(&path, LogPosition { bytes: whole.len() as u64, lines: 2 }).unwrap();
            let lines = whole[..end].matches('\n').count();
            assert_eq!(resumed.missing_lines, 2 - lines as u64, "cut at {end}");
            log.append(&json!({"step": 9})).unwrap();
            assert_eq!(text(&path), format!("{}{{\"step\":9}}\n", &whole[..lines * 11]));
        }
    }

    #[test]
    fn a_damaged_line_is_named() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("metrics.jsonl");
        fs::write(&path, "{\"step\":1}\nnonsense\n{\"step\":3}\n").unwrap();
        let error = MetricsLog::resume(&path, LogPosition { bytes: 31, lines: 3 }).unwrap_err();
        assert!(matches!(error.kind, RunFolderErrorKind::Line { line: 2, .. }), "{error:?}");
        // What comes after the checkpoint does not matter.
        let (_, resumed) = MetricsLog::resume(&path, LogPosition { bytes: 11, lines: 1 }).unwrap();
        assert_eq!(resumed, Resumed { cut_lines: 2, missing_lines: 0 });
    }
}
