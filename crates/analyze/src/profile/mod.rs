//! Measured steps become findings: the profile of a run, two runs beside each other, and experiments of many runs.
//!
//! Takes the steps a [`Meter`](knockout_trace::meter::Meter) measured; independent of files, terminals, renderings and traces.

pub mod experiment;
mod run;

pub use run::{
    Conditions, Measured, MemoryAfter, PerStep, PhaseRow, RUN_SCHEMA, RunComparison, RunComparisonWarning,
    RunFinding, RunProfile, RunQuantity, RunRow, RunWarning, StepBar, StepSpread,
};
