//! The equations of the Gaussian process, (covariance + noise) z = targets, by conjugate gradients.

use super::field::Fields;
use crate::model::SolveError;
use crate::tensor::{Tensor, tensor};

/// Conjugate gradients for several noises at once: one product with the covariance for all of them in each step, because adding to the
/// diagonal leaves the directions of conjugate gradients what they are (Jegerlehner 1996).
///
/// The directions are those of the least noise; what the others have is kept as shares of them. So is what a solution says of
/// records: a sum of what the directions say, which the products with the covariance give away.
pub(super) struct Shifted {
    directions: Vec<Vec<f32>>,
    /// What is left of the targets under the least noise.
    residual: Vec<f32>,
    /// What every direction says of the records asked for.
    said: Vec<Vec<f32>>,
    systems: Vec<System>,
}

/// One of the systems; its residual is that of the first times `now`.
struct System {
    shift: f64,
    /// Shares of each direction in the solution.
    solution: Vec<f64>,
    /// Shares of each direction in its own next one, and of the residual.
    direction: Vec<f64>,
    of_residual: f64,
    before: f64,
    now: f64,
}

impl Shifted {
    /// Takes at most `steps` steps for ascending noises; `said` reads what a product with a direction says of some records.
    pub(super) fn solve(
        fields: &mut Fields,
        noises: &[f32],
        steps: usize,
        said: impl Fn(&Fields) -> Vec<f32>,
    ) -> Self {
        let (residual, least) = (fields.targets(), noises[0]);
        let system = |noise: &f32| System {
            shift: f64::from(noise - least),
            solution: Vec::new(),
            direction: Vec::new(),
            of_residual: 1.0,
            before: 1.0,
            now: 1.0,
        };
        let systems = noises.iter().map(system).collect();
        let mut all = Self { directions: Vec::new(), residual, said: Vec::new(), systems };
        let mut direction = all.residual.clone();
        let mut product = vec![0.0; direction.len()];
        let mut square = dot(&all.residual, &all.residual);
        let (mut last_length, mut last_share) = (1.0, 0.0);
        while all.directions.len() < steps && square > 0.0 {
            fields.times(&direction, &mut product);
            all.said.push(said(fields));
            add(&mut product, least, &direction);
            let length = square / dot(&direction, &product);
            add(&mut all.residual, -(length as f32), &product);
            let next = dot(&all.residual, &all.residual);
            let share = next / square;
            for system in &mut all.systems {
                system.step((last_length, last_share), (length, share));
            }
            all.directions.push(direction.clone());
            direction.iter_mut().zip(&all.residual).for_each(|(d, r)| *d = r + share as f32 * *d);
            (square, last_length, last_share) = (next, length, share);
        }
        all
    }

    /// What the solution for one of the noises says of the records asked for.
    pub(super) fn said(&self, place: usize) -> Vec<f32> {
        combined(&self.systems[place].solution, &self.said)
    }

    pub(super) fn solution(&self, place: usize) -> Vec<f32> {
        let solution = combined(&self.systems[place].solution, &self.directions);
        if solution.is_empty() { vec![0.0; self.residual.len()] } else { solution }
    }

    /// Conjugate gradients for one of the noises, to go on with.
    pub(super) fn gradients(&self, place: usize) -> Gradients {
        let system = &self.systems[place];
        let mut direction = combined(&system.direction, &self.directions);
        direction.resize(self.residual.len(), 0.0);
        add(&mut direction, system.of_residual as f32, &self.residual);
        let residual = self.residual.iter().map(|r| system.now as f32 * r).collect();
        Gradients { solution: self.solution(place), residual, direction, step: self.directions.len() }
    }
}

impl System {
    fn step(&mut self, (last_length, last_share): (f64, f64), (length, share): (f64, f64)) {
        let below = last_length * self.before * (1.0 + length * self.shift)
            + length * last_share * (self.before - self.now);
        let next = self.now * self.before * last_length / below;
        let ratio = next / self.now;
        // Its own direction in shares of the directions so far: the residual is the newest less a share of the one before.
        if let Some(newest) = self.direction.last_mut() {
            *newest -= last_share * self.of_residual;
        }
        self.direction.push(self.of_residual);
        self.solution.push(0.0);
        for (solution, direction) in self.solution.iter_mut().zip(&mut self.direction) {
            *solution += length * ratio * *direction;
            *direction *= share * ratio * ratio;
        }
        self.of_residual = next;
        (self.before, self.now) = (self.now, next);
    }
}

/// A sum of vectors, each times its share; empty without any.
fn combined(shares: &[f64], vectors: &[Vec<f32>]) -> Vec<f32> {
    let mut sum = vec![0.0; vectors.first().map_or(0, Vec::len)];
    shares.iter().zip(vectors).for_each(|(&share, vector)| add(&mut sum, share as f32, vector));
    sum
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
    use knockout_base::random::Rng;
    use knockout_data::cell::GeneSets;

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
        let (own, single) = (0.6, 0.4);
        let mut fields = Fields::of(&grid, sets.view(), &scores, &features, |_| true);
        fields.set(&features, own, single);

        let alone = |a: u32, b: u32| if a == b { own + features.rest[a as usize] } else { 0.0 };
        let shared =
            |a: u32, b: u32| inner(features.vectors.row(a as usize), features.vectors.row(b as usize));
        let gene = |a: u32, b: u32| shared(a, b) + alone(a, b);
        let cell =
            |(a, b): (u32, u32), (c, d): (u32, u32)| gene(a, c) * gene(b, d) - alone(a, c) * alone(b, d);
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
        let several = Shifted::solve(&mut fields, &noises, 40, |_| Vec::new());
        for (place, noise) in noises.into_iter().enumerate() {
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
            // Begun together with other noises, and gone on with alone.
            let mut begun = Shifted::solve(&mut fields, &noises, 5, |_| Vec::new()).gradients(place);
            begun.run(&mut fields, noise, 200, 1e-6, &mut |_| ());
            assert_eq!(begun.step, gradients.step, "steps are the same ones");
            for solution in [&several.solution(place), &gradients.solution, &begun.solution] {
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
        fields.set(&features, 1.0, 0.0);
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
