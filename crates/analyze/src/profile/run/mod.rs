//! Runs of our own: the steps a [`Meter`](knockout_trace::meter::Meter) measured become findings, and two runs' findings a
//! comparison, which is rejected under different conditions.
//!
//! Independent of models and files; documents are read from and written to bytes.

mod build;
mod compare;
mod conditions;
mod document;
mod finding;
mod join;
mod judge;
mod picture;
mod profile;

pub use compare::{RunComparison, RunComparisonWarning, RunQuantity, RunRow};
pub(in crate::profile) use compare::{check_conditions, split_differences};
pub use conditions::Conditions;
pub use finding::{RunFinding, RunWarning};
pub use picture::{MemoryAfter, StepBar};
pub use profile::{Measured, PerStep, PhaseRow, ProductRates, RunProfile, StepSpread};

/// Version of the documents of `profile` and `compare`; grows when a key changes its meaning.
pub const RUN_SCHEMA: u32 = 1;
