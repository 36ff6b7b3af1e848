//! Kineto traces become findings: where the time went, and what changed between two traces. Foreign logs too: how fast
//! the runs that printed them were.
//!
//! Four stages, a folder each: `collect` (on `sort`), `attribute`, `assemble`, `findings`. A *step* is always one of training. HTA is
//! Holistic Trace Analysis, a Python package whose figures are repeated by its own rule beside the exact ones.
//!
//! Reads events through [`knockout_trace`]; knows nothing of files, terminals or renderings, nor of runs we measure ourselves.
//!
//! ```
//! use knockout_analyze::{Analysis, Collector, Options, Rules};
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

mod assemble;
mod attribute;
mod collect;
mod compare;
mod findings;
pub mod logs;
pub mod profile;
pub mod reference;
mod sort;

pub use collect::counts::Counts;
pub use collect::memory::{MemoryDevice, MemoryPoint};
pub use collect::rules::{Category, Role, Rules};
pub use collect::{Collector, Options};
pub use compare::{
    About, ByDevice, Change, Comparison, ComparisonWarning, Contributor, FirstStepComparison, NameRow,
    NameTable, OpsChange, Row, TimeUnit,
};
pub use findings::{
    Analysis, Bound, CategoryShare, Counted, CriticalPath, DeviceSummary, DeviceTimes, EventCat,
    FileFindings, FirstStepRow, FirstStepRows, Gpu, GpuHta, IdleStream, KernelType, LaneFindings,
    LanePicture, LaneStacks, LaunchFigures, Limit, Operation, OperationPart, Picture, PythonFunction,
    QueueFigures, RankRow, SCHEMA, Share, Source, Sourced, StackNode, Standout, StepFindings, StepRow,
    StepSpan, StepSummary, Stragglers, TraceWarning, jobs,
};
pub use knockout_base::stats::FEWEST_FOR_INTERVAL;
