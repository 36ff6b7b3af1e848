//! Baselines: what gene identity and query pairs predict by themselves, without any network.
//!
//! A graph network has learnt something only where it beats these on the same split. Everything is fitted to the
//! training part; the validation part chooses the ridge's penalty and the small network's stopping point; the rows that
//! are predicted are never looked at. The module does not depend on files and prints nothing.

mod design;
mod means;
mod mlp;

pub use design::{PairVocabulary, design};
pub use mlp::{Epoch, GeneMlp, MlpConfig};

use knockout_base::error::Result;
use knockout_data::cell::Cell;
use knockout_data::screen::{Part, Samples, Split};
use knockout_solve::ridge::{self, Ridge};
use knockout_solve::{
    LowRankOptions, NetworkKernelOptions, Problem, Records, SolvedOptions, StackOptions, no_training_samples,
};

/// A baseline.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Baseline {
    /// The mean training score.
    TrainMean,
    /// The mean training score of the record's query pair; the other genes are ignored.
    QueryPairMean,
    /// The pair's mean, backing off to the mean of the gene means, then to the training mean.
    HierarchicalMean,
    /// One coefficient per gene.
    AdditiveRidge,
    /// One coefficient per gene and per well-known query pair.
    RidgePairs,
    /// A small network over summed gene embeddings.
    GeneMlp,
    /// Ridge over genes and query pairs, and exact low-rank completion of its residuals.
    LowRank,
    /// A Gaussian process over the cell's networks.
    NetworkKernel,
    /// The three above it, profiles and trees, weighted on held-out records.
    Stack,
}

impl Baseline {
    /// All baselines, the plainest first.
    pub const ALL: [Self; 9] = [
        Self::TrainMean,
        Self::QueryPairMean,
        Self::HierarchicalMean,
        Self::AdditiveRidge,
        Self::RidgePairs,
        Self::GeneMlp,
        Self::LowRank,
        Self::NetworkKernel,
        Self::Stack,
    ];

    /// Returns the name used in tables and file names.
    pub fn name(self) -> &'static str {
        match self {
            Self::TrainMean => "train-mean",
            Self::QueryPairMean => "query-pair-mean",
            Self::HierarchicalMean => "hierarchical-mean",
            Self::AdditiveRidge => "additive-ridge",
            Self::RidgePairs => "ridge-pairs",
            Self::GeneMlp => "gene-mlp",
            Self::LowRank => LowRankOptions::NAME,
            Self::NetworkKernel => NetworkKernelOptions::NAME,
            Self::Stack => StackOptions::NAME,
        }
    }

    /// Returns whether it needs query pairs.
    pub fn needs_queries(self) -> bool {
        matches!(self, Self::QueryPairMean | Self::RidgePairs)
    }

    /// Returns whether it needs the cell's networks. The stack does not: it has parts that read none.
    pub(crate) fn needs_networks(self) -> bool {
        self == Self::NetworkKernel
    }

    /// Returns whether it is one of the solved models, which depend on the cell and choose settings on the validation part.
    pub fn is_solved(self) -> bool {
        matches!(self, Self::LowRank | Self::NetworkKernel | Self::Stack)
    }

    /// Returns whether it depends on a seed of its own.
    pub fn is_random(self) -> bool {
        self == Self::GeneMlp
    }
}

/// A baseline's predictions, and the settings that were chosen.
#[derive(Debug, Clone, PartialEq)]
pub struct FittedBaseline {
    /// The baseline.
    pub baseline: Baseline,
    /// Its predictions, in the order of the rows.
    pub predictions: Vec<f64>,
    /// The ridge's penalty.
    pub alpha: Option<f64>,
    /// Passes over the training records until the weights that were kept.
    pub epochs: Option<usize>,
}

/// The baselines of one split.
#[derive(Debug)]
pub struct Baselines<'a> {
    samples: &'a Samples,
    gene_count: usize,
    cell: Option<&'a Cell>,
    train: &'a [u32],
    val: &'a [u32],
    mean: f64,
    pairs: PairVocabulary,
    has_queries: bool,
}

impl<'a> Baselines<'a> {
    /// Prepares the baselines of a split over a gene table of this size.
    pub fn new(samples: &'a Samples, gene_count: usize, split: &'a Split) -> Result<Self> {
        let train = split.rows(Part::Train);
        let stats = samples.label_stats(train).ok_or_else(no_training_samples)?;
        Ok(Self {
            samples,
            gene_count,
            cell: None,
            train,
            val: split.rows(Part::Val),
            mean: stats.mean,
            pairs: PairVocabulary::of(samples, train),
            has_queries: train.iter().any(|&row| !samples.query(row as usize).is_empty()),
        })
    }

    /// Adds the solved models, which depend on the cell.
    #[must_use]
    pub fn over(self, cell: &'a Cell) -> Self {
        Self { cell: Some(cell), ..self }
    }

    /// Returns the baselines that apply. Those that need query pairs, a cell, networks or a validation part are left out without
    /// them.
    pub fn applicable(&self) -> Vec<Baseline> {
        let has_networks = self.cell.is_some_and(|cell| !cell.networks().is_empty());
        let applies = |baseline: &Baseline| {
            (self.has_queries || !baseline.needs_queries())
                && (has_networks || !baseline.needs_networks())
                && (!baseline.is_solved() || (self.cell.is_some() && !self.val.is_empty()))
        };
        Baseline::ALL.into_iter().filter(applies).collect()
    }

    /// The query pairs with an estimate of their own.
    pub fn pairs(&self) -> &PairVocabulary {
        &self.pairs
    }

    /// Fits a baseline and predicts some rows; `seed` is that of a baseline that [is random](Baseline::is_random).
    ///
    /// # Panics
    ///
    /// If the baseline [is solved](Baseline::is_solved) and [`Baselines::over`] was not called.
    pub fn fit(
        &self,
        baseline: Baseline,
        rows: &[u32],
        seed: u64,
        on_epoch: &dyn Fn(Epoch),
    ) -> Result<FittedBaseline> {
        let plain = |predictions| FittedBaseline { baseline, predictions, alpha: None, epochs: None };
        match baseline {
            Baseline::TrainMean => Ok(plain(vec![self.mean; rows.len()])),
            Baseline::QueryPairMean => Ok(plain(means::of_pairs(self.samples, &self.pairs, self.mean, rows))),
            Baseline::HierarchicalMean => {
                let genes = means::gene_means(self.samples, self.gene_count, self.train);
                Ok(plain(means::hierarchical(self.samples, &self.pairs, &genes, self.mean, rows)))
            }
            Baseline::AdditiveRidge => {
                self.ridge(&PairVocabulary::default(), rows).map(|(predictions, chosen)| FittedBaseline {
                    alpha: Some(chosen.ridge.alpha),
                    ..plain(predictions)
                })
            }
            Baseline::RidgePairs => self.ridge(&self.pairs, rows).map(|(predictions, chosen)| {
                FittedBaseline { alpha: Some(chosen.ridge.alpha), ..plain(predictions) }
            }),
            Baseline::GeneMlp => {
                let parts = [self.train, self.val];
                let config = MlpConfig::default();
                let model = GeneMlp::fit(self.samples, self.gene_count, parts, config, seed, on_epoch)
                    .ok_or_else(no_training_samples)?;
                let epochs = Some(model.best_epoch);
                Ok(FittedBaseline { epochs, ..plain(model.predict(self.samples, rows)) })
            }
            Baseline::LowRank => self.solve(&LowRankOptions::default(), rows).map(plain),
            Baseline::NetworkKernel => self.solve(&NetworkKernelOptions::default(), rows).map(plain),
            Baseline::Stack => self.solve(&StackOptions::default(), rows).map(plain),
        }
    }

    /// The predictions of a solved model with its defaults.
    ///
    /// # Panics
    ///
    /// If [`Baselines::over`] was not called.
    fn solve<O: SolvedOptions>(&self, options: &O, rows: &[u32]) -> Result<Vec<f64>> {
        let cell = self.cell.expect("solved models are fitted over a cell");
        let records = |rows| Records::of_sets(self.samples, rows);
        let (train, val) = (records(self.train), records(self.val));
        let solution = options.solve(Problem::new(cell, &train, &val), &mut ())?;
        Ok(solution.predict(Records::of(self.samples, rows).sets.view()))
    }

    /// The ridge whose penalty validates best, and its predictions.
    fn ridge(&self, pairs: &PairVocabulary, rows: &[u32]) -> Result<(Vec<f64>, ridge::ChosenRidge)> {
        let design = |rows| design(self.samples, self.gene_count, pairs, rows);
        let scores = |rows: &[u32]| -> Vec<f64> {
            rows.iter().map(|&row| self.samples.scores()[row as usize]).collect()
        };
        let ridges = Ridge::fit(&design(self.train), &scores(self.train), &ridge::ALPHAS)?;
        let chosen = ridge::choose(ridges, &design(self.val), &scores(self.val));
        Ok((chosen.ridge.predict(&design(rows)), chosen))
    }
}
