//! Commands that are disturbed on the way, by a kill, an error or a limit. Every file is complete or absent afterwards, a command that
//! failed left nothing, and what was disturbed resumes to the result of the undisturbed one.

use crate::Verdict;
use crate::disturb::{Disturbance, disturbed};
use crate::import::PUBLIC_IMPORT;
use crate::mutate::files;
use crate::program::{BENCHMARK, Home, PREDICT, SWEEP, link};
use crate::random::Random;
use std::fs;
use std::path::{Path, PathBuf};

pub(crate) fn once(by: Disturbance, home: &Home, random: &mut Random) -> (&'static str, Verdict) {
    let (name, check): (_, Check) = match random.below(10) {
        0 => ("data synth", synth),
        1 => ("data import", import),
        2 => ("trace convert", convert),
        3 => ("trace analyze --html", analyze),
        4 => ("predict, until it ends", predict),
        5 => ("sweep, until it ends", |try_| again(try_, &SWEEP, "sweep/sweep.json")),
        6 => ("benchmark, until it ends", |try_| again(try_, &BENCHMARK, "benchmark/table.json")),
        _ => ("train, resumed until it ends", train),
    };
    let verdict =
        home.scratch().and_then(|scratch| check(&mut Try { by, home, random, folder: scratch.path() }));
    (name, verdict)
}

/// One try: a command in a folder of its own.
struct Try<'a> {
    by: Disturbance,
    home: &'a Home,
    random: &'a mut Random,
    folder: &'a Path,
}

type Check = fn(&mut Try<'_>) -> Verdict;

impl Try<'_> {
    /// Runs a command and disturbs it; returns whether it is known to have failed.
    fn disturb(&mut self, args: &[&str], longest_millis: usize) -> Result<bool, String> {
        let ended = disturbed(self.by, self.home, self.random, self.folder, args, longest_millis)?;
        Ok(ended.is_some_and(|ended| ended.code != Some(0)))
    }

    fn expect(&self, args: &[&str]) -> Verdict {
        self.home.program.expect(self.folder, args, &[0]).map(drop)
    }
}

/// A command that failed left nothing under the name of its output.
fn absent(has_failed: bool, path: &Path) -> Verdict {
    if has_failed && path.exists() {
        return Err(format!("it failed, and {} is there", path.display()));
    }
    Ok(())
}

fn synth(try_: &mut Try<'_>) -> Verdict {
    let args = ["data", "synth", "set", "--preset", "tiny", "-q"];
    let has_failed = try_.disturb(&args, 60)?;
    let set = try_.folder.join("set");
    absent(has_failed, &set)?;
    if set.exists() {
        try_.expect(&["data", "verify", "set", "-q"])?;
        return same(&set.join("samples.parquet"), &try_.home.path().join("tiny/samples.parquet"));
    }
    try_.expect(&args)?;
    nothing_hidden(try_.folder)
}

fn import(try_: &mut Try<'_>) -> Verdict {
    crate::import::write_public(try_.folder)?;
    let has_failed = try_.disturb(&PUBLIC_IMPORT, 60)?;
    let set = try_.folder.join("set");
    absent(has_failed, &set)?;
    if !set.exists() {
        try_.expect(&PUBLIC_IMPORT)?;
    }
    try_.expect(&["data", "verify", "set", "-q"])?;
    nothing_hidden(try_.folder)
}

/// Disturbed some times, then left alone: the command ends and the file is there.
fn again(try_: &mut Try<'_>, args: &[&str], file: &str) -> Verdict {
    for _ in 0..=try_.random.below(2) {
        try_.disturb(args, 900)?;
    }
    try_.expect(args)?;
    let is_there = try_.folder.join(file).is_file();
    is_there.then_some(()).ok_or_else(|| format!("{file} is missing"))
}

fn convert(try_: &mut Try<'_>) -> Verdict {
    let args = ["trace", "convert", "trace.json.gz", "out.json", "-q", "--force"];
    try_.disturb(&args, 30)?;
    if try_.folder.join("out.json").exists() {
        return same(&try_.folder.join("out.json"), &try_.home.path().join("trace.json"));
    }
    try_.expect(&args)?;
    nothing_hidden(try_.folder)
}

fn analyze(try_: &mut Try<'_>) -> Verdict {
    let args = ["trace", "analyze", "trace.json.gz", "--html", "page.html", "-q"];
    try_.disturb(&args, 30)?;
    if let Ok(page) = fs::read_to_string(try_.folder.join("page.html"))
        && !page.trim_end().ends_with("</html>")
    {
        return Err("half a page".to_owned());
    }
    try_.expect(&args)?;
    nothing_hidden(try_.folder)
}

/// Disturbed some times, then left alone: every file of the folder is what the undisturbed command wrote.
fn predict(try_: &mut Try<'_>) -> Verdict {
    link(&try_.home.path().join("run"), &try_.folder.join("run"))?;
    for _ in 0..=try_.random.below(3) {
        try_.disturb(&PREDICT, 120)?;
    }
    if !try_.folder.join("hits/predictions.csv").exists() {
        try_.expect(&PREDICT)?;
    }
    let whole = try_.home.path().join("hits");
    for file in files(&whole) {
        same(&try_.folder.join("hits").join(&file), &whole.join(&file))?;
    }
    nothing_hidden(&try_.folder.join("hits"))
}

/// Models with settings that make them small.
const MODELS: [&[&str]; 6] = [
    &[
        "dango",
        "model.width=8",
        "--batch",
        "200",
        "--max-steps",
        "31",
        "run.checkpoint_every=0",
        "run.predict_batch=50",
    ],
    &[
        "hetero",
        "model.width=8",
        "model.layers=1",
        "model.gin_hidden=8",
        "model.pair_hidden=4",
        "model.local_heads=2",
        "--batch",
        "100",
        "--max-steps",
        "9",
        "run.checkpoint_every=0",
        "split.subset=400",
    ],
    &[
        "transformer",
        "model.width=16",
        "model.layers=2",
        "--batch",
        "100",
        "--max-steps",
        "9",
        "run.checkpoint_every=0",
        "split.subset=400",
    ],
    &["low-rank"],
    &["network-kernel"],
    &["stack"],
];
/// Settings of networks and of solved models, beside which the others are the defaults.
const OF_NETWORKS: [&[&str]; 4] = [
    &[],
    &["optimiser.accumulate=[\"1:3\"]"],
    &["train.shards=2", "--seed", "7"],
    &["split.scheme=gene-disjoint"],
];
const OF_SOLVED: [&[&str]; 4] =
    [&[], &["--seed", "7"], &["residuals.folds=3"], &["split.scheme=gene-disjoint"]];

/// Chooses one of 24 configurations and returns it with the run of it that nothing disturbed.
fn configuration(home: &Home, random: &mut Random) -> Result<(Vec<&'static str>, PathBuf), String> {
    let (model, variant) = (random.below(MODELS.len()), random.below(4));
    let settings = if model < 3 { OF_NETWORKS[variant] } else { OF_SOLVED[variant] };
    let train = [&["train", "tiny", "-q", "--model"], MODELS[model], settings].concat();
    let reference = format!("reference-{model}-{variant}");
    if !home.path().join(&reference).exists() {
        home.program.expect(home.path(), &[&train[..], &["--out", &reference]].concat(), &[0])?;
    }
    Ok((train, home.path().join(reference)))
}

/// Disturbed some times, then left alone: metrics, and through them the weights of every epoch, are those of the undisturbed run.
fn train(try_: &mut Try<'_>) -> Verdict {
    let folder = try_.folder;
    let (train, reference) = configuration(try_.home, try_.random)?;
    let begin = [&train[..], &["--out", "run"]].concat();
    let resume = ["train", "--resume", "run", "-q"];
    for _ in 0..=try_.random.below(5) {
        let is_begun = folder.join("run").exists();
        try_.disturb(if is_begun { &resume } else { &begin }, 250)?;
    }
    let last: &[&str] = if folder.join("run").exists() { &resume } else { &begin };
    try_.expect(last)?;
    let metrics = |folder: &Path| -> Result<String, String> {
        let path = folder.join("metrics.jsonl");
        let lines = fs::read_to_string(&path).map_err(|error| format!("{}: {error}", path.display()))?;
        // The duration of an epoch is printed last and differs between runs.
        Ok(lines.lines().map(|line| line.split(",\"times\":").next().unwrap_or(line)).collect())
    };
    if metrics(&folder.join("run"))? != metrics(&reference)? {
        return Err(format!(
            "knockout {}: metrics.jsonl is not what the undisturbed command wrote",
            train.join(" ")
        ));
    }
    same(&folder.join("run/split.parquet"), &reference.join("split.parquet"))?;
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

/// The next command of the same kind has cleared what the disturbed one left.
fn nothing_hidden(folder: &Path) -> Verdict {
    for entry in fs::read_dir(folder).into_iter().flatten().flatten() {
        let name = entry.file_name().to_string_lossy().into_owned();
        if name.starts_with('.') {
            return Err(format!("{name} stays"));
        }
    }
    Ok(())
}
