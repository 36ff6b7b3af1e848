//! The cells of an experiment: each model in each mode, with a meter of its own, taking turns.

use crate::command::train::class;
use crate::measuring::{self, Passing, Recording};
use crate::memory;
use crate::run_folder;
use crate::stores::Stores;
use crate::ui::request_error;
use indicatif::ProgressBar;
use knockout_meter::{Meter, Schedule};
use knockout_profile::RunProfile;
use knockout_profile::experiment::ExperimentPlan;
use knockout_screen::{Dataset, Split};
use knockout_trace::{Recorder, RecorderOptions, TraceFile};
use knockout_train::config::Config;
use knockout_train::fit::Fit;
use knockout_train::step::Mode;
use knockout_train::switches::Room;
use std::path::{Path, PathBuf};

/// The batches of one turn, counted over the whole run: everybody takes the same.
#[derive(Debug, Clone, Copy)]
pub(super) struct Turn {
    from: u64,
    to: u64,
    round: u64,
}

impl Turn {
    pub(super) fn of(plan: &ExperimentPlan, round: u64) -> Self {
        let length = plan.warmup + plan.steps;
        Self { from: round * length, to: (round + 1) * length, round }
    }

    /// Who has this turn before whom. Every second round goes the other way: what a turn leaves behind (threads that fell asleep, another
    /// model in the cache) must not meet the same one in every round.
    pub(super) fn order<T>(self, takers: impl IntoIterator<Item = T>) -> Vec<T> {
        let mut takers: Vec<T> = takers.into_iter().collect();
        if self.round % 2 == 1 {
            takers.reverse();
        }
        takers
    }

    /// Takes the turn's batches in a mode.
    pub(super) fn take(
        self,
        fit: &mut Fit<'_>,
        mode: Mode,
        meter: &mut Meter,
        bar: &ProgressBar,
    ) -> anyhow::Result<()> {
        fit.seek(self.from);
        meter.restart();
        fit.measure_steps(mode, self.to, meter, &mut Passing { bar }).map_err(class)
    }
}

/// Every turn begins with steps that do not count.
pub(super) fn schedule(plan: &ExperimentPlan) -> Schedule {
    Schedule::Window { wait: 0, warmup: plan.warmup, active: plan.steps, repeat: plan.rounds }
}

/// What every cell is measured on.
#[derive(Clone, Copy)]
pub(super) struct Ground<'a> {
    pub(super) dataset: &'a Dataset,
    pub(super) split: &'a Split,
    pub(super) stores: &'a Stores,
}

impl<'a> Ground<'a> {
    /// A run on it before its first step.
    pub(super) fn fit(self, config: &'a Config) -> anyhow::Result<Fit<'a>> {
        let fit = Fit::new(config, self.dataset, self.split).map_err(class)?;
        Ok(fit.with_store(self.stores.of(config.processor())))
    }
}

/// A model with a processor.
pub(super) struct Subject {
    pub(super) config: Config,
    /// Among several processors this is the first: the one that is recorded.
    is_first: bool,
}

/// Models times processors; each model with its own where none is named.
pub(super) fn subjects(configs: &[Config], processors: &[String]) -> anyhow::Result<Vec<Subject>> {
    let mut out = Vec::new();
    for config in configs {
        if processors.is_empty() {
            out.push(Subject { config: config.clone(), is_first: true });
        }
        for (place, processor) in processors.iter().enumerate() {
            let config = knockout_config::resolve(config, &[format!("loader.processor={processor}")])?;
            out.push(Subject { config, is_first: place == 0 });
        }
    }
    Ok(out)
}

pub(super) struct Cells<'a> {
    fits: Vec<Fit<'a>>,
    all: Vec<Cell>,
    /// Where each model's first subject is.
    firsts: Vec<usize>,
}

struct Cell {
    /// Its folder in the experiment's.
    folder: String,
    /// Which of the fits.
    fit: usize,
    mode: Mode,
    meter: Meter,
    conditions: knockout_profile::Conditions,
}

/// Findings by the cell's folder, and traces by model.
type Measured = (Vec<(String, RunProfile)>, Vec<(String, PathBuf)>);

impl<'a> Cells<'a> {
    pub(super) fn new(
        subjects: &'a [Subject],
        ground: Ground<'a>,
        plan: &ExperimentPlan,
        keys: &[String],
        out: &Path,
    ) -> anyhow::Result<Self> {
        let (mut fits, mut cells, mut firsts) = (Vec::new(), Vec::new(), Vec::new());
        let several = subjects.iter().any(|subject| !subject.is_first);
        for (fit, subject) in subjects.iter().enumerate() {
            let config = &subject.config;
            fits.push(ground.fit(config)?);
            if subject.is_first {
                firsts.push(fit);
            }
            let recorded = subject.is_first.then_some((Mode::Full, Recording::On));
            for (mode, recording) in Mode::ALL.map(|mode| (mode, Recording::Off)).into_iter().chain(recorded)
            {
                let Ground { dataset, split, .. } = ground;
                let conditions = measuring::conditions(dataset, split, config, mode, recording, keys);
                let mut folder = format!("{}-{}", conditions.model, conditions.mode);
                if several {
                    folder = format!("{folder}-{}", conditions.processor);
                }
                let recorder = match recording {
                    Recording::Off => Recorder::off(),
                    Recording::On => Recorder::new(RecorderOptions::default()),
                };
                if recording == Recording::On {
                    folder.push_str("-recorded");
                }
                run_folder::create(&out.join(&folder))?;
                let mut meter = measuring::delayed(Meter::new(&recorder, schedule(plan)).with_memory());
                if recording == Recording::On {
                    let file = TraceFile::create(&out.join(&folder), &recorder, conditions.to_map())?;
                    meter = meter.with_trace(file);
                }
                cells.push(Cell { folder, fit, mode, meter, conditions });
            }
        }
        Ok(Self { fits, all: cells, firsts })
    }

    pub(super) fn len(&self) -> usize {
        self.all.len()
    }

    /// How much memory each model takes, learnt by one batch, and how much there is.
    pub(super) fn rooms(&mut self) -> anyhow::Result<Vec<Room>> {
        let mut out = Vec::new();
        for &at in &self.firsts {
            let Some(fit) = self.fits.get_mut(at) else { continue };
            let mut meter = Meter::new(&Recorder::off(), Schedule::WholeRun);
            let bar = ProgressBar::hidden();
            Turn { from: 0, to: 1, round: 0 }.take(fit, Mode::Full, &mut meter, &bar)?;
            let buffer_bytes = fit.model().parameters().allocated_bytes() as u64;
            out.push(Room { buffer_bytes, free_bytes: memory::free_bytes().unwrap_or(0) });
        }
        Ok(out)
    }

    pub(super) fn take_turns(&mut self, turn: Turn, bar: &ProgressBar) -> anyhow::Result<()> {
        for cell in turn.order(&mut self.all) {
            if let Some(fit) = self.fits.get_mut(cell.fit) {
                turn.take(fit, cell.mode, &mut cell.meter, bar)?;
            }
        }
        Ok(())
    }

    pub(super) fn finish(self) -> anyhow::Result<Measured> {
        let (mut profiles, mut traces) = (Vec::new(), Vec::new());
        for cell in self.all {
            let (log, written) = cell.meter.finish()?;
            traces.extend(written.map(|written| (cell.conditions.model.clone(), written.path)));
            let profile =
                RunProfile::of(&log, cell.conditions).map_err(|error| request_error(error.to_string()))?;
            profiles.push((cell.folder, profile));
        }
        Ok((profiles, traces))
    }
}
