//! Many runs, measured alternately, become one experiment: modes, models and switches that can be compared because they took the
//! same batches on the same machine at the same time.
//!
//! Every figure is taken per round: the mean over a round's steps, so that nothing is left out. Rounds of different cells
//! are paired, so that a disturbance of the machine affects all alike. A figure is the median over rounds,
//! with a confidence interval over rounds. Independent of models and files.

mod ablation;
mod answer;
mod breakdown;
mod build;
mod cell;
mod compare;
mod decompose;
mod finding;
mod findings;
mod judge;
mod own_batch;
mod ranks;
mod ratio;

pub use ablation::{Effect, ModelAblation, RankedBy, SwitchOutcome, SwitchResult, SwitchRuns, Tried};
pub use answer::{Answer, Question};
pub use breakdown::{Breakdown, BreakdownRow};
pub use cell::CellFindings;
pub use compare::{ExperimentComparison, ModelRatio, StoredExperiment};
pub use decompose::{Component, Decomposition, PartShare};
pub use finding::{ExperimentFinding, NextStep};
pub use findings::{Crowd, Experiment, ExperimentPlan, ExperimentWarning};
pub use own_batch::{ModelRow, OwnBatch};
pub use ranks::{RankScaling, ScalingRow};
pub use ratio::{CellRatio, RecordingCost};

/// Version of the document of `experiment`; grows when a key changes its meaning.
pub const EXPERIMENT_SCHEMA: u32 = 1;
