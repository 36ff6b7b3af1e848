//! One run, trained for a budget of CPU time, and resumed when the budget grows.

use knockout_base::error::{Error, Result};
use knockout_base::files::Folder;
use knockout_data::cell::GeneSets;
use knockout_data::screen::{Dataset, Part, Split};
use knockout_models::MODELS;
use knockout_trace::{Clock as _, SystemClock};
use knockout_train::checkpoint::Checkpoints;
use knockout_train::config::Config;
use knockout_train::run::{
    End, Event, MetricsLine, Run, RunContext, RunDescription, other_dataset, read_metrics,
};
use serde::{Deserialize, Serialize};
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

/// Ends the work when it returns true; called after every step.
pub type Stop = Arc<dyn Fn() -> bool + Send + Sync>;

/// Progress of a run.
#[derive(Debug, Clone, Copy)]
pub struct TrialProgress<'a> {
    /// The run, such as `collins random-0 dango`.
    pub what: &'a str,
    /// CPU time that it has used so far, in seconds.
    pub cpu_seconds: f64,
    /// CPU time that it may use, where there is a limit.
    pub budget_seconds: Option<f64>,
    /// The epoch that has just ended.
    pub line: Option<&'a MetricsLine>,
}

/// A run to be trained.
pub(crate) struct Trial {
    /// Its folder, which may hold the run already.
    pub(crate) folder: Folder,
    /// Its name in reports.
    pub(crate) name: String,
    pub(crate) dataset: Arc<Dataset>,
    pub(crate) config: Config,
    pub(crate) context: RunContext,
}

/// How a trial ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum TrialEnd {
    /// The run is complete: solved, all epochs, or early stopping.
    Finished,
    /// Its CPU time was used up.
    Budget,
    /// The work was stopped.
    Stopped,
}

/// The result of training.
#[derive(Debug, Clone)]
pub struct Trained {
    /// How it ended.
    pub end: TrialEnd,
    /// CPU time of training and validation over all resumptions, in seconds.
    pub cpu_seconds: f64,
    /// Every line of its metrics.
    pub lines: Vec<MetricsLine>,
    /// Epochs that were validated, if it was trained in epochs.
    pub epochs: Option<usize>,
}

impl Trained {
    /// The best validation Pearson so far.
    pub fn best_pearson(&self) -> Option<f64> {
        self.lines.iter().filter_map(|line| line.val.pearson).reduce(f64::max)
    }
}

/// CPU time before this resumption; metrics have no line for an interrupted epoch.
#[derive(Debug, Clone, Copy, Serialize, Deserialize)]
struct Ledger {
    cpu_seconds: f64,
}

/// Name of the file of the CPU time in a run's folder.
const LEDGER: &str = "cpu-time.json";

impl Trial {
    /// Trains until the run ends, until it has used `budget` of CPU time over all resumptions, or until `stop` returns true. A run that
    /// has not validated once by then is validated at that step, so that it has metrics.
    pub(crate) fn train(
        &self,
        budget: Option<Duration>,
        stop: &Stop,
        on_report: &mut dyn FnMut(TrialProgress<'_>),
    ) -> Result<Trained> {
        let before =
            self.folder.find_sealed::<Ledger>(LEDGER)?.map_or(0.0, |ledger| ledger.value.cpu_seconds);
        let budget_seconds = budget.map(|budget| budget.as_secs_f64());
        let is_spent = |cpu_seconds: f64| budget_seconds.is_some_and(|budget| cpu_seconds >= budget);
        let clock = SystemClock::new();
        let began = clock.cpu_nanos();
        let mut run = self.open()?;
        let spent = move || before + clock.cpu_nanos().saturating_sub(began) as f64 / 1e9;
        let spent = Arc::new(spent);
        // However small the budget, a run takes a step: without one it has no metrics.
        let has_stepped = Arc::new(AtomicBool::new(run.step_count() > 0));
        run.stop_when({
            let (spent, stop, has_stepped) = (Arc::clone(&spent), Arc::clone(stop), Arc::clone(&has_stepped));
            let is_spent = move || budget_seconds.is_some_and(|budget| spent() >= budget);
            move || stop() || (has_stepped.load(Ordering::Relaxed) && is_spent())
        });
        let mut end = None;
        for event in run.by_ref() {
            let line = match event.map_err(|error| self.failed(error))? {
                Event::End(why) => {
                    end = Some(why);
                    continue;
                }
                Event::Epoch(line) => {
                    if has_stepped.load(Ordering::Relaxed) {
                        self.folder.write_sealed(LEDGER, &Ledger { cpu_seconds: spent() })?;
                    }
                    Some(line)
                }
                Event::Step(_) => {
                    has_stepped.store(true, Ordering::Relaxed);
                    None
                }
                Event::Validation { .. } | Event::Tried(_) | Event::Solving { .. } => None,
            };
            let (what, line) = (&self.name[..], line.as_ref());
            // The budget is one of steps.
            let budget_seconds = budget_seconds.filter(|_| has_stepped.load(Ordering::Relaxed));
            on_report(TrialProgress { what, cpu_seconds: spent(), budget_seconds, line });
        }
        let step = run.step_count();
        drop(run);
        if step == 0 {
            let end = if end == Some(End::Stopped) { TrialEnd::Stopped } else { TrialEnd::Finished };
            let lines = read_metrics(&self.folder)?;
            let cpu_seconds = lines.iter().filter_map(|line| line.times).map(|times| times.cpu_seconds).sum();
            return Ok(Trained { end, cpu_seconds, lines, epochs: None });
        }
        let end = match end {
            Some(End::Stopped) if stop() => TrialEnd::Stopped,
            Some(End::Stopped) if is_spent(spent()) => TrialEnd::Budget,
            _ => TrialEnd::Finished,
        };
        if end == TrialEnd::Budget && read_metrics(&self.folder)?.is_empty() {
            self.validate_at(step)?;
        }
        self.folder.write_sealed(LEDGER, &Ledger { cpu_seconds: spent() })?;
        let lines = read_metrics(&self.folder)?;
        Ok(Trained { end, cpu_seconds: spent(), epochs: Some(lines.len()), lines })
    }

    /// Validates a run inside its first epoch. The line is after the checkpoint, and resuming removes it.
    fn validate_at(&self, step: u64) -> Result<()> {
        let keys = [format!("max_steps={step}")];
        let run = Run::resume_with(&self.folder, &keys, Some(&self.context.dataset_folder), MODELS);
        for event in run.map_err(|error| self.failed(error))? {
            event.map_err(|error| self.failed(error))?;
        }
        Ok(())
    }

    fn open(&self) -> Result<Run> {
        let run = if self.is_begun()? {
            // How long it lasts may have changed.
            let keys = [format!("epochs={}", self.config.epochs), "max_steps=0".to_owned()];
            Run::resume_with(&self.folder, &keys, Some(&self.context.dataset_folder), MODELS)
        } else {
            Run::create(&self.folder, Arc::clone(&self.dataset), self.config.clone(), &self.context)
        };
        run.map_err(|error| self.failed(error))
    }

    /// Returns whether the folder has this run; another one is an error.
    fn is_begun(&self) -> Result<bool> {
        if !self.folder.has("manifest.json") {
            return Ok(false);
        }
        let there = RunDescription::read(&self.folder, &[] as &[&str], MODELS);
        let there = there.map_err(|error| self.failed(error))?;
        let genes = self.dataset.cell.genes().hash().to_hex().to_string();
        let found = there.config.identity(&there.manifest.inputs.gene_table);
        let differences = found.differences(&self.config.identity(&genes));
        if there.manifest.inputs.dataset != self.dataset.manifest.data_hash() {
            return Err(self.failed(other_dataset(&self.context.dataset_folder, self.folder.path())));
        }
        if differences.is_empty() {
            Ok(true)
        } else {
            let folder = self.folder.path().display();
            let differences: Vec<String> = differences.iter().map(ToString::to_string).collect();
            let differences = differences.join("; ");
            Err(Error::request(format!(
                "{folder} holds another run; choose another --out, or move it away: {differences}"
            )))
        }
    }

    fn failed(&self, error: Error) -> Error {
        in_run(self.folder.path(), error)
    }
}

/// Returns the error of a folder that another command began.
pub(crate) fn other_plan(folder: &Path, key: &str, found: &str, asked: &str) -> Error {
    let folder = folder.display();
    Error::request(format!("{folder} began with {key} {found}, not {asked}; choose another --out"))
}

/// Adds the name of the run to an error.
fn in_run(folder: &Path, error: Error) -> Error {
    error.while_doing(format!("the run in {}", folder.display()))
}

/// Returns the predictions of a run for a part of its split, by its best checkpoint; `None` without a checkpoint.
pub(crate) fn predict(
    folder: &Folder,
    dataset: &Dataset,
    split: &Split,
    part: Part,
) -> Result<Option<Vec<f64>>> {
    let failed = |error| in_run(folder.path(), error);
    let run = RunDescription::read(folder, &[] as &[&str], MODELS).map_err(failed)?;
    let Some((_, _, checkpoint)) = Checkpoints::of_run(folder).choose(None)? else { return Ok(None) };
    let predictor = run.predictor(&checkpoint, dataset, split).map_err(failed)?;
    let sets: GeneSets = split.rows(part).iter().map(|&row| dataset.samples.genes(row as usize)).collect();
    predictor.predict(sets.view()).map(Some)
}
