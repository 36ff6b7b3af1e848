//! Helpers of the tests of this crate: random inputs, and distances between `f32` and `f64` results.

use crate::kernel::{Csr, Graph};
use knockout_base::random::Rng;

/// Standard normal numbers.
pub(crate) fn normal(rng: &mut Rng, count: usize) -> Vec<f32> {
    (0..count).map(|_| rng.normal() as f32).collect()
}

pub(crate) fn widen(values: &[f32]) -> Vec<f64> {
    values.iter().map(|&value| f64::from(value)).collect()
}

/// A square matrix whose row 0 is a hub and whose last rows may be empty.
pub(crate) fn random_csr(rng: &mut Rng, rows: usize, entries: usize) -> Csr {
    let mut columns: Vec<Vec<u32>> = vec![Vec::new(); rows];
    for _ in 0..entries {
        let row = (rng.unit() * rng.unit() * rows as f64) as usize;
        columns[row].push(rng.below(rows) as u32);
    }
    let mut offsets = vec![0u32];
    for row in &columns {
        offsets.push(offsets[offsets.len() - 1] + row.len() as u32);
    }
    Csr::new(&offsets, &columns.concat(), rows).unwrap()
}

pub(crate) fn random_graph(rng: &mut Rng, rows: usize, entries: usize) -> Graph {
    Graph::from_outgoing(random_csr(rng, rows, entries))
}

/// Largest distance in units of the largest value, or of 10 where all are small: sums of hundreds of standard normal numbers may
/// end near zero by chance, and their rounding does not.
pub(crate) fn distance(values: &[f32], exact: &[f64]) -> f64 {
    let size = exact.iter().fold(10.0, |size: f64, value| size.max(value.abs()));
    values.iter().zip(exact).map(|(&a, b)| (f64::from(a) - b).abs()).fold(0.0, f64::max) / size
}
