//! The cells of an experiment (a model in a mode, not a yeast cell), each with a meter of its own.

use super::ExperimentRequest;
use super::turn::{Turn, keep_steps, schedule};
use crate::measure::conditions::{Recording, Subject};
use crate::measure::memory;
use crate::measure::ranks::{create_folders, of_all_ranks, of_first};
use knockout_analyze::profile::{Conditions, RunProfile};
use knockout_base::error::Result;
use knockout_data::batch::ProcessorKind;
use knockout_ranks::Ranks;
use knockout_trace::Recorder;
use knockout_trace::meter::{Meter, Schedule};
use knockout_train::config::Config;
use knockout_train::fit::Fit;
use knockout_train::step::Mode;
use knockout_train::switches::BuiltModel;
use std::ops::ControlFlow;
use std::path::PathBuf;

/// A model with a representation.
pub(super) struct Variant {
    pub(super) config: Config,
    /// Among several representations this is the first: the one that is recorded.
    is_first: bool,
}

/// Models times representations; each model with its own where none is named.
pub(super) fn variants(configs: &[Config], processors: &[ProcessorKind]) -> Result<Vec<Variant>> {
    let mut out = Vec::new();
    for config in configs {
        if processors.is_empty() {
            out.push(Variant { config: config.clone(), is_first: true });
        }
        for (index, processor) in processors.iter().enumerate() {
            let config = config.with(&[format!("loader.processor={}", processor.name())])?;
            out.push(Variant { config, is_first: index == 0 });
        }
    }
    Ok(out)
}

pub(super) struct ExperimentCells {
    ranks: Ranks,
    fits: Vec<Fit>,
    all: Vec<ExperimentCell>,
    /// Index of each model's first variant.
    firsts: Vec<usize>,
}

struct ExperimentCell {
    /// Name of its folder in the experiment's.
    folder: String,
    /// Index of its fit.
    fit: usize,
    mode: Mode,
    meter: Meter,
    conditions: Conditions,
}

/// Profiles by the cell's folder, and traces by model.
type CellResults = (Vec<(String, RunProfile)>, Vec<(String, PathBuf)>);

impl ExperimentCells {
    pub(super) fn new(variants: &[Variant], request: &ExperimentRequest, subject: &Subject) -> Result<Self> {
        let (mut fits, mut firsts, mut planned) = (Vec::new(), Vec::new(), Vec::new());
        let several = variants.iter().any(|variant| !variant.is_first);
        for (fit, variant) in variants.iter().enumerate() {
            let config = &variant.config;
            fits.push(subject.fit(config)?);
            if variant.is_first {
                firsts.push(fit);
            }
            let asked = &request.modes;
            let modes = Mode::ALL.into_iter().filter(|mode| asked.is_empty() || asked.contains(mode));
            // A round by itself would give a part of a trace.
            let is_recorded = variant.is_first && request.only_round.is_none();
            let recorded = (is_recorded && modes.clone().any(|mode| mode == Mode::Full))
                .then_some((Mode::Full, Recording::On));
            for (mode, recording) in modes.map(|mode| (mode, Recording::Off)).chain(recorded) {
                let conditions = subject.conditions(config, mode, recording)?;
                let mut folder = format!("{}-{}", conditions.model, conditions.mode);
                if several {
                    folder = format!("{folder}-{}", conditions.processor);
                }
                if recording == Recording::On {
                    folder.push_str("-recorded");
                }
                planned.push((fit, mode, recording, conditions, folder));
            }
        }
        let ranks = subject.ranks();
        create_folders(planned.iter().map(|(.., folder)| request.out.join(folder)), ranks)?;
        let mut cells = Vec::new();
        for (fit, mode, recording, conditions, folder) in planned {
            let trace_folder = request.out.join(&folder);
            let meter =
                subject.meter(schedule(&request.plan), recording, Some(&trace_folder), &conditions)?;
            cells.push(ExperimentCell { folder, fit, mode, meter, conditions });
        }
        Ok(Self { ranks: ranks.clone(), fits, all: cells, firsts })
    }

    pub(super) fn len(&self) -> usize {
        self.all.len()
    }

    /// Properties of each model after its first batch.
    pub(super) fn built(&mut self) -> Result<Vec<BuiltModel>> {
        let mut out = Vec::new();
        for &at in &self.firsts {
            let Some(fit) = self.fits.get_mut(at) else { continue };
            let mut meter = Meter::new(&Recorder::off(), Schedule::WholeRun);
            let flow =
                Turn::FIRST_BATCH.take(fit, Mode::Full, &mut meter, &mut || ControlFlow::Continue(()))?;
            debug_assert!(flow.is_continue(), "nothing breaks off");
            let free_bytes = memory::free_bytes().unwrap_or(u64::MAX) / self.ranks.on_this_host() as u64;
            let [buffer_bytes, free_bytes] = of_first([fit.buffer_bytes(), free_bytes], &self.ranks)?;
            out.push(BuiltModel { buffer_bytes, free_bytes, couples_samples: fit.couples_samples() });
        }
        Ok(out)
    }

    pub(super) fn take_turns(
        &mut self,
        turn: Turn,
        on_step: &mut dyn FnMut() -> ControlFlow<()>,
    ) -> Result<ControlFlow<()>> {
        for cell in turn.order(&mut self.all) {
            if let Some(fit) = self.fits.get_mut(cell.fit)
                && turn.take(fit, cell.mode, &mut cell.meter, on_step)?.is_break()
            {
                return Ok(ControlFlow::Break(()));
            }
        }
        Ok(ControlFlow::Continue(()))
    }

    /// Returns the first `steps` steps of every cell: those of whole rounds.
    pub(super) fn finish(self, steps: usize) -> Result<CellResults> {
        let (mut profiles, mut traces) = (Vec::new(), Vec::new());
        for cell in self.all {
            let (mut log, written) = cell.meter.finish()?;
            keep_steps(&mut log, steps);
            traces.extend(written.map(|written| (cell.conditions.model.clone(), written.path)));
            let peak = log.steps.iter().flat_map(|step| step.rss_bytes).max();
            let peak = of_all_ranks(&mut log, peak, &self.ranks)?;
            profiles.push((cell.folder, RunProfile::of(&log, cell.conditions)?.with_peak_rss(peak)));
        }
        Ok((profiles, traces))
    }
}
