//! The equations of the Gaussian process, (covariance + noise) z = targets, solved by conjugate gradients.

use super::field::ProcessFields;
use crate::tensor::{Tensor, find_vector};
use knockout_base::error::Error;

/// Conjugate gradients for several noises at once, with one product with the covariance per step.
///
/// A shift of the diagonal leaves the Krylov space unchanged (Jegerlehner 1996). The directions are those of the smallest noise, and the
/// solutions of the others are linear combinations of them. So are the predictions, which follow from the products with the covariance.
pub(crate) struct ShiftedConjugateGradients {
    directions: Vec<Vec<f32>>,
    /// Residual for the smallest noise.
    residual: Vec<f32>,
    /// Predictions from every direction.
    predictions: Vec<Vec<f32>>,
    systems: Vec<ShiftedSystem>,
}

/// The system of one noise; its residual is that of the first system times `now`.
struct ShiftedSystem {
    shift: f64,
    /// Coefficients of the directions in the solution.
    solution: Vec<f64>,
    /// Coefficients of the directions in its own next direction, and of the residual.
    direction: Vec<f64>,
    of_residual: f64,
    before: f64,
    now: f64,
}

impl ShiftedConjugateGradients {
    /// Takes at most `steps` steps for ascending noises; `predict` reads predictions from the last product with the covariance.
    pub(crate) fn solve(
        fields: &mut ProcessFields,
        noises: &[f32],
        steps: usize,
        predict: impl Fn(&ProcessFields) -> Vec<f32>,
    ) -> Self {
        let (residual, smallest) = (fields.targets(), noises[0]);
        let system = |noise: &f32| ShiftedSystem {
            shift: f64::from(noise - smallest),
            solution: Vec::new(),
            direction: Vec::new(),
            of_residual: 1.0,
            before: 1.0,
            now: 1.0,
        };
        let systems = noises.iter().map(system).collect();
        let mut all = Self { directions: Vec::new(), residual, predictions: Vec::new(), systems };
        let mut direction = all.residual.clone();
        let mut product = vec![0.0; direction.len()];
        let mut square = dot(&all.residual, &all.residual);
        let (mut last_alpha, mut last_beta) = (1.0, 0.0);
        while all.directions.len() < steps && square > 0.0 {
            fields.times(&direction, &mut product);
            all.predictions.push(predict(fields));
            add(&mut product, smallest, &direction);
            let alpha = square / dot(&direction, &product);
            add(&mut all.residual, -(alpha as f32), &product);
            let next = dot(&all.residual, &all.residual);
            let beta = next / square;
            for system in &mut all.systems {
                system.step((last_alpha, last_beta), (alpha, beta));
            }
            all.directions.push(direction.clone());
            direction.iter_mut().zip(&all.residual).for_each(|(d, r)| *d = r + beta as f32 * *d);
            (square, last_alpha, last_beta) = (next, alpha, beta);
        }
        all
    }

    /// Returns the predictions for the noise of an index.
    pub(crate) fn predictions(&self, index: usize) -> Vec<f32> {
        combine(&self.systems[index].solution, &self.predictions)
    }

    /// Returns the solution for the noise of an index.
    pub(crate) fn solution(&self, index: usize) -> Vec<f32> {
        let solution = combine(&self.systems[index].solution, &self.directions);
        if solution.is_empty() { vec![0.0; self.residual.len()] } else { solution }
    }

    /// Returns a solver that continues with the noise of an index.
    pub(crate) fn solver(&self, index: usize) -> ConjugateGradients {
        let system = &self.systems[index];
        let mut direction = combine(&system.direction, &self.directions);
        direction.resize(self.residual.len(), 0.0);
        add(&mut direction, system.of_residual as f32, &self.residual);
        let residual = self.residual.iter().map(|r| system.now as f32 * r).collect();
        let (solution, step) = (self.solution(index), self.directions.len());
        ConjugateGradients { solution, residual, direction, step }
    }
}

impl ShiftedSystem {
    fn step(&mut self, (last_alpha, last_beta): (f64, f64), (alpha, beta): (f64, f64)) {
        let denominator = last_alpha * self.before * (1.0 + alpha * self.shift)
            + alpha * last_beta * (self.before - self.now);
        let next = self.now * self.before * last_alpha / denominator;
        let ratio = next / self.now;
        // The residual is the newest direction minus beta times the one before.
        if let Some(newest) = self.direction.last_mut() {
            *newest -= last_beta * self.of_residual;
        }
        self.direction.push(self.of_residual);
        self.solution.push(0.0);
        for (solution, direction) in self.solution.iter_mut().zip(&mut self.direction) {
            *solution += alpha * ratio * *direction;
            *direction *= beta * ratio * ratio;
        }
        self.of_residual = next;
        (self.before, self.now) = (self.now, next);
    }
}

/// Returns a linear combination of vectors; empty without vectors.
fn combine(coefficients: &[f64], vectors: &[Vec<f32>]) -> Vec<f32> {
    let mut sum = vec![0.0; vectors.first().map_or(0, Vec::len)];
    coefficients.iter().zip(vectors).for_each(|(&factor, vector)| add(&mut sum, factor as f32, vector));
    sum
}

/// Conjugate gradients for one noise, which can be saved and resumed.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct ConjugateGradients {
    pub(crate) solution: Vec<f32>,
    residual: Vec<f32>,
    direction: Vec<f32>,
    pub(crate) step: usize,
}

impl ConjugateGradients {
    pub(crate) fn new(fields: &ProcessFields) -> Self {
        let targets = fields.targets();
        Self { solution: vec![0.0; targets.len()], residual: targets.clone(), direction: targets, step: 0 }
    }

    /// Runs until the residual is below `tolerance` relative to the targets; calls `on_step` after every step.
    pub(crate) fn run(
        &mut self,
        fields: &mut ProcessFields,
        noise: f32,
        max_steps: usize,
        tolerance: f64,
        on_step: &mut dyn FnMut(&Self),
    ) {
        let targets = fields.targets();
        let goal = tolerance * tolerance * dot(&targets, &targets);
        drop(targets);
        let mut square = dot(&self.residual, &self.residual);
        let mut product = vec![0.0; self.residual.len()];
        while self.step < max_steps && square > goal && square > 0.0 {
            fields.times(&self.direction, &mut product);
            add(&mut product, noise, &self.direction);
            let alpha = (square / dot(&self.direction, &product)) as f32;
            add(&mut self.solution, alpha, &self.direction);
            add(&mut self.residual, -alpha, &product);
            let next = dot(&self.residual, &self.residual);
            let beta = (next / square) as f32;
            self.direction.iter_mut().zip(&self.residual).for_each(|(d, r)| *d = r + beta * *d);
            (square, self.step) = (next, self.step + 1);
            on_step(self);
        }
    }

    pub(crate) fn tensors(&self) -> Vec<Tensor> {
        vec![
            Tensor::vector("gradients.solution", self.solution.clone()),
            Tensor::vector("gradients.residual", self.residual.clone()),
            Tensor::vector("gradients.direction", self.direction.clone()),
            Tensor::vector("gradients.step", vec![self.step as f32]),
        ]
    }

    pub(crate) fn load(tensors: &[Tensor], count: usize) -> Result<Self, Error> {
        Ok(Self {
            solution: find_vector(tensors, "gradients.solution", count)?,
            residual: find_vector(tensors, "gradients.residual", count)?,
            direction: find_vector(tensors, "gradients.direction", count)?,
            step: find_vector(tensors, "gradients.step", 1)?[0] as usize,
        })
    }
}

/// Adds `times` · `values`.
fn add(to: &mut [f32], times: f32, values: &[f32]) {
    to.iter_mut().zip(values).for_each(|(to, value)| *to += times * value);
}

fn dot(a: &[f32], b: &[f32]) -> f64 {
    // Sums of 4096 products in single precision are accurate enough, and the order is fixed.
    a.chunks(4096).zip(b.chunks(4096)).map(|(a, b)| f64::from(crate::matrix::dot(a, b))).sum()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::grid::Grid;
    use crate::matrix::{Cholesky, Matrix, dot as inner};
    use crate::process::KernelFeatures;
    use knockout_base::random::Rng;
    use knockout_data::cell::GeneSets;

    fn features(genes: usize, rng: &mut Rng) -> KernelFeatures {
        let vectors = Matrix::new(genes, 4, (0..genes * 4).map(|_| 0.5 * rng.normal() as f32).collect());
        KernelFeatures::new(vectors, (0..genes).map(|_| 0.2 * rng.unit() as f32).collect())
    }

    /// Compares products of gene matrices with the dense kernel over pairs of records, for one noise and for several at once.
    #[test]
    fn solutions_match_the_dense_solution() {
        let mut rng = Rng::new(0, "process");
        let genes = 11_u32;
        let (mut sets, mut scores) = (GeneSets::default(), Vec::new());
        let mut push = |set: &[u32], rng: &mut Rng| {
            sets.push(set);
            scores.push(rng.normal() as f32);
        };
        for b in 0..genes {
            for a in 0..b {
                if rng.below(10) < 8 {
                    push(&[a, b], &mut rng);
                }
                // Some pairs are measured twice.
                if rng.below(10) < 2 {
                    push(&[a, b], &mut rng);
                }
            }
        }
        for (a, b) in [(0, 1), (0, 2), (3, 5)] {
            (6..genes).for_each(|array| push(&[a, b, array], &mut rng));
        }
        let grid = Grid::from_sets(sets.view());
        let features = features(genes as usize, &mut rng);
        let (nugget, single) = (0.6, 0.4);
        let mut fields = ProcessFields::new(&grid, sets.view(), &scores, &features, |_| true);
        fields.set(&features, nugget, single);

        let unshared = |a: u32, b: u32| if a == b { nugget + features.residual[a as usize] } else { 0.0 };
        let shared =
            |a: u32, b: u32| inner(features.vectors.row(a as usize), features.vectors.row(b as usize));
        let gene = |a: u32, b: u32| shared(a, b) + unshared(a, b);
        let cell = |(a, b): (u32, u32), (c, d): (u32, u32)| {
            gene(a, c) * gene(b, d) - unshared(a, c) * unshared(b, d)
        };
        let pair = |(a, b), (c, d)| 0.5 * (cell((a, b), (c, d)) + cell((a, b), (d, c)));
        let rows = |(a, b): (u32, u32), (c, d): (u32, u32)| {
            let singles = gene(a, c) + gene(a, d) + gene(b, c) + gene(b, d);
            0.5 * (gene(a, c) * gene(b, d) + gene(a, d) * gene(b, c)) + single * singles / 4.0
        };
        let covariance = |a: &[u32], b: &[u32]| match (a, b) {
            (&[a, b], &[c, d]) => pair((a, b), (c, d)),
            (&[a, b, c], &[d, e, f]) => rows((a, b), (d, e)) * gene(c, f),
            _ => 0.0,
        };
        let records: Vec<&[u32]> = sets.view().iter().collect();
        let noises = [0.3_f32, 0.7, 2.0];
        let several = ShiftedConjugateGradients::solve(&mut fields, &noises, 40, |_| Vec::new());
        for (i, noise) in noises.into_iter().enumerate() {
            let mut dense = Matrix::zeros(records.len(), records.len());
            for (row, a) in records.iter().enumerate() {
                for (column, b) in records.iter().enumerate() {
                    let noise = if row == column { f64::from(noise) } else { 0.0 };
                    dense.set(row, column, f64::from(covariance(a, b)) + noise);
                }
            }
            let mut alpha: Vec<f64> = scores.iter().map(|&score| f64::from(score)).collect();
            Cholesky::new(dense).solve(&mut alpha);
            let expected = |set: &[u32]| -> f64 {
                records
                    .iter()
                    .zip(&alpha)
                    .map(|(other, alpha)| f64::from(covariance(set, other)) * alpha)
                    .sum()
            };
            let mut gradients = ConjugateGradients::new(&fields);
            gradients.run(&mut fields, noise, 200, 1e-6, &mut |_| ());
            // Started together with other noises, and continued alone.
            let mut continued =
                ShiftedConjugateGradients::solve(&mut fields, &noises, 5, |_| Vec::new()).solver(i);
            continued.run(&mut fields, noise, 200, 1e-6, &mut |_| ());
            assert_eq!(continued.step, gradients.step);
            for solution in [&several.solution(i), &gradients.solution, &continued.solution] {
                let mut field = vec![0.0; solution.len()];
                fields.times(solution, &mut field);
                let (of_pairs, of_triples) = fields.split(solution);
                let tables = fields.pairs.as_mut().unwrap().tables(of_pairs, &features);
                let contributions = fields.triples.as_mut().unwrap().tables(of_triples, &features);
                for a in 0..genes {
                    for b in a + 1..genes {
                        let found = inner(tables.row(a as usize), features.vectors.row(b as usize))
                            + inner(tables.row(b as usize), features.vectors.row(a as usize));
                        let expected = expected(&[a, b]);
                        assert!(
                            (f64::from(found) - expected).abs() < 2e-3 * (1.0 + expected.abs()),
                            "{found} {expected}"
                        );
                    }
                }
                for array in 6..genes {
                    let similarities = fields.triples.as_ref().unwrap().kernel.row(1).to_vec();
                    let found = f64::from(inner(&similarities, contributions.row(array as usize)));
                    let expected = expected(&[0, 2, array]);
                    assert!((found - expected).abs() < 2e-3 * (1.0 + expected.abs()), "{found} {expected}");
                }
            }
        }
    }

    #[test]
    fn a_saved_state_resumes_to_the_same_bits() {
        let mut rng = Rng::new(2, "process");
        let mut sets = GeneSets::default();
        (0..20_u32).for_each(|b| (0..b).for_each(|a| sets.push(&[a, b])));
        let scores: Vec<f32> = (0..190).map(|_| rng.normal() as f32).collect();
        let features = features(20, &mut rng);
        let mut fields =
            ProcessFields::new(&Grid::from_sets(sets.view()), sets.view(), &scores, &features, |_| true);
        fields.set(&features, 1.0, 0.0);
        let mut states = Vec::new();
        let mut whole = ConjugateGradients::new(&fields);
        whole.run(&mut fields, 0.1, 30, 1e-4, &mut |state| states.push(state.tensors()));
        for state in states {
            let mut resumed = ConjugateGradients::load(&state, 190).unwrap();
            resumed.run(&mut fields, 0.1, 30, 1e-4, &mut |_| ());
            assert!(resumed == whole);
        }
    }
}
