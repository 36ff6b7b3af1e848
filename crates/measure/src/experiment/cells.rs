//! The cells of an experiment (a model in a mode; nothing biological), each with a meter of its own.

use super::turn::{Turn, schedule};
use crate::conditions::{Recording, Subject, delayed};
use crate::error::create_folder;
use crate::{MeasureError, memory};
use knockout_batch::ProcessorKind;
use knockout_meter::{Meter, Schedule};
use knockout_profile::experiment::ExperimentPlan;
use knockout_profile::{Conditions, RunProfile};
use knockout_trace::{Recorder, RecorderOptions, TraceFile};
use knockout_train::config::Config;
use knockout_train::fit::Fit;
use knockout_train::step::Mode;
use knockout_train::switches::BuiltModel;
use std::path::{Path, PathBuf};

/// A model with a representation.
pub(super) struct Variant {
    pub(super) config: Config,
    /// Among several representations this is the first: the one that is recorded.
    is_first: bool,
}

/// Models times representations; each model with its own where none is named.
pub(super) fn variants(
    configs: &[Config],
    processors: &[ProcessorKind],
) -> Result<Vec<Variant>, MeasureError> {
    let mut out = Vec::new();
    for config in configs {
        if processors.is_empty() {
            out.push(Variant { config: config.clone(), is_first: true });
        }
        for (place, processor) in processors.iter().enumerate() {
            let config = config.with(&[format!("loader.processor={}", processor.name())])?;
            out.push(Variant { config, is_first: place == 0 });
        }
    }
    Ok(out)
}

pub(super) struct Cells {
    fits: Vec<Fit>,
    all: Vec<Cell>,
    /// Where each model's first variant is.
    firsts: Vec<usize>,
}

struct Cell {
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

impl Cells {
    pub(super) fn new(
        variants: &[Variant],
        modes: &[Mode],
        subject: &Subject,
        plan: &ExperimentPlan,
        out: &Path,
    ) -> Result<Self, MeasureError> {
        let (mut fits, mut cells, mut firsts) = (Vec::new(), Vec::new(), Vec::new());
        let several = variants.iter().any(|variant| !variant.is_first);
        for (fit, variant) in variants.iter().enumerate() {
            let config = &variant.config;
            fits.push(subject.fit(config)?);
            if variant.is_first {
                firsts.push(fit);
            }
            let modes = Mode::ALL.into_iter().filter(|mode| modes.is_empty() || modes.contains(mode));
            let recorded = (variant.is_first && modes.clone().any(|mode| mode == Mode::Full))
                .then_some((Mode::Full, Recording::On));
            for (mode, recording) in modes.map(|mode| (mode, Recording::Off)).chain(recorded) {
                let conditions = subject.conditions(config, mode, recording)?;
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
                create_folder(&out.join(&folder))?;
                let mut meter = delayed(Meter::new(&recorder, schedule(plan)).with_memory());
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

    /// What each model says of itself once it has seen a batch.
    pub(super) fn built(&mut self) -> Result<Vec<BuiltModel>, MeasureError> {
        let mut out = Vec::new();
        for &at in &self.firsts {
            let Some(fit) = self.fits.get_mut(at) else { continue };
            let mut meter = Meter::new(&Recorder::off(), Schedule::WholeRun);
            Turn::FIRST_BATCH.take(fit, Mode::Full, &mut meter, &mut || ())?;
            let free_bytes = memory::free_bytes().unwrap_or(u64::MAX);
            let (buffer_bytes, couples_samples) = (fit.buffer_bytes(), fit.couples_samples());
            out.push(BuiltModel { buffer_bytes, free_bytes, couples_samples });
        }
        Ok(out)
    }

    pub(super) fn take_turns(&mut self, turn: Turn, on_step: &mut dyn FnMut()) -> Result<(), MeasureError> {
        for cell in turn.order(&mut self.all) {
            if let Some(fit) = self.fits.get_mut(cell.fit) {
                turn.take(fit, cell.mode, &mut cell.meter, on_step)?;
            }
        }
        Ok(())
    }

    pub(super) fn finish(self) -> Result<CellResults, MeasureError> {
        let (mut profiles, mut traces) = (Vec::new(), Vec::new());
        for cell in self.all {
            let (log, written) = cell.meter.finish()?;
            traces.extend(written.map(|written| (cell.conditions.model.clone(), written.path)));
            profiles.push((cell.folder, RunProfile::of(&log, cell.conditions)?));
        }
        Ok((profiles, traces))
    }
}
