//! The equations of the Gaussian process, (covariance + noise) z = targets, by conjugate gradients.

use super::field::Fields;
use crate::model::SolveError;
use crate::tensor::{Tensor, tensor};

/// Solves for several noises at once: one product with the covariance for all of them in each step, because adding to the diagonal
/// leaves the directions of conjugate gradients what they are (Jegerlehner 1996). `noises` are ascending; one solution each.
pub(super) fn solve_shifted(fields: &mut Fields, noises: &[f32], steps: usize) -> Vec<Vec<f32>> {
    let mut residual = fields.targets();
    let (count, least) = (residual.len(), noises[0]);
    let mut product = vec![0.0; count];
    let mut shifted: Vec<Shifted> = noises
        .iter()
        .map(|noise| Shifted {
            shift: f64::from(noise - least),
            solution: vec![0.0; count],
            direction: residual.clone(),
            before: 1.0,
            now: 1.0,
        })
        .collect();
    let mut square = dot(&residual, &residual);
    let (mut last_length, mut last_share) = (1.0, 0.0);
    for _ in 0..steps {
        if square == 0.0 {
            break;
        }
        fields.times(&shifted[0].direction, &mut product);
        add(&mut product, least, &shifted[0].direction);
        let length = square / dot(&shifted[0].direction, &product);
        add(&mut residual, -(length as f32), &product);
        let next = dot(&residual, &residual);
        let share = next / square;
        for system in &mut shifted {
            system.step(&residual, (last_length, last_share), (length, share));
        }
        (square, last_length, last_share) = (next, length, share);
    }
    shifted.into_iter().map(|system| system.solution).collect()
}

/// One of the systems; its residual is that of the first times `now`.
struct Shifted {
    shift: f64,
    solution: Vec<f32>,
    direction: Vec<f32>,
    before: f64,
    now: f64,
}

impl Shifted {
    fn step(&mut self, residual: &[f32], (last_length, last_share): (f64, f64), (length, share): (f64, f64)) {
        let below = last_length * self.before * (1.0 + length * self.shift)
            + length * last_share * (self.before - self.now);
        let next = self.now * self.before * last_length / below;
        let ratio = next / self.now;
        add(&mut self.solution, (length * ratio) as f32, &self.direction);
        let (share, next_weight) = ((share * ratio * ratio) as f32, next as f32);
        self.direction.iter_mut().zip(residual).for_each(|(d, r)| *d = next_weight * r + share * *d);
        (self.before, self.now) = (self.now, next);
    }
}

/// Conjugate gradients for one noise, which can be stopped and go on.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Gradients {
    pub(super) solution: Vec<f32>,
    residual: Vec<f32>,
    direction: Vec<f32>,
    pub(super) step: usize,
}

impl Gradients {
    pub(super) fn new(fields: &Fields) -> Self {
        let targets = fields.targets();
        Self { solution: vec![0.0; targets.len()], residual: targets.clone(), direction: targets, step: 0 }
    }

    /// Goes on until the residual is a share of the targets; `on_step` hears of every step.
    pub(super) fn run(
        &mut self,
        fields: &mut Fields,
        noise: f32,
        most_steps: usize,
        tolerance: f64,
        on_step: &mut dyn FnMut(&Self),
    ) {
        let targets = fields.targets();
        let enough = tolerance * tolerance * dot(&targets, &targets);
        drop(targets);
        let mut square = dot(&self.residual, &self.residual);
        let mut product = vec![0.0; self.residual.len()];
        while self.step < most_steps && square > enough && square > 0.0 {
            fields.times(&self.direction, &mut product);
            add(&mut product, noise, &self.direction);
            let length = (square / dot(&self.direction, &product)) as f32;
            add(&mut self.solution, length, &self.direction);
            add(&mut self.residual, -length, &product);
            let next = dot(&self.residual, &self.residual);
            let share = (next / square) as f32;
            self.direction.iter_mut().zip(&self.residual).for_each(|(d, r)| *d = r + share * *d);
            (square, self.step) = (next, self.step + 1);
            on_step(self);
        }
    }

    pub(super) fn tensors(&self) -> Vec<Tensor> {
        let vector = |name: &str, values: &[f32]| Tensor::new(name, &[values.len()], values.to_vec());
        vec![
            vector("gradients.solution", &self.solution),
            vector("gradients.residual", &self.residual),
            vector("gradients.direction", &self.direction),
            vector("gradients.step", &[self.step as f32]),
        ]
    }

    pub(super) fn load(tensors: &[Tensor], count: usize) -> Result<Self, SolveError> {
        let vector =
            |name: &str, length: usize| tensor(tensors, name)?.of_length(length).map(<[f32]>::to_vec);
        Ok(Self {
            solution: vector("gradients.solution", count)?,
            residual: vector("gradients.residual", count)?,
            direction: vector("gradients.direction", count)?,
            step: vector("gradients.step", 1)?[0] as usize,
        })
    }
}

fn add(to: &mut [f32], times: f32, values: &[f32]) {
    to.iter_mut().zip(values).for_each(|(to, value)| *to += times * value);
}

fn dot(a: &[f32], b: &[f32]) -> f64 {
    // Sums of 4096 in single precision lose nothing that counts, and the order is fixed.
    a.chunks(4096).zip(b.chunks(4096)).map(|(a, b)| f64::from(crate::matrix::dot(a, b))).sum()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::grid::Grid;
    use crate::matrix::{Cholesky, Matrix, dot as inner};
    use crate::network_kernel::features::Features;
    use knockout_cell::GeneSets;
    use knockout_random::Rng;

    fn features(genes: usize, rng: &mut Rng) -> Features {
        let vectors = Matrix::new(genes, 4, (0..genes * 4).map(|_| 0.5 * rng.normal() as f32).collect());
        Features { vectors, rest: (0..genes).map(|_| 0.2 * rng.unit() as f32).collect() }
    }

    /// Products of gene matrices give what the kernel over pairs of records gives, solved densely; for several noises at once too.
    #[test]
    fn it_is_the_dense_solution() {
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
        let grid = Grid::of(sets.view());
        let features = features(genes as usize, &mut rng);
        let own = 0.6;
        let mut fields = Fields::of(&grid, sets.view(), &scores, &features, |_| true);
        fields.set_own(&features, own);

        let alone = |a: u32, b: u32| if a == b { own + features.rest[a as usize] } else { 0.0 };
        let shared =
            |a: u32, b: u32| inner(features.vectors.row(a as usize), features.vectors.row(b as usize));
        let gene = |a: u32, b: u32| shared(a, b) + alone(a, b);
        let cell =
            |(a, b): (u32, u32), (c, d): (u32, u32)| gene(a, c) * gene(b, d) - alone(a, c) * alone(b, d);
        let pair = |(a, b), (c, d)| 0.5 * (cell((a, b), (c, d)) + cell((a, b), (d, c)));
        let rows = |(a, b): (u32, u32), (c, d): (u32, u32)| {
            0.5 * (gene(a, c) * gene(b, d) + gene(a, d) * gene(b, c))
        };
        let covariance = |a: &[u32], b: &[u32]| match (a, b) {
            (&[a, b], &[c, d]) => pair((a, b), (c, d)),
            (&[a, b, c], &[d, e, f]) => rows((a, b), (d, e)) * gene(c, f),
            _ => 0.0,
        };
        let records: Vec<&[u32]> = sets.view().iter().collect();
        let noises = [0.3_f32, 0.7, 2.0];
        let several = solve_shifted(&mut fields, &noises, 200);
        for (noise, shifted) in noises.into_iter().zip(several) {
            let mut dense = Matrix::zeros(records.len(), records.len());
            for (i, a) in records.iter().enumerate() {
                for (j, b) in records.iter().enumerate() {
                    dense.set(
                        i,
                        j,
                        f64::from(covariance(a, b)) + if i == j { f64::from(noise) } else { 0.0 },
                    );
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
            let mut gradients = Gradients::new(&fields);
            gradients.run(&mut fields, noise, 200, 1e-6, &mut |_| ());
            for solution in [&shifted, &gradients.solution] {
                let mut field = vec![0.0; solution.len()];
                fields.times(solution, &mut field);
                let (of_pairs, of_triples) = fields.split(solution);
                let tables = fields.pairs.as_mut().unwrap().answers(of_pairs, &features);
                let answers = fields.triples.as_mut().unwrap().answers(of_triples, &features);
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
                    let line = fields.triples.as_ref().unwrap().kernel.row(1).to_vec();
                    let found = f64::from(inner(&line, answers.row(array as usize)));
                    let expected = expected(&[0, 2, array]);
                    assert!((found - expected).abs() < 2e-3 * (1.0 + expected.abs()), "{found} {expected}");
                }
            }
        }
    }

    #[test]
    fn it_goes_on_where_it_was_stopped() {
        let mut rng = Rng::new(2, "process");
        let mut sets = GeneSets::default();
        (0..20_u32).for_each(|b| (0..b).for_each(|a| sets.push(&[a, b])));
        let scores: Vec<f32> = (0..190).map(|_| rng.normal() as f32).collect();
        let features = features(20, &mut rng);
        let mut fields = Fields::of(&Grid::of(sets.view()), sets.view(), &scores, &features, |_| true);
        fields.set_own(&features, 1.0);
        let mut states = Vec::new();
        let mut whole = Gradients::new(&fields);
        whole.run(&mut fields, 0.1, 30, 1e-4, &mut |state| states.push(state.tensors()));
        for state in states {
            let mut resumed = Gradients::load(&state, 190).unwrap();
            resumed.run(&mut fields, 0.1, 30, 1e-4, &mut |_| ());
            assert!(resumed == whole);
        }
    }
}
