//! Logs of training runs that others printed: progress bars become rates.

mod average;
mod bar;
mod log;
mod plain;
mod rate;
mod series;

pub use average::{Average, AveragePart};
pub use log::{Log, LogError, LogReader, LogRow, Logs};
pub use rate::{Figures, FiguresKind};
