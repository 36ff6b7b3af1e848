//! Settings of one model, searched by successive halving on the validation part; the test part is never used.
//!
//! Every setting of a grid begins with a small share of the budget. Of each rung the best by validation Pearson continue with the next
//! share. `sweep.json` is updated after every run, so that an interrupted sweep can be resumed.

mod axis;

pub use axis::Axis;

use crate::trials::trial::{Stop, Trial, TrialEnd, TrialProgress, other_plan};
use knockout_base::error::{Class, Error, Result};
use knockout_base::files::Folder;
use knockout_data::screen::Dataset;
use knockout_models::ModelEntry;
use knockout_train::config::Config;
use knockout_train::run::{MetricsLine, RunContext, read_metrics};
use serde::{Deserialize, Serialize};
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

/// A sweep to run.
#[derive(Debug, Clone)]
pub struct SweepRequest {
    /// Folder of the dataset.
    pub dataset: PathBuf,
    /// Model whose settings are searched.
    pub model: ModelEntry,
    /// Keys with the values to try; a key with one value is fixed.
    pub axes: Vec<Axis>,
    /// CPU time of all runs together.
    pub budget: Duration,
    /// One in this many settings reaches the next rung.
    pub keep_one_of: u32,
    /// Folder of the runs; one that exists is resumed.
    pub out: PathBuf,
    /// Version of the program.
    pub version: String,
    /// Commit it was built from.
    pub commit: String,
}

/// Most settings of a sweep: with more, the budget of a rung is too small to rank them.
const MOST_SETTINGS: usize = 1_000;

/// The state of a sweep: the file `sweep.json`.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Sweep {
    /// Version of this document.
    pub schema: u32,
    /// Name of the model.
    pub model: String,
    /// Content hash of the dataset.
    pub data_hash: String,
    /// CPU time of all runs together, in seconds.
    pub budget_seconds: f64,
    /// One in this many settings reaches the next rung.
    pub keep_one_of: u32,
    /// Rungs of successive halving, in order.
    pub rungs: Vec<Rung>,
    /// The settings, in the order of the grid.
    pub candidates: Vec<Candidate>,
    /// Index of the setting that validated best on the last rung, once that is done.
    pub chosen: Option<usize>,
    /// Whether figures in it were read from a file without a checksum, such as one of an earlier version.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub unsealed: bool,
}

/// Number of settings on a rung, and their budget.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub struct Rung {
    /// Number of settings on it.
    pub settings: usize,
    /// CPU time that each may have used at its end, earlier rungs included, in seconds.
    pub cpu_seconds: f64,
}

/// One setting.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Candidate {
    /// Its settings, `key=value` each.
    pub keys: Vec<String>,
    /// Folder of its run.
    pub run: PathBuf,
    /// Its result on each rung.
    pub trials: Vec<RungResult>,
}

/// The result of a setting on a rung.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct RungResult {
    /// Best Pearson in validation so far; `None` where it is undefined or training diverged.
    pub validation_pearson: Option<f64>,
    /// CPU time used so far, in seconds.
    pub cpu_seconds: f64,
    /// Epochs validated so far.
    pub epochs: usize,
    /// Whether the run ended by itself.
    pub is_finished: bool,
    /// Reason of an early end.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub failure: Option<String>,
}

/// The result of a sweep.
#[derive(Debug, Clone)]
pub struct SweepOutcome {
    /// Content of `sweep.json`.
    pub sweep: Sweep,
    /// Indices of the settings, the best first: by the rung they reached, then by validation.
    pub ranking: Vec<usize>,
    /// The metrics of every run, in the order of the settings.
    pub lines: Vec<Vec<MetricsLine>>,
    /// Whether it was stopped before its end.
    pub is_stopped: bool,
}

/// Progress of a sweep.
#[derive(Debug, Clone, Copy)]
pub enum SweepProgress<'a> {
    /// A rung begins.
    Rung {
        /// One-based number of the rung.
        number: usize,
        /// Rungs in all.
        of: usize,
        /// Its settings and CPU time.
        rung: Rung,
    },
    /// A run trains.
    Run(TrialProgress<'a>),
}

/// Returns the rungs for a number of settings: equal shares of the budget, each divided among the settings that remain.
pub fn rungs(settings: usize, budget: Duration, keep_one_of: u32) -> Vec<Rung> {
    let mut counts = vec![settings.max(1)];
    while let Some(&count) = counts.last()
        && count > 1
    {
        counts.push(count.div_ceil(keep_one_of.max(2) as usize));
    }
    let share = budget.as_secs_f64() / counts.len() as f64;
    let mut so_far = 0.0;
    counts
        .into_iter()
        .map(|settings| {
            so_far += share / settings as f64;
            Rung { settings, cpu_seconds: so_far }
        })
        .collect()
}

/// Runs or resumes a sweep.
pub fn run(
    request: &SweepRequest,
    stop: &Stop,
    on_progress: &mut dyn FnMut(SweepProgress<'_>),
) -> Result<SweepOutcome> {
    if !request.model.has_epochs() {
        let name = request.model.name;
        return Err(Error::request(format!(
            "{name} is solved and chooses its settings itself on the validation part; there is nothing to sweep"
        )));
    }
    let dataset = Arc::new(Dataset::open(&request.dataset)?);
    let settings = axis::grid(&request.axes);
    if settings.len() > MOST_SETTINGS {
        let why = format!("the grid has {} settings, and {MOST_SETTINGS} is the most", settings.len());
        let text = request.axes.iter().map(ToString::to_string).collect::<Vec<_>>().join(" ");
        return Err(Error::request(format!("{text:?}: {why}")));
    }
    // Every setting is checked before any is trained.
    let defaults = Config::defaults(&request.model, &dataset.cell)?;
    let configs = settings.iter().map(|keys| {
        let config = defaults.with(keys)?;
        config.check(&dataset.cell)?;
        Ok(config)
    });
    let configs = configs.collect::<Result<Vec<Config>>>()?;
    let mut search = Search { request, dataset, configs, sweep: begin(request, &settings)?, stop };
    let is_stopped = !search.run_rungs(on_progress)?;
    let (ranking, lines) = search.ranking()?;
    Ok(SweepOutcome { sweep: search.sweep, ranking, lines, is_stopped })
}

/// Returns the sweep in the folder, or a new one.
fn begin(request: &SweepRequest, settings: &[Vec<String>]) -> Result<Sweep> {
    let rungs = rungs(settings.len(), request.budget, request.keep_one_of);
    let candidate = |(place, keys): (usize, &Vec<String>)| Candidate {
        keys: keys.clone(),
        run: PathBuf::from(format!("setting-{place:03}")),
        trials: Vec::new(),
    };
    let fresh = Sweep {
        schema: 1,
        model: request.model.name.to_owned(),
        data_hash: Dataset::open(&request.dataset)?.manifest.data_hash(),
        budget_seconds: request.budget.as_secs_f64(),
        keep_one_of: request.keep_one_of,
        rungs,
        candidates: settings.iter().enumerate().map(candidate).collect(),
        chosen: None,
        unsealed: false,
    };
    let out = Folder::at(&request.out);
    let Some(found) = out.find_sealed::<Sweep>(FILE)? else {
        out.write_sealed(FILE, &fresh)?;
        return Ok(fresh);
    };
    let found = Sweep { unsealed: found.value.unsealed || !found.is_sealed, ..found.value };
    let keys = |sweep: &Sweep| {
        let each =
            sweep.candidates.iter().map(|candidate| candidate.keys.join(" ")).collect::<Vec<_>>().join(" | ");
        if each.is_empty() { "of the model alone".to_owned() } else { each }
    };
    let views = |sweep: &Sweep| {
        [
            ("the model", sweep.model.clone()),
            ("the dataset", sweep.data_hash.chars().take(16).collect()),
            ("the budget in seconds", sweep.budget_seconds.to_string()),
            ("one kept of", sweep.keep_one_of.to_string()),
            ("the settings", keys(sweep)),
        ]
    };
    for ((key, found), (_, asked)) in views(&found).into_iter().zip(views(&fresh)) {
        if found != asked {
            return Err(other_plan(&request.out, key, &found, &asked));
        }
    }
    for (found, fresh) in found.candidates.iter().zip(&fresh.candidates) {
        if found.run != fresh.run {
            let (found, expected) = (found.run.to_string_lossy(), fresh.run.to_string_lossy());
            let reason = format!("a run is in {found:?} instead of {expected:?}");
            let message = format!("the file is damaged: {reason}; restore it, or choose another --out");
            return Err(Error::damage(message).in_file(request.out.join(FILE)));
        }
    }
    Ok(found)
}

/// Name of the sweep's file in its folder.
const FILE: &str = "sweep.json";

struct Search<'a> {
    request: &'a SweepRequest,
    dataset: Arc<Dataset>,
    configs: Vec<Config>,
    sweep: Sweep,
    stop: &'a Stop,
}

impl Search<'_> {
    /// Runs the rungs; returns whether the sweep was completed.
    fn run_rungs(&mut self, on_progress: &mut dyn FnMut(SweepProgress<'_>)) -> Result<bool> {
        let rungs = self.sweep.rungs.clone();
        let mut left: Vec<usize> = (0..self.configs.len()).collect();
        for (number, rung) in rungs.iter().enumerate() {
            left.truncate(rung.settings);
            on_progress(SweepProgress::Rung { number: number + 1, of: rungs.len(), rung: *rung });
            for &place in &left {
                if self.sweep.candidates[place].trials.len() > number {
                    continue;
                }
                let report = &mut |report: TrialProgress<'_>| on_progress(SweepProgress::Run(report));
                let Some(result) = self.train(place, *rung, report)? else { return Ok(false) };
                self.sweep.candidates[place].trials.push(result);
                Folder::at(&self.request.out).write_sealed(FILE, &self.sweep)?;
            }
            left.sort_by(|&a, &b| self.better(number, a, b));
        }
        self.sweep.chosen = left.first().copied().filter(|&place| self.pearson(place).is_some());
        Folder::at(&self.request.out).write_sealed(FILE, &self.sweep)?;
        Ok(true)
    }

    /// Orders settings by validation on a rung, the best first; ties keep the order of the grid.
    fn better(&self, rung: usize, a: usize, b: usize) -> std::cmp::Ordering {
        let key = |place: usize| {
            let trial = self.sweep.candidates[place].trials.get(rung);
            trial.and_then(|trial| trial.validation_pearson).unwrap_or(f64::NEG_INFINITY)
        };
        key(b).total_cmp(&key(a)).then(a.cmp(&b))
    }

    fn pearson(&self, place: usize) -> Option<f64> {
        self.sweep.candidates[place].trials.last()?.validation_pearson
    }

    /// Trains a setting up to the end of a rung; `None` if the work was stopped.
    fn train(
        &self,
        place: usize,
        rung: Rung,
        on_report: &mut dyn FnMut(TrialProgress<'_>),
    ) -> Result<Option<RungResult>> {
        let candidate = &self.sweep.candidates[place];
        if (self.stop)() {
            return Ok(None);
        }
        let before = candidate.trials.last();
        if let Some(ended) = before.filter(|trial| trial.is_finished || trial.failure.is_some()) {
            return Ok(Some(ended.clone()));
        }
        let trial = Trial {
            folder: Folder::at(&self.request.out).below(&candidate.run),
            name: candidate.keys.join(" "),
            dataset: Arc::clone(&self.dataset),
            config: self.configs[place].clone(),
            context: RunContext {
                overrides: candidate.keys.clone(),
                version: self.request.version.clone(),
                commit: self.request.commit.clone(),
                ..RunContext::new(&self.request.dataset)
            },
        };
        let budget = Duration::try_from_secs_f64(rung.cpu_seconds).unwrap_or(Duration::MAX);
        let trained = match trial.train(Some(budget), self.stop, on_report) {
            Ok(trained) => trained,
            // A setting that makes training diverge is a bad one; it does not end the search.
            Err(error) if error.class() == Class::Diverged => {
                let cpu_seconds = before.map_or(0.0, |trial| trial.cpu_seconds);
                let failure = Some(knockout_base::error::chain(&error));
                let epochs = 0;
                return Ok(Some(RungResult {
                    validation_pearson: None,
                    cpu_seconds,
                    epochs,
                    is_finished: false,
                    failure,
                }));
            }
            Err(error) => return Err(error),
        };
        if trained.end == TrialEnd::Stopped {
            return Ok(None);
        }
        Ok(Some(RungResult {
            validation_pearson: trained.best_pearson(),
            cpu_seconds: trained.cpu_seconds,
            epochs: trained.lines.len(),
            is_finished: trained.end == TrialEnd::Finished,
            failure: None,
        }))
    }

    /// Returns the indices of the settings, the best first, and the metrics of every run in the order of the settings.
    fn ranking(&self) -> Result<(Vec<usize>, Vec<Vec<MetricsLine>>)> {
        let mut ranking: Vec<usize> = (0..self.configs.len()).collect();
        let reached = |index: usize| self.sweep.candidates[index].trials.len();
        ranking.sort_by(|&a, &b| {
            let rung = reached(a).saturating_sub(1);
            reached(b).cmp(&reached(a)).then_with(|| self.better(rung, a, b))
        });
        let mut lines = Vec::new();
        for candidate in &self.sweep.candidates {
            let folder = Folder::at(&self.request.out).below(&candidate.run);
            lines.push(if folder.has("metrics.jsonl") { read_metrics(&folder)? } else { Vec::new() });
        }
        Ok((ranking, lines))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rungs_use_the_budget_and_no_more() {
        let rungs = rungs(9, Duration::from_secs(90), 3);
        let counts: Vec<usize> = rungs.iter().map(|rung| rung.settings).collect();
        assert_eq!(counts, [9, 3, 1]);
        let mut used = 0.0;
        let mut before = 0.0;
        for rung in &rungs {
            used += rung.settings as f64 * (rung.cpu_seconds - before);
            before = rung.cpu_seconds;
        }
        assert!((used - 90.0).abs() < 1e-9);
        assert!((rungs[0].cpu_seconds - 30.0 / 9.0).abs() < 1e-9);
    }

    #[test]
    fn one_setting_has_the_whole_budget_and_any_number_ends_with_one() {
        assert_eq!(rungs(1, Duration::from_mins(1), 3), [Rung { settings: 1, cpu_seconds: 60.0 }]);
        for settings in 1..40 {
            for keep_one_of in 2..6 {
                let rungs = rungs(settings, Duration::from_mins(1), keep_one_of);
                assert_eq!(rungs.last().map(|rung| rung.settings), Some(1));
                assert!(rungs.is_sorted_by(|a, b| a.settings > b.settings && a.cpu_seconds < b.cpu_seconds));
            }
        }
    }
}
