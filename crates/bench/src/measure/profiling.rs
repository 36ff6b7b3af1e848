//! The profile of one configuration in one mode.

use crate::measure::conditions::{Recording, Stopwatch, Subject};
use crate::measure::perf::{Perf, PerfSamples, ReadEvents, check_system};
use crate::measure::ranks::of_all_ranks;
use crate::measure::{bandwidth, memory};
use knockout_analyze::profile::functions::{FunctionSamples, RecordedSpans};
use knockout_analyze::profile::{NotCounted, ReadCounter, RunProfile};
use knockout_base::error::{Error, Result};
use knockout_engine::kernel::{counted_flop, peak_flop_per_s};
use knockout_trace::meter::{Schedule, StepLog};
use knockout_trace::{RecordState, Recorder};
use knockout_train::config::Config;
use knockout_train::step::Mode;
use std::ops::ControlFlow;
use std::path::{Path, PathBuf};

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
    /// Whether functions are sampled.
    pub sampling: Sampling,
    /// Folder of the trace and of the samples; without one, spans are attributed to layers and then dropped.
    pub folder: Option<PathBuf>,
}

/// Whether functions are sampled meanwhile.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Sampling {
    /// By Linux's `perf`, in one process; needs a folder, and recorded spans to find samples in.
    Perf {
        /// Event that counts lines read from memory; that of the processor if not given.
        memory_event: Option<String>,
    },
    /// Not at all.
    Off,
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
        if self.sampling != Sampling::Off && !subject.ranks().is_alone() {
            return Err(Error::request("--perf samples one process; leave out the ranks"));
        }
        let watch = Stopwatch::start();
        let mut fit = subject.fit(&self.config)?;
        let mut conditions = subject.conditions(&self.config, self.mode, self.recording)?;
        let peak_flop = peak_flop_per_s();
        let folder = self.folder.as_deref();
        let sampling = self.sampling(folder)?;
        memory::reset_peak();
        let mut meter =
            subject.meter(self.schedule, self.recording, folder, &conditions)?.with_flop(counted_flop);
        let mut perf = sampling.as_ref().map(PreparedSampling::attach).transpose()?;
        if perf.is_some() {
            meter = meter.keeping_spans();
            // It takes a little time of every step.
            conditions.settings.insert("perf".to_owned(), "on".to_owned());
        }
        let recorder = meter.recorder().clone();
        let mut sampled = self.switch_before(0, perf.as_mut());
        meter.restart();
        let ended = fit.measure_steps(self.mode, self.steps, &mut meter, |step| {
            on_step();
            if sampled.is_ok() {
                sampled = self.switch_before(step.position.step, perf.as_mut());
            }
            if sampled.is_ok() { ControlFlow::Continue(()) } else { ControlFlow::Break(()) }
        });
        let peak = memory::peak_rss_bytes();
        let samples = sampled.and_then(|()| perf.map(Perf::finish).transpose());
        // A measurement that ends early still writes what it has.
        let (mut log, written) = meter.finish()?;
        let _flow = ended?;
        let samples = samples?;
        let peak = of_all_ranks(&mut log, peak, subject.ranks())?;
        let profile = RunProfile::of(&log, conditions)?.with_peak_rss(peak).with_peak(peak_flop);
        let mut profile = profile.with_measured(Some(watch.measured()));
        if let (Some(samples), Some(sampling)) = (samples, sampling) {
            profile = sampling.add_to(profile, &samples, &log, &recorder)?;
        }
        Ok(ProfilingOutcome { profile, trace: written.map(|written| written.path) })
    }

    /// Prepares sampling, and finds out whether reads from memory can be counted.
    fn sampling<'f>(&self, folder: Option<&'f Path>) -> Result<Option<PreparedSampling<'f>>> {
        let (Sampling::Perf { memory_event }, Some(folder)) = (&self.sampling, folder) else {
            return Ok(None);
        };
        check_system()?;
        let events = ReadEvents::new(memory_event.as_deref());
        let counter = bandwidth::check(&events, folder)?;
        Ok(Some(PreparedSampling { folder, events, counter }))
    }

    /// Lets functions be sampled in the step that begins now if it or the next one is measured: the switch itself takes time, which is then in a
    /// step before.
    fn switch_before(&self, step: u64, perf: Option<&mut Perf>) -> Result<()> {
        let is_measured = |step| self.schedule.state_at(step) == RecordState::Record;
        perf.map_or(Ok(()), |perf| perf.switch(is_measured(step) || is_measured(step + 1)))
    }
}

/// Sampling of functions, and of reads from memory where an event counts them.
struct PreparedSampling<'f> {
    folder: &'f Path,
    events: ReadEvents,
    counter: std::result::Result<ReadCounter, NotCounted>,
}

impl PreparedSampling<'_> {
    fn attach(&self) -> Result<Perf> {
        Perf::attach(self.folder, self.counter.is_ok().then_some(&self.events))
    }

    /// Adds the functions and the reads of the measured steps to a profile.
    fn add_to(
        self,
        profile: RunProfile,
        samples: &PerfSamples,
        log: &StepLog,
        recorder: &Recorder,
    ) -> Result<RunProfile> {
        let recorded = RecordedSpans {
            log,
            os_threads: &recorder.os_threads(),
            clock_start_nanos: recorder.clock().map_or(0, |clock| clock.monotonic_nanos()),
        };
        let functions = FunctionSamples::of(&samples.cpu, &recorded);
        if functions.samples == 0 {
            return Err(Error::failure(format!(
                "none of perf's {} samples is in a measured step; measure more steps",
                samples.cpu.samples.len()
            )));
        }
        let reads = self.counter.map(|counter| (counter, FunctionSamples::of(&samples.reads, &recorded)));
        Ok(profile.with_functions(functions).with_memory_reads(reads))
    }
}
