//! The cells of an experiment (a model in a mode, not a yeast cell), each with a meter of its own.

use super::ExperimentRequest;
use super::turn::{Turn, keep_steps, schedule};
use crate::measure::conditions::{Recording, Subject};
use crate::measure::ranks::{create_folders, of_all_ranks, of_first};
use knockout_analyze::profile::{Conditions, RunProfile};
use knockout_base::error::Result;
use knockout_base::memory;
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
    kind: VariantKind,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum VariantKind {
    /// The first representation, or the only one: it is recorded.
    First,
    /// Another representation.
    Other,
    /// The first representation in the model's own batch, which is larger than that of all models.
    OwnBatch,
}

/// Models times representations, all with one batch; then each model with its own batch, where that is larger. Without named
/// representations, each model has its own.
pub(super) fn variants(
    configs: &[Config],
    processors: &[ProcessorKind],
    records: usize,
) -> Result<Vec<Variant>> {
    let mut out = Vec::new();
    let common = configs.iter().map(|config| config.batch).min().unwrap_or(1);
    for config in configs {
        let keys: Vec<Vec<String>> = match processors {
            [] => vec![Vec::new()],
            named => named.iter().map(|one| vec![format!("loader.processor={}", one.name())]).collect(),
        };
        for (index, keys) in keys.iter().enumerate() {
            let own = config.with(keys)?;
            let kind = if index == 0 { VariantKind::First } else { VariantKind::Other };
            out.push(Variant { config: Config { batch: common, ..own.clone() }, kind });
            // No batch holds more samples than there are.
            if index == 0 && own.batch.min(records) > common {
                out.push(Variant { config: own, kind: VariantKind::OwnBatch });
            }
        }
    }
    Ok(out)
}

pub(super) struct ExperimentCells {
    ranks: Ranks,
    fits: Vec<Fit>,
    all: Vec<ExperimentCell>,
    /// Index of each model's first variant, in its own batch.
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
    /// Name of what is recorded: the model, with its batch where that is its own.
    recorded_name: String,
}

/// Profiles by the cell's folder, and traces by the name of what was recorded.
type CellResults = (Vec<(String, RunProfile)>, Vec<(String, PathBuf)>);

impl ExperimentCells {
    pub(super) fn new(variants: &[Variant], request: &ExperimentRequest, subject: &Subject) -> Result<Self> {
        let (mut fits, mut firsts, mut planned) = (Vec::new(), Vec::new(), Vec::new());
        let several = variants.iter().any(|variant| variant.kind == VariantKind::Other);
        for (fit, variant) in variants.iter().enumerate() {
            let config = &variant.config;
            fits.push(subject.fit(config)?);
            let is_own = variant.kind == VariantKind::OwnBatch;
            match variant.kind {
                VariantKind::First => firsts.push(fit),
                VariantKind::OwnBatch => firsts.splice(firsts.len() - 1.., [fit]).for_each(drop),
                VariantKind::Other => {}
            }
            let asked = &request.modes;
            let modes = Mode::ALL.into_iter().filter(|mode| asked.is_empty() || asked.contains(mode));
            let mut modes: Vec<Mode> = modes.collect();
            if is_own {
                // How fast the model trains; parts of a step are compared in the common batch.
                modes.drain(..modes.len() - 1);
            }
            // A round by itself would give a part of a trace.
            let is_recorded = variant.kind != VariantKind::Other && request.only_round.is_none();
            let recorded =
                (is_recorded && modes.contains(&Mode::Full)).then_some((Mode::Full, Recording::On));
            for (mode, recording) in modes.into_iter().map(|mode| (mode, Recording::Off)).chain(recorded) {
                let conditions = subject.conditions(config, mode, recording)?;
                let mut folder = format!("{}-{}", conditions.model, conditions.mode);
                let mut recorded_name = conditions.model.clone();
                if is_own {
                    folder = format!("{folder}-batch-{}", conditions.batch);
                    recorded_name = format!("{recorded_name}, batch {}", conditions.batch);
                } else if several {
                    folder = format!("{folder}-{}", conditions.processor);
                }
                if recording == Recording::On {
                    folder.push_str("-recorded");
                }
                planned.push((fit, mode, recording, conditions, recorded_name, folder));
            }
        }
        let ranks = subject.ranks();
        create_folders(planned.iter().map(|(.., folder)| request.out.join(folder)), ranks)?;
        let mut cells = Vec::new();
        for (fit, mode, recording, conditions, recorded_name, folder) in planned {
            let trace_folder = request.out.join(&folder);
            let meter =
                subject.meter(schedule(&request.plan), recording, Some(&trace_folder), &conditions)?;
            cells.push(ExperimentCell { folder, fit, mode, meter, conditions, recorded_name });
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
            // Ranks of one machine share what is left of it, its control groups included.
            let free_bytes = memory::available_bytes().unwrap_or(u64::MAX) / self.ranks.on_this_host() as u64;
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
            traces.extend(written.map(|written| (cell.recorded_name, written.path)));
            let peak = log.steps.iter().flat_map(|step| step.rss_bytes).max();
            let peak = of_all_ranks(&mut log, peak, &self.ranks)?;
            profiles.push((cell.folder, RunProfile::of(&log, cell.conditions)?.with_peak_rss(peak)));
        }
        Ok((profiles, traces))
    }
}
