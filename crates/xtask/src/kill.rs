//! Kills: at a random instant, or at the n-th call of a system call. Every file is complete or absent afterwards, and a killed run
//! resumes to the result of the undisturbed one.

use crate::Verdict;
use crate::mutate::files;
use crate::program::{Home, TRAIN, link};
use crate::random::Random;
use std::fs;
use std::path::Path;
use std::process::{Command, Stdio};
use std::time::Duration;

/// Calls that change what is on disk.
const CALLS: [&str; 9] =
    ["openat", "write", "fsync", "rename", "linkat", "mkdir", "unlink", "ftruncate", "flock"];

pub(crate) fn once(home: &Home, random: &mut Random) -> (&'static str, Verdict) {
    match random.below(6) {
        0 => ("data synth", killed(home, random, synth)),
        1 => ("trace convert", killed(home, random, convert)),
        2 => ("trace analyze --html", killed(home, random, analyze)),
        3 => ("predict, until it ends", killed(home, random, predict)),
        _ => ("train, resumed until it ends", train(home, random)),
    }
}

/// Runs a command and kills it on the way.
fn kill(home: &Home, random: &mut Random, folder: &Path, args: &[&str], longest_millis: usize) -> Verdict {
    let with_strace = random.below(3) == 0 && Path::new("/usr/bin/strace").exists();
    if with_strace {
        let (call, when) = (random.of(&CALLS), 1 + random.below(40));
        let status = Command::new("strace")
            .args(["-f", "-o", "/dev/null", "-e", &format!("inject={call}:signal=KILL:when={when}")])
            .arg(home.program.path())
            .args(args)
            .current_dir(folder)
            .stdin(Stdio::null())
            .stdout(Stdio::null())
            .stderr(Stdio::null())
            .status();
        return status.map(drop).map_err(|error| error.to_string());
    }
    let mut child = home.program.start(folder, args)?;
    std::thread::sleep(Duration::from_micros(random.below(1000 * longest_millis) as u64));
    child.kill().map_err(|error| error.to_string())?;
    child.wait().map(drop).map_err(|error| error.to_string())
}

type Check = fn(&Home, &mut Random, &Path) -> Verdict;

fn killed(home: &Home, random: &mut Random, check: Check) -> Verdict {
    let scratch = home.scratch()?;
    check(home, random, scratch.path())
}

fn synth(home: &Home, random: &mut Random, folder: &Path) -> Verdict {
    let args = ["data", "synth", "set", "--preset", "tiny", "-q"];
    kill(home, random, folder, &args, 60)?;
    if folder.join("set").exists() {
        home.program.expect(folder, &["data", "verify", "set", "-q"], &[0])?;
        return same(&folder.join("set/samples.parquet"), &home.path().join("tiny/samples.parquet"));
    }
    home.program.expect(folder, &args, &[0])?;
    nothing_hidden(folder)
}

fn convert(home: &Home, random: &mut Random, folder: &Path) -> Verdict {
    let args = ["trace", "convert", "trace.json.gz", "out.json", "-q", "--force"];
    kill(home, random, folder, &args, 30)?;
    if folder.join("out.json").exists() {
        return same(&folder.join("out.json"), &home.path().join("trace.json"));
    }
    home.program.expect(folder, &args, &[0])?;
    nothing_hidden(folder)
}

fn analyze(home: &Home, random: &mut Random, folder: &Path) -> Verdict {
    let args = ["trace", "analyze", "trace.json.gz", "--html", "page.html", "-q"];
    kill(home, random, folder, &args, 30)?;
    if let Ok(page) = fs::read_to_string(folder.join("page.html"))
        && !page.trim_end().ends_with("</html>")
    {
        return Err("half a page".to_owned());
    }
    home.program.expect(folder, &args, &[0])?;
    nothing_hidden(folder)
}

/// Killed some times, then left alone: every file of the folder is what the undisturbed command wrote.
fn predict(home: &Home, random: &mut Random, folder: &Path) -> Verdict {
    link(&home.path().join("run"), &folder.join("run"))?;
    let args = ["predict", "run", "--pairs", "--block", "2000", "--full", "--csv", "-q", "--out", "hits"];
    for _ in 0..=random.below(3) {
        kill(home, random, folder, &args, 120)?;
    }
    if !folder.join("hits/predictions.csv").exists() {
        home.program.expect(folder, &args, &[0])?;
    }
    let whole = home.path().join("hits");
    for file in files(&whole) {
        same(&folder.join("hits").join(&file), &whole.join(&file))?;
    }
    nothing_hidden(&folder.join("hits"))
}

/// Killed some times, then left alone: metrics, and through them the weights of every epoch, are those of the undisturbed run.
fn train(home: &Home, random: &mut Random) -> Verdict {
    let scratch = home.scratch()?;
    let folder = scratch.path();
    let begin = [&TRAIN[..], &["--out", "run"]].concat();
    let resume = ["train", "--resume", "run", "-q"];
    for _ in 0..=random.below(5) {
        let is_begun = folder.join("run").exists();
        kill(home, random, folder, if is_begun { &resume } else { &begin }, 250)?;
    }
    let last: &[&str] = if folder.join("run").exists() { &resume } else { &begin };
    home.program.expect(folder, last, &[0])?;
    let metrics = |folder: &Path| -> Result<String, String> {
        let path = folder.join("run/metrics.jsonl");
        let lines = fs::read_to_string(&path).map_err(|error| format!("{}: {error}", path.display()))?;
        // How long an epoch took is told last, and no two runs share it.
        Ok(lines.lines().map(|line| line.split(",\"times\":").next().unwrap_or(line)).collect())
    };
    if metrics(folder)? != metrics(home.path())? {
        return Err("metrics.jsonl is not what the undisturbed command wrote".to_owned());
    }
    same(&folder.join("run/split.parquet"), &home.path().join("run/split.parquet"))?;
    nothing_hidden(&folder.join("run/checkpoints"))?;
    nothing_hidden(&folder.join("run"))
}

fn same(found: &Path, expected: &Path) -> Verdict {
    let read = |path: &Path| fs::read(path).map_err(|error| format!("{}: {error}", path.display()));
    if read(found)? == read(expected)? {
        return Ok(());
    }
    let name = found.file_name().unwrap_or_default().to_string_lossy();
    Err(format!("{name} is not what the undisturbed command wrote"))
}

/// The next command of the same kind has cleared what the killed one left.
fn nothing_hidden(folder: &Path) -> Verdict {
    for entry in fs::read_dir(folder).into_iter().flatten().flatten() {
        let name = entry.file_name().to_string_lossy().into_owned();
        if name.starts_with('.') {
            return Err(format!("{name} stays"));
        }
    }
    Ok(())
}
