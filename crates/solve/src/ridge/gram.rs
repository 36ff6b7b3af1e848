//! The centred normal equations of an indicator design, solved by conjugate gradients.
//!
//! Products go over the records, so that nothing is stored beside the design. Records are cut into chunks by their number alone, and
//! what the chunks give is added in their order, so the solution does not depend on the number of threads.

use super::Design;
use crate::SolveError;
use rayon::prelude::*;

/// Chunks that the records are cut into.
const CHUNKS: usize = 32;

/// What the normal equations are made of.
pub(super) struct Gram<'a> {
    design: &'a Design,
    records: f64,
    /// How many records have each column: the diagonal.
    counts: Vec<f64>,
    /// Each column against the centred targets.
    moments: Vec<f64>,
    target_mean: f64,
}

/// Conjugate gradients gave up.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) struct NotConverged {
    pub(super) iterations: usize,
    pub(super) residual: f64,
}

impl NotConverged {
    pub(super) fn at(self, alpha: f64) -> SolveError {
        SolveError::NotConverged { alpha, iterations: self.iterations, residual: self.residual }
    }
}

impl<'a> Gram<'a> {
    pub(super) fn of(design: &'a Design, targets: &[f64]) -> Self {
        let target_mean = knockout_base::stats::mean(targets);
        let mut counts = vec![0.0; design.width()];
        let mut moments = vec![0.0; design.width()];
        for (set, target) in design.sets().zip(targets) {
            for &column in set {
                counts[column as usize] += 1.0;
                moments[column as usize] += target - target_mean;
            }
        }
        Self { design, records: targets.len() as f64, counts, moments, target_mean }
    }

    /// Solves `(XᵀX + αI) w = Xᵀy` with centred columns, starting from `weights`, until the residual is below a share of the
    /// right-hand side.
    pub(super) fn solve(&self, alpha: f64, tolerance: f64, weights: &mut [f64]) -> Result<(), NotConverged> {
        let width = self.counts.len();
        let scale: Vec<f64> = self.counts.iter().map(|&c| 1.0 / (c - c * c / self.records + alpha)).collect();
        let mut product = vec![0.0; width];
        self.multiply(alpha, weights, &mut product);
        let mut residual: Vec<f64> = self.moments.iter().zip(&product).map(|(b, p)| b - p).collect();
        let size = |vector: &[f64]| -> f64 { vector.iter().zip(&scale).map(|(r, s)| r * r * s).sum() };
        let goal = tolerance * tolerance * size(&self.moments);
        let mut direction: Vec<f64> = residual.iter().zip(&scale).map(|(r, s)| r * s).collect();
        let mut now = size(&residual);
        let most = 10 * width + 1_000;
        for _ in 0..most {
            if now <= goal {
                return Ok(());
            }
            self.multiply(alpha, &direction, &mut product);
            let step = now / dot(&direction, &product);
            for i in 0..width {
                weights[i] += step * direction[i];
                residual[i] -= step * product[i];
            }
            let next = size(&residual);
            for i in 0..width {
                direction[i] = residual[i] * scale[i] + next / now * direction[i];
            }
            now = next;
        }
        let residual = (now / size(&self.moments)).sqrt();
        Err(NotConverged { iterations: most, residual })
    }

    /// The intercept that goes with some weights.
    pub(super) fn intercept(&self, weights: &[f64]) -> f64 {
        self.target_mean - dot(&self.counts, weights) / self.records
    }

    fn multiply(&self, alpha: f64, vector: &[f64], product: &mut [f64]) {
        // XᵀX of centred columns is that of the columns minus the outer product of their counts over the number of records.
        let shift = dot(&self.counts, vector) / self.records;
        let chunk = self.design.len().div_ceil(CHUNKS).max(1);
        let partial = |first: usize| {
            let mut sums = vec![0.0; vector.len()];
            for set in self.design.sets_from(first).take(chunk) {
                let sum: f64 = set.iter().map(|&column| vector[column as usize]).sum();
                for &column in set {
                    sums[column as usize] += sum;
                }
            }
            sums
        };
        let starts: Vec<usize> = (0..self.design.len()).step_by(chunk).collect();
        let partials: Vec<Vec<f64>> = starts.into_par_iter().map(partial).collect();
        for (place, out) in product.iter_mut().enumerate() {
            *out = alpha * vector[place] - self.counts[place] * shift;
        }
        for partial in partials {
            product.iter_mut().zip(partial).for_each(|(out, part)| *out += part);
        }
    }
}

fn dot(a: &[f64], b: &[f64]) -> f64 {
    a.iter().zip(b).map(|(x, y)| x * y).sum()
}
