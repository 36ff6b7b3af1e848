//! The stack: ridge over genes and query pairs, low rank and network kernel, weighted by least squares on the validation part.

use crate::base::Base;
use crate::deviation::{Loudness, Spread};
use crate::least_squares::from_zero_up;
use crate::low_rank::{LowRank, LowRankOptions};
use crate::model::{Choice, Problem, Records, Solution, SolveError, SolvedOptions, Stage, Watch};
use crate::network_kernel::{NetworkKernel, NetworkKernelOptions, Scratch};
use crate::pair_products::PairProducts;
use crate::tensor::{Tensor, tensor};
use knockout_base::stats::pearson;
use knockout_data::cell::{Cell, GeneSetsRef};
use serde::{Deserialize, Serialize};

/// Options of the stack: those of its parts.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct StackOptions {
    /// The low-rank part.
    pub low_rank: LowRankOptions,
    /// The network kernel.
    pub network_kernel: NetworkKernelOptions,
}

/// An intercept, the additive part, the completed matrix and the kernel.
const PARTS: usize = 4;
const PART_NAMES: [&str; PARTS] = ["intercept", "additive", "low_rank", "network_kernel"];

impl SolvedOptions for StackOptions {
    const NAME: &'static str = "stack";
    const SUMMARY: &'static str =
        "ridge of genes and query pairs + low-rank + network-kernel, weighted on the validation part";

    fn check(&self, cell: &Cell) -> Result<(), SolveError> {
        self.low_rank.check(cell)?;
        self.network_kernel.check(cell)
    }

    fn prior_knowledge(&self) -> Vec<String> {
        [self.low_rank.prior_knowledge(), self.network_kernel.prior_knowledge()].concat()
    }

    fn solve(&self, problem: Problem<'_>, watch: &mut dyn Watch) -> Result<Box<dyn Solution>, SolveError> {
        let base = Base::of(problem, &self.low_rank.covariates)?;
        let low_rank = LowRank::solve(&self.low_rank, problem, &base, watch)?;
        let kernel = NetworkKernel::solve(&self.network_kernel, problem, &base, watch)?;
        drop(base);
        let mut stack =
            Stack { low_rank, kernel, weights: [0.0; PARTS], products: None, spread: Spread::default() };
        stack.weights = weigh(&stack, problem.val);
        stack.products = stack.products_of(problem.cell.genes().len());
        let (sets, predictions) = (problem.val.sets.view(), stack.predict(problem.val.sets.view()));
        watch.stage(Stage {
            tried: "stack".to_owned(),
            validation_pearson: pearson(&predictions, &problem.val.scores),
        });
        let fitted = stack.predict(problem.train.sets.view());
        let loudness = Loudness::of(problem.train, &fitted, problem.cell.genes().len());
        let doubt = stack.kernel.variances(sets);
        stack.spread = Spread::fit(loudness, problem.val, &predictions, &doubt);
        Ok(Box::new(stack))
    }

    fn load(&self, tensors: &[Tensor], cell: &Cell) -> Result<Box<dyn Solution>, SolveError> {
        let name = "stack.weights";
        let weights = <[f32; PARTS]>::try_from(&tensor(tensors, name)?.values[..]);
        let Ok(weights) = weights else { return Err(SolveError::Tensor { name: name.to_owned() }) };
        let gene_count = cell.genes().len();
        let mut stack = Stack {
            low_rank: LowRank::load(tensors, cell)?,
            kernel: NetworkKernel::load(tensors, cell)?,
            weights,
            products: None,
            spread: Spread::load(tensors, Stack::PREFIX, gene_count)?,
        };
        stack.products = stack.products_of(gene_count);
        Ok(Box::new(stack))
    }
}

struct Stack {
    low_rank: LowRank,
    kernel: NetworkKernel,
    weights: [f32; PARTS],
    /// What low rank and kernel together say of pairs.
    products: Option<PairProducts>,
    spread: Spread,
}

/// Weights by least squares on the validation part. None but the intercept's may be negative: parts that say nearly the same would
/// otherwise be set against each other, which a small validation part cannot decide.
fn weigh(stack: &Stack, val: &Records) -> [f32; PARTS] {
    let mut scratch = Scratch::default();
    let parts: Vec<[f64; PARTS]> = val.sets.view().iter().map(|set| stack.parts(set, &mut scratch)).collect();
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
    let found = from_zero_up(&gram, &moments);
    let explained: f64 = found.iter().zip(&means[1..]).map(|(weight, mean)| weight * mean).sum();
    let mut weights = [(score_mean - explained) as f32; PARTS];
    weights[1..].iter_mut().zip(&found).for_each(|(weight, found)| *weight = *found as f32);
    weights
}

impl Stack {
    const PREFIX: &'static str = "stack";

    fn parts(&self, set: &[u32], scratch: &mut Scratch) -> [f64; PARTS] {
        let kernel = self.kernel.predict_one(set, scratch);
        [1.0, self.low_rank.additive(set), self.low_rank.completed(set), kernel]
    }

    /// Low rank and kernel as one product; `None` where they have to be asked one by one.
    fn products_of(&self, genes: usize) -> Option<PairProducts> {
        let [_, _, low_rank, kernel] = self.weights.map(f64::from);
        self.low_rank
            .with_form(low_rank, |form| Some(PairProducts::of(genes, &[form, self.kernel.form(kernel)?])))?
    }
}

impl Solution for Stack {
    fn predict(&self, sets: GeneSetsRef<'_>) -> Vec<f64> {
        let mut scratch = Scratch::default();
        let of_pairs = self.products.as_ref().map(|products| products.of_sets(sets));
        let weights = self.weights.map(f64::from);
        let always = weights[0] + weights[3] * self.kernel.mean();
        let one = |(place, set): (usize, &[u32])| match &of_pairs {
            Some(of_pairs) if set.len() == 2 => {
                always + weights[1] * self.low_rank.additive(set) + f64::from(of_pairs[place])
            }
            _ => {
                let parts = self.parts(set, &mut scratch);
                weights.iter().zip(parts).map(|(weight, part)| weight * part).sum()
            }
        };
        sets.iter().enumerate().map(one).collect()
    }

    fn deviations(&self, sets: GeneSetsRef<'_>) -> Option<Vec<f64>> {
        Some(self.spread.deviations(sets, self.kernel.variances(sets).into_iter()))
    }

    fn wide_interval(&self) -> Option<f64> {
        Some(self.spread.wide())
    }

    fn tensors(&self) -> Vec<Tensor> {
        let mut tensors = self.low_rank.own_tensors();
        tensors.extend(self.kernel.own_tensors());
        tensors.extend(self.spread.tensors(Self::PREFIX));
        tensors.push(Tensor::new("stack.weights", &[PARTS], self.weights.to_vec()));
        tensors
    }

    fn choices(&self) -> Vec<Choice> {
        let weights = PART_NAMES.iter().zip(&self.weights);
        let weights =
            weights.map(|(name, &weight)| Choice::new(format!("stack.weight.{name}"), f64::from(weight)));
        let mut choices = self.low_rank.choices();
        choices.extend(self.kernel.chosen().iter().cloned());
        choices.extend(weights);
        choices.extend(self.spread.choices(Self::PREFIX));
        choices
    }
}
