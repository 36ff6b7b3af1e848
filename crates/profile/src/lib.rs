//! Traces become findings: where the time went, and what changed between two runs.
//!
//! Reads events through [`knockout_trace`], and makes [`RunProfile`]s of the steps our own runs measure; knows nothing of files, terminals or renderings.
//!
//! ```
//! use knockout_profile::{Analysis, Collector, Options, Rules};
//! use knockout_trace::{ReadOptions, read};
//!
//! let text = br#"{"traceEvents": [
//!     {"ph": "X", "cat": "cpu_op", "name": "aten::linear", "pid": 1, "tid": 1, "ts": 0, "dur": 10},
//!     {"ph": "X", "cat": "cpu_op", "name": "aten::addmm", "pid": 1, "tid": 1, "ts": 2, "dur": 5.5}]}"#;
//! let mut collector = Collector::new(&Rules::default_rules()?, &Options::default());
//! let outcome = read(&text[..], ReadOptions::default(), &mut collector)?;
//! let analysis = Analysis::of(vec![collector.finish("small.json", &outcome)?]);
//! assert_eq!(analysis.self_us, 10.0);
//! assert_eq!(analysis.operations[0].name, "aten::addmm");
//! assert_eq!(analysis.operations[1].self_us, 4.5);
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```

mod analysis;
mod assemble;
mod begin_end;
mod collect;
mod compare;
pub mod counts;
mod critical;
mod error;
pub mod experiment;
mod findings;
mod finish;
mod gpu;
mod hta;
mod interval;
mod kind;
mod lane;
pub mod logs;
mod memory;
mod record;
mod rules;
mod run;
mod self_time;
mod share;
mod sort;
mod steps;
mod stragglers;
mod timeline;
mod tree;
mod units;
mod verdict;
mod warning;

pub use analysis::{Analysis, DeviceSummary, SCHEMA};
pub use collect::{Collector, Options};
pub use compare::{
    About, ByDevice, Comparison, Difference, FirstStepComparison, NameRow, NameTable, OpsChange, Row,
};
pub use error::ProfileError;
pub use findings::{
    CategoryShare, CriticalPath, EventCat, FileFindings, FirstStepRow, FirstStepRows, LaneFindings,
    LanePicture, LaneStacks, Operation, OperationPart, Picture, PythonFunction, Share, StackNode,
    StepFindings, StepSpan, StepSummary, Verdict,
};
pub use gpu::{DeviceTimes, Gpu, GpuHta, IdleStream, KernelType, LaunchFigures, QueueFigures};
pub use memory::{MemoryDevice, MemoryPoint};
pub use rules::{DEFAULT_TOML, Rules, RulesError};
pub use run::{
    Conditions, LargestBatch, MemoryAfter, NoSteps, PerStep, PhaseRow, RUN_SCHEMA, RunComparison,
    RunDocumentError, RunDocumentErrorKind, RunProfile, RunVerdict, Spread, StepBar, VaryError,
};
pub use stragglers::{RankRow, StepRow, Stragglers};

pub mod reference;
