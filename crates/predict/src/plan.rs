//! The manifest of a folder of predictions.

use crate::candidates::CandidatesEntry;
use crate::{BlockShare, HistogramScale};
use serde::{Deserialize, Serialize};
use std::path::PathBuf;

/// Everything that decides which predictions a folder holds.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Plan {
    /// Version of this document: 1.
    pub schema: u32,
    /// knockout's version.
    pub version: String,
    /// The command, without what does not change the predictions.
    pub command: String,
    /// The runs, in order.
    pub runs: Vec<RunEntry>,
    /// The dataset.
    pub dataset: DatasetEntry,
    /// The candidates.
    pub candidates: CandidatesEntry,
    /// Selection of the predictions that are kept.
    pub keep: KeptPredictions,
    /// Candidates in a block.
    pub block: u64,
    /// Scale of the histograms.
    pub histogram: HistogramScale,
    /// Share of the blocks.
    pub part: BlockShare,
}

/// A run that predicts.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct RunEntry {
    /// Its folder when it was used, as a hint only.
    pub folder: PathBuf,
    /// Its model.
    pub model: String,
    /// Seed of its weights.
    pub seed: u64,
    /// Name of its checkpoint.
    pub state: String,
    /// Step of the checkpoint.
    pub step: u64,
    /// blake3 over the checkpoint's weights.
    pub weights_hash: String,
}

/// The dataset of the runs.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct DatasetEntry {
    /// Content hash.
    pub hash: String,
    /// Where it was: a hint, nothing more.
    pub folder: PathBuf,
}

/// Selection of the predictions that are kept.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum KeptPredictions {
    /// All of them.
    All,
    /// The highest and the lowest.
    Extremes {
        /// How many of the highest.
        top: usize,
        /// How many of the lowest.
        bottom: usize,
    },
}

impl Plan {
    /// Number of blocks of all parts together.
    pub fn blocks(&self) -> u64 {
        self.candidates.count.div_ceil(self.block)
    }

    /// Returns a hash of everything that the bytes of a block depend on; blocks carry it.
    pub fn identity(&self) -> String {
        let mut hasher = blake3::Hasher::new();
        for (key, value) in self.keys() {
            hasher.update(key.as_bytes());
            hasher.update(&(value.len() as u64).to_le_bytes());
            hasher.update(value.as_bytes());
        }
        hasher.finalize().to_hex().to_string()
    }

    /// Returns the differences that change predictions.
    pub fn differences(&self, other: &Self) -> Vec<&'static str> {
        let differing = self.keys().into_iter().zip(other.keys()).filter(|((_, a), (_, b))| a != b);
        differing.map(|((key, _), _)| key).collect()
    }

    fn keys(&self) -> [(&'static str, String); 5] {
        let runs: Vec<String> =
            self.runs.iter().map(|run| format!("{} {}", run.model, run.weights_hash)).collect();
        [
            ("the runs' weights", runs.join("\n")),
            ("the dataset", self.dataset.hash.clone()),
            ("the candidates", format!("{} {}", self.candidates.count, self.candidates.hash)),
            ("what is kept (--top, --bottom, --full)", format!("{:?}", self.keep)),
            ("the block size", self.block.to_string()),
        ]
    }
}
