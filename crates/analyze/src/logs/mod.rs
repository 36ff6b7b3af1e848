//! Logs of training runs that others printed: progress bars become rates.

mod average;
mod bar;
mod log;
mod plain;
mod rate;
mod row;
mod series;

pub use average::{Average, AveragePart};
pub use log::{Log, LogReader, Logs};
pub use row::{Figures, FiguresKind, LogRow};
