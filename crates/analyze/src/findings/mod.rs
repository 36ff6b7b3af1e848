//! Last stage: what is known about a file, about all files of a job together, and what stands out in it.

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
pub use finding::{Delay, DelayCause, Source, Sourced, TraceFinding};
pub use job::{ClockOffset, CollectiveSummary, CollectiveTimes, Job, JobRank, StepWaits, jobs};
pub use modules::ModuleRow;
pub(crate) use modules::{module_tree, modules};
pub use peaks::Peaks;
pub use shapes::{KernelRow, Roof, RoofLimit, ShapeRow, Shapes};
pub use share::Share;
pub(crate) use share::shares;
pub use stragglers::{RankRow, StepRow, Stragglers};
pub use warning::{Counted, TraceWarning};
