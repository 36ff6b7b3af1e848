//! Predictions of a trained model, from a checkpoint alone: weights, options, label statistics, the gene list and the hashes of
//! its networks are all in it. What is needed beside it is the cell, and that is checked.

use crate::checkpoint::{self, Checkpoint, CheckpointError, ModelCard};
use crate::config::{Config, ConfigError};
use crate::fit::{FitError, copy_tensor};
use knockout_batch::Graphs;
use knockout_cell::{Cell, GeneSets, GeneSetsRef};
use knockout_fault::{Class, Classified};
use knockout_grad::Tape;
use knockout_model::{Input, MODELS, Model, ModelEntry};
use knockout_screen::LabelStats;
use knockout_solve::{Solution, SolveError, SolvedTensor};
use std::path::Path;

/// A trained model that predicts.
pub struct Predictor {
    trained: Trained,
    labels: LabelStats,
    gene_count: usize,
}

/// What came out of training.
enum Trained {
    /// A network and its weights.
    Network {
        model: Box<dyn Model>,
        /// Sets that are predicted at once.
        batch: usize,
    },
    /// A model that was solved.
    Solved(Box<dyn Solution>),
}

/// A checkpoint that cannot predict here.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum PredictorError {
    /// The checkpoint cannot be read.
    #[error(transparent)]
    Checkpoint(#[from] CheckpointError),
    /// It was written before checkpoints described their model.
    #[error(
        "the checkpoint does not describe its model (it is of an earlier version); predict through its run's folder, or resume the run once"
    )]
    NoCard,
    /// Its configuration cannot be read or carried out.
    #[error(transparent)]
    Config(#[from] ConfigError),
    /// It does not hold the weights of its model.
    #[error(transparent)]
    Weights(#[from] FitError),
    /// The model was trained on another gene table.
    #[error(
        "the model was trained on {trained} genes in another order or of other names than the {here} here{first}"
    )]
    OtherGenes {
        /// Genes of the checkpoint.
        trained: usize,
        /// Genes of the cell.
        here: usize,
        /// The first difference.
        first: String,
    },
    /// The model was trained on other networks.
    #[error("the model was trained on other networks than those here: {} differ", names.join(", "))]
    OtherNetworks {
        /// Those that differ or are missing.
        names: Vec<String>,
    },
    /// It does not hold the solution of its model.
    #[error(transparent)]
    Solution(#[from] SolveError),
    /// A gene beyond the table.
    #[error("set {set} names gene {gene}, but the cell has {count}")]
    UnknownGene {
        /// Zero-based set.
        set: usize,
        /// The gene.
        gene: u32,
        /// Genes of the cell.
        count: usize,
    },
}

impl Predictor {
    /// Opens a checkpoint's folder, for a cell of the genes and networks that the model was trained on.
    pub fn open(checkpoint: &Path, cell: &Cell) -> Result<Self, PredictorError> {
        Self::new(&checkpoint::load(checkpoint)?, cell, MODELS)
    }

    /// The same for a checkpoint in memory; the model is one of `models`.
    pub fn new(checkpoint: &Checkpoint, cell: &Cell, models: &[ModelEntry]) -> Result<Self, PredictorError> {
        let card = checkpoint.state.card.as_ref().ok_or(PredictorError::NoCard)?;
        check_cell(card, cell)?;
        Self::with_labels(checkpoint, &Config::from_toml(&card.config, models)?, card.labels(), cell)
    }

    /// The same for a checkpoint without a description of its model, which comes from its run instead.
    pub fn with_labels(
        checkpoint: &Checkpoint,
        config: &Config,
        labels: LabelStats,
        cell: &Cell,
    ) -> Result<Self, PredictorError> {
        let gene_count = cell.genes().len();
        if let Some(solver) = config.model.solver() {
            let stored = checkpoint.weights.iter().map(|tensor| SolvedTensor {
                name: tensor.name.clone(),
                shape: tensor.shape.clone(),
                values: tensor.values.clone(),
            });
            let solution = solver.load(&stored.collect::<Vec<_>>(), cell)?;
            return Ok(Self { trained: Trained::Solved(solution), labels, gene_count });
        }
        let mut model = config.model.build(cell, config.seed).map_err(ConfigError::from)?;
        let parameters = model.parameters_mut();
        for place in 0..parameters.len() {
            let name = parameters.get(place).name().to_owned();
            copy_tensor(&checkpoint.weights, &name, parameters.values_mut(place))?;
        }
        let trained = Trained::Network { model, batch: config.run.predict_batch.max(1) };
        Ok(Self { trained, labels, gene_count })
    }

    /// Predictions in the scores' own units, one for each set of deleted genes.
    pub fn predict(&self, sets: GeneSetsRef<'_>) -> Result<Vec<f64>, PredictorError> {
        check_genes(sets, self.gene_count)?;
        Ok(match &self.trained {
            Trained::Network { model, batch } => predict(&**model, self.labels, *batch, sets.iter()),
            Trained::Solved(solution) => solution.predict(ascending(sets).view()),
        })
    }

    /// The standard deviation of a new measurement around each prediction, where the model has one.
    pub fn deviations(&self, sets: GeneSetsRef<'_>) -> Option<Vec<f64>> {
        match &self.trained {
            Trained::Network { .. } => None,
            Trained::Solved(solution) => solution.deviations(ascending(sets).view()),
        }
    }

    /// Statistics of the scores that the model was trained on.
    pub fn labels(&self) -> LabelStats {
        self.labels
    }

    /// Number of genes of the cell.
    pub fn gene_count(&self) -> usize {
        self.gene_count
    }

    /// The network, where the model is one.
    pub fn model(&self) -> Option<&dyn Model> {
        match &self.trained {
            Trained::Network { model, .. } => Some(&**model),
            Trained::Solved(_) => None,
        }
    }
}

/// Sets in the order that solved models expect.
fn ascending(sets: GeneSetsRef<'_>) -> GeneSets {
    let mut out = GeneSets::default();
    sets.iter().for_each(|set| out.push_sorted(set));
    out
}

/// Refuses sets with a gene beyond a table of `count` genes.
pub fn check_genes(sets: GeneSetsRef<'_>, count: usize) -> Result<(), PredictorError> {
    let Some(place) = sets.genes().iter().position(|&gene| gene as usize >= count) else { return Ok(()) };
    let set = sets.offsets().partition_point(|&start| start as usize <= place) - 1;
    Err(PredictorError::UnknownGene { set, gene: sets.genes()[place], count })
}

fn check_cell(card: &ModelCard, cell: &Cell) -> Result<(), PredictorError> {
    let here = cell.genes().genes();
    let first = card.genes.iter().zip(here).find(|(trained, here)| **trained != here.systematic);
    if first.is_some() || card.genes.len() != here.len() {
        let first = first.map(|(trained, here)| format!(" ({trained} there is {} here)", here.systematic));
        let (trained, here) = (card.genes.len(), here.len());
        return Err(PredictorError::OtherGenes { trained, here, first: first.unwrap_or_default() });
    }
    let hashes = cell.network_hashes();
    let is_other =
        |name: &str, hash: &str| hashes.get(name).is_none_or(|here| here.to_hex().as_str() != hash);
    let names: Vec<String> = card
        .networks
        .iter()
        .filter(|(name, hash)| is_other(name, hash))
        .map(|(name, _)| name.clone())
        .collect();
    if names.is_empty() { Ok(()) } else { Err(PredictorError::OtherNetworks { names }) }
}

/// Predicts sets in batches.
pub(crate) fn predict<'s>(
    model: &dyn Model,
    labels: LabelStats,
    batch: usize,
    sets: impl Iterator<Item = &'s [u32]>,
) -> Vec<f64> {
    let (mut sets, mut chunk, mut predictions) = (sets.peekable(), GeneSets::default(), Vec::new());
    while sets.peek().is_some() {
        chunk.clear();
        sets.by_ref().take(batch).for_each(|set| chunk.push(set));
        let mut tape = Tape::new(model.parameters());
        let forward = model.forward(&mut tape, Input::evaluated(chunk.view(), &Graphs::None));
        let values = tape.value(forward.predictions).iter();
        predictions.extend(values.map(|&value| labels.restore(f64::from(value))));
    }
    predictions
}

impl Classified for PredictorError {
    fn class(&self) -> Class {
        match self {
            Self::Checkpoint(error) => error.class(),
            Self::Weights(error) => error.class(),
            Self::Solution(error) => error.class(),
            _ => Class::Request,
        }
    }
}
