//! The parts of a training step. Spans, tables and rules take their names from here.

use crate::{RESIDENT_BYTES, SpanName};
use std::fmt;
use std::sync::Arc;

/// A part of a training step.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[repr(u8)]
pub enum StepPhase {
    /// Reading samples.
    Fetch,
    /// Turning deletions into the representation the model takes.
    Process,
    /// Collating samples.
    Collate,
    /// Waiting for a batch that is made in the background.
    Wait,
    /// The forward pass.
    Forward,
    /// The loss.
    Loss,
    /// The backward pass.
    Backward,
    /// Waiting for the other ranks.
    Barrier,
    /// Exchanging gradients with them.
    Exchange,
    /// Clipping the gradients.
    Clip,
    /// The optimiser's update.
    Optimiser,
    /// Metrics and messages, and writing the trace itself.
    Logging,
    /// Saving the state.
    Checkpoint,
    /// Scoring held-out samples.
    Validation,
}

impl StepPhase {
    /// Number of phases.
    pub const COUNT: usize = Self::ALL.len();

    /// All of them, in the order of a step.
    pub const ALL: [Self; 14] = [
        Self::Fetch,
        Self::Process,
        Self::Collate,
        Self::Wait,
        Self::Forward,
        Self::Loss,
        Self::Backward,
        Self::Barrier,
        Self::Exchange,
        Self::Clip,
        Self::Optimiser,
        Self::Logging,
        Self::Checkpoint,
        Self::Validation,
    ];

    /// Name of the time of a step that is in no phase.
    pub const UNTRACKED: &'static str = "untracked";

    /// Name in spans, tables and rules.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Fetch => "fetch",
            Self::Process => "process",
            Self::Collate => "collate",
            Self::Wait => "wait",
            Self::Forward => "forward",
            Self::Loss => "loss",
            Self::Backward => "backward",
            Self::Barrier => "barrier",
            Self::Exchange => "exchange",
            Self::Clip => "clip",
            Self::Optimiser => "optimiser",
            Self::Logging => "logging",
            Self::Checkpoint => "checkpoint",
            Self::Validation => "validation",
        }
    }

    /// The phase of a name; `None` for anything else, parts of phases included.
    pub fn from_name(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|phase| phase.name() == name)
    }

    /// The name of a part of this phase: `StepPhase::Forward.part("sage1")` is `forward/sage1`.
    pub const fn part(self, part: &'static str) -> SpanName {
        SpanName::Part(self.name(), part)
    }

    /// Returns the name of an operation of a part of the model in this phase: `forward/layer1.aggregate`.
    pub fn part_of(self, part: &Arc<str>, operation: &'static str) -> SpanName {
        SpanName::Inside(self.name(), Arc::clone(part), operation)
    }

    /// Returns whether only divided steps have the phase: a whole batch on one process has not.
    pub const fn is_of_shards(self) -> bool {
        matches!(self, Self::Barrier | Self::Exchange)
    }

    /// Returns whether the phase makes batches: the loader's work, and waiting for it.
    pub const fn is_data(self) -> bool {
        matches!(self, Self::Fetch | Self::Process | Self::Collate | Self::Wait)
    }
}

impl fmt::Display for StepPhase {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.name())
    }
}

impl From<StepPhase> for SpanName {
    fn from(phase: StepPhase) -> Self {
        Self::Fixed(phase.name())
    }
}

/// Returns the name of a whole step's span, as profilers and their readers call it.
pub(crate) const fn step_name(number: u64) -> SpanName {
    SpanName::Numbered("ProfilerStep#", number)
}

/// Quantity that is sampled besides time.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Gauge {
    /// Memory of the process that is in the machine, in bytes.
    Rss,
    /// Memory of the engine's buffers, in bytes.
    Pool,
    /// Batches that are ready and not yet consumed.
    QueueDepth,
}

impl Gauge {
    /// Name of its counter in a trace.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Rss => RESIDENT_BYTES,
            Self::Pool => "pool bytes",
            Self::QueueDepth => "queue depth",
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_phase_has_its_index_and_is_found_by_its_name() {
        for (index, phase) in StepPhase::ALL.into_iter().enumerate() {
            assert_eq!(phase as usize, index);
            assert_eq!(StepPhase::from_name(phase.name()), Some(phase));
        }
        assert_eq!(StepPhase::from_name("forward/sage1"), None);
        assert_eq!(StepPhase::Forward.part("sage1").to_string(), "forward/sage1");
        let part = StepPhase::Backward.part_of(&"layer1.network.physical".into(), "gin");
        assert_eq!(part.to_string(), "backward/layer1.network.physical.gin");
        assert_eq!(step_name(7).to_string(), "ProfilerStep#7");
    }
}
