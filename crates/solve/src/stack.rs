//! The stack: a weighted sum of the additive part, low rank and network kernel.
//!
//! The weights are fitted by least squares on the validation part.

use crate::additive_fit::AdditiveFit;
use crate::deviation::{DeviationModel, GeneNoise};
use crate::least_squares::non_negative_least_squares;
use crate::low_rank::{LowRank, LowRankOptions};
use crate::model::{Choice, Problem, Records, Solution, SolveObserver, SolvedOptions, TriedSetting};
use crate::network_kernel::{KernelScratch, NetworkKernel, NetworkKernelOptions};
use crate::pair_products::PairProducts;
use crate::tensor::{Tensor, find};
use knockout_base::error::Error;
use knockout_base::stats::pearson;
use knockout_data::cell::{Cell, GeneSetsRef};
use serde::{Deserialize, Serialize};

/// Options of the stack: those of its parts.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct StackOptions {
    /// Options of the low-rank part.
    pub low_rank: LowRankOptions,
    /// Options of the network kernel.
    pub network_kernel: NetworkKernelOptions,
}

const PARTS: usize = 4;
const PART_NAMES: [&str; PARTS] = ["intercept", "additive", "low_rank", "network_kernel"];
const WEIGHTS: &str = "stack.weights";
const PREFIX: &str = "stack";

impl SolvedOptions for StackOptions {
    const NAME: &'static str = "stack";
    const SUMMARY: &'static str =
        "ridge of genes and query pairs + low-rank + network-kernel, weighted on the validation part";

    fn check(&self, cell: &Cell) -> Result<(), Error> {
        self.low_rank.check(cell)?;
        self.network_kernel.check(cell)
    }

    fn prior_knowledge(&self) -> Vec<String> {
        [self.low_rank.prior_knowledge(), self.network_kernel.prior_knowledge()].concat()
    }

    fn solve(
        &self,
        problem: Problem<'_>,
        observer: &mut dyn SolveObserver,
    ) -> Result<Box<dyn Solution>, Error> {
        let base = AdditiveFit::new(problem, &self.low_rank.covariates)?;
        let low_rank = LowRank::solve(&self.low_rank, problem, &base, observer)?;
        let kernel = NetworkKernel::solve(&self.network_kernel, problem, &base, observer)?;
        drop(base);
        let deviation = DeviationModel::default();
        let mut stack = Stack { low_rank, kernel, weights: [0.0; PARTS], products: None, deviation };
        stack.weights = stack.fit_weights(problem.val);
        let gene_count = problem.cell.genes().len();
        stack.products = stack.pair_products(gene_count);
        let (sets, predictions) = (problem.val.sets.view(), stack.predict(problem.val.sets.view()));
        observer.on_setting(TriedSetting {
            setting: "stack".to_owned(),
            validation_pearson: pearson(&predictions, &problem.val.scores),
        });
        let fitted = stack.predict(problem.train.sets.view());
        let noise = GeneNoise::estimate(problem.train, &fitted, gene_count);
        stack.deviation =
            DeviationModel::fit(noise, problem.val, &predictions, &stack.kernel.variances(sets));
        Ok(Box::new(stack))
    }

    fn load(&self, tensors: &[Tensor], cell: &Cell) -> Result<Box<dyn Solution>, Error> {
        let gene_count = cell.genes().len();
        let mut stack = Stack {
            weights: find(tensors, WEIGHTS)?.array()?,
            low_rank: LowRank::load(tensors, cell)?,
            kernel: NetworkKernel::load(tensors, cell)?,
            products: None,
            deviation: DeviationModel::load(tensors, PREFIX, gene_count)?,
        };
        stack.products = stack.pair_products(gene_count);
        Ok(Box::new(stack))
    }
}

struct Stack {
    low_rank: LowRank,
    kernel: NetworkKernel,
    weights: [f32; PARTS],
    /// The weighted sum of low rank and kernel at pairs.
    products: Option<PairProducts>,
    deviation: DeviationModel,
}

impl Stack {
    /// Fits the weights by least squares on the validation part. Only the intercept may be negative: otherwise parts that are nearly
    /// equal would get large weights of opposite signs.
    fn fit_weights(&self, val: &Records) -> [f32; PARTS] {
        let mut scratch = KernelScratch::default();
        let parts: Vec<[f64; PARTS]> =
            val.sets.view().iter().map(|set| self.parts(set, &mut scratch)).collect();
        let count = parts.len() as f64;
        let mean = |part: usize| parts.iter().map(|parts| parts[part]).sum::<f64>() / count;
        let means: [f64; PARTS] = std::array::from_fn(mean);
        let score_mean = knockout_base::stats::mean(&val.scores);
        let size = PARTS - 1;
        let (mut gram, mut moments) = (vec![0.0; size * size], vec![0.0; size]);
        for (parts, score) in parts.iter().zip(&val.scores) {
            for i in 0..size {
                let part = parts[i + 1] - means[i + 1];
                moments[i] += part * (score - score_mean);
                for j in 0..size {
                    gram[i * size + j] += part * (parts[j + 1] - means[j + 1]);
                }
            }
        }
        let found = non_negative_least_squares(&gram, &moments);
        let explained: f64 = found.iter().zip(&means[1..]).map(|(weight, mean)| weight * mean).sum();
        let mut weights = [(score_mean - explained) as f32; PARTS];
        weights[1..].iter_mut().zip(&found).for_each(|(weight, found)| *weight = *found as f32);
        weights
    }

    /// Returns the terms of a prediction, in the order of the weights.
    fn parts(&self, set: &[u32], scratch: &mut KernelScratch) -> [f64; PARTS] {
        let kernel = self.kernel.predict_one(set, scratch);
        [1.0, self.low_rank.additive(set), self.low_rank.completed(set), kernel]
    }

    /// Returns low rank and kernel as one inner product; `None` if either has no bilinear form.
    fn pair_products(&self, genes: usize) -> Option<PairProducts> {
        let [_, _, low_rank, kernel] = self.weights.map(f64::from);
        self.low_rank
            .with_form(low_rank, |form| Some(PairProducts::new(genes, &[form, self.kernel.form(kernel)?])))?
    }
}

impl Solution for Stack {
    fn predict(&self, sets: GeneSetsRef<'_>) -> Vec<f64> {
        let mut scratch = KernelScratch::default();
        let of_pairs = self.products.as_ref().map(|products| products.of_sets(sets));
        let weights = self.weights.map(f64::from);
        let constant = weights[0] + weights[3] * self.kernel.mean();
        let predict = |(i, set): (usize, &[u32])| match &of_pairs {
            Some(of_pairs) if set.len() == 2 => {
                constant + weights[1] * self.low_rank.additive(set) + f64::from(of_pairs[i])
            }
            _ => {
                let parts = self.parts(set, &mut scratch);
                weights.iter().zip(parts).map(|(weight, part)| weight * part).sum()
            }
        };
        sets.iter().enumerate().map(predict).collect()
    }

    fn deviations(&self, sets: GeneSetsRef<'_>) -> Option<Vec<f64>> {
        Some(self.deviation.deviations(sets, self.kernel.variances(sets).into_iter()))
    }

    fn wide_interval(&self) -> Option<f64> {
        Some(self.deviation.wide())
    }

    fn tensors(&self) -> Vec<Tensor> {
        let mut tensors = self.low_rank.own_tensors();
        tensors.extend(self.kernel.own_tensors());
        tensors.extend(self.deviation.tensors(PREFIX));
        tensors.push(Tensor::vector(WEIGHTS, self.weights.to_vec()));
        tensors
    }

    fn choices(&self) -> Vec<Choice> {
        let weights = PART_NAMES.iter().zip(&self.weights);
        let weights =
            weights.map(|(name, &weight)| Choice::new(format!("stack.weight.{name}"), f64::from(weight)));
        let mut choices = self.low_rank.choices();
        choices.extend(self.kernel.choices());
        choices.extend(weights);
        choices.extend(self.deviation.choices(PREFIX));
        choices
    }
}
