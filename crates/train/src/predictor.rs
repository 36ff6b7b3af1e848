//! Predictions of a trained model, from a checkpoint alone: weights, options, label statistics, the gene list and the hashes of
//! its networks are all in it. What is needed beside it is the cell, and that is checked.

use crate::checkpoint::{self, Checkpoint, CheckpointError, ModelCard};
use crate::config::{Config, ConfigError, RESIDUALS_OF};
use crate::fit::{FitError, copy_tensor};
use crate::run::RunError;
use crate::run::sources::{self, Sources};
use knockout_base::error::{Class, Classified};
use knockout_data::batch::Graphs;
use knockout_data::cell::{Cell, GeneSets, GeneSetsRef};
use knockout_data::screen::LabelStats;
use knockout_engine::grad::Tape;
use knockout_models::{Input, MODELS, Model, ModelEntry, sharing_order};
use knockout_solve::Solution;
use std::collections::BTreeSet;
use std::path::Path;

/// A trained model that predicts.
pub struct Predictor {
    trained: Trained,
    labels: LabelStats,
    gene_count: usize,
    /// What the model takes from beyond the screen and the networks.
    prior_knowledge: Vec<String>,
    /// What is added to `own` times the model's own prediction.
    added: Added,
}

/// Predictions of other runs that are added.
struct Added {
    own: f64,
    intercept: f64,
    others: Vec<(f64, Predictor)>,
}

impl Added {
    const NOTHING: Self = Self { own: 1.0, intercept: 0.0, others: Vec::new() };
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
    Solution(#[from] knockout_base::error::Error),
    /// A run that it builds on cannot be used.
    #[error(transparent)]
    Source(#[from] Box<RunError>),
    /// A stack of runs without their weights.
    #[error("the checkpoint does not say how the runs of its stack are weighted")]
    NoStackWeights,
    /// A gene beyond the table.
    #[error("set {set} names gene {gene}, but the cell has {count}")]
    UnknownGene {
        /// Zero-based set.
        set: usize,
        /// Gene index that the cell does not have.
        gene: u32,
        /// Genes of the cell.
        count: usize,
    },
}

impl Predictor {
    /// Opens a checkpoint's folder, for a cell of the genes and networks that the model was trained on. What its run builds on is
    /// found where runs keep it.
    pub fn open(checkpoint: &Path, cell: &Cell) -> Result<Self, PredictorError> {
        let run = checkpoint.parent().and_then(Path::parent).unwrap_or(Path::new(""));
        Self::with_sources(&checkpoint::load(checkpoint)?, cell, MODELS, &run.join(sources::FOLDER))
    }

    /// The same for a checkpoint in memory of a run that builds on no other; the model is one of `models`.
    pub fn new(checkpoint: &Checkpoint, cell: &Cell, models: &[ModelEntry]) -> Result<Self, PredictorError> {
        Self::with_sources(checkpoint, cell, models, Path::new(sources::FOLDER))
    }

    /// The same for a checkpoint whose run keeps what it builds on in this folder.
    pub fn with_sources(
        checkpoint: &Checkpoint,
        cell: &Cell,
        models: &[ModelEntry],
        folder: &Path,
    ) -> Result<Self, PredictorError> {
        let card = checkpoint.state.card.as_ref().ok_or(PredictorError::NoCard)?;
        check_cell(card, cell)?;
        let config = Config::from_toml(&card.config, models)?;
        let own = Self::with_labels(checkpoint, &config, card.labels(), cell)?;
        let run = folder.parent().unwrap_or(Path::new(""));
        let sources = Sources::kept(&config.from, run).map_err(Box::new)?;
        own.upon(checkpoint, &config, cell, &sources)
    }

    /// The model with what its run builds on.
    pub(crate) fn upon(
        mut self,
        checkpoint: &Checkpoint,
        config: &Config,
        cell: &Cell,
        sources: &Sources,
    ) -> Result<Self, PredictorError> {
        let base = sources.predictor(RESIDUALS_OF, cell).map_err(Box::new)?;
        self.added.others.extend(base.map(|base| (1.0, base)));
        if !config.from.with.is_empty() {
            let number = |name: &str| checkpoint.state.numbers.get(name).map(|number| number.0);
            let stacked = sources.stacked(config.from.with.len(), cell).map_err(Box::new)?;
            let own = number(STACKED_OWN).zip(number(STACKED_INTERCEPT));
            let (own, intercept) = own.ok_or(PredictorError::NoStackWeights)?;
            let weights = (0..stacked.len()).map(|place| number(&stacked_weight(place)));
            let weights = weights.collect::<Option<Vec<f64>>>().ok_or(PredictorError::NoStackWeights)?;
            self.added = Added { own, intercept, others: weights.into_iter().zip(stacked).collect() };
        }
        Ok(self)
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
            let trained = Trained::Solved(solver.load(&checkpoint.weights, cell)?);
            let prior_knowledge = solver.prior_knowledge();
            return Ok(Self { trained, labels, gene_count, prior_knowledge, added: Added::NOTHING });
        }
        let mut model = config.model.build(cell, config.seed).map_err(ConfigError::from)?;
        let parameters = model.parameters_mut();
        for place in 0..parameters.len() {
            let name = parameters.get(place).name().to_owned();
            copy_tensor(&checkpoint.weights, &name, parameters.values_mut(place))?;
        }
        let trained = Trained::Network { model, batch: config.run.predict_batch.max(1) };
        Ok(Self { trained, labels, gene_count, prior_knowledge: Vec::new(), added: Added::NOTHING })
    }

    /// Predictions in the scores' own units, one for each set of deleted genes.
    pub fn predict(&self, sets: GeneSetsRef<'_>) -> Result<Vec<f64>, PredictorError> {
        self.predict_heard(sets, &|| ())
    }

    /// The same; `on_batch` is called before every batch of a network's forward pass, which takes seconds where the cell is large.
    pub fn predict_heard(
        &self,
        sets: GeneSetsRef<'_>,
        on_batch: &dyn Fn(),
    ) -> Result<Vec<f64>, PredictorError> {
        let own = self.own_predictions(sets, on_batch)?;
        if !self.builds_on_others() {
            return Ok(own);
        }
        let Added { own: weight, intercept, others } = &self.added;
        let mut sums: Vec<f64> = own.iter().map(|own| weight * own + intercept).collect();
        for (weight, other) in others {
            let predictions = other.predict_heard(sets, on_batch)?;
            sums.iter_mut().zip(predictions).for_each(|(sum, prediction)| *sum += weight * prediction);
        }
        Ok(sums)
    }

    /// Predictions of the model without the runs that it builds on.
    pub fn predict_alone(&self, sets: GeneSetsRef<'_>) -> Result<Vec<f64>, PredictorError> {
        self.own_predictions(sets, &|| ())
    }

    fn own_predictions(
        &self,
        sets: GeneSetsRef<'_>,
        on_batch: &dyn Fn(),
    ) -> Result<Vec<f64>, PredictorError> {
        check_genes(sets, self.gene_count)?;
        Ok(match &self.trained {
            Trained::Network { model, batch } if model.shares_rows() => {
                let order = sharing_order(sets, *batch);
                let ordered = order.iter().map(|&place| sets.get(place));
                let mut predictions = vec![0.0; sets.len()];
                let values = predict(&**model, self.labels, *batch, ordered, on_batch);
                for (place, value) in order.iter().zip(values) {
                    predictions[*place] = value;
                }
                predictions
            }
            Trained::Network { model, batch } => {
                predict(&**model, self.labels, *batch, sets.iter(), on_batch)
            }
            Trained::Solved(solution) => with_ascending(sets, |sets| solution.predict(sets)),
        })
    }

    /// What the model's own prediction is multiplied by before those of other runs are added.
    pub fn own_weight(&self) -> f64 {
        self.added.own
    }

    /// Whether predictions of other runs are a part of its own: the model alone then says less.
    pub fn builds_on_others(&self) -> bool {
        !self.added.others.is_empty()
    }

    /// What it takes from beyond the screen and the networks, with what the runs take that it builds on: annotations, covariates.
    pub fn prior_knowledge(&self) -> BTreeSet<String> {
        let of_others = self.added.others.iter().flat_map(|(_, other)| other.prior_knowledge());
        self.prior_knowledge.iter().cloned().chain(of_others).collect()
    }

    /// The standard deviation of a new measurement around each prediction, where the model has one.
    pub fn deviations(&self, sets: GeneSetsRef<'_>) -> Option<Vec<f64>> {
        match &self.trained {
            // The deviations of a part are not those of a sum.
            _ if self.builds_on_others() => None,
            Trained::Network { .. } => None,
            Trained::Solved(solution) => with_ascending(sets, |sets| solution.deviations(sets)),
        }
    }

    /// How many of these deviations hold 95 % of new measurements; one holds 68 %.
    pub fn wide_interval(&self) -> Option<f64> {
        match &self.trained {
            Trained::Network { .. } => None,
            Trained::Solved(solution) => solution.wide_interval(),
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

/// Number of a checkpoint: what the solved model's own prediction is multiplied by where runs are stacked with it.
pub(crate) const STACKED_OWN: &str = "with.weight.own";
/// What is added to it.
pub(crate) const STACKED_INTERCEPT: &str = "with.weight.intercept";

/// What the prediction of a stacked run is multiplied by.
pub(crate) fn stacked_weight(place: usize) -> String {
    format!("with.weight.{place}")
}

/// Sets in the order that solved models expect.
fn with_ascending<T>(sets: GeneSetsRef<'_>, answer: impl FnOnce(GeneSetsRef<'_>) -> T) -> T {
    if sets.iter().all(<[u32]>::is_sorted) { answer(sets) } else { answer(sets.sorted().view()) }
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
    let mut names: Vec<String> = card
        .networks
        .iter()
        .filter(|(name, hash)| is_other(name, hash))
        .map(|(name, _)| name.clone())
        .collect();
    let features = cell.features().map(knockout_data::cell::Features::hash);
    for (name, trained, here) in
        [("metabolism", &card.metabolism, cell.metabolism_hash()), ("features", &card.features, features)]
    {
        if trained.is_some() && *trained != here.map(|hash| hash.to_hex().to_string()) {
            names.push(name.to_owned());
        }
    }
    if names.is_empty() { Ok(()) } else { Err(PredictorError::OtherNetworks { names }) }
}

/// Predicts sets in batches; `on_batch` is called before each.
pub(crate) fn predict<'s>(
    model: &dyn Model,
    labels: LabelStats,
    batch: usize,
    sets: impl Iterator<Item = &'s [u32]>,
    on_batch: &dyn Fn(),
) -> Vec<f64> {
    let (mut sets, mut chunk, mut predictions) = (sets.peekable(), GeneSets::default(), Vec::new());
    while sets.peek().is_some() {
        on_batch();
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
            Self::Source(error) => error.class(),
            Self::NoStackWeights => Class::Damage,
            _ => Class::Request,
        }
    }
}
