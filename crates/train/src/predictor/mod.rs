//! Predictions of a trained model, from a checkpoint and the cell.
//!
//! A checkpoint holds the weights, options, label statistics, the gene list and the hashes of the networks, which the cell must match.
//! A run that builds on other runs keeps copies of their checkpoints ([`BaseRuns`]); their predictions are added.

mod base_runs;

pub use base_runs::{BASE_RUNS, BaseRuns};

use crate::checkpoint::{self, Checkpoint, ModelCard};
use crate::config::{Config, RESIDUALS_OF};
use crate::fit::predict_sets;
use crate::tensors::copy_tensor;
use knockout_base::error::{Error, Result};
use knockout_base::files::Folder;
use knockout_data::cell::{Cell, GeneSets, GeneSetsRef};
use knockout_data::screen::LabelStats;
use knockout_models::{MODELS, Model, ModelEntry, sharing_order};
use knockout_solve::{Choice, Recalibrated, Records, SimilarProfile, Solution, SumTerm};
use std::collections::BTreeSet;
use std::path::Path;

/// A trained model that predicts.
pub struct Predictor {
    trained: FittedModel,
    labels: LabelStats,
    gene_count: usize,
    /// Annotations and covariates that the model uses beside the screen and the networks.
    prior_knowledge: Vec<String>,
    /// Predictions of other runs that are added.
    added: SumWeights,
}

/// Weights of a sum of predictions.
struct SumWeights {
    own: f64,
    intercept: f64,
    others: Vec<(f64, Predictor)>,
}

impl SumWeights {
    const NOTHING: Self = Self { own: 1.0, intercept: 0.0, others: Vec::new() };
}

/// A fitted model.
enum FittedModel {
    /// A network and its weights.
    Network {
        model: Box<dyn Model>,
        /// Sets that are predicted at once.
        batch: usize,
    },
    /// A model that was solved.
    Solved(Box<dyn Solution>),
}

impl Predictor {
    /// Opens a checkpoint in a run's folder, for a cell of the genes and networks that the model was trained on.
    pub fn open(checkpoint: &Path, cell: &Cell) -> Result<Self> {
        let run = checkpoint.parent().and_then(Path::parent).unwrap_or(Path::new(""));
        Self::with_base_folder(&checkpoint::load(checkpoint)?, cell, MODELS, &Folder::at(run))
    }

    /// Creates a predictor from a checkpoint in memory of a run that builds on no other; the model is one of `models`.
    pub fn new(checkpoint: &Checkpoint, cell: &Cell, models: &[ModelEntry]) -> Result<Self> {
        Self::with_base_folder(checkpoint, cell, models, &Folder::at(""))
    }

    /// Creates a predictor from a checkpoint of a run whose folder has copies of its base runs.
    pub(crate) fn with_base_folder(
        checkpoint: &Checkpoint,
        cell: &Cell,
        models: &[ModelEntry],
        run: &Folder,
    ) -> Result<Self> {
        let card = checkpoint.state.card.as_ref().ok_or_else(|| {
            let advice = "predict through its run's folder, or resume the run once";
            Error::request(format!(
                "the checkpoint does not describe its model (it is of an earlier version); {advice}"
            ))
        })?;
        check_cell(card, cell)?;
        let config = Config::from_toml(&card.config, models)?;
        let own = Self::with_labels(checkpoint, &config, card.labels(), cell)?;
        own.with_base_runs(checkpoint, &config, cell, &BaseRuns::kept(&config.from, run)?)
    }

    /// Adds the predictions of the runs that the model's run builds on.
    pub(crate) fn with_base_runs(
        mut self,
        checkpoint: &Checkpoint,
        config: &Config,
        cell: &Cell,
        base_runs: &BaseRuns,
    ) -> Result<Self> {
        let no_weights = || Error::damage("the checkpoint lacks the weights of the runs of its stack");
        let base = base_runs.predictor(RESIDUALS_OF, cell)?;
        self.added.others.extend(base.map(|base| (1.0, base)));
        if !config.from.with.is_empty() {
            let number = |name: &str| checkpoint.state.numbers.get(name).map(|number| number.0);
            let stacked = base_runs.stacked(config.from.with.len(), cell)?;
            let own = number(STACKED_OWN).zip(number(STACKED_INTERCEPT));
            let (own, intercept) = own.ok_or_else(no_weights)?;
            let weights = (0..stacked.len()).map(|index| number(&stacked_weight(index)));
            let weights = weights.collect::<Option<Vec<f64>>>().ok_or_else(no_weights)?;
            self.added = SumWeights { own, intercept, others: weights.into_iter().zip(stacked).collect() };
        }
        Ok(self)
    }

    /// Creates a predictor from a checkpoint and the configuration and label statistics of its run, without base runs.
    pub fn with_labels(
        checkpoint: &Checkpoint,
        config: &Config,
        labels: LabelStats,
        cell: &Cell,
    ) -> Result<Self> {
        let (gene_count, prior_knowledge) = (cell.genes().len(), config.model.prior_knowledge(cell));
        if let Some(solver) = config.model.solver() {
            let solution = solver.load(&checkpoint.weights, cell)?;
            let trained = FittedModel::Solved(Recalibrated::load(solution, &checkpoint.weights, gene_count)?);
            return Ok(Self { trained, labels, gene_count, prior_knowledge, added: SumWeights::NOTHING });
        }
        let mut model = config.model.build(cell, config.seed)?;
        let parameters = model.parameters_mut();
        for index in 0..parameters.len() {
            let name = parameters.get(index).name().to_owned();
            copy_tensor(&checkpoint.weights, &name, parameters.values_mut(index))?;
        }
        let trained = FittedModel::Network { model, batch: config.run.predict_batch.max(1) };
        Ok(Self { trained, labels, gene_count, prior_knowledge, added: SumWeights::NOTHING })
    }

    /// Returns predictions in the units of the scores, one for each set of deleted genes.
    pub fn predict(&self, sets: GeneSetsRef<'_>) -> Result<Vec<f64>> {
        self.predict_with_progress(sets, &|| ())
    }

    /// Like [`Self::predict`]; `on_batch` is called before every batch of a network, which may take seconds.
    pub fn predict_with_progress(&self, sets: GeneSetsRef<'_>, on_batch: &dyn Fn()) -> Result<Vec<f64>> {
        let own = self.own_predictions(sets, on_batch)?;
        if !self.builds_on_others() {
            return Ok(own);
        }
        let SumWeights { own: weight, intercept, others } = &self.added;
        let mut sums: Vec<f64> = own.iter().map(|own| weight * own + intercept).collect();
        for (weight, other) in others {
            let predictions = other.predict_with_progress(sets, on_batch)?;
            sums.iter_mut().zip(predictions).for_each(|(sum, prediction)| *sum += weight * prediction);
        }
        Ok(sums)
    }

    /// Returns the predictions of the model without the runs that it builds on.
    pub fn predict_alone(&self, sets: GeneSetsRef<'_>) -> Result<Vec<f64>> {
        self.own_predictions(sets, &|| ())
    }

    fn own_predictions(&self, sets: GeneSetsRef<'_>, on_batch: &dyn Fn()) -> Result<Vec<f64>> {
        check_genes(sets, self.gene_count)?;
        Ok(match &self.trained {
            FittedModel::Network { model, batch } if model.shares_rows() => {
                let order = sharing_order(sets, *batch);
                let ordered = order.iter().map(|&index| sets.get(index));
                let mut predictions = vec![0.0; sets.len()];
                let values = predict_sets(&**model, self.labels, *batch, ordered, on_batch);
                for (index, value) in order.iter().zip(values) {
                    predictions[*index] = value;
                }
                predictions
            }
            FittedModel::Network { model, batch } => {
                predict_sets(&**model, self.labels, *batch, sets.iter(), on_batch)
            }
            FittedModel::Solved(solution) => with_ascending(sets, |sets| solution.predict(sets)),
        })
    }

    /// Returns the weight of the model's own prediction in the sum with those of other runs.
    pub fn own_weight(&self) -> f64 {
        self.added.own
    }

    /// Returns whether predictions of other runs are added.
    pub fn builds_on_others(&self) -> bool {
        !self.added.others.is_empty()
    }

    /// Returns the prior knowledge that the model and its base runs use: annotations, covariates, and networks and features that derive from
    /// genetic interactions.
    pub fn prior_knowledge(&self) -> BTreeSet<String> {
        let of_others = self.added.others.iter().flat_map(|(_, other)| other.prior_knowledge());
        self.prior_knowledge.iter().cloned().chain(of_others).collect()
    }

    /// Returns the standard deviation of a new measurement around each of the `predictions` of these sets, if the model estimates it.
    pub fn deviations(&self, sets: GeneSetsRef<'_>, predictions: &[f64]) -> Option<Vec<f64>> {
        match &self.trained {
            // The standard deviations of one model do not apply to a sum of models.
            _ if self.builds_on_others() => None,
            FittedModel::Network { .. } => None,
            FittedModel::Solved(solution) => {
                with_ascending(sets, |sets| solution.deviations(sets, predictions))
            }
        }
    }

    /// Returns how many of these deviations hold 95 % of new measurements of each set; one holds 68 %.
    pub fn wide_intervals(&self, sets: GeneSetsRef<'_>, predictions: &[f64]) -> Option<Vec<f64>> {
        match &self.trained {
            FittedModel::Network { .. } => None,
            FittedModel::Solved(solution) => solution.wide_intervals(sets, predictions),
        }
    }

    /// Returns the settings that a solver chose, and the accuracy of its solution; empty for networks.
    pub fn choices(&self) -> Vec<Choice> {
        match &self.trained {
            FittedModel::Network { .. } => Vec::new(),
            FittedModel::Solved(solution) => solution.choices(),
        }
    }

    /// Returns the terms that add up to the prediction of a set; `None` if the model has no parts.
    ///
    /// Runs that the model builds on are one term each.
    pub fn terms(&self, set: &[u32]) -> Result<Option<Vec<SumTerm>>> {
        let FittedModel::Solved(solution) = &self.trained else { return Ok(None) };
        let mut sets = GeneSets::default();
        sets.push_sorted(set);
        check_genes(sets.view(), self.gene_count)?;
        let Some(mut terms) = solution.terms(sets.get(0)) else { return Ok(None) };
        let SumWeights { own, intercept, others } = &self.added;
        for term in &mut terms {
            *term = SumTerm::new(std::mem::take(&mut term.part), term.value, term.weight * own);
        }
        if *intercept != 0.0 {
            terms.push(SumTerm::new("intercept of the runs", *intercept, 1.0));
        }
        for (index, (weight, other)) in others.iter().enumerate() {
            let value = other.predict(sets.view())?[0];
            terms.push(SumTerm::new(format!("run {}", index + 1), value, *weight));
        }
        Ok(Some(terms))
    }

    /// Returns the measured profiles that the prediction of a set uses, the most similar first.
    pub fn similar_profiles(&self, set: &[u32], train: &Records) -> Vec<SimilarProfile> {
        let FittedModel::Solved(solution) = &self.trained else { return Vec::new() };
        let mut sets = GeneSets::default();
        sets.push_sorted(set);
        solution.similar_profiles(sets.get(0), train)
    }

    /// Returns the statistics of the scores that the model was trained on.
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
            FittedModel::Network { model, .. } => Some(&**model),
            FittedModel::Solved(_) => None,
        }
    }
}

/// Name of a checkpoint's number: weight of the solved model's own prediction in a stack of runs.
pub(crate) const STACKED_OWN: &str = "with.weight.own";
/// Name of a checkpoint's number: intercept of a stack of runs.
pub(crate) const STACKED_INTERCEPT: &str = "with.weight.intercept";

/// Name of a checkpoint's number: weight of a stacked run.
pub(crate) fn stacked_weight(index: usize) -> String {
    format!("with.weight.{index}")
}

/// Returns sets in the order that solved models expect.
fn with_ascending<T>(sets: GeneSetsRef<'_>, answer: impl FnOnce(GeneSetsRef<'_>) -> T) -> T {
    if sets.iter().all(<[u32]>::is_sorted) { answer(sets) } else { answer(sets.sorted().view()) }
}

/// Refuses sets with a gene beyond a table of `count` genes.
pub fn check_genes(sets: GeneSetsRef<'_>, count: usize) -> Result<()> {
    let Some(index) = sets.genes().iter().position(|&gene| gene as usize >= count) else { return Ok(()) };
    let set = sets.offsets().partition_point(|&start| start as usize <= index) - 1;
    let gene = sets.genes()[index];
    Err(Error::request(format!("set {set} names gene {gene}, but the cell has {count}")))
}

fn check_cell(card: &ModelCard, cell: &Cell) -> Result<()> {
    let here = cell.genes().genes();
    let first = card.genes.iter().zip(here).find(|(trained, here)| **trained != here.systematic);
    if first.is_some() || card.genes.len() != here.len() {
        let first = first.map(|(trained, here)| format!(" ({trained} there is {} here)", here.systematic));
        let (trained, here) = (card.genes.len(), here.len());
        let first = first.unwrap_or_default();
        return Err(Error::request(format!(
            "the model was trained on {trained} genes in another order or of other names than the {here} here{first}"
        )));
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
    if names.is_empty() {
        return Ok(());
    }
    let names = names.join(", ");
    Err(Error::request(format!("the model was trained on other networks than those here: {names} differ")))
}
