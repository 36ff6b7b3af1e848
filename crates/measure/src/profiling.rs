//! The profile of one configuration in one mode.

use crate::conditions::{Recording, Subject, delayed};
use crate::{MeasureError, memory};
use knockout_meter::{Meter, Schedule, StepLog};
use knockout_profile::RunProfile;
use knockout_trace::{Recorder, RecorderOptions, TraceFile};
use knockout_train::config::Config;
use knockout_train::fit::FitError;
use knockout_train::step::Mode;
use knockout_world::Ranks;
use std::path::PathBuf;

/// What to measure.
#[derive(Debug, Clone)]
pub struct Profiling {
    /// The configuration.
    pub config: Config,
    /// How far a step goes.
    pub mode: Mode,
    /// Which steps count.
    pub schedule: Schedule,
    /// Steps in all.
    pub steps: u64,
    /// Whether spans are recorded.
    pub recording: Recording,
    /// Folder of the trace; without one, spans are attributed to layers and then thrown away.
    pub trace_folder: Option<PathBuf>,
}

/// What a measurement gave.
#[derive(Debug)]
pub struct Measured {
    /// Where the time went.
    pub profile: RunProfile,
    /// The trace, where one was written.
    pub trace: Option<PathBuf>,
}

impl Profiling {
    /// Measures; `on_step` hears of every step.
    pub fn run(&self, subject: &Subject, mut on_step: impl FnMut()) -> Result<Measured, MeasureError> {
        let mut fit = subject.fit(&self.config)?;
        let conditions = subject.conditions(&self.config, self.mode, self.recording)?;
        let recorder = match self.recording {
            Recording::Off => Recorder::off(),
            Recording::On => {
                let (rank, world) = (subject.ranks().rank(), subject.ranks().size());
                Recorder::new(RecorderOptions { rank, world, ..RecorderOptions::default() })
            }
        };
        memory::reset_peak();
        let mut meter = delayed(Meter::new(&recorder, self.schedule).with_memory());
        if let Some(folder) = self.trace_folder.as_deref().filter(|_| self.recording == Recording::On) {
            meter = meter.with_trace(TraceFile::create(folder, &recorder, conditions.to_map())?);
        }
        meter.restart();
        let ended = fit.measure_steps(self.mode, self.steps, &mut meter, |_| on_step());
        let peak = memory::peak_rss_bytes();
        // A measurement that ends early still writes what it has.
        let (mut log, written) = meter.finish()?;
        ended?;
        let peak = of_all_ranks(&mut log, peak, subject.ranks())?;
        let profile = RunProfile::of(&log, conditions)?.with_peak_rss(peak);
        Ok(Measured { profile, trace: written.map(|written| written.path) })
    }
}

/// Adds the CPU time that the other ranks took for each step, and their memory: what a step costs is what all of them spend. Phases and wall
/// time stay those of this rank.
fn of_all_ranks(log: &mut StepLog, peak: Option<u64>, ranks: &Ranks) -> Result<Option<u64>, MeasureError> {
    if ranks.is_alone() {
        return Ok(peak);
    }
    let mine = [peak.unwrap_or(0)].into_iter().chain(log.steps.iter().map(|step| step.cpu_nanos));
    let bytes: Vec<u8> = mine.flat_map(u64::to_le_bytes).collect();
    let all = ranks.all_gather(&bytes).map_err(FitError::from)?;
    let mut sums = vec![0_u64; log.steps.len() + 1];
    for bytes in all {
        let numbers = bytes.as_chunks::<8>().0.iter().map(|bytes| u64::from_le_bytes(*bytes));
        sums.iter_mut().zip(numbers).for_each(|(sum, number)| *sum += number);
    }
    log.steps.iter_mut().zip(&sums[1..]).for_each(|(step, sum)| step.cpu_nanos = *sum);
    Ok(peak.map(|_| sums[0]))
}
