//! Last stage: what is known about a file, about all files of a job together, and what stands out in it.

mod analysis;
mod bound;
mod file;
mod flame;
pub(crate) mod standout;
mod stragglers;
pub(crate) mod warning;

pub use analysis::{Analysis, DeviceSummary, SCHEMA};
pub use bound::{Bound, Limit, jobs};
pub(crate) use file::{BACKWARD, UNATTRIBUTED};
pub use file::{
    CategoryShare, CriticalPath, EventCat, FileFindings, FirstStepRow, FirstStepRows, LaneFindings,
    LanePicture, LaneStacks, Operation, OperationPart, Picture, PythonFunction, Share, StackNode,
    StepFindings, StepSpan, StepSummary,
};
pub use standout::{Source, Sourced, Standout};
pub use stragglers::{RankRow, StepRow, Stragglers};
pub use warning::{Counted, TraceWarning};
