//! Last stage: the findings of a file, and of all files of a job together.

mod analysis;
mod bound;
mod collective;
mod device;
mod file;
pub(crate) mod finding;
mod flame;
pub(crate) mod job;
pub(crate) mod judge;
mod modules;
mod peaks;
mod shapes;
mod share;
mod stragglers;
pub(crate) mod warning;

pub use analysis::{Analysis, DeviceSummary, SCHEMA};
pub use bound::{Bound, Confidence, Limit, TimeParts};
pub use collective::{CollectiveKind, CollectiveRow, CollectiveTable};
pub use device::{DeviceTimes, Gpu, GpuHta, IdleStream, KernelType, LaunchFigures, QueueFigures};
pub use file::{
    CategoryShare, CriticalPath, EventCat, FileFindings, FirstStepRow, FirstStepRows, LaneFindings,
    LanePicture, LaneStacks, Operation, OperationPart, Picture, PythonFunction, StackNode, StepFindings,
    StepSpan, StepSummary,
};
pub use finding::{Delay, DelayCause, FindingSource, Sourced, TraceFinding};
pub use job::{ClockOffset, CollectiveSummary, CollectiveTimes, Job, JobRank, StepWaits, jobs};
pub use modules::ModuleRow;
pub(crate) use modules::{module_tree, modules};
pub use peaks::Peaks;
pub use shapes::{KernelRow, Roof, RoofLimit, ShapeRow, Shapes};
pub use share::TimeShare;
pub(crate) use share::shares;
pub use stragglers::{StepRow, StragglerRow, Stragglers};
pub use warning::{Counted, TraceWarning};
