//! Logs of training runs that others printed: progress bars and printed times of steps become rates.

mod average;
mod bar;
mod log;
mod plain;
mod rate;
mod ratio;
mod row;
mod series;
mod step_line;
mod step_rate;

pub use average::{Average, AveragePart};
pub use log::{Log, LogReader, Logs};
pub use ratio::{LogCondition, LogDifference, LogRatio};
pub use row::{Figures, FiguresKind, LogRow};
