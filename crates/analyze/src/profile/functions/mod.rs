//! Functions that take the CPU time of phases and layers: samples of `perf` joined with the spans of the steps.
//!
//! `script` reads what `perf script` prints, `symbol` shortens names of functions, and `join` finds the span that each sample fell into. The
//! module starts no program and depends on neither models nor runs.

mod join;
mod script;
mod symbol;

pub use join::RecordedSpans;
pub use script::{CpuSample, CpuSamples};

use serde::{Deserialize, Serialize};

/// Functions that the CPU was in during the measured steps. A sample counts for the function that it fell into, not for its callers: figures
/// are self time.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct FunctionSamples {
    /// Event that was sampled: `cycles`, or `cpu-clock` where no hardware counter can be read.
    pub event: String,
    /// Samples in spans of the measured steps, of all threads.
    pub samples: u64,
    /// Samples in measured steps, but in no span: of threads that work ahead, between their batches.
    pub outside: u64,
    /// Samples in no measured step, such as those of a warm-up step.
    pub unmeasured: u64,
    /// By phase, in the order of a step, then of no phase; their samples sum to those of the main thread and its helpers.
    pub phases: Vec<SpanFunctions>,
    /// By part of a phase, parts inside it included, the longest first; inside the samples of the phases.
    pub parts: Vec<SpanFunctions>,
    /// By phase of threads that work ahead.
    pub background: Vec<SpanFunctions>,
    /// All samples in spans by their spans and function, for collapsed stacks.
    #[serde(skip)]
    pub stacks: Vec<SampledStack>,
}

/// Functions of a phase, or of a part of one.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct SpanFunctions {
    /// Name of the phase or part.
    pub name: String,
    /// Its samples.
    pub samples: u64,
    /// Their fraction of all samples in spans.
    pub share: f64,
    /// Its functions, the longest first.
    pub functions: Vec<FunctionRow>,
}

/// Samples of a function.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct FunctionRow {
    /// Shortened name, with its library where it is not the program's own.
    pub name: String,
    /// Its samples in the phase or part.
    pub samples: u64,
    /// Their fraction of the phase's or part's.
    pub share: f64,
}

/// Samples of one function in one span.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SampledStack {
    /// The phase, the spans in it from the outside in, and the function.
    pub frames: Vec<String>,
    /// Number of samples.
    pub samples: u64,
}
