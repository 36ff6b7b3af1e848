//! Comparison of two traces.

mod first_step;
mod trace;

pub use first_step::{ByDevice, Change, FirstStepComparison, NameRow, NameTable, OpsChange};
pub use trace::{Contributor, TimeUnit, TraceComparison, TraceComparisonWarning, TraceQuantity, TraceRow};
