//! Runs of our own: the steps a [`Meter`](knockout_trace::meter::Meter) measured become findings, and two runs' findings a
//! comparison that refuses to compare unlike things.
//!
//! Knows neither models nor files; documents come and go as bytes.

mod compare;
mod conditions;
mod document;
mod finding;
mod join;
mod picture;
mod profile;

pub use compare::{About, ComparisonWarning, Row, RunComparison, VaryError};
pub use conditions::Conditions;
pub use document::{RunDocumentError, RunDocumentErrorKind};
pub use finding::{RunFinding, RunWarning};
pub use join::JoinError;
pub use picture::{MemoryAfter, StepBar};
pub use profile::{NoSteps, PerStep, PhaseRow, RunProfile, Spread};

/// Version of the documents of `profile` and `compare`; grows when a key changes its meaning.
pub const RUN_SCHEMA: u32 = 1;
