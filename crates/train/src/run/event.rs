//! Events of a run.

use super::metrics::MetricsLine;
use crate::fit::StepReport;
use knockout_solve::TriedSetting;

/// A condition under which a run ends.
pub(super) type StopWhen = Box<dyn Fn() -> bool + Send + Sync>;

/// Why a run ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum End {
    /// `epochs` were trained.
    Epochs,
    /// `max_steps` was reached.
    Steps,
    /// No improvement for as long as patience allows.
    Patience,
    /// The model was solved.
    Solved,
    /// [`Run::stop`](super::Run::stop); the state is saved.
    Stopped,
}

impl End {
    /// The word of JSON documents.
    pub fn name(self) -> &'static str {
        match self {
            Self::Epochs => "epochs",
            Self::Steps => "steps",
            Self::Patience => "patience",
            Self::Solved => "solved",
            Self::Stopped => "stopped",
        }
    }
}

/// An event of a run.
#[derive(Debug, Clone)]
#[expect(clippy::large_enum_variant, reason = "one event exists at a time, and most are steps")]
pub enum Event {
    /// A step was taken.
    Step(StepReport),
    /// A solver tried a setting on the validation part.
    Tried(TriedSetting),
    /// A solver took a step of a long computation.
    Solving {
        /// Name of the computation.
        what: String,
        /// Number of the step.
        step: usize,
    },
    /// A part of the validation samples was predicted; omitted if one batch predicts all of them.
    Validation {
        /// Samples predicted.
        done: usize,
        /// Samples of the validation part.
        total: usize,
    },
    /// An epoch, or a part of one at the end of a run, was validated and its line written.
    Epoch(MetricsLine),
    /// The run is over and its newest state that can be resumed is saved; no event follows.
    End(End),
}
