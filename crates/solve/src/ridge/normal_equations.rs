//! The centred normal equations of an indicator design, solved by conjugate gradients.
//!
//! Products iterate over the records, so the Gram matrix is never stored. The chunks of records depend only on their number, and their
//! sums are added in order, so the solution does not depend on the number of threads.

use super::Design;
use knockout_base::error::Error;
use rayon::prelude::*;

/// Number of chunks of records.
const CHUNKS: usize = 32;

/// The normal equations of a design and its targets.
pub(super) struct NormalEquations<'a> {
    design: &'a Design,
    records: f64,
    /// Records of each column: the diagonal of the Gram matrix.
    counts: Vec<f64>,
    /// Products of each column with the centred targets.
    moments: Vec<f64>,
    target_mean: f64,
}

impl<'a> NormalEquations<'a> {
    pub(super) fn new(design: &'a Design, targets: &[f64]) -> Self {
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

    /// Solves `(XᵀX + αI) w = Xᵀy` with centred columns, starting from `weights`, to a residual relative to the right-hand side.
    pub(super) fn solve(&self, alpha: f64, tolerance: f64, weights: &mut [f64]) -> Result<(), Error> {
        let width = self.counts.len();
        let scale: Vec<f64> = self.counts.iter().map(|&c| 1.0 / (c - c * c / self.records + alpha)).collect();
        let mut product = vec![0.0; width];
        self.multiply(alpha, weights, &mut product);
        let mut residual: Vec<f64> = self.moments.iter().zip(&product).map(|(b, p)| b - p).collect();
        let size = |vector: &[f64]| -> f64 { vector.iter().zip(&scale).map(|(r, s)| r * r * s).sum() };
        let goal = tolerance * tolerance * size(&self.moments);
        let mut direction: Vec<f64> = residual.iter().zip(&scale).map(|(r, s)| r * s).collect();
        let mut now = size(&residual);
        let max_steps = 10 * width + 1_000;
        for _ in 0..max_steps {
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
        Err(Error::failure(format!(
            "the ridge with alpha {alpha} did not converge in {max_steps} steps (relative residual {residual:e}); check the scores \
             for extreme values"
        )))
    }

    /// Returns the intercept that belongs to some weights.
    pub(super) fn intercept(&self, weights: &[f64]) -> f64 {
        self.target_mean - dot(&self.counts, weights) / self.records
    }

    fn multiply(&self, alpha: f64, vector: &[f64], product: &mut [f64]) {
        // Centring subtracts the outer product of the counts, divided by the number of records.
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
        for (i, out) in product.iter_mut().enumerate() {
            *out = alpha * vector[i] - self.counts[i] * shift;
        }
        for partial in partials {
            product.iter_mut().zip(partial).for_each(|(out, part)| *out += part);
        }
    }
}

fn dot(a: &[f64], b: &[f64]) -> f64 {
    a.iter().zip(b).map(|(x, y)| x * y).sum()
}
