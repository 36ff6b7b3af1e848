//! Boosted trees as a part of the stack.
//!
//! They are fitted to features of records that the other parts were not fitted to: pairs are held out fold by fold for known genes, genes for
//! new ones. Folds of even and of odd number each grow their own trees. The sum of both predicts; each alone predicts the folds
//! of the other, which gives predictions of all training records for weights and deviations.

use crate::matrix::Matrix;
use crate::model::Records;
use crate::pair_features::PairFeatures;
use crate::tensor::Tensor;
use crate::trees::{BoostedTrees, FeatureRows, Growth};
use knockout_base::error::Error;
use knockout_data::cell::{Cell, GeneSets, GeneSetsRef};

/// Growth of the trees of known genes, and of new ones.
const KNOWN_GROWTH: Growth = Growth {
    trees: 500,
    leaves: 31,
    leaf_records: 60,
    prior_records: 5.0,
    rate: 0.05,
    record_share: 0.7,
    feature_share: 0.6,
};
const NEW_GROWTH: Growth = Growth {
    trees: 400,
    leaves: 15,
    leaf_records: 150,
    prior_records: 30.0,
    rate: 0.05,
    record_share: 0.5,
    feature_share: 0.5,
};
/// Records whose features are in memory at a time.
const BLOCK: usize = 256;
const KNOWN: [&str; 2] = ["trees.known.0", "trees.known.1"];
const NEW: [&str; 2] = ["trees.new.0", "trees.new.1"];

/// The trees of both regimes and the tables of their features.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct TreePart {
    features: PairFeatures,
    known: Vec<BoostedTrees>,
    new: Vec<BoostedTrees>,
}

/// Records predicted by parts that were not fitted to them.
#[derive(Debug, Clone, Default)]
pub(crate) struct OutOfFold {
    pub(crate) sets: GeneSets,
    /// The features and scores.
    rows: FeatureRows,
    /// The predictions of the other parts, and the variance of the network kernel.
    pub(crate) parts: Vec<Vec<f64>>,
    pub(crate) variances: Vec<f64>,
    /// The predictions of the trees that were fitted to other folds.
    pub(crate) trees: Vec<f64>,
    /// Of each record, its fold, whether folds of the other half hold it out too, and whether each of its genes was held out.
    folds: Vec<usize>,
    is_in_both: Vec<bool>,
    pub(crate) is_new: Vec<[bool; 2]>,
}

impl OutOfFold {
    /// Adds the records of a fold. `of_pair` returns the predictions of the parts, the variance, and whether folds of the other half hold
    /// the pair out too.
    pub(crate) fn add(
        &mut self,
        fold: usize,
        held_out: &Records,
        features: &PairFeatures,
        vectors: &Matrix<f32>,
        mut of_pair: impl FnMut(&[u32]) -> (Vec<f64>, f64, bool),
    ) {
        for (set, &score) in held_out.sets.view().iter().zip(&held_out.scores) {
            let &[a, b] = set else { continue };
            let (parts, variance, is_in_both) = of_pair(set);
            self.rows.width = features.width(parts.len());
            features.push([a, b], &parts, vectors, &mut self.rows.values);
            self.rows.targets.push(score as f32);
            self.sets.push(set);
            self.parts.push(parts);
            self.variances.push(variance);
            self.folds.push(fold);
            self.is_in_both.push(is_in_both);
            self.is_new.push([a, b].map(|gene| features.new_genes(&[gene]) > 0));
        }
    }

    pub(crate) fn len(&self) -> usize {
        self.variances.len()
    }

    pub(crate) fn score(&self, record: usize) -> f64 {
        f64::from(self.rows.targets[record])
    }

    /// Returns the rows of a half, without records that the other half has too.
    fn half(&self, half: usize) -> FeatureRows {
        let width = self.rows.width;
        let mut rows = FeatureRows { width, ..FeatureRows::default() };
        let is_used = |&record: &usize| self.folds[record] % 2 == half && !self.is_in_both[record];
        for record in (0..self.len()).filter(is_used) {
            rows.values.extend_from_slice(&self.rows.values[record * width..][..width]);
            rows.targets.push(self.rows.targets[record]);
        }
        rows
    }

    /// Grows the trees of each half, and predicts each half by those of the other.
    fn grow(&mut self, growth: &Growth) -> Vec<BoostedTrees> {
        let halves = [self.half(0), self.half(1)];
        if halves.iter().any(|half| half.targets.is_empty()) {
            return Vec::new();
        }
        let grown =
            [0, 1].map(|half| BoostedTrees::fit(&halves[half], &halves[1 - half], growth, half as u64));
        let by_half = grown.each_ref().map(|trees| trees.predict(&self.rows.values, self.rows.width));
        self.trees = self.folds.iter().enumerate().map(|(row, fold)| by_half[1 - fold % 2][row]).collect();
        grown.into()
    }
}

impl TreePart {
    /// Grows the trees of known and of new genes.
    pub(crate) fn grow(features: PairFeatures, known: &mut OutOfFold, new: &mut OutOfFold) -> Self {
        Self { features, known: known.grow(&KNOWN_GROWTH), new: new.grow(&NEW_GROWTH) }
    }

    /// Returns the prediction for each set, given those of the other parts; that of the first part for sets without trees.
    pub(crate) fn predict<const N: usize>(
        &self,
        sets: GeneSetsRef<'_>,
        parts: &[[f64; N]],
        vectors: &Matrix<f32>,
    ) -> Vec<f64> {
        let mut predictions: Vec<f64> = parts.iter().map(|parts| parts[0]).collect();
        let width = self.features.width(N);
        let mut rows = Vec::new();
        for (trees, is_new) in [(&self.known, false), (&self.new, true)] {
            let is_of_trees = |set: &[u32]| {
                !trees.is_empty() && set.len() == 2 && (self.features.new_genes(set) > 0) == is_new
            };
            let records: Vec<usize> =
                (0..sets.len()).filter(|&record| is_of_trees(sets.get(record))).collect();
            for records in records.chunks(BLOCK) {
                rows.clear();
                for &record in records {
                    if let &[a, b] = sets.get(record) {
                        self.features.push([a, b], &parts[record], vectors, &mut rows);
                    }
                }
                for &record in records {
                    predictions[record] = 0.0;
                }
                let count = trees.len() as f64;
                for trees in trees {
                    for (&record, value) in records.iter().zip(trees.predict(&rows, width)) {
                        predictions[record] += value / count;
                    }
                }
            }
        }
        predictions
    }

    /// Returns the number of trees of known and of new genes.
    pub(crate) fn counts(&self) -> [usize; 2] {
        [&self.known, &self.new].map(|trees| trees.iter().map(BoostedTrees::len).sum())
    }

    /// Drops the trees of a regime that has no weight for them.
    pub(crate) fn keep(&mut self, known: bool, new: bool) {
        if !known {
            self.known.clear();
        }
        if !new {
            self.new.clear();
        }
    }

    pub(crate) fn tensors(&self) -> Vec<Tensor> {
        let named = |trees: &[BoostedTrees], names: [&str; 2]| -> Vec<Tensor> {
            trees.iter().zip(names).flat_map(|(trees, name)| trees.tensors(name)).collect()
        };
        let mut tensors = self.features.tensors().to_vec();
        tensors.extend(named(&self.known, KNOWN));
        tensors.extend(named(&self.new, NEW));
        tensors
    }

    /// Loads the trees; `None` if a solution was stored without them.
    pub(crate) fn load(
        tensors: &[Tensor],
        cell: &Cell,
        traits: &[String],
        directions: usize,
        parts: usize,
    ) -> Result<Option<Self>, Error> {
        let Some(features) = PairFeatures::load(tensors, cell, traits, directions)? else { return Ok(None) };
        let width = features.width(parts);
        let load = |names: [&str; 2]| -> Result<Vec<BoostedTrees>, Error> {
            let found = names.into_iter().map(|name| BoostedTrees::load(tensors, name, width));
            Ok(found.collect::<Result<Vec<_>, _>>()?.into_iter().flatten().collect())
        };
        Ok(Some(Self { known: load(KNOWN)?, new: load(NEW)?, features }))
    }
}
