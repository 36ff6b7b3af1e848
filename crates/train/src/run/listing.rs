//! Summaries of run folders, many at once and of any model, for lists of runs.
//!
//! Nothing is built: a configuration is read as a table, so that runs of models that this program does not have are listed too.

use super::manifest::DATASET_FOLDER;
use super::solving::SOLVING;
use super::{MetricsHistory, MetricsLine, RunFolder, RunManifest, read_history};
use crate::checkpoint::{Checkpoints, EpochSpent, Slot, load_state};
use crate::context::at;
use knockout_base::error::{Error, Result};
use knockout_base::files::Folder;
use knockout_models::MODELS;
use serde::Serialize;
use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};
use toml::{Table, Value};

/// Depth of the search below the given folder.
const DEPTH: usize = 6;

/// How far a run is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum RunState {
    /// A process trains it now.
    Training,
    /// It ended by itself.
    Done,
    /// It was stopped, killed or limited before its end.
    Unfinished,
    /// There is nothing yet to resume from, and no process trains it.
    Empty,
}

/// A run in a list.
#[derive(Debug, Clone, Serialize)]
pub struct RunSummary {
    /// Its folder.
    pub folder: PathBuf,
    /// The model's name, whatever it is.
    pub model: String,
    /// Name of the dataset's folder when the run began.
    pub dataset: String,
    /// Content hash of the dataset.
    pub data_hash: String,
    /// How its samples are divided: scheme, seed, and what differs from the defaults.
    pub split: String,
    /// Seed of the weights.
    pub seed: u64,
    /// How far it is.
    pub state: RunState,
    /// Epochs that are done, the last perhaps in part.
    pub epochs: u32,
    /// Epochs of the configuration.
    pub epochs_wanted: Option<i64>,
    /// Batches trained on, up to the newest checkpoint.
    pub steps: u64,
    /// Best validation Pearson.
    pub best_pearson: Option<f64>,
    /// One-based epoch of it.
    pub best_epoch: Option<u32>,
    /// Least validation MSE.
    pub best_mse: Option<f64>,
    /// CPU time of training and validation, up to the newest checkpoint; `None` in runs of versions that did not record it.
    pub cpu_seconds: Option<f64>,
    /// Wall time of the same.
    pub wall_seconds: Option<f64>,
    /// Whether its figures have no seal to be verified with: the run was made by an earlier version, or its seal was removed.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub unsealed: bool,
    /// Whether `metrics.jsonl` has a line behind its seal, which is left out: a killed run leaves one, and so does an edit.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub unsealed_line: bool,
    /// Every line of its metrics.
    #[serde(skip)]
    pub lines: Vec<MetricsLine>,
    /// Every setting by its dotted key.
    #[serde(skip)]
    pub settings: BTreeMap<String, String>,
}

/// Runs below a folder, and folders of runs that cannot be read.
#[derive(Debug, Default)]
pub struct RunList {
    /// Runs, by their folders' names.
    pub runs: Vec<RunSummary>,
    /// Folders that look like a run's and cannot be read, and why.
    pub unreadable: Vec<(PathBuf, Error)>,
}

impl RunList {
    /// Finds the runs in a folder, which may be a run itself.
    pub fn find(folder: &Path) -> Result<Self> {
        let mut list = Self::default();
        list.search(folder, DEPTH).map_err(at("search", folder))?;
        list.runs.sort_by(|a, b| a.folder.cmp(&b.folder));
        Ok(list)
    }

    fn search(&mut self, folder: &Path, depth: usize) -> std::io::Result<()> {
        if ["manifest.json", "config.toml", "metrics.jsonl"].iter().all(|name| folder.join(name).is_file()) {
            match RunSummary::read(folder) {
                Ok(run) => self.runs.push(run),
                Err(error) => self.unreadable.push((folder.to_owned(), error)),
            }
            return Ok(());
        }
        let mut folders = Vec::new();
        for entry in fs::read_dir(folder)? {
            let entry = entry?;
            if entry.file_type()?.is_dir() {
                folders.push(entry.path());
            }
        }
        folders.sort();
        // Folders that this user may not read are skipped.
        folders.iter().filter(|_| depth > 0).for_each(|folder| {
            self.search(folder, depth - 1).ok();
        });
        Ok(())
    }
}

impl RunSummary {
    /// Reads one run's folder, also while it is being trained.
    pub fn read(folder: &Path) -> Result<Self> {
        let manifest = RunFolder::read_manifest(folder)?;
        let config: Table = toml::from_str(&RunFolder::read_config(folder)?)
            .map_err(|error| at("read", &folder.join("config.toml"))(Error::failure(error.message())))?;
        let MetricsHistory { lines, is_sealed, has_more } = read_history(folder)?;
        let run = Self::of(folder, &manifest, &config, lines);
        Ok(Self { unsealed: !is_sealed, unsealed_line: has_more, ..run })
    }

    fn of(folder: &Path, manifest: &RunManifest, config: &Table, lines: Vec<MetricsLine>) -> Self {
        let mut settings = BTreeMap::new();
        add_settings(&mut settings, "", config);
        let name = settings.get("model.name").cloned().unwrap_or_default();
        // A solved model has one line, written at its end; the default number of epochs does not apply to it.
        let is_solved = MODELS.iter().any(|entry| entry.is_solved && entry.name == name);
        if is_solved {
            let means_nothing = |key: &str| {
                ["batch", "epochs", "max_steps"].contains(&key)
                    || ["optimiser.", "loader.", "train."].iter().any(|section| key.starts_with(section))
            };
            settings.retain(|key, _| !means_nothing(key));
        }
        let text = |key: &str| settings.get(key).cloned().unwrap_or_default();
        let number = |key: &str| settings.get(key).and_then(|value| value.parse::<i64>().ok());
        let dataset = manifest.conditions.get(DATASET_FOLDER).map(Path::new);
        let mut split = format!("{} seed {}", text("split.scheme"), text("split.seed"));
        for (key, usual) in [
            ("fold", ""),
            ("file", ""),
            ("subset", "0"),
            ("train_subset", "0"),
            ("val", "0.1"),
            ("test", "0.1"),
        ] {
            let value = text(&format!("split.{key}"));
            if !value.is_empty() && value != usual {
                split = format!("{split} {key} {value}");
            }
        }
        let best = whole_epochs(&lines)
            .iter()
            .filter_map(|line| Some((line.val.pearson?, line.epoch + 1)))
            .max_by(|a, b| a.0.total_cmp(&b.0));
        let last = lines.last();
        // Steps that were saved behind the last line; a solved model takes none.
        let saved = (!is_solved).then(|| saved_progress(folder)).flatten();
        let saved = saved.filter(|(step, _)| last.is_none_or(|last| *step > last.step));
        let unfinished = saved.map(|(_, spent)| spent).filter(|spent| spent.samples > 0.0);
        let times = || lines.iter().filter_map(|line| line.times);
        let sum = |of: fn(super::EpochTimes) -> f64, of_unfinished: fn(EpochSpent) -> f64| {
            let all: Vec<f64> = times().map(of).chain(unfinished.map(of_unfinished)).collect();
            (!all.is_empty()).then(|| all.into_iter().sum())
        };
        let done = last.map_or(0, |line| i64::from(line.epoch) + 1);
        let is_done = last.is_some_and(|last| {
            let epochs = number("epochs").is_some_and(|epochs| i64::from(last.epoch) + 1 >= epochs);
            let steps = number("max_steps").is_some_and(|steps| steps > 0 && last.step as i64 >= steps);
            let waited = best.map_or(0, |(_, epoch)| i64::from(last.epoch) + 1 - i64::from(epoch));
            let patience = number("run.patience").is_some_and(|most| most > 0 && waited >= most);
            is_solved || epochs || steps || patience
        });
        Self {
            folder: folder.to_owned(),
            model: name,
            dataset: dataset
                .and_then(|folder| folder.file_name())
                .map(|name| name.to_string_lossy().into_owned())
                .unwrap_or_default(),
            data_hash: manifest.inputs.dataset.clone(),
            split,
            seed: manifest.seed,
            state: match last {
                _ if Folder::at(folder).is_locked() => RunState::Training,
                // Stopped in its first epoch, with a state to resume from.
                None if has_state(folder) => RunState::Unfinished,
                None => RunState::Empty,
                Some(_) if is_done => RunState::Done,
                Some(_) => RunState::Unfinished,
            },
            epochs: last.map_or(0, |line| line.epoch + 1),
            // A run that was resumed with more epochs has more than its configuration states.
            epochs_wanted: number("epochs").map(|epochs| epochs.max(done)),
            steps: saved.map(|(step, _)| step).or(last.map(|line| line.step)).unwrap_or(0),
            best_pearson: best.map(|best| best.0),
            best_epoch: best.map(|best| best.1),
            best_mse: whole_epochs(&lines).iter().filter_map(|line| line.val.mse).min_by(f64::total_cmp),
            cpu_seconds: sum(|times| times.cpu_seconds, |spent| spent.cpu_seconds),
            wall_seconds: sum(
                |times| times.train_seconds + times.validation_seconds,
                |spent| spent.wall_seconds,
            ),
            unsealed: false,
            unsealed_line: false,
            lines,
            settings,
        }
    }

    /// Returns the settings in which two runs differ: key, value here, value there.
    pub fn differences(&self, other: &Self) -> Vec<(String, String, String)> {
        let keys = self.settings.keys().chain(other.settings.keys());
        let mut keys: Vec<&String> = keys.collect();
        keys.sort();
        keys.dedup();
        let value = |run: &Self, key: &str| run.settings.get(key).cloned().unwrap_or_else(|| "–".to_owned());
        keys.into_iter()
            .map(|key| (key.clone(), value(self, key), value(other, key)))
            .filter(|(_, a, b)| a != b)
            .collect()
    }

    /// Returns whether both are validated on the same records.
    pub fn is_validated_like(&self, other: &Self) -> bool {
        let split = |run: &Self| {
            // The training part may differ: the points of a learning curve are validated on the same records.
            let is_of_validation = |key: &str| key.starts_with("split.") && key != "split.train_subset";
            let keys = run.settings.iter().filter(|(key, _)| is_of_validation(key));
            keys.map(|(key, value)| (key.clone(), value.clone()))
                .filter(|(_, value)| !value.is_empty())
                .collect::<Vec<_>>()
        };
        self.data_hash == other.data_hash && split(self) == split(other)
    }
}

/// Returns whether there is something to resume from: a checkpoint, or the state of a solver.
fn has_state(folder: &Path) -> bool {
    let last = Checkpoints::of_run(folder).paths(Slot::Last);
    last.is_ok_and(|paths| !paths.is_empty()) || Folder::at(folder).has(SOLVING)
}

/// Returns the lines of whole epochs. A limit of steps inside an epoch adds a line, whose state is never kept as the best.
fn whole_epochs(lines: &[MetricsLine]) -> &[MetricsLine] {
    match lines {
        [first, .., last] if last.step < first.step * (u64::from(last.epoch) + 1) => {
            &lines[..lines.len() - 1]
        }
        _ => lines,
    }
}

/// Returns the step of the newest checkpoint of a network, and the time spent on its unfinished epoch.
fn saved_progress(folder: &Path) -> Option<(u64, EpochSpent)> {
    let newest = Checkpoints::of_run(folder).paths(Slot::Last).ok()?.into_iter().next()?;
    let state = load_state(&newest).ok()?;
    Some((state.position.step, EpochSpent::of(&state)))
}

/// Adds every value of a table by its dotted key; words without their quotes.
fn add_settings(out: &mut BTreeMap<String, String>, section: &str, table: &Table) {
    for (key, value) in table {
        match value {
            Value::Table(inner) => add_settings(out, &format!("{section}{key}."), inner),
            Value::String(text) => {
                out.insert(format!("{section}{key}"), text.clone());
            }
            value => {
                out.insert(format!("{section}{key}"), value.to_string());
            }
        }
    }
}
