//! Measured steps become findings: the profile of a run, two runs beside each other, and experiments of many runs.
//!
//! Takes the steps a [`Meter`](knockout_trace::meter::Meter) measured, and in [`functions`] samples of the CPU; independent of files, terminals,
//! renderings and traces.

pub mod experiment;
pub mod functions;
mod run;

pub use run::{
    Conditions, Measured, MemoryAfter, PerStep, PhaseRow, ProductRates, RUN_SCHEMA, RunComparison,
    RunComparisonWarning, RunFinding, RunProfile, RunQuantity, RunRow, RunWarning, StepBar, StepSpread,
};
