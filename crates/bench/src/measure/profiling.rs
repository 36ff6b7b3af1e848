//! The profile of one configuration in one mode.

use crate::measure::conditions::{Recording, Stopwatch, Subject};
use crate::measure::memory;
use crate::measure::ranks::of_all_ranks;
use knockout_analyze::profile::RunProfile;
use knockout_base::error::Result;
use knockout_trace::meter::Schedule;
use knockout_train::config::Config;
use knockout_train::step::Mode;
use std::ops::ControlFlow;
use std::path::PathBuf;

/// A measurement to run.
#[derive(Debug, Clone)]
pub struct Profiling {
    /// The configuration.
    pub config: Config,
    /// How far a step goes.
    pub mode: Mode,
    /// Steps that are measured.
    pub schedule: Schedule,
    /// Steps in all.
    pub steps: u64,
    /// Whether spans are recorded.
    pub recording: Recording,
    /// Folder of the trace; without one, spans are attributed to layers and then dropped.
    pub trace_folder: Option<PathBuf>,
}

/// The result of a measurement.
#[derive(Debug)]
pub struct ProfilingOutcome {
    /// Where the time went.
    pub profile: RunProfile,
    /// The trace, where one was written.
    pub trace: Option<PathBuf>,
}

impl Profiling {
    /// Measures the steps; `on_step` is called after every step.
    pub fn run(&self, subject: &Subject, mut on_step: impl FnMut()) -> Result<ProfilingOutcome> {
        let watch = Stopwatch::start();
        let mut fit = subject.fit(&self.config)?;
        let conditions = subject.conditions(&self.config, self.mode, self.recording)?;
        memory::reset_peak();
        let folder = self.trace_folder.as_deref();
        let mut meter = subject.meter(self.schedule, self.recording, folder, &conditions)?;
        meter.restart();
        let ended = fit.measure_steps(self.mode, self.steps, &mut meter, |_| {
            on_step();
            ControlFlow::Continue(())
        });
        let peak = memory::peak_rss_bytes();
        // A measurement that ends early still writes what it has.
        let (mut log, written) = meter.finish()?;
        let flow = ended?;
        debug_assert!(flow.is_continue(), "nothing breaks off");
        let peak = of_all_ranks(&mut log, peak, subject.ranks())?;
        let profile = RunProfile::of(&log, conditions)?.with_peak_rss(peak);
        let profile = profile.with_measured(Some(watch.measured()));
        Ok(ProfilingOutcome { profile, trace: written.map(|written| written.path) })
    }
}
