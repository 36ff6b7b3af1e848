//! Commands that are disturbed on the way, by a kill, an error or a limit. Every file is complete or absent afterwards, a command that
//! failed left nothing, and what was disturbed resumes to the result of the undisturbed one.

use crate::Verdict;
use crate::disturb::{Disturbance, disturbed, kill};
use crate::import::PUBLIC_IMPORT;
use crate::mutate::files;
use crate::program::{BENCHMARK, Home, PREDICT, SWEEP, link};
use crate::random::Random;
use std::fs;
use std::path::{Path, PathBuf};
use std::time::Instant;

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

const CONFIGURATIONS: usize = MODELS.len() * OF_NETWORKS.len();

/// Returns the model of a configuration, with the settings that make it small, and its other settings.
fn settings(configuration: usize) -> (&'static [&'static str], &'static [&'static str]) {
    let (model, variant) = (configuration / OF_NETWORKS.len(), configuration % OF_NETWORKS.len());
    (MODELS[model], if model < 3 { OF_NETWORKS[variant] } else { OF_SOLVED[variant] })
}

/// A command that trains, and the run of it that was not interrupted.
struct Training {
    command: Vec<&'static str>,
    reference: PathBuf,
    /// Wall time that the reference took.
    wall_millis: usize,
}

impl Training {
    /// Returns one of the 24 configurations and makes its reference where there is none.
    fn of(home: &Home, configuration: usize) -> Result<Self, String> {
        let (model, settings) = settings(configuration);
        let command = [&["train", "tiny", "-q", "--model"], model, settings].concat();
        let name = format!("reference-{configuration}");
        let (reference, measured) = (home.path().join(&name), home.path().join(format!("{name}.millis")));
        if !measured.exists() {
            let begin = Instant::now();
            home.program.expect(home.path(), &[&command[..], &["--out", &name]].concat(), &[0])?;
            let millis = begin.elapsed().as_millis().to_string();
            fs::write(&measured, millis).map_err(|error| error.to_string())?;
        }
        let millis = fs::read_to_string(&measured).map_err(|error| error.to_string())?;
        let wall_millis = millis.parse().map_err(|error| format!("{}: {error}", measured.display()))?;
        Ok(Self { command, reference, wall_millis })
    }

    /// The command that begins the run, or continues it.
    fn next_command(&self, folder: &Path) -> Vec<&'static str> {
        if folder.join("run").exists() {
            vec!["train", "--resume", "run", "-q"]
        } else {
            [&self.command[..], &["--out", "run"]].concat()
        }
    }

    /// Compares a run that has ended with the reference: the metrics, which hold a hash of the weights after every epoch, and the last weights.
    fn compare(&self, run: &Path) -> Verdict {
        if metrics(run)? != metrics(&self.reference)? {
            return Err(format!(
                "knockout {}: metrics.jsonl is not what the undisturbed command wrote",
                self.command.join(" ")
            ));
        }
        same(&newest_weights(run)?, &newest_weights(&self.reference)?)?;
        same(&run.join("split.parquet"), &self.reference.join("split.parquet"))?;
        nothing_hidden(&run.join("checkpoints"))?;
        nothing_hidden(run)
    }
}

/// Returns the metrics of a run without the durations of epochs, which are printed last and differ between runs.
fn metrics(run: &Path) -> Result<String, String> {
    let path = run.join("metrics.jsonl");
    let lines = fs::read_to_string(&path).map_err(|error| format!("{}: {error}", path.display()))?;
    Ok(lines.lines().map(|line| line.split(",\"times\":").next().unwrap_or(line)).collect())
}

/// Returns the path of the weights in the newest checkpoint of a run.
fn newest_weights(run: &Path) -> Result<PathBuf, String> {
    let is_kept = |file: &PathBuf| file.starts_with("checkpoints") && file.ends_with("weights.safetensors");
    let is_newest = |file: &PathBuf| file.to_string_lossy().contains("/last-");
    let newest = files(run).into_iter().rfind(|file| is_kept(file) && is_newest(file));
    newest.map(|file| run.join(file)).ok_or_else(|| format!("{} has no weights", run.display()))
}

/// Disturbed some times, then left alone: metrics and weights are those of the undisturbed run.
fn train(try_: &mut Try<'_>) -> Verdict {
    let folder = try_.folder;
    let training = Training::of(try_.home, try_.random.below(CONFIGURATIONS))?;
    for _ in 0..=try_.random.below(5) {
        try_.disturb(&training.next_command(folder), 250)?;
    }
    try_.expect(&training.next_command(folder))?;
    training.compare(&folder.join("run"))
}

/// Kills that end a running command in each try of [`resumed`].
const KILLS: usize = 3;

/// Kills a training of the configuration of this round three times while it runs. A run that ends before a kill is compared and begun again.
pub(crate) fn resumed(home: &Home, random: &mut Random, round: u64) -> (String, Verdict) {
    let configuration = usize::try_from(round).unwrap_or(usize::MAX) % CONFIGURATIONS;
    let verdict = home.scratch().and_then(|scratch| {
        let (training, folder) = (Training::of(home, configuration)?, scratch.path());
        let run = folder.join("run");
        let mut kills = 0;
        while kills < KILLS {
            if kill(home, random, folder, &training.next_command(folder), training.wall_millis)? {
                kills += 1;
            } else {
                training.compare(&run)?;
                fs::remove_dir_all(&run).map_err(|error| format!("{}: {error}", run.display()))?;
            }
        }
        home.program.expect(folder, &training.next_command(folder), &[0])?;
        training.compare(&run)
    });
    let (model, settings) = settings(configuration);
    (format!("{} {}", model[0], settings.join(" ")), verdict)
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
