//! Measures the steps of a run: wall and CPU time, phase by phase, whether or not a trace is recorded.
//!
//! Steps follow each other without a gap: one begins where the one before it ended, so that no time is lost
//! between them. [`StepTimes::untracked_nanos`] is the time in no phase.

use crate::meter::phase::{Gauge, StepPhase, step_name};
use crate::meter::schedule::Schedule;
use crate::{
    Clock, FOREGROUND, Record, RecordState, RecordedEvent, Recorder, ResidentMemory, SpanName, SystemClock,
    TraceFile, Written,
};
use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

/// Category of the spans of steps, as other profilers call it.
const STEP: &str = "user_annotation";

/// Times and memory of one step.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct StepTimes {
    /// Zero-based step index.
    pub number: u64,
    /// Samples in its batch.
    pub samples: u64,
    /// Start by the meter's clock, in nanoseconds.
    pub start_nanos: u64,
    /// Wall time in nanoseconds.
    pub wall_nanos: u64,
    /// CPU time of the whole process meanwhile, in nanoseconds.
    pub cpu_nanos: u64,
    /// Nanoseconds by phase, in the order of [`StepPhase::ALL`].
    pub phases: [u64; StepPhase::COUNT],
    /// Nanoseconds by phase of threads that worked ahead for this step's batch; no part of `wall_nanos`.
    pub background: [u64; StepPhase::COUNT],
    /// Resident bytes at the end of each phase; 0 where it was not sampled.
    pub rss_bytes: [u64; StepPhase::COUNT],
    /// Most bytes of the engine's buffers; 0 where it was not sampled.
    pub pool_bytes: u64,
    /// Floating-point operations by phase; 0 where they were not counted.
    pub flop: [u64; StepPhase::COUNT],
}

impl StepTimes {
    /// Time of a phase.
    pub fn phase(&self, phase: StepPhase) -> u64 {
        self.phases.get(phase as usize).copied().unwrap_or(0)
    }

    /// Time in no phase.
    pub fn untracked_nanos(&self) -> u64 {
        self.wall_nanos.saturating_sub(self.phases.iter().sum())
    }
}

/// Times of making one batch.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct LoadTimes {
    /// Wait time of the consumer.
    pub waited: Duration,
    /// Reading the samples.
    pub fetch: Duration,
    /// Making the representation of their deletions.
    pub process: Duration,
    /// Collating them.
    pub collate: Duration,
    /// Whether other threads did it, ahead of time; else it is part of the waiting.
    pub is_background: bool,
}

/// Measured steps of a run.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct StepLog {
    /// Steps of the schedule's windows, in order.
    pub steps: Vec<StepTimes>,
    /// Nanoseconds of each of `steps` by part of a phase, such as `forward/sage1`; only of steps that were recorded.
    pub parts: BTreeMap<String, Vec<u64>>,
    /// Recorded spans of all threads, where they are kept; see [`Meter::keeping_spans`].
    pub spans: Vec<Record>,
    /// Warm-up steps, which are dropped.
    pub warmed: u64,
    /// Steps outside every window.
    pub skipped: u64,
}

impl StepLog {
    /// Adds the time of parts of phases, as one thread recorded them, to the steps in which they began.
    pub fn attribute(&mut self, records: &[Record], thread: u32) {
        for record in records.iter().filter(|record| record.thread == thread) {
            let RecordedEvent::Span { name, duration_nanos, .. } = &record.event else { continue };
            let Some(name) = part_of_phase(name) else { continue };
            let after = self.steps.partition_point(|step| step.start_nanos <= record.start_nanos);
            let Some(at) = after.checked_sub(1) else { continue };
            let inside = self
                .steps
                .get(at)
                .is_some_and(|step| record.start_nanos < step.start_nanos + step.wall_nanos);
            if !inside {
                continue;
            }
            let times = self.parts.entry(name).or_default();
            times.resize(times.len().max(at + 1), 0);
            if let Some(time) = times.get_mut(at) {
                *time += duration_nanos;
            }
        }
        for times in self.parts.values_mut() {
            times.resize(self.steps.len(), 0);
        }
    }
}

/// Returns the text of a name that is part of a phase (`forward/sage1`); `None` for any other.
fn part_of_phase(name: &SpanName) -> Option<String> {
    let text = match name {
        // Most spans are whole phases or steps: no text is made for them.
        SpanName::Fixed(text) if !text.contains('/') => return None,
        SpanName::Numbered(..) => return None,
        name => name.to_string(),
    };
    let is_part = text.split_once('/').is_some_and(|(phase, _)| StepPhase::from_name(phase).is_some());
    is_part.then_some(text)
}

/// Measures steps, and records them where a recorder is on.
#[derive(Debug)]
pub struct Meter {
    recorder: Recorder,
    clock: Arc<dyn Clock>,
    schedule: Schedule,
    memory: Option<ResidentMemory>,
    file: Option<TraceFile>,
    keeps_spans: bool,
    /// Returns the floating-point operations of this process so far.
    flop: Option<fn() -> u64>,
    log: StepLog,
    delay: Option<(StepPhase, Duration)>,
    /// The current step.
    step: StepTimes,
    state: RecordState,
    cpu_from: u64,
}

impl Meter {
    /// Measures with the recorder's clock, or the machine's if it is off. The first step begins now.
    pub fn new(recorder: &Recorder, schedule: Schedule) -> Self {
        let clock = recorder.clock().unwrap_or_else(|| Arc::new(SystemClock::new()));
        Self::with_clock(recorder, schedule, clock)
    }

    /// Measures with another clock than the machine's although the recorder is off.
    pub fn with_clock(recorder: &Recorder, schedule: Schedule, clock: Arc<dyn Clock>) -> Self {
        let mut meter = Self {
            recorder: recorder.clone(),
            clock,
            schedule,
            memory: None,
            file: None,
            keeps_spans: false,
            flop: None,
            log: StepLog::default(),
            delay: None,
            step: StepTimes::default(),
            state: RecordState::Skip,
            cpu_from: 0,
        };
        meter.restart();
        meter
    }

    /// Also samples resident memory after every phase: about a microsecond each.
    #[must_use]
    pub fn with_memory(mut self) -> Self {
        self.memory = Some(ResidentMemory::open());
        self
    }

    /// Writes the trace into this file: as memory fills, and in [`Meter::finish`].
    #[must_use]
    pub fn with_trace(mut self, file: TraceFile) -> Self {
        self.file = Some(file);
        self
    }

    /// Keeps the recorded spans for [`Meter::finish`], in the log.
    #[must_use]
    pub fn keeping_spans(mut self) -> Self {
        self.keeps_spans = true;
        self
    }

    /// Counts the floating-point operations of each phase with this counter of the process.
    #[must_use]
    pub fn with_flop(mut self, counter: fn() -> u64) -> Self {
        self.flop = Some(counter);
        self
    }

    /// Makes a phase longer by sleeping in it, to test that reports find it.
    #[must_use]
    pub fn delayed(mut self, phase: StepPhase, time: Duration) -> Self {
        self.delay = Some((phase, time));
        self
    }

    fn delay(&self, phase: StepPhase) {
        if let Some((_, time)) = self.delay.filter(|(delayed, _)| *delayed == phase) {
            std::thread::sleep(time);
        }
    }

    fn begin(&mut self, number: u64, start_nanos: u64, cpu_from: u64) {
        self.state = self.schedule.state_at(number);
        self.recorder.set_state(self.state);
        self.step = StepTimes { number, start_nanos, ..StepTimes::default() };
        self.cpu_from = cpu_from;
    }

    /// Restarts the current step now: the time since the last one ended is in no step. For work between
    /// epochs that is not training.
    pub fn restart(&mut self) {
        self.begin(self.step.number, self.clock.now_nanos(), self.clock.cpu_nanos());
    }

    /// The recorder, to be passed on to what runs inside the phases.
    pub fn recorder(&self) -> &Recorder {
        &self.recorder
    }

    /// Runs a phase of the current step.
    pub fn time<T>(&mut self, phase: StepPhase, work: impl FnOnce() -> T) -> T {
        let flop = self.flop.map(|counter| (counter, counter()));
        let from = self.clock.now_nanos();
        let outcome = work();
        self.delay(phase);
        let to = self.clock.now_nanos();
        self.recorder.past_span(FOREGROUND, phase, from, to);
        add(&mut self.step.phases, phase, to.saturating_sub(from));
        if let Some((counter, before)) = flop {
            add(&mut self.step.flop, phase, counter().saturating_sub(before));
        }
        if let Some(bytes) = self.memory.as_ref().and_then(ResidentMemory::bytes) {
            if let Some(slot) = self.step.rss_bytes.get_mut(phase as usize) {
                *slot = bytes.max(*slot);
            }
            self.recorder.counter(Gauge::Rss.name(), bytes);
        }
        outcome
    }

    /// Records the value of a gauge: in the trace and, for the engine's buffers, in the current step.
    pub fn gauge(&mut self, gauge: Gauge, value: u64) {
        self.recorder.counter(gauge.name(), value);
        if gauge == Gauge::Pool {
            self.step.pool_bytes = value.max(self.step.pool_bytes);
        }
    }

    /// Adds the making of the batch to the current step.
    ///
    /// Made on this thread, it is three phases, and the remaining wait time a fourth; made in the background, only the
    /// wait time is part of the step.
    pub fn load(&mut self, times: LoadTimes) {
        let parts = [
            (StepPhase::Fetch, times.fetch),
            (StepPhase::Process, times.process),
            (StepPhase::Collate, times.collate),
        ];
        let mut waited = nanos(times.waited);
        for (phase, time) in parts {
            if times.is_background {
                add(&mut self.step.background, phase, nanos(time));
            } else {
                add(&mut self.step.phases, phase, nanos(time));
                waited = waited.saturating_sub(nanos(time));
            }
        }
        add(&mut self.step.phases, StepPhase::Wait, waited);
        // The loader has its own clock: a delay in one of its phases comes after it.
        if let Some((phase, _)) = self.delay.filter(|(phase, _)| phase.is_data()) {
            self.time(phase, || ());
        }
    }

    /// Ends the step under way; the next one begins at the same instant. Returns the step, recorded or not.
    pub fn end_step(&mut self, samples: usize) -> Result<StepTimes, knockout_base::error::Error> {
        let (now, cpu) = (self.clock.now_nanos(), self.clock.cpu_nanos());
        let mut step = self.step;
        step.samples = samples as u64;
        step.wall_nanos = now.saturating_sub(step.start_nanos);
        step.cpu_nanos = cpu.saturating_sub(self.cpu_from);
        self.recorder.past_span(STEP, step_name(step.number), step.start_nanos, now);
        match self.state {
            RecordState::Record => self.log.steps.push(step),
            RecordState::Warm => self.log.warmed += 1,
            RecordState::Skip => self.log.skipped += 1,
        }
        self.begin(step.number + 1, now, cpu);
        if self.recorder.is_half_full() {
            let from = self.clock.now_nanos();
            self.write_records()?;
            let to = self.clock.now_nanos();
            self.recorder.past_span(FOREGROUND, StepPhase::Logging.part("trace"), from, to);
            add(&mut self.step.phases, StepPhase::Logging, to.saturating_sub(from));
        }
        Ok(step)
    }

    fn write_records(&mut self) -> Result<(), knockout_base::error::Error> {
        let records = self.recorder.drain();
        if let Some(thread) = self.recorder.thread() {
            self.log.attribute(&records, thread);
        }
        if let Some(file) = &mut self.file {
            file.append(&records)?;
        }
        if self.keeps_spans {
            let is_span = |record: &Record| matches!(record.event, RecordedEvent::Span { .. });
            self.log.spans.extend(records.into_iter().filter(is_span));
        }
        Ok(())
    }

    /// The steps measured so far; parts of phases are known only in the end.
    pub fn log(&self) -> &StepLog {
        &self.log
    }

    /// Ends measuring; returns the steps, and the trace if one was requested. To be called also after an error: it
    /// writes the records so far.
    pub fn finish(mut self) -> Result<(StepLog, Option<Written>), knockout_base::error::Error> {
        self.write_records()?;
        self.recorder.set_state(RecordState::Skip);
        let written = self.file.take().map(TraceFile::finish).transpose()?;
        Ok((self.log, written))
    }
}

fn add(sums: &mut [u64; StepPhase::COUNT], phase: StepPhase, value: u64) {
    if let Some(sum) = sums.get_mut(phase as usize) {
        *sum += value;
    }
}

/// Whole nanoseconds: 584 years fit.
fn nanos(time: Duration) -> u64 {
    u64::try_from(time.as_nanos()).unwrap_or(u64::MAX)
}
