//! Entries of a benchmark: models of the registry, and baselines.

use knockout_base::error::{Error, Result};
use knockout_models::{MODELS, ModelEntry};
use knockout_predict::baseline::Baseline;
use serde::Serialize;

/// A model or a baseline.
#[derive(Debug, Clone, Copy)]
pub enum BenchmarkModel {
    /// A model, whose result is a run.
    Model(ModelEntry),
    /// A baseline, which is fitted within the benchmark.
    Baseline(Baseline),
}

/// Kind of a model.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum ModelKind {
    /// A baseline: genes are indices without features.
    Baseline,
    /// Solved in closed form.
    Solved,
    /// Trained step by step.
    Trained,
}

/// Baselines of a default benchmark.
const USUAL: [Baseline; 2] = [Baseline::AdditiveRidge, Baseline::GeneMlp];

impl BenchmarkModel {
    /// Returns the default baselines and all models.
    pub fn usual() -> Vec<Self> {
        let models = MODELS.iter().copied().map(Self::Model);
        USUAL.into_iter().map(Self::Baseline).chain(models).collect()
    }

    /// Returns the model or baseline of a name; a model before a baseline of the same name.
    pub fn find(name: &str) -> Result<Self> {
        let model = MODELS.iter().find(|entry| entry.name == name).copied().map(Self::Model);
        let baseline = || Baseline::ALL.into_iter().find(|baseline| baseline.name() == name);
        model.or_else(|| baseline().map(Self::Baseline)).ok_or_else(|| {
            let mut known: Vec<&str> = MODELS.iter().map(|entry| entry.name).collect();
            for baseline in Baseline::ALL.map(Baseline::name) {
                if !known.contains(&baseline) {
                    known.push(baseline);
                }
            }
            let known = known.join(", ");
            Error::request(format!("there is no model or baseline {name:?}; choose from {known}"))
        })
    }

    /// Returns the name in tables, which is also that of the folder.
    pub fn name(&self) -> &'static str {
        match self {
            Self::Model(entry) => entry.name,
            Self::Baseline(baseline) => baseline.name(),
        }
    }

    /// Returns the kind of the model.
    pub fn kind(&self) -> ModelKind {
        match self {
            Self::Baseline(_) => ModelKind::Baseline,
            Self::Model(entry) if entry.has_epochs() => ModelKind::Trained,
            Self::Model(_) => ModelKind::Solved,
        }
    }
}
