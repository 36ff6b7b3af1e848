//! Experiments: models, modes and switches measured alternately on the same batches.

mod cells;
mod switches;
mod turn;
mod worlds;

pub use worlds::{WorldRound, assembled};

use crate::measure::conditions::{Stopwatch, Subject};
use crate::measure::ranks::{create_outcome_folder, of_first};
use cells::ExperimentCells;
use knockout_analyze::profile::RunProfile;
use knockout_analyze::profile::experiment::ExperimentPlan;
use knockout_base::error::{Error, Result};
use knockout_base::files::NewFolder;
use knockout_data::batch::ProcessorKind;
use knockout_ranks::Ranks;
use knockout_train::config::Config;
use knockout_train::step::Mode;
use std::ops::{ControlFlow, Range};
use std::path::PathBuf;
use std::time::Duration;
use switches::SwitchTrials;
use turn::Turn;

/// An experiment to run.
#[derive(Debug, Clone)]
pub struct ExperimentRequest {
    /// A configuration for each model. All are measured in the smallest of their batches, so that they take the same records, and those
    /// with a larger one also in their own.
    pub configs: Vec<Config>,
    /// Representations, of which the first is what the others are compared with; empty: each configuration's own.
    pub processors: Vec<ProcessorKind>,
    /// Modes; empty: all of them. The model's recording needs the full one.
    pub modes: Vec<Mode>,
    /// End after this time, with the rounds that are complete by then.
    pub time_limit: Option<Duration>,
    /// Rounds and steps.
    pub plan: ExperimentPlan,
    /// Take this zero-based round of the plan's alone, on the batches it would have among them, and record nothing: the others are
    /// taken by other processes, perhaps on another number of ranks.
    pub only_round: Option<u64>,
    /// Models whose switches are measured.
    pub ablation: AblationScope,
    /// Folder of the dataset, where stores of precomputed deletions are looked for.
    pub dataset_folder: PathBuf,
    /// Folder to make: it gets a folder for each cell.
    pub out: PathBuf,
}

/// Models whose switches are measured.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum AblationScope {
    /// No model.
    Off,
    /// All models.
    All,
}

/// An experiment to be run; its findings are a [`knockout_analyze::profile::experiment::Experiment`].
pub struct ExperimentRunner<'s> {
    cells: ExperimentCells,
    switches: Vec<SwitchTrials<'s>>,
    plan: ExperimentPlan,
    rounds: Range<u64>,
    time_limit: Option<Duration>,
    watch: Stopwatch,
    ranks: Ranks,
    folder: Option<NewFolder>,
}

/// A finished experiment.
#[derive(Debug)]
pub struct ExperimentOutcome {
    /// The findings.
    pub findings: knockout_analyze::profile::experiment::Experiment,
    /// The profile of each cell, by the name of its folder.
    pub profiles: Vec<(String, RunProfile)>,
    /// A trace of each model, by its name; in its own batch by the name of [`OwnBatch`](knockout_analyze::profile::experiment::OwnBatch).
    pub traces: Vec<(String, PathBuf)>,
    /// The folder, on the first rank. It disappears unless it is kept, which is right once its documents are written.
    pub folder: Option<NewFolder>,
}

impl<'s> ExperimentRunner<'s> {
    /// Opens stores, makes the folder and builds every model.
    pub fn new(request: &ExperimentRequest, subject: &'s mut Subject) -> Result<Self> {
        let watch = Stopwatch::start();
        let configs = &request.configs;
        if configs.is_empty() {
            return Err(Error::request("name a model"));
        }
        let variants = cells::variants(configs, &request.processors, subject.records())?;
        for config in variants.iter().map(|variant| &variant.config).chain(configs) {
            subject.open_store(config, &request.dataset_folder)?;
        }
        let folder = create_outcome_folder(&request.out, subject.ranks())?;
        let subject: &'s Subject = subject;
        let mut cells = ExperimentCells::new(&variants, request, subject)?;
        let ablated = match request.ablation {
            AblationScope::Off => 0,
            AblationScope::All => configs.len(),
        };
        let mut switches = Vec::new();
        if ablated > 0 {
            for (config, built) in configs.iter().zip(cells.built()?).take(ablated) {
                switches.push(SwitchTrials::new(config, subject, &request.plan, built)?);
            }
        }
        let rounds = request.only_round.map_or(0..request.plan.rounds, |round| round..round + 1);
        let ranks = subject.ranks().clone();
        Ok(Self {
            cells,
            switches,
            plan: ExperimentPlan { rounds: rounds.end - rounds.start, ..request.plan.clone() },
            rounds,
            time_limit: request.time_limit,
            watch,
            ranks,
            folder,
        })
    }

    /// Steps that [`ExperimentRunner::run`] takes at most.
    pub fn step_count(&self) -> u64 {
        let turns = self.cells.len() + self.switches.iter().map(SwitchTrials::len).sum::<usize>();
        self.plan.rounds * (self.plan.warmup + self.plan.steps) * turns as u64
    }

    /// Gives every cell a turn in every round. `on_step` is called after every step, and so is `wants_stop` (on several ranks: after
    /// every round); the outcome has the rounds that are complete by then. Switches are left out if the first round ended among them.
    pub fn run(
        mut self,
        on_step: &mut dyn FnMut(),
        wants_stop: &dyn Fn() -> bool,
    ) -> Result<ExperimentOutcome> {
        // Whole rounds, and those in which at least the cells had their turns.
        let (mut whole, mut of_cells, mut steps) = (0, 0, 0);
        let is_alone = self.ranks.is_alone();
        for round in self.rounds.clone() {
            let limit = self.time_limit;
            let is_full =
                limit.is_some_and(|limit| has_no_time_for_another(limit, self.watch.elapsed(), whole));
            let is_over = whole > 0 && (is_full || wants_stop());
            // The first rank's clock and signals decide for all.
            if of_first([u64::from(is_over)], &self.ranks)? == [1] {
                break;
            }
            let mut after_step = || {
                on_step();
                steps += 1;
                let is_late = limit.is_some_and(|limit| self.watch.elapsed() > limit);
                if is_alone && (is_late || wants_stop()) {
                    ControlFlow::Break(())
                } else {
                    ControlFlow::Continue(())
                }
            };
            let turn = Turn::of(&self.plan, round);
            if self.cells.take_turns(turn, &mut after_step)?.is_break() {
                break;
            }
            of_cells += 1;
            let mut is_whole = true;
            for trials in &mut self.switches {
                is_whole &= is_whole && trials.take_turns(turn, &mut after_step)?.is_continue();
            }
            if !is_whole {
                break;
            }
            whole += 1;
        }
        if whole == 0 {
            self.switches.clear();
        }
        let rounds = whole.max(of_cells.min(1));
        if rounds == 0 {
            return Err(Error::request(format!(
                "not one round was finished: {steps} of its {} steps took {:.0} s; allow more time, or measure fewer models, modes or switches",
                self.step_count() / self.plan.rounds.max(1),
                self.watch.elapsed().as_secs_f64()
            )));
        }
        self.plan.rounds = rounds;
        let kept = (rounds * self.plan.steps) as usize;
        let (mut profiles, traces) = self.cells.finish(kept)?;
        let switches = self.switches.into_iter().map(|trials| trials.finish(kept));
        let switches = switches.collect::<Result<Vec<_>>>()?;
        self.plan.measured = Some(self.watch.measured());
        for (_, profile) in &mut profiles {
            profile.measured.clone_from(&self.plan.measured);
        }
        let cells = profiles.iter().map(|(_, profile)| profile.clone()).collect();
        let findings = knockout_analyze::profile::experiment::Experiment::of(self.plan, cells, switches)
            .map_err(contradiction)?;
        Ok(ExperimentOutcome { findings, profiles, traces, folder: self.folder })
    }
}

/// Returns whether another round after this time would exceed the time limit.
pub fn has_no_time_for_another(limit: Duration, elapsed: Duration, rounds_done: u64) -> bool {
    let next_end = elapsed.mul_f64((rounds_done + 1) as f64 / rounds_done.max(1) as f64);
    rounds_done > 0 && next_end > limit
}

/// Returns the error of figures of different experiments.
fn contradiction(error: Error) -> Error {
    Error::failure("the measurements contradict each other").caused_by(error)
}
