//! The stack: additive ridge, low rank and network kernel, weighted by least squares on the validation part.

use crate::base::Base;
use crate::low_rank::{LowRank, LowRankOptions};
use crate::matrix::{Cholesky, Matrix};
use crate::model::{Choice, Problem, Solution, SolveError, SolvedOptions, SolvedTensor, Stage, tensor};
use crate::network_kernel::{NetworkKernel, NetworkKernelOptions};
use knockout_cell::{Cell, GeneSetsRef};
use knockout_stats::pearson;
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
        "additive ridge + low-rank + network-kernel, weighted on the validation part";

    fn check(&self, cell: &Cell) -> Result<(), SolveError> {
        self.low_rank.check(cell)?;
        self.network_kernel.check(cell)
    }

    fn solve(
        &self,
        problem: Problem<'_>,
        on_stage: &mut dyn FnMut(Stage),
    ) -> Result<Box<dyn Solution>, SolveError> {
        let base = Base::of(problem)?;
        let low_rank = LowRank::solve(&self.low_rank, problem, &base, on_stage)?;
        let kernel = NetworkKernel::solve(&self.network_kernel, problem, &base, on_stage)?;
        let mut stack = Stack { low_rank, kernel, weights: [0.0; PARTS] };
        let mut scratch = Vec::new();
        let (mut gram, mut moments) = (Matrix::zeros(PARTS, PARTS), vec![0.0; PARTS]);
        for (set, score) in problem.val.sets.view().iter().zip(&problem.val.scores) {
            let parts = stack.parts(set, &mut scratch);
            for i in 0..PARTS {
                moments[i] += parts[i] * score;
                for j in 0..PARTS {
                    gram.set(i, j, gram.get(i, j) + parts[i] * parts[j]);
                }
            }
        }
        // A part that is the same everywhere (no low rank on new genes) would make the equations singular.
        for i in 0..PARTS {
            gram.set(i, i, gram.get(i, i) * (1.0 + 1e-9) + f64::MIN_POSITIVE);
        }
        let silent: Vec<usize> = (0..PARTS).filter(|&i| gram.get(i, i) <= f64::MIN_POSITIVE).collect();
        for &i in &silent {
            gram.set(i, i, 1.0);
        }
        Cholesky::new(gram).solve(&mut moments);
        for (weight, found) in stack.weights.iter_mut().zip(&moments) {
            *weight = *found as f32;
        }
        let predictions = stack.predict(problem.val.sets.view());
        on_stage(Stage {
            tried: "stack".to_owned(),
            validation_pearson: pearson(&predictions, &problem.val.scores),
        });
        Ok(Box::new(stack))
    }

    fn load(&self, tensors: &[SolvedTensor], cell: &Cell) -> Result<Box<dyn Solution>, SolveError> {
        let name = "stack.weights";
        let weights = <[f32; PARTS]>::try_from(&tensor(tensors, name)?.values[..]);
        let Ok(weights) = weights else { return Err(SolveError::Tensor { name: name.to_owned() }) };
        Ok(Box::new(Stack {
            low_rank: LowRank::load(tensors, cell)?,
            kernel: NetworkKernel::load(&self.network_kernel, tensors, cell)?,
            weights,
        }))
    }
}

struct Stack {
    low_rank: LowRank,
    kernel: NetworkKernel,
    weights: [f32; PARTS],
}

impl Stack {
    fn parts(&self, set: &[u32], scratch: &mut Vec<f32>) -> [f64; PARTS] {
        let kernel = self.kernel.predict_one(set, scratch);
        [1.0, self.low_rank.additive(set), self.low_rank.completed(set), kernel]
    }
}

impl Solution for Stack {
    fn predict(&self, sets: GeneSetsRef<'_>) -> Vec<f64> {
        let mut scratch = Vec::new();
        let one = |set: &[u32]| {
            let parts = self.parts(set, &mut scratch);
            self.weights.iter().zip(parts).map(|(&weight, part)| f64::from(weight) * part).sum()
        };
        sets.iter().map(one).collect()
    }

    fn tensors(&self) -> Vec<SolvedTensor> {
        let mut tensors = self.low_rank.tensors();
        tensors.extend(self.kernel.own_tensors());
        tensors.push(SolvedTensor::new("stack.weights", &[PARTS], self.weights.to_vec()));
        tensors
    }

    fn choices(&self) -> Vec<Choice> {
        let weights = PART_NAMES.iter().zip(&self.weights);
        let weights =
            weights.map(|(name, &weight)| Choice::new(format!("stack.weight.{name}"), f64::from(weight)));
        let mut choices = self.low_rank.choices();
        choices.extend(self.kernel.chosen().iter().cloned());
        choices.extend(weights);
        choices
    }
}
