//! The entries of a matrix that were observed, and the largest singular value of a matrix that has no others.

use crate::grid::Grid;
use crate::matrix::{Matrix, symmetric_eigen};
use knockout_cell::GeneSetsRef;
use knockout_random::Rng;

/// Observed entries, row by row; repeats of an entry are averaged.
pub(super) struct Observed {
    pub(super) row_count: usize,
    pub(super) column_count: usize,
    offsets: Vec<usize>,
    columns: Vec<u32>,
    pub(super) targets: Vec<f64>,
}

impl Observed {
    pub(super) fn of(grid: &Grid, sets: GeneSetsRef<'_>, targets: &[f64]) -> Self {
        let mut entries: Vec<(u32, u32, f64)> = Vec::with_capacity(2 * targets.len());
        for (set, &target) in sets.iter().zip(targets) {
            entries.extend(grid.cells(set).iter().map(|(row, column)| (row as u32, column as u32, target)));
        }
        entries.sort_by_key(|&(row, column, _)| (row, column));
        let (mut offsets, mut columns, mut targets) = (vec![0], Vec::new(), Vec::new());
        for same in entries.chunk_by(|a, b| (a.0, a.1) == (b.0, b.1)) {
            offsets.resize(same[0].0 as usize + 1, columns.len());
            columns.push(same[0].1);
            targets.push(same.iter().map(|entry| entry.2).sum::<f64>() / same.len() as f64);
        }
        let (row_count, column_count) = (grid.rows().len(), grid.columns().len());
        offsets.resize(row_count + 1, columns.len());
        Self { row_count, column_count, offsets, columns, targets }
    }

    /// The places of the entries in a row-major matrix, in their order.
    pub(super) fn places(&self) -> impl Iterator<Item = usize> + '_ {
        self.offsets.windows(2).enumerate().flat_map(move |(row, ends)| {
            self.columns[ends[0]..ends[1]]
                .iter()
                .map(move |&column| row * self.column_count + column as usize)
        })
    }

    /// The largest singular value of the matrix that has these values at the entries and zeros elsewhere.
    ///
    /// Golub and Kahan's bidiagonalisation from a random start, until another step changes it by less than a share of 1e-9.
    pub(super) fn largest_singular_value(&self, values: &[f64]) -> f64 {
        const MOST_STEPS: usize = 120;
        let mut rng = Rng::new(0, "largest singular value");
        let mut v: Vec<f64> = (0..self.column_count).map(|_| rng.normal()).collect();
        if normalise(&mut v) == 0.0 {
            return 0.0;
        }
        let (mut lefts, mut rights) = (Vec::new(), vec![v]);
        let (mut alphas, mut betas): (Vec<f64>, Vec<f64>) = (Vec::new(), Vec::new());
        let mut estimate = 0.0;
        let steps = MOST_STEPS.min(self.row_count).min(self.column_count);
        for step in 0..steps {
            let mut u = self.times(values, &rights[step]);
            remove_components(&mut u, &lefts);
            alphas.push(normalise(&mut u));
            lefts.push(u);
            let mut v = self.transposed_times(values, &lefts[step]);
            remove_components(&mut v, &rights);
            betas.push(normalise(&mut v));
            rights.push(v);
            let is_over = betas[step] == 0.0 || alphas[step] == 0.0 || step + 1 == steps;
            if step % 10 == 9 || is_over {
                let before = std::mem::replace(&mut estimate, top_of_bidiagonal(&alphas, &betas));
                if is_over || estimate - before <= 1e-9 * estimate {
                    break;
                }
            }
        }
        estimate
    }

    fn times(&self, values: &[f64], x: &[f64]) -> Vec<f64> {
        let row = |ends: &[usize]| {
            let entries = self.columns[ends[0]..ends[1]].iter().zip(&values[ends[0]..ends[1]]);
            entries.map(|(&column, value)| value * x[column as usize]).sum()
        };
        self.offsets.windows(2).map(row).collect()
    }

    fn transposed_times(&self, values: &[f64], x: &[f64]) -> Vec<f64> {
        let mut out = vec![0.0; self.column_count];
        for (ends, &x) in self.offsets.windows(2).zip(x) {
            for (&column, value) in self.columns[ends[0]..ends[1]].iter().zip(&values[ends[0]..ends[1]]) {
                out[column as usize] += value * x;
            }
        }
        out
    }
}

/// The largest singular value of a bidiagonal matrix.
fn top_of_bidiagonal(alphas: &[f64], betas: &[f64]) -> f64 {
    let size = alphas.len();
    let mut square = Matrix::zeros(size, size);
    for i in 0..size {
        let before = if i > 0 { betas[i - 1] } else { 0.0 };
        square.set(i, i, alphas[i] * alphas[i] + before * before);
        if i + 1 < size {
            let beside = alphas[i] * betas[i];
            square.set(i, i + 1, beside);
            square.set(i + 1, i, beside);
        }
    }
    symmetric_eigen(&square).0[0].max(0.0).sqrt()
}

/// Scales to length 1 and gives the length before; a vector of rounding errors becomes 0.
fn normalise(vector: &mut [f64]) -> f64 {
    let length = vector.iter().map(|x| x * x).sum::<f64>().sqrt();
    if length > 1e-300 {
        for x in vector {
            *x /= length;
        }
        length
    } else {
        vector.fill(0.0);
        0.0
    }
}

fn remove_components(vector: &mut [f64], others: &[Vec<f64>]) {
    let before: f64 = vector.iter().map(|x| x * x).sum();
    for _ in 0..2 {
        for other in others {
            let dot: f64 = vector.iter().zip(other).map(|(a, b)| a * b).sum();
            vector.iter_mut().zip(other).for_each(|(x, other)| *x -= dot * other);
        }
    }
    // Nothing but rounding is left.
    if vector.iter().map(|x| x * x).sum::<f64>() <= 1e-28 * before {
        vector.fill(0.0);
    }
}
