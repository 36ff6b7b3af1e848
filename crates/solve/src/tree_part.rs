//! Boosted trees as a part of the stack.
//!
//! They are fitted to features of records that the other parts were not fitted to: pairs are held out fold by fold for known genes, genes for
//! new ones. The folds form groups. Trees are grown for each group, on the records that it does not hold out. Their mean predicts;
//! each alone predicts the records of its group, which gives predictions of all training records for weights and deviations.

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
/// Groups of folds: a fold of number n is in group n modulo this.
const GROUPS: usize = 3;
const KNOWN: [&str; GROUPS] = ["trees.known.0", "trees.known.1", "trees.known.2"];
const NEW: [&str; GROUPS] = ["trees.new.0", "trees.new.1", "trees.new.2"];

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
    /// Of each record, its fold, all folds that hold it out (one bit each), and whether each of its genes was held out.
    folds: Vec<usize>,
    all_folds: Vec<u32>,
    pub(crate) is_new: Vec<[bool; 2]>,
}

impl OutOfFold {
    /// Adds the records of a fold. `of_pair` returns the predictions of the parts, the variance, and the folds that hold the pair out, one
    /// bit each.
    pub(crate) fn add(
        &mut self,
        fold: usize,
        held_out: &Records,
        features: &PairFeatures,
        vectors: &Matrix<f32>,
        mut of_pair: impl FnMut(&[u32]) -> (Vec<f64>, f64, u32),
    ) {
        for (set, &score) in held_out.sets.view().iter().zip(&held_out.scores) {
            let &[a, b] = set else { continue };
            let (parts, variance, all_folds) = of_pair(set);
            self.rows.width = features.width(parts.len());
            features.push([a, b], &parts, vectors, &mut self.rows.values);
            self.rows.targets.push(score as f32);
            self.sets.push(set);
            self.parts.push(parts);
            self.variances.push(variance);
            self.folds.push(fold);
            self.all_folds.push(all_folds);
            self.is_new.push([a, b].map(|gene| features.new_genes(&[gene]) > 0));
        }
    }

    pub(crate) fn len(&self) -> usize {
        self.variances.len()
    }

    pub(crate) fn score(&self, record: usize) -> f64 {
        f64::from(self.rows.targets[record])
    }

    /// Returns the rows of some records.
    fn select(&self, records: &[usize]) -> FeatureRows {
        let width = self.rows.width;
        let mut rows = FeatureRows { width, ..FeatureRows::default() };
        for &record in records {
            rows.values.extend_from_slice(&self.rows.values[record * width..][..width]);
            rows.targets.push(self.rows.targets[record]);
        }
        rows
    }

    /// Grows the trees of each group, and predicts its records by them.
    fn grow(&mut self, growth: &Growth) -> Vec<BoostedTrees> {
        let (mut grown, mut predictions) = (Vec::new(), vec![0.0; self.len()]);
        for group in 0..GROUPS {
            let folds = (0..u32::BITS as usize).filter(|fold| fold % GROUPS == group);
            let of_group: u32 = folds.map(|fold| 1 << fold).sum();
            let records = |is_used: &dyn Fn(usize) -> bool| -> Vec<usize> {
                (0..self.len()).filter(|&record| is_used(record)).collect()
            };
            let others = records(&|record| self.all_folds[record] & of_group == 0);
            let held_out = records(&|record| self.folds[record] % GROUPS == group);
            if others.is_empty() || held_out.is_empty() {
                return Vec::new();
            }
            let held_out_rows = self.select(&held_out);
            let trees = BoostedTrees::fit(&self.select(&others), &held_out_rows, growth, group as u64);
            let found = trees.predict(&held_out_rows.values, held_out_rows.width);
            held_out.into_iter().zip(found).for_each(|(record, value)| predictions[record] = value);
            grown.push(trees);
        }
        self.trees = predictions;
        grown
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
        let named = |trees: &[BoostedTrees], names: [&str; GROUPS]| -> Vec<Tensor> {
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
        vectors: &Matrix<f32>,
        parts: usize,
    ) -> Result<Option<Self>, Error> {
        let Some(features) = PairFeatures::load(tensors, cell, traits, vectors)? else { return Ok(None) };
        let width = features.width(parts);
        let load = |names: [&str; GROUPS]| -> Result<Vec<BoostedTrees>, Error> {
            let found = names.into_iter().map(|name| BoostedTrees::load(tensors, name, width));
            Ok(found.collect::<Result<Vec<_>, _>>()?.into_iter().flatten().collect())
        };
        Ok(Some(Self { known: load(KNOWN)?, new: load(NEW)?, features }))
    }
}
