//! Boosted trees as a part of the stack.
//!
//! They are fitted to features of records that the other parts were not fitted to: pairs are held out fold by fold for known genes, genes
//! for new ones. They start from the weighted sum of the parts that explains these records best, and add what it leaves. The folds form
//! groups. Trees are grown for each group, on the records that it does not hold out. Their mean predicts;
//! each alone predicts the records of its group, which gives predictions of all training records for weights and deviations.

use crate::least_squares::StackWeights;
use crate::matrix::Matrix;
use crate::model::Records;
use crate::pair_features::PairFeatures;
use crate::tensor::{Tensor, find_vector};
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
    known: Vec<StartedTrees>,
    new: Vec<StartedTrees>,
}

/// Trees and the weighted sum of predictors that they start from.
#[derive(Debug, Clone, PartialEq)]
struct StartedTrees {
    start: StackWeights,
    trees: BoostedTrees,
}

impl StartedTrees {
    /// Fits the start to some rows, and trees to what it leaves of them; as many trees as predict the validation rows best. Subtracts the
    /// start from the targets of both.
    fn fit(rows: &mut FeatureRows, val: &mut FeatureRows, parts: usize, growth: &Growth, seed: u64) -> Self {
        let column = |feature: usize| rows.column(feature).map(f64::from).collect();
        let columns: Vec<Vec<f64>> = PairFeatures::predictors(parts).map(column).collect();
        let targets: Vec<f64> = rows.targets.iter().map(|&target| f64::from(target)).collect();
        // The precision in which it is stored.
        let StackWeights { intercept, weights } = StackWeights::fit(&columns, &targets);
        let weights = weights.into_iter().map(|weight| f64::from(weight as f32)).collect();
        let start = StackWeights { intercept: f64::from(intercept as f32), weights };
        for rows in [&mut *rows, &mut *val] {
            let of_rows = rows.values.chunks_exact(rows.width).map(|row| start_at(&start, row, parts));
            let starts: Vec<f64> = of_rows.collect();
            rows.targets.iter_mut().zip(starts).for_each(|(target, start)| *target -= start as f32);
        }
        let trees = BoostedTrees::fit(rows, val, growth, seed);
        Self { start, trees }
    }

    /// Returns the predictions for rows of `width` features.
    fn predict(&self, rows: &[f32], width: usize, parts: usize) -> Vec<f64> {
        let starts = rows.chunks_exact(width).map(|row| start_at(&self.start, row, parts));
        starts.zip(self.trees.predict(rows, width)).map(|(start, trees)| start + trees).collect()
    }

    fn tensors(&self, name: &str) -> Vec<Tensor> {
        let StackWeights { intercept, weights } = &self.start;
        let start = [intercept].into_iter().chain(weights).map(|&value| value as f32).collect();
        let start = Tensor::vector(format!("{name}.start"), start);
        self.trees.tensors(name).into_iter().chain([start]).collect()
    }

    /// Loads trees over `width` features, of which so many are parts; `None` if there are none.
    fn load(tensors: &[Tensor], name: &str, width: usize, parts: usize) -> Result<Option<Self>, Error> {
        let Some(trees) = BoostedTrees::load(tensors, name, width)? else { return Ok(None) };
        let stored =
            find_vector(tensors, &format!("{name}.start"), 1 + PairFeatures::predictors(parts).count())?;
        let mut values = stored.into_iter().map(f64::from);
        let start = StackWeights { intercept: values.next().unwrap_or_default(), weights: values.collect() };
        Ok(Some(Self { start, trees }))
    }
}

/// Returns the sum that trees start from at a row of features.
fn start_at(start: &StackWeights, row: &[f32], parts: usize) -> f64 {
    start.sum(PairFeatures::predictors(parts).map(|feature| f64::from(row[feature])))
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
    fn grow(&mut self, growth: &Growth) -> Vec<StartedTrees> {
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
            let (mut other_rows, mut held_out_rows) = (self.select(&others), self.select(&held_out));
            let parts = self.parts[0].len();
            let trees = StartedTrees::fit(&mut other_rows, &mut held_out_rows, parts, growth, group as u64);
            let found = trees.predict(&held_out_rows.values, held_out_rows.width, parts);
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
                    for (&record, value) in records.iter().zip(trees.predict(&rows, width, N)) {
                        predictions[record] += value / count;
                    }
                }
            }
        }
        predictions
    }

    /// Returns the mean weight of each part in the sums that the trees of known or of new genes start from; `None` without trees.
    pub(crate) fn start_weights<const N: usize>(&self, is_new: bool) -> Option<[f64; N]> {
        let trees = if is_new { &self.new } else { &self.known };
        let mean = |part: usize| {
            trees.iter().map(|trees| trees.start.weights[part]).sum::<f64>() / trees.len() as f64
        };
        (!trees.is_empty()).then(|| std::array::from_fn(mean))
    }

    /// Returns the number of trees of known and of new genes.
    pub(crate) fn counts(&self) -> [usize; 2] {
        [&self.known, &self.new].map(|trees| trees.iter().map(|trees| trees.trees.len()).sum())
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
        let named = |trees: &[StartedTrees], names: [&str; GROUPS]| -> Vec<Tensor> {
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
        let load = |names: [&str; GROUPS]| -> Result<Vec<StartedTrees>, Error> {
            let found = names.into_iter().map(|name| StartedTrees::load(tensors, name, width, parts));
            Ok(found.collect::<Result<Vec<_>, _>>()?.into_iter().flatten().collect())
        };
        Ok(Some(Self { known: load(KNOWN)?, new: load(NEW)?, features }))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use knockout_base::random::Rng;

    const PARTS: usize = 2;

    /// The number of features: parts, means over similar genes, and another one.
    fn width() -> usize {
        PairFeatures::predictors(PARTS).count() + 1
    }

    /// Scores are a weighted sum of all features but the last, and a step in that.
    fn rows(count: usize, step: f32, seed: u64) -> FeatureRows {
        let mut rng = Rng::new(seed, "started trees");
        let mut rows = FeatureRows { width: width(), ..FeatureRows::default() };
        for _ in 0..count {
            let row: Vec<f32> = (0..rows.width).map(|_| rng.normal() as f32).collect();
            let above = if row[rows.width - 1] > 0.0 { step } else { 0.0 };
            let sum: f32 = row[..rows.width - 1].iter().zip(weights()).map(|(x, weight)| x * weight).sum();
            rows.targets.push(0.5 + sum + above + 0.1 * rng.normal() as f32);
            rows.values.extend(row);
        }
        rows
    }

    fn weights() -> impl Iterator<Item = f32> {
        (1..width()).map(|feature| 0.5 * feature as f32)
    }

    fn fit(step: f32) -> StartedTrees {
        StartedTrees::fit(&mut rows(4_000, step, 0), &mut rows(1_000, step, 1), PARTS, &KNOWN_GROWTH, 0)
    }

    #[test]
    fn trees_add_what_the_weighted_sum_leaves() {
        let (fitted, test) = (fit(1.0), rows(1_000, 1.0, 2));
        let mut found = fitted.start.weights.iter().zip(weights());
        assert!(found.all(|(found, weight)| (found - f64::from(weight)).abs() < 0.05));
        let found = fitted.predict(&test.values, test.width, PARTS);
        let error = found.iter().zip(&test.targets).map(|(found, &score)| (found - f64::from(score)).powi(2));
        let rmse = (error.sum::<f64>() / found.len() as f64).sqrt();
        assert!(rmse < 0.15, "{rmse}, of which the noise is 0.1");

        let tensors = fitted.tensors("trees");
        let load = |tensors: &[Tensor], parts| StartedTrees::load(tensors, "trees", width(), parts);
        assert_eq!(load(&tensors, PARTS).unwrap(), Some(fitted));
        assert_eq!(load(&[], PARTS).unwrap(), None);
        // The start has another number of parts, or is not there.
        assert!(load(&tensors, PARTS + 1).is_err());
        assert!(load(&tensors[..2], PARTS).is_err());
    }

    #[test]
    fn a_weighted_sum_alone_needs_hardly_any_tree() {
        let (fitted, test) = (fit(0.0), rows(1_000, 0.0, 2));
        let of_trees = fitted.trees.predict(&test.values, test.width);
        let largest = of_trees.iter().fold(0.0_f64, |largest, value| largest.max(value.abs()));
        assert!(largest < 0.05, "{largest} by {} trees", fitted.trees.len());
    }
}
