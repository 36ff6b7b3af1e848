//! Measured steps become findings: the profile of a run, two runs beside each other, and experiments of many runs.
//!
//! Takes the steps a [`Meter`](knockout_trace::meter::Meter) measured, and in [`functions`] and `reads` samples of the CPU; independent of files,
//! terminals, renderings and traces.

pub mod experiment;
pub mod functions;
mod reads;
mod run;

pub use reads::{CountedReads, KnownReads, MemoryReads, NotCounted, PhaseReads, ReadCounter};
pub use run::{
    Conditions, Measured, MemoryAfter, PerStep, PhaseRow, ProductRates, RUN_SCHEMA, RunComparison,
    RunComparisonWarning, RunFinding, RunProfile, RunQuantity, RunRow, RunWarning, StepBar, StepSpread,
};
