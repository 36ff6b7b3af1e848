//! Makes the findings of a run from its measured steps.

use super::RUN_SCHEMA;
use super::conditions::Conditions;
use super::judge;
use super::profile::{Measured, PerStep, PhaseRow, ProductRates, RunProfile, StepSpread};
use crate::profile::functions::FunctionSamples;
use crate::profile::reads::{CountedReads, MemoryReads, NotCounted, ReadCounter};
use knockout_base::error::{Error, Result};
use knockout_base::stats::{quantile, share};
use knockout_trace::meter::{StepLog, StepPhase, StepTimes};

const NANOS: f64 = 1e9;

/// A named duration of each step, in nanoseconds.
struct StepNanos {
    name: String,
    nanos: Vec<u64>,
    rss_bytes: Option<u64>,
    /// Floating-point operations of matrix products.
    flop: u64,
}

impl RunProfile {
    /// The findings of a run.
    pub fn of(log: &StepLog, conditions: Conditions) -> Result<Self> {
        if log.steps.is_empty() {
            return Err(Error::request(format!(
                "no step was measured ({} steps of warm-up, {} outside the window); run longer or wait less",
                log.warmed, log.skipped
            )));
        }
        let per_step = PerStep::of(&log.steps);
        let steps = log.steps.len() as f64;
        let samples: u64 = per_step.samples.iter().sum();
        let wall = sum(&per_step.wall_nanos);
        let wall_s_per_step = wall / NANOS / steps;
        let row = |column: StepNanos| PhaseRow {
            wall_s: sum(&column.nanos) / NANOS / steps,
            share: share(sum(&column.nanos), wall),
            wall_s_per_sample: share(sum(&column.nanos) / NANOS, samples as f64),
            spread: StepSpread::of(&column.nanos),
            name: column.name,
            rss_bytes: column.rss_bytes,
            products: (column.flop > 0).then(|| ProductRates {
                flop: column.flop as f64 / steps,
                flop_per_s: share(column.flop as f64, sum(&column.nanos) / NANOS),
                share_of_peak: None,
            }),
        };
        let parts = log.parts.iter().map(|(name, nanos)| StepNanos {
            name: name.clone(),
            nanos: nanos.clone(),
            rss_bytes: None,
            flop: 0,
        });
        let mut profile = Self {
            schema: RUN_SCHEMA,
            kind: "profile".to_owned(),
            model: conditions.model.clone(),
            mode: conditions.mode.clone(),
            batch: conditions.batch,
            threads: conditions.threads,
            steps: log.steps.len() as u64,
            warmed: log.warmed,
            skipped: log.skipped,
            samples,
            wall_s_per_step,
            cpu_s_per_step: sum(&per_step.cpu_nanos) / NANOS / steps,
            wall_s_per_sample: share(wall / NANOS, samples as f64),
            samples_per_s: share(samples as f64, wall / NANOS),
            step: StepSpread::of(&per_step.wall_nanos),
            phases: phase_columns(&log.steps).into_iter().map(row).collect(),
            parts: parts.map(row).collect(),
            background: columns(&log.steps, |step| &step.background, |_| 0).into_iter().map(row).collect(),
            peak_rss_bytes: log.steps.iter().flat_map(|step| step.rss_bytes).max().filter(|bytes| *bytes > 0),
            pool_bytes: log.steps.iter().map(|step| step.pool_bytes).max().filter(|bytes| *bytes > 0),
            peak_flop_per_s: None,
            functions: None,
            memory_reads: None,
            findings: Vec::new(),
            warnings: Vec::new(),
            measured: None,
            conditions,
            per_step,
        };
        profile.judge();
        Ok(profile)
    }

    /// Adds the peak of the process, which samples after phases may miss.
    #[must_use]
    pub fn with_peak_rss(mut self, bytes: Option<u64>) -> Self {
        self.peak_rss_bytes = self.peak_rss_bytes.max(bytes);
        self
    }

    /// Adds how many floating-point operations per second the multipliers can do, of which phases have a share.
    #[must_use]
    pub fn with_peak(mut self, flop_per_s: Option<f64>) -> Self {
        self.peak_flop_per_s = flop_per_s;
        for products in self.phases.iter_mut().filter_map(|row| row.products.as_mut()) {
            products.share_of_peak = flop_per_s.map(|peak| share(products.flop_per_s, peak));
        }
        self
    }

    /// Adds the functions that took the CPU time.
    #[must_use]
    pub fn with_functions(mut self, functions: FunctionSamples) -> Self {
        self.functions = Some(functions);
        self
    }

    /// Adds the reads from memory, given the samples of the event that counts them, or why none does.
    #[must_use]
    pub fn with_memory_reads(mut self, found: Result<(ReadCounter, FunctionSamples), NotCounted>) -> Self {
        self.memory_reads = Some(match found {
            Ok((counter, samples)) => {
                let wall_s =
                    |name: &str| self.phases.iter().find(|row| row.name == name).map(|row| row.wall_s);
                MemoryReads::Counted(CountedReads::of(counter, &samples, wall_s, self.steps))
            }
            Err(reason) => MemoryReads::NotCounted(reason),
        });
        self
    }

    /// Adds when it was measured.
    #[must_use]
    pub fn with_measured(mut self, measured: Option<Measured>) -> Self {
        self.measured = measured;
        self
    }

    /// Derives the findings from the figures.
    pub(super) fn judge(&mut self) {
        self.findings = judge::findings(self);
        self.warnings = judge::warnings(self);
    }
}

impl PerStep {
    fn of(steps: &[StepTimes]) -> Self {
        let all = |field: fn(&StepTimes) -> u64| steps.iter().map(field).collect();
        Self {
            samples: all(|step| step.samples),
            wall_nanos: all(|step| step.wall_nanos),
            cpu_nanos: all(|step| step.cpu_nanos),
            phases: phase_columns(steps).into_iter().map(|column| (column.name, column.nanos)).collect(),
            background: columns(steps, |step| &step.background, |_| 0)
                .into_iter()
                .map(|column| (column.name, column.nanos))
                .collect(),
            rss_bytes: StepPhase::ALL
                .into_iter()
                .map(|phase| (phase.name().to_owned(), phase_bytes(steps, phase)))
                .filter(|(_, bytes)| bytes.iter().any(|bytes| *bytes > 0))
                .collect(),
            pool_bytes: if steps.iter().any(|step| step.pool_bytes > 0) {
                all(|step| step.pool_bytes)
            } else {
                Vec::new()
            },
            flop: StepPhase::ALL
                .into_iter()
                .map(|phase| {
                    (phase.name().to_owned(), steps.iter().map(|step| of(&step.flop, phase)).collect())
                })
                .filter(|(_, flop): &(_, Vec<u64>)| flop.iter().any(|flop| *flop > 0))
                .collect(),
        }
    }
}

impl StepSpread {
    fn of(nanos: &[u64]) -> Self {
        let seconds: Vec<f64> = nanos.iter().map(|nanos| *nanos as f64 / NANOS).collect();
        let at = |share| quantile(&seconds, share).unwrap_or(0.0);
        Self {
            median_s: at(0.5),
            low_quartile_s: at(0.25),
            high_quartile_s: at(0.75),
            min_s: at(0.0),
            max_s: at(1.0),
        }
    }
}

fn phase_bytes(steps: &[StepTimes], phase: StepPhase) -> Vec<u64> {
    steps.iter().map(|step| of(&step.rss_bytes, phase)).collect()
}

fn sum(nanos: &[u64]) -> f64 {
    nanos.iter().map(|nanos| u128::from(*nanos)).sum::<u128>() as f64
}

/// The phases that took time, in their order, then what is in none.
fn phase_columns(steps: &[StepTimes]) -> Vec<StepNanos> {
    let flop = |phase| steps.iter().map(|step| of(&step.flop, phase)).sum();
    let mut out = columns(steps, |step| &step.phases, flop);
    let nanos = steps.iter().map(StepTimes::untracked_nanos).collect();
    out.push(StepNanos { name: StepPhase::UNTRACKED.to_owned(), nanos, rss_bytes: None, flop: 0 });
    out
}

/// A phase's value.
fn of(values: &[u64; StepPhase::COUNT], phase: StepPhase) -> u64 {
    values.get(phase as usize).copied().unwrap_or(0)
}

fn columns(
    steps: &[StepTimes],
    by_phase: fn(&StepTimes) -> &[u64; StepPhase::COUNT],
    flop: impl Fn(StepPhase) -> u64,
) -> Vec<StepNanos> {
    let column = |phase: StepPhase| StepNanos {
        name: phase.name().to_owned(),
        nanos: steps.iter().map(|step| of(by_phase(step), phase)).collect(),
        rss_bytes: steps.iter().map(|step| of(&step.rss_bytes, phase)).max().filter(|bytes| *bytes > 0),
        flop: flop(phase),
    };
    StepPhase::ALL
        .into_iter()
        .map(column)
        .filter(|column| column.nanos.iter().any(|nanos| *nanos > 0))
        .collect()
}
