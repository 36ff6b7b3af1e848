//! The centred normal equations of an indicator design, kept sparse and solved by conjugate gradients.
//!
//! Two indicators are both 1 in few records, so the matrix of co-occurrence counts has a few entries per record
//! however many genes there are: nothing of size genes x genes is stored. Sums run in a fixed order, and every element
//! of a product has one writer, so the solution does not depend on the number of threads.

use super::Design;
use rayon::prelude::*;

/// The residual at which a solution counts as exact, relative to the right-hand side.
const TOLERANCE: f64 = 1e-13;

/// Co-occurrence counts of the columns, and what centring needs.
pub(super) struct Gram {
    records: f64,
    /// How many records have each column: the diagonal.
    counts: Vec<f64>,
    offsets: Vec<usize>,
    columns: Vec<u32>,
    values: Vec<f64>,
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

impl Gram {
    pub(super) fn of(design: &Design, targets: &[f64]) -> Self {
        let target_mean = knockout_stats::mean(targets);
        let mut counts = vec![0.0; design.width()];
        let mut moments = vec![0.0; design.width()];
        let mut keys: Vec<u64> = Vec::new();
        for (set, target) in design.sets().zip(targets) {
            for (place, &a) in set.iter().enumerate() {
                counts[a as usize] += 1.0;
                moments[a as usize] += target - target_mean;
                keys.extend(set[..place].iter().flat_map(|&b| [key(a, b), key(b, a)]));
            }
        }
        keys.par_sort_unstable();
        let (mut offsets, mut columns, mut values) = (vec![0], Vec::new(), Vec::new());
        for same in keys.chunk_by(|a, b| a == b) {
            offsets.resize((same[0] >> 32) as usize + 1, columns.len());
            columns.push(same[0] as u32);
            values.push(same.len() as f64);
        }
        offsets.resize(design.width() + 1, columns.len());
        Self { records: targets.len() as f64, counts, offsets, columns, values, moments, target_mean }
    }

    /// Solves `(XᵀX + αI) w = Xᵀy` with centred columns, starting from `weights`.
    pub(super) fn solve(&self, alpha: f64, weights: &mut [f64]) -> Result<(), NotConverged> {
        let width = self.counts.len();
        let scale: Vec<f64> = self.counts.iter().map(|&c| 1.0 / (c - c * c / self.records + alpha)).collect();
        let mut product = vec![0.0; width];
        self.multiply(alpha, weights, &mut product);
        let mut residual: Vec<f64> = self.moments.iter().zip(&product).map(|(b, p)| b - p).collect();
        let size = |vector: &[f64]| -> f64 { vector.iter().zip(&scale).map(|(r, s)| r * r * s).sum() };
        let goal = TOLERANCE * TOLERANCE * size(&self.moments);
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
        // XᵀX of centred columns is the counts minus their outer product over the number of records.
        let shift = dot(&self.counts, vector) / self.records;
        product.par_iter_mut().with_min_len(256).enumerate().for_each(|(row, out)| {
            let range = self.offsets[row]..self.offsets[row + 1];
            let others = self.columns[range.clone()].iter().zip(&self.values[range]);
            let sum: f64 = others.map(|(&column, value)| value * vector[column as usize]).sum();
            *out = sum + (self.counts[row] + alpha) * vector[row] - self.counts[row] * shift;
        });
    }
}

fn key(row: u32, column: u32) -> u64 {
    u64::from(row) << 32 | u64::from(column)
}

fn dot(a: &[f64], b: &[f64]) -> f64 {
    a.iter().zip(b).map(|(x, y)| x * y).sum()
}
