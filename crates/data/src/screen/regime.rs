//! Regimes of predictions: how many genes of a set training has never seen.

use serde::{Deserialize, Serialize};

/// How many genes of a set are new to a model.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Regime {
    /// Training has records of every gene.
    Known,
    /// Training has no record of one gene.
    OneNew,
    /// Training has no record of two or more genes.
    SeveralNew,
}

impl Regime {
    /// All of them, the easiest first.
    pub const ALL: [Self; 3] = [Self::Known, Self::OneNew, Self::SeveralNew];

    /// Returns the regime of a set; `is_trained` returns whether training has a record of a gene.
    pub fn of(set: &[u32], is_trained: &[bool]) -> Self {
        match set.iter().filter(|&&gene| !is_trained[gene as usize]).count() {
            0 => Self::Known,
            1 => Self::OneNew,
            _ => Self::SeveralNew,
        }
    }

    /// Returns the word in files.
    pub fn name(self) -> &'static str {
        match self {
            Self::Known => "known",
            Self::OneNew => "one-new",
            Self::SeveralNew => "several-new",
        }
    }

    /// Describes the regime.
    pub fn title(self) -> &'static str {
        match self {
            Self::Known => "all genes screened",
            Self::OneNew => "one new gene",
            Self::SeveralNew => "two or more new genes",
        }
    }
}
