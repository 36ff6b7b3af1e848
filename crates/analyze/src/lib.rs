//! Findings from Kineto traces, from logs of training runs, and from steps that knockout measured itself.
//!
//! Everything here is a value: `knockout-report` writes the sentences, tables and pages. The crate opens no files; events come from
//! [`knockout_trace`].
//!
//! # Traces
//!
//! A file passes through four stages. No stage depends on a later one, except that `assemble` uses the values of `findings`, which depends on
//! `collect` alone:
//!
//! 1. `collect`: a [`Collector`] receives the events while the file is read. [`Rules`] give every kind of event its categories. Spans are
//!    sorted by lane, beyond a memory budget in a temporary file.
//! 2. `attribute`: every instant of a lane belongs to the innermost event, its category and its step. Device events are joined with the
//!    calls that launched them.
//! 3. `assemble`: [`Collector::finish`] turns the sums into the [`FileFindings`] of the file.
//! 4. `findings`: [`Analysis`] joins the files of several ranks, [`Bound`] names the limit of the steps, and a [`TraceComparison`] has two
//!    analyses side by side.
//!
//! An event is classified by these, from the trace's own words to those of the findings:
//!
//! | word | meaning | decided by |
//! |---|---|---|
//! | `cat` | text in the trace, such as `cpu_op` or `kernel` | the producer of the trace |
//! | kind | events of one name, `cat` and origin | the trace |
//! | rule | gives a category to some kinds, alone (`itself`) or with the events inside them (`inside`) | the rule file |
//! | category | name in the rules that takes self time, such as `forward` or `memory copies` | the rules and the call tree |
//! | phase | category that the innermost event, itself or around it, has by an `inside` rule | the rules and the call tree |
//! | [`Role`] | part that a category plays in a step, by which findings look for it | `[[category]]` of the rule file |
//! | work | of a device event: computation, communication, memory or other | its role, else its name |
//!
//! A *step* is always a step of training. HTA is Holistic Trace Analysis, a Python package; its figures are repeated by its own rules beside
//! the exact ones.
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
//!
//! # Logs and measured runs
//!
//! [`logs`] turns the progress bars of a log into rates, [`operators`] reads the tables that `key_averages().table()` prints. [`profile`] turns the steps of a run into a
//! [`RunProfile`](profile::RunProfile), two of them into a [`RunComparison`](profile::RunComparison), and many into an
//! [`Experiment`](profile::experiment::Experiment). [`mod@reference`] reproduces the figures of an older script.

mod assemble;
mod attribute;
mod collect;
mod compare;
pub mod export;
mod findings;
pub mod logs;
pub mod operators;
pub mod profile;
pub mod reference;
mod sort;

pub use collect::cost::Precision;
pub use collect::counts::EventCounts;
pub use collect::memory::{MemoryDevice, MemoryPoint};
pub use collect::rules::{Category, Role, Rules};
pub use collect::{Collector, Options};
pub use compare::{
    ByDevice, Change, Contributor, FirstStepComparison, NameRow, NameTable, OpsChange, TimeUnit,
    TraceComparison, TraceComparisonWarning, TraceQuantity, TraceRow,
};
pub use findings::{
    Analysis, Bound, CategoryShare, ClockOffset, CollectiveKind, CollectiveRow, CollectiveSummary,
    CollectiveTable, CollectiveTimes, Confidence, Counted, CriticalPath, Delay, DelayCause, DeviceSummary,
    DeviceTimes, EventCat, FileFindings, FindingSource, FirstStepRow, FirstStepRows, Gpu, GpuHta, IdleStream,
    Job, JobRank, KernelRow, KernelType, LaneFindings, LanePicture, LaneStacks, LaunchFigures, Limit,
    ModuleRow, Operation, OperationPart, Peaks, Picture, PythonFunction, QueueFigures, Roof, RoofLimit,
    SCHEMA, ShapeRow, Shapes, Sourced, StackNode, StepFindings, StepRow, StepSpan, StepSummary, StepWaits,
    StragglerRow, Stragglers, TimeParts, TimeShare, TraceFinding, TraceWarning, jobs,
};
pub use knockout_base::stats::FEWEST_FOR_INTERVAL;
