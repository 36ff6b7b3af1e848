//! The pictures of a run: its steps one by one, and memory over time. Includes positions on a time
//! axis.

use super::profile::RunProfile;
use knockout_base::stats::is_slow;
use knockout_trace::meter::StepPhase;

/// One step.
#[derive(Debug, Clone, PartialEq)]
pub struct StepBar {
    /// Index among the measured steps.
    pub number: usize,
    /// Wall time.
    pub us: f64,
    /// Phases that took time, by their index in [`RunProfile::phases`], in microseconds.
    pub parts: Vec<(usize, f64)>,
    /// Whether it stands out.
    pub is_slow: bool,
}

/// Memory of the process at the end of a phase.
#[derive(Debug, Clone, PartialEq)]
pub struct MemoryAfter {
    /// When, counted in measured steps only.
    pub at_us: f64,
    /// Resident bytes.
    pub bytes: u64,
    /// The phase that ended.
    pub phase: String,
}

const NANOS_PER_US: f64 = 1e3;

impl RunProfile {
    /// The measured steps, in order.
    pub fn step_bars(&self) -> Vec<StepBar> {
        let of = |number: usize, wall: u64| StepBar {
            number,
            us: wall as f64 / NANOS_PER_US,
            parts: self
                .phases
                .iter()
                .enumerate()
                .filter_map(|(index, row)| Some((index, *self.per_step.phases.get(&row.name)?.get(number)?)))
                .filter(|(_, nanos)| *nanos > 0)
                .map(|(index, nanos)| (index, nanos as f64 / NANOS_PER_US))
                .collect(),
            is_slow: is_slow(wall as f64 / 1e9, self.step.median_s),
        };
        self.per_step.wall_nanos.iter().enumerate().map(|(number, wall)| of(number, *wall)).collect()
    }

    /// Resident memory after every phase of every step; empty where it was not sampled.
    pub fn memory_curve(&self) -> Vec<MemoryAfter> {
        let (mut out, mut began) = (Vec::new(), 0.0);
        for (number, wall) in self.per_step.wall_nanos.iter().enumerate() {
            let mut at = began;
            for phase in StepPhase::ALL {
                let nanos = self
                    .per_step
                    .phases
                    .get(phase.name())
                    .and_then(|all| all.get(number))
                    .copied()
                    .unwrap_or(0);
                at += nanos as f64 / NANOS_PER_US;
                let bytes =
                    self.per_step.rss_bytes.get(phase.name()).and_then(|all| all.get(number)).copied();
                if let Some(bytes) = bytes.filter(|bytes| *bytes > 0) {
                    out.push(MemoryAfter { at_us: at, bytes, phase: phase.name().to_owned() });
                }
            }
            began += *wall as f64 / NANOS_PER_US;
        }
        out
    }
}
