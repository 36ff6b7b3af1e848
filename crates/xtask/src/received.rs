//! Folders from somebody else: links, pipes, devices and folders in place of files, names that lead elsewhere, edited figures. Nothing outside
//! of the folder is read or written, nothing is waited for, and an edited figure is never printed.

use crate::Verdict;
use crate::mutate::files;
use crate::program::{BENCHMARK, Home, PREDICT, SWEEP, copy, link};
use crate::random::Random;
use std::fs;
use std::path::Path;
use std::process::Command;

/// A folder that is received, and a command that reads or writes it.
struct ReceivedFolder {
    name: &'static str,
    copied: &'static str,
    args: &'static [&'static str],
    /// Files whose every edit is an error of the command.
    sealed: fn(&str) -> bool,
}

const RECEIVED: [ReceivedFolder; 9] = [
    ReceivedFolder {
        name: "a dataset, data show",
        copied: "tiny",
        args: &["data", "show", "tiny"],
        sealed: |name| name == "dataset.toml",
    },
    ReceivedFolder {
        name: "a dataset, data verify",
        copied: "tiny",
        args: &["data", "verify", "tiny", "-q"],
        sealed: |name| name == "dataset.toml",
    },
    ReceivedFolder {
        name: "a run, evaluate",
        copied: "run",
        args: &["evaluate", "run", "-q", "--resamples", "5"],
        sealed: |name| ["manifest.json", "config.toml", "overrides.txt", "metrics.jsonl"].contains(&name),
    },
    ReceivedFolder { name: "a run, runs", copied: "run", args: &["runs", "."], sealed: |_| false },
    ReceivedFolder {
        name: "a run, train --resume",
        copied: "run",
        args: &["train", "--resume", "run", "-q", "--max-steps", "33"],
        sealed: |name| ["manifest.json", "config.toml"].contains(&name),
    },
    ReceivedFolder {
        name: "a run, train --on-residuals-of",
        copied: "run",
        args: &[
            "train",
            "tiny",
            "--model",
            "dango",
            "model.width=8",
            "--max-steps",
            "1",
            "-q",
            "--out",
            "new",
            "--on-residuals-of",
            "run",
        ],
        sealed: |name| ["manifest.json", "config.toml"].contains(&name),
    },
    ReceivedFolder { name: "predictions, predict", copied: "hits", args: &PREDICT, sealed: |_| false },
    ReceivedFolder {
        name: "a benchmark, benchmark",
        copied: "benchmark",
        args: &BENCHMARK,
        sealed: |name| name.ends_with("/additive-ridge.json"),
    },
    ReceivedFolder {
        name: "a sweep, sweep",
        copied: "sweep",
        args: &SWEEP,
        sealed: |name| name == "sweep.json",
    },
];

const PRECIOUS: &str = "precious";

pub(crate) fn once(home: &Home, random: &mut Random) -> (&'static str, Verdict) {
    let received = random.of(&RECEIVED);
    (received.name, try_once(home, random, received))
}

fn try_once(home: &Home, random: &mut Random, received: &ReceivedFolder) -> Verdict {
    let scratch = home.scratch()?;
    let folder = scratch.path();
    let failed = |error: std::io::Error| error.to_string();
    let copied = folder.join(received.copied);
    if copied.is_symlink() {
        fs::remove_file(&copied).map_err(failed)?;
    }
    copy(&home.path().join(received.copied), &copied)?;
    if received.copied == "hits" {
        link(&home.path().join("run"), &folder.join("run"))?;
    }
    fs::write(folder.join("mine.txt"), PRECIOUS).map_err(failed)?;
    let files = files(&copied);
    let file = random.of(&files).clone();
    let name = file.to_string_lossy().into_owned();
    let (how, is_edited) = if random.below(2) == 0 && is_text(&name) {
        (edited(&copied.join(&file), random)?, true)
    } else {
        (replaced(folder, &copied.join(&file), random)?, false)
    };
    let found = |wrong: String| format!("{name} {how}: {wrong}");
    let codes: &[i32] = if is_edited && (received.sealed)(&name) { &[2, 3] } else { &[0, 2, 3] };
    let ended = home.program.expect(folder, received.args, codes).map_err(found)?;
    if ended.said.contains("out of memory") {
        return Err(found("it was read without end".to_owned()));
    }
    if fs::read_to_string(folder.join("mine.txt")).ok().as_deref() != Some(PRECIOUS) {
        return Err(found("a file outside of the folder was changed".to_owned()));
    }
    if folder.join("outside").exists() {
        return Err(found("something was created outside of the folder".to_owned()));
    }
    Ok(())
}

fn is_text(name: &str) -> bool {
    [".json", ".jsonl", ".toml", ".txt", ".seal"].iter().any(|end| name.ends_with(end))
}

/// Puts something else in place of a file or the folder that it is in.
fn replaced(folder: &Path, file: &Path, random: &mut Random) -> Result<String, String> {
    let failed = |error: std::io::Error| error.to_string();
    let above = file.parent().filter(|above| above.parent() != Some(folder) && *above != folder);
    let target = if random.below(4) == 0 { above.unwrap_or(file) } else { file };
    let moved = folder.join("moved");
    fs::rename(target, &moved).map_err(failed)?;
    let how = match random.below(6) {
        0 => {
            link(&folder.join("mine.txt"), target)?;
            "a link to a file outside"
        }
        1 => {
            link(&moved, target)?;
            "a link to what it was"
        }
        2 => {
            link(&folder.join("outside"), target)?;
            "a link to nothing"
        }
        3 => {
            link(Path::new("/dev/zero"), target)?;
            "a link to a device"
        }
        4 => {
            let made = Command::new("mkfifo").arg(target).status().map_err(failed)?;
            assert!(made.success(), "mkfifo");
            "a pipe"
        }
        _ => {
            fs::create_dir(target).map_err(failed)?;
            "a folder"
        }
    };
    Ok(format!("({}) as {how}", target.strip_prefix(folder).unwrap_or(target).display()))
}

/// Changes a number of a text, or makes one of its strings a path that leads elsewhere.
fn edited(file: &Path, random: &mut Random) -> Result<String, String> {
    let text = fs::read_to_string(file).map_err(|error| error.to_string())?;
    let elsewhere = file.with_file_name("x/../../../outside/evil").display().to_string();
    let (pattern, new) = match random.below(3) {
        0 => (r"[0-9]+", "7".to_owned()),
        1 => (r#""[^"\n]*""#, "\"../outside/evil\"".to_owned()),
        _ => (r#""[^"\n]*""#, format!("{elsewhere:?}")),
    };
    let pattern = regex::Regex::new(pattern).map_err(|error| error.to_string())?;
    let places: Vec<regex::Match<'_>> = pattern.find_iter(&text).collect();
    let Some(place) = (!places.is_empty()).then(|| random.of(&places)) else {
        fs::write(file, text + "1").map_err(|error| error.to_string())?;
        return Ok("with a digit more".to_owned());
    };
    let new = if place.as_str() == new { "8" } else { &new };
    fs::write(file, [&text[..place.start()], new, &text[place.end()..]].concat())
        .map_err(|error| error.to_string())?;
    Ok(format!("with {new} for {} at {}", place.as_str(), place.start()))
}
