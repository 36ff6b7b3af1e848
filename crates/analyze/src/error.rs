//! What can go wrong between a trace and its findings.

use knockout_base::error::{Class, Classified};
use std::path::PathBuf;

/// Why there are no findings.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum AnalyzeError {
    /// The temporary file could not be written or read.
    #[error(
        "could not use a temporary file in {folder:?}; free some space there or set TMPDIR to another folder"
    )]
    Spill {
        /// The folder of the temporary file.
        folder: PathBuf,
        /// What the system said.
        #[source]
        source: std::io::Error,
    },
    /// Bytes of the temporary file changed while it was used.
    #[error("the temporary file does not hold what was written to it; check the disk and try again")]
    SpillDamaged,
    /// The rules cannot be used.
    #[error(transparent)]
    Rules(#[from] crate::RulesError),
    /// The trace could not be read.
    #[error(transparent)]
    Trace(#[from] knockout_trace::ReadError),
}

impl Classified for AnalyzeError {
    fn class(&self) -> Class {
        match self {
            Self::Trace(error) => error.class(),
            Self::Rules(error) => error.class(),
            Self::Spill { .. } | Self::SpillDamaged => Class::Failure,
        }
    }
}
