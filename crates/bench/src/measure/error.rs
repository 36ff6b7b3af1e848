//! Why a measurement failed.

use knockout_base::error::{Class, Classified, Error};
use knockout_train::config::ConfigError;
use knockout_train::fit::FitError;
use knockout_train::stores::RunStoreError;

/// A measurement that cannot be made.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum MeasureError {
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
    /// A folder or trace that cannot be written, or steps that do not make a profile.
    #[error(transparent)]
    Other(#[from] Error),
    /// Rounds of one experiment have other cells.
    #[error("a round was measured without {cell}; rounds of one experiment have the same cells")]
    OtherCells {
        /// Name of the cell that the round lacks.
        cell: String,
    },
    /// Figures of one experiment that cannot be set beside each other.
    #[error("the measurements contradict each other")]
    Contradiction(#[source] Error),
}

impl Classified for MeasureError {
    fn class(&self) -> Class {
        match self {
            Self::NoModel | Self::Config(_) => Class::Request,
            Self::Other(error) => error.class(),
            Self::Store(error) => error.class(),
            Self::Fit(error) => error.class(),
            Self::Contradiction(_) | Self::OtherCells { .. } => Class::Failure,
        }
    }
}
