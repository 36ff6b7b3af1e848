//! Trained models put to use: predictions for very many gene sets, and one prediction taken apart.
//!
//! Candidates are numbered and cut into blocks; a block is a file that is whole or absent, so that a killed process loses at most
//! the blocks in hand, and machines share the work by blocks. What a block holds depends on its number alone, never on threads,
//! parts or interruptions. The crate knows nothing of the command line and never prints.

pub mod baseline;
mod block;
mod calibration;
pub mod candidates;
mod combination;
pub mod evaluation;
pub mod explain;
mod folder;
mod histogram;
mod merge;
mod part;
mod plan;
mod predict;
pub mod predictions;
pub mod scorer;
mod stack;
mod summary;
mod top;

pub use calibration::Calibration;
pub use candidates::{Candidates, Choice, Filters};
pub use folder::{Folder, MANIFEST, PREDICTIONS};
pub use histogram::Histogram;
pub use merge::merge;
pub use part::Share;
pub use plan::{DatasetEntry, Keep, Plan, RunEntry};
pub use predict::{Outcome, Progress, predict};
pub use scorer::{Ensemble, OpenRun, Scorer, Scores};
pub use stack::stack_predictions;
pub use summary::{Summary, write_csv, write_hits};
pub use top::{Extremes, Hit};
