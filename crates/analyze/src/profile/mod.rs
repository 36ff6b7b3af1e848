//! Measured steps become findings: the profile of a run, two runs beside each other, and experiments of many runs.
//!
//! Takes the steps a [`Meter`](knockout_trace::meter::Meter) measured; knows nothing of files, terminals, renderings or traces.

pub mod experiment;
mod run;

pub use run::{
    About, ComparisonWarning, Conditions, JoinError, MemoryAfter, NoSteps, PerStep, PhaseRow, RUN_SCHEMA,
    Row, RunComparison, RunDocumentError, RunDocumentErrorKind, RunFinding, RunProfile, RunWarning, Spread,
    StepBar, VaryError,
};
