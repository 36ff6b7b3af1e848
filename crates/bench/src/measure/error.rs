//! Why a measurement failed.

use knockout_analyze::profile::experiment::ExperimentError;
use knockout_analyze::profile::{JoinError, NoSteps};
use knockout_base::error::{Class, Classified};
use knockout_base::files::DurableError;
use knockout_trace::TraceFileError;
use knockout_train::config::ConfigError;
use knockout_train::fit::FitError;
use knockout_train::stores::RunStoreError;

/// A measurement that cannot be made.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum MeasureError {
    /// A folder that cannot be made.
    #[error(transparent)]
    Folder(#[from] DurableError),
    /// No model was named.
    #[error("name a model")]
    NoModel,
    /// The configuration cannot be carried out.
    #[error(transparent)]
    Config(#[from] ConfigError),
    /// A store of precomputed deletions cannot be used.
    #[error(transparent)]
    Store(#[from] RunStoreError),
    /// A step failed.
    #[error(transparent)]
    Fit(#[from] FitError),
    /// The trace could not be written.
    #[error(transparent)]
    Trace(#[from] TraceFileError),
    /// No step was measured.
    #[error(transparent)]
    NoSteps(#[from] NoSteps),
    /// Rounds that do not go on with each other.
    #[error(transparent)]
    Join(#[from] JoinError),
    /// Rounds of one experiment have other cells.
    #[error("a round was measured without {cell}; rounds of one experiment have the same cells")]
    OtherCells {
        /// Name of the cell that the round lacks.
        cell: String,
    },
    /// Figures of one experiment that cannot be set beside each other.
    #[error("the measurements contradict each other")]
    Contradiction(#[from] ExperimentError),
}

impl Classified for MeasureError {
    fn class(&self) -> Class {
        match self {
            Self::Folder(error) => error.class(),
            Self::NoModel | Self::Config(_) | Self::NoSteps(_) => Class::Request,
            Self::Store(error) => error.class(),
            Self::Fit(error) => error.class(),
            Self::Trace(_) | Self::Contradiction(_) | Self::Join(_) | Self::OtherCells { .. } => {
                Class::Failure
            }
        }
    }
}
