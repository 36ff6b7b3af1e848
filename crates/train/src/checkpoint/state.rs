//! The state of a run beside its tensors.

use crate::config::Identity;
use crate::fit::Position;
use crate::schedule::{Best, EarlyStopping, LearningRate, refuse};
use knockout_base::error::Result;
use knockout_data::cell::Cell;
use knockout_data::screen::LabelStats;
use knockout_models::loss::BufferState;
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;

/// blake3 of the lines before a position, in hexadecimal digits where it is stored.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(into = "String", try_from = "String")]
pub struct Digest(pub(crate) [u8; blake3::OUT_LEN]);

impl Digest {
    /// Returns the digest of bytes.
    pub fn of(bytes: &[u8]) -> Self {
        Self(*blake3::hash(bytes).as_bytes())
    }
}

impl From<Digest> for String {
    fn from(digest: Digest) -> Self {
        blake3::Hash::from_bytes(digest.0).to_hex().to_string()
    }
}

impl TryFrom<String> for Digest {
    type Error = blake3::HexError;

    fn try_from(text: String) -> Result<Self, Self::Error> {
        Ok(Self(*blake3::Hash::from_hex(text)?.as_bytes()))
    }
}

/// A position in the metrics file between two lines.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct LogPosition {
    /// Bytes before it.
    pub bytes: u64,
    /// Lines before it.
    pub lines: u64,
    /// Digest of those lines; earlier versions wrote none.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub blake3: Option<Digest>,
}

impl LogPosition {
    /// Before the first line.
    pub const START: Self = Self { bytes: 0, lines: 0, blake3: None };
}

/// A float that survives bit for bit.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub struct Number(#[serde(with = "crate::exact")] pub f64);

/// Time spent on the unfinished epoch of a checkpoint, over all sessions. It does not affect what is trained.
#[derive(Debug, Clone, Copy, PartialEq, Default)]
pub struct EpochSpent {
    /// Wall time, in seconds.
    pub wall_seconds: f64,
    /// CPU time of all threads, in seconds.
    pub cpu_seconds: f64,
    /// Samples trained on in that time.
    pub samples: f64,
}

impl EpochSpent {
    const NAMES: [&str; 3] = ["epoch_wall_seconds", "epoch_cpu_seconds", "epoch_timed_samples"];

    /// Returns the times in a checkpoint; zero at the start of an epoch and in checkpoints of earlier versions.
    pub fn of(state: &State) -> Self {
        let [wall_seconds, cpu_seconds, samples] = Self::NAMES.map(|name| {
            let number = state.numbers.get(name).map_or(0.0, |number| number.0);
            if number.is_finite() { number.max(0.0) } else { 0.0 }
        });
        Self { wall_seconds, cpu_seconds, samples }
    }

    /// The numbers of a state, by name; none where nothing was trained.
    pub(crate) fn numbers(self) -> impl Iterator<Item = (String, Number)> {
        let values = [self.wall_seconds, self.cpu_seconds, self.samples];
        let named = Self::NAMES.into_iter().zip(values).filter(move |_| self.samples > 0.0);
        named.map(|(name, value)| (name.to_owned(), Number(value)))
    }
}

/// Everything but the tensors.
///
/// Random numbers need no state of their own: each use is keyed by the seed, its purpose, the epoch and the step.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct State {
    /// Identity of the run.
    pub identity: Identity,
    /// Position in the run.
    #[serde(rename = "place")]
    pub position: Position,
    /// Key of everything random: order of samples, dropout, choice of stored rows.
    pub seed: u64,
    /// The learning rate's schedule.
    pub learning_rate: LearningRate,
    /// When to give up, if ever.
    pub early_stopping: Option<EarlyStopping>,
    /// The best value of each metric so far, by name.
    pub best: BTreeMap<String, Best>,
    /// Write position of each loss buffer, by name; its rows are among the tensors.
    pub loss_buffers: BTreeMap<String, BufferState>,
    /// End of the metrics file.
    pub metrics: LogPosition,
    /// Other numbers by name: the running loss of an unfinished epoch, its samples and the time they took.
    pub numbers: BTreeMap<String, Number>,
    /// Everything that predicting needs beside the weights; earlier versions wrote none.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub card: Option<ModelCard>,
}

/// Describes the model that weights belong to: enough to predict with them, given the cell.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ModelCard {
    /// The run's whole configuration, as TOML.
    pub config: String,
    /// Number of training scores.
    pub score_count: usize,
    /// Mean of the training scores.
    pub score_mean: Number,
    /// Their population standard deviation.
    pub score_sd: Number,
    /// Systematic names of the genes, in the order of the gene table.
    pub genes: Vec<String>,
    /// Hash of each network by name.
    pub networks: BTreeMap<String, String>,
    /// Hash of the metabolism, of a model that reads it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub metabolism: Option<String>,
    /// Hash of the content features, of a model that reads them.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub features: Option<String>,
}

impl ModelCard {
    /// Creates the description of a model with the configuration `config` that was trained on scores with these statistics.
    pub fn new(config: String, labels: LabelStats, cell: &Cell) -> Self {
        let networks = cell.network_hashes().into_iter();
        let model = config.parse::<toml::Table>().ok().and_then(|mut table| table.remove("model"));
        let reads = |key: &str, off: &str| {
            let choice = model.as_ref().and_then(|model| model.get(key)?.as_str());
            choice.is_some_and(|choice| choice != off)
        };
        let hex = |hash: blake3::Hash| hash.to_hex().to_string();
        Self {
            metabolism: cell.metabolism_hash().filter(|_| reads("metabolism", "off")).map(hex),
            features: cell
                .features()
                .filter(|_| reads("features", "none"))
                .map(|features| hex(features.hash())),
            config,
            score_count: labels.count,
            score_mean: Number(labels.mean),
            score_sd: Number(labels.sd),
            genes: cell.genes().genes().iter().map(|gene| gene.systematic.clone()).collect(),
            networks: networks.map(|(name, hash)| (name, hash.to_hex().to_string())).collect(),
        }
    }

    /// Statistics of the training scores.
    pub fn labels(&self) -> LabelStats {
        LabelStats { count: self.score_count, mean: self.score_mean.0, sd: self.score_sd.0 }
    }
}

/// More steps than any run takes. Up to this number, consecutive integers are distinct floats.
const MOST_STEPS: u64 = 1 << 53;

impl State {
    /// Rejects a state that no run can reach: resuming from it would fail in the middle of an epoch.
    pub(super) fn check(&self) -> Result<()> {
        for (key, value) in
            [("place.step", self.position.step), ("place.optimiser_step", self.position.optimiser_step)]
        {
            if value > MOST_STEPS {
                return refuse(key, value, "no run takes that many steps");
            }
        }
        self.learning_rate.check()
    }
}
