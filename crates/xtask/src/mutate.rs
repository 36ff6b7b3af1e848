//! Damaged files of every kind: they are refused by exit code, or used where nothing of what counts has changed; never a crash.

use crate::Verdict;
use crate::program::{Home, copy};
use crate::random::Random;
use std::fs;
use std::path::{Path, PathBuf};

/// Something that can be damaged: what is copied, which files of it, the command that reads them and how it may end.
struct Target {
    name: &'static str,
    copied: &'static str,
    files: fn(&str) -> bool,
    args: &'static [&'static str],
    codes: &'static [i32],
}

const TARGETS: [Target; 10] = [
    Target {
        name: "a store, train",
        copied: "tiny",
        files: |name| name == "saved-masks/data.mdb",
        args: &[
            "train",
            "tiny",
            "--model",
            "dango",
            "--max-steps",
            "3",
            "-q",
            "model.width=8",
            "loader.processor=saved-masks",
        ],
        // Pages that are not read may be anything.
        codes: &[0, 3],
    },
    Target {
        name: "a dataset, data show",
        copied: "tiny",
        files: |name| !name.starts_with("saved-"),
        args: &["data", "show", "tiny"],
        codes: &[3],
    },
    Target {
        name: "a dataset, data verify",
        copied: "tiny",
        files: |name| !name.starts_with("saved-"),
        args: &["data", "verify", "tiny", "-q"],
        codes: &[3],
    },
    Target {
        name: "what a run began with, evaluate",
        copied: "run",
        files: |name| ["config.toml", "manifest.json", "split.parquet", "overrides.txt"].contains(&name),
        args: &["evaluate", "run", "-q", "--resamples", "5"],
        codes: &[2, 3],
    },
    Target {
        name: "a run's newest checkpoint, train --resume",
        copied: "run",
        files: |name| name.starts_with("checkpoints/last-"),
        args: &["train", "--resume", "run", "-q", "--max-steps", "33"],
        // Of the two that are kept, the older one is not read.
        codes: &[0, 3],
    },
    Target {
        name: "a run's best checkpoint, evaluate",
        copied: "run",
        files: |name| name.starts_with("checkpoints/best-pearson"),
        args: &["evaluate", "run", "-q", "--resamples", "5"],
        codes: &[3],
    },
    Target {
        name: "metrics.jsonl, train --resume",
        copied: "run",
        files: |name| name == "metrics.jsonl",
        args: &["train", "--resume", "run", "-q", "--max-steps", "33"],
        // Behind the newest checkpoint it is cut off and written again.
        codes: &[0, 3],
    },
    Target {
        name: "predictions, evaluate --predictions",
        copied: "run",
        files: |name| name == "predictions-test.parquet",
        args: &[
            "evaluate",
            "--predictions",
            "run/predictions-test.parquet",
            "--data",
            "tiny",
            "-q",
            "--resamples",
            "5",
        ],
        codes: &[0, 2, 3],
    },
    Target {
        name: "a trace, trace analyze",
        copied: "trace.json",
        files: |_| true,
        args: &["trace", "analyze", "trace.json", "-q"],
        codes: &[0, 2, 3, 6],
    },
    Target {
        name: "a packed trace, trace analyze",
        copied: "trace.json.gz",
        files: |_| true,
        args: &["trace", "analyze", "trace.json.gz", "-q"],
        codes: &[0, 2, 3, 6],
    },
];

pub(crate) fn once(home: &Home, random: &mut Random) -> (&'static str, Verdict) {
    let target = random.of(&TARGETS);
    (target.name, damaged(home, random, target))
}

fn damaged(home: &Home, random: &mut Random, target: &Target) -> Verdict {
    let scratch = home.scratch()?;
    let copied = scratch.path().join(target.copied);
    if copied.is_symlink() {
        fs::remove_file(&copied).map_err(|error| error.to_string())?;
    }
    copy(&home.path().join(target.copied), &copied)?;
    let mut files = files(&copied);
    files.retain(|file| (target.files)(&file.to_string_lossy()));
    let Some(file) = (!files.is_empty()).then(|| random.of(&files).clone()) else {
        return Err("there is nothing to damage".to_owned());
    };
    let path = if copied.is_dir() { copied.join(&file) } else { copied };
    let before = fs::read(&path).map_err(|error| error.to_string())?;
    let (how, after) = mutation(&before, random);
    if after == before {
        return Ok(());
    }
    fs::write(&path, &after).map_err(|error| error.to_string())?;
    home.program
        .expect(scratch.path(), target.args, target.codes)
        .map(drop)
        .map_err(|wrong| format!("{} {how}: {wrong}", file.display()))
}

/// The files of a folder, or the file itself, by their relative paths in a fixed order.
pub(crate) fn files(root: &Path) -> Vec<PathBuf> {
    let mut files = Vec::new();
    list(root, root, &mut files);
    files.sort();
    files
}

fn list(root: &Path, at: &Path, files: &mut Vec<PathBuf>) {
    if at.is_file() {
        files.push(at.strip_prefix(root).unwrap_or(at).to_owned());
    }
    for entry in fs::read_dir(at).into_iter().flatten().flatten() {
        list(root, &entry.path(), files);
    }
}

/// Changes some bytes at random, and returns a description.
pub(crate) fn mutation(bytes: &[u8], random: &mut Random) -> (String, Vec<u8>) {
    let mut bytes = bytes.to_vec();
    let at = random.below(bytes.len());
    let length = 1 + random.below(64.min(bytes.len().saturating_sub(at)));
    let how = match random.below(6) {
        0 if !bytes.is_empty() => {
            bytes[at] ^= 1 << random.below(8);
            format!("with a bit of byte {at} flipped")
        }
        1 => {
            bytes.truncate(at);
            format!("cut at {at}")
        }
        2 => {
            let new: Vec<u8> = (0..length).map(|_| random.byte()).collect();
            bytes.splice(at..at, new);
            format!("with {length} bytes inserted at {at}")
        }
        3 if !bytes.is_empty() => {
            let end = (at + length).min(bytes.len());
            bytes[at..end].fill(0);
            format!("with zeros from {at} to {end}")
        }
        4 if !bytes.is_empty() => {
            let end = (at + length).min(bytes.len());
            bytes.drain(at..end);
            format!("without the bytes from {at} to {end}")
        }
        _ => {
            let count = 1 + random.below(8);
            for _ in 0..count.min(bytes.len()) {
                let at = random.below(bytes.len());
                bytes[at] = random.byte();
            }
            format!("with {count} random bytes")
        }
    };
    (how, bytes)
}
