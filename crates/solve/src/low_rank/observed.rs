//! The observed entries of a matrix, and the largest singular value of a sparse matrix with these entries.

use crate::grid::Grid;
use crate::matrix::{Matrix, gram, inner, symmetric_eigen};
use knockout_base::random::Rng;
use knockout_data::cell::GeneSetsRef;
use rayon::prelude::*;

/// Observed entries, row by row; repeated measurements of an entry are averaged.
pub(super) struct ObservedMatrix {
    pub(super) row_count: usize,
    pub(super) column_count: usize,
    offsets: Vec<usize>,
    columns: Vec<u32>,
    pub(super) targets: Vec<f32>,
}

/// Minimum number of rows per parallel task.
const MIN_ROWS: usize = 64;

impl ObservedMatrix {
    pub(super) fn new(grid: &Grid, sets: GeneSetsRef<'_>, targets: &[f64]) -> Self {
        let (row_count, column_count) = (grid.rows().len(), grid.columns().len());
        // Sorted into rows first and then by column, which avoids a second copy.
        let mut offsets = vec![0_usize; row_count + 1];
        for set in sets.iter() {
            grid.cells(set).iter().for_each(|(row, _)| offsets[row + 1] += 1);
        }
        (0..row_count).for_each(|row| offsets[row + 1] += offsets[row]);
        let mut entries = vec![(0_u32, 0.0_f32); offsets[row_count]];
        let mut free = offsets.clone();
        for (set, &target) in sets.iter().zip(targets) {
            for (row, column) in grid.cells(set).iter() {
                entries[free[row]] = (column as u32, target as f32);
                free[row] += 1;
            }
        }
        for ends in offsets.windows(2) {
            entries[ends[0]..ends[1]].sort_by_key(|&(column, _)| column);
        }
        let (mut ends, mut columns, mut means) = (vec![0], Vec::new(), Vec::new());
        for row in offsets.windows(2) {
            for same in entries[row[0]..row[1]].chunk_by(|a, b| a.0 == b.0) {
                columns.push(same[0].0);
                let sum: f64 = same.iter().map(|entry| f64::from(entry.1)).sum();
                means.push((sum / same.len() as f64) as f32);
            }
            ends.push(columns.len());
        }
        Self { row_count, column_count, offsets: ends, columns, targets: means }
    }

    /// Returns the smaller dimension.
    pub(super) fn min_side(&self) -> usize {
        self.row_count.min(self.column_count)
    }

    /// Returns the columns of the entries of a row, and the range of the entries.
    fn row(&self, row: usize) -> (&[u32], std::ops::Range<usize>) {
        let range = self.offsets[row]..self.offsets[row + 1];
        (&self.columns[range.clone()], range)
    }

    /// Copies the entries out of a matrix.
    pub(super) fn take(&self, matrix: &Matrix<f32>, out: &mut [f32]) {
        self.by_row(out).for_each(|(row, columns, out)| {
            let values = matrix.row(row);
            out.iter_mut().zip(columns).for_each(|(out, &column)| *out = values[column as usize]);
        });
    }

    /// Writes the residuals of the targets, given a completed matrix.
    pub(super) fn residuals(&self, matrix: &Matrix<f32>, out: &mut [f32]) {
        self.take(matrix, out);
        out.par_iter_mut()
            .zip(&self.targets)
            .with_min_len(1 << 14)
            .for_each(|(out, target)| *out = target - *out);
    }

    /// Splits values, one per entry, by row; each item is the row, its columns and its values.
    fn by_row<'a>(
        &'a self,
        mut values: &'a mut [f32],
    ) -> impl ParallelIterator<Item = (usize, &'a [u32], &'a mut [f32])> {
        let mut rows = Vec::with_capacity(self.row_count);
        for row in 0..self.row_count {
            let (columns, range) = self.row(row);
            let (own, rest) = values.split_at_mut(range.len());
            values = rest;
            rows.push((row, columns, own));
        }
        rows.into_par_iter().with_min_len(MIN_ROWS)
    }

    /// Sets the entries of a matrix to `from + step_size · (target − from)`.
    pub(super) fn step_towards_targets(&self, matrix: &mut Matrix<f32>, from: &[f32], step_size: f32) {
        if self.column_count == 0 {
            return;
        }
        let rows = matrix.values_mut().par_chunks_exact_mut(self.column_count).enumerate();
        rows.with_min_len(MIN_ROWS).for_each(|(row, values)| {
            let (columns, range) = self.row(row);
            let pairs = self.targets[range.clone()].iter().zip(&from[range]);
            for (&column, (target, from)) in columns.iter().zip(pairs) {
                values[column as usize] = from + step_size * (target - from);
            }
        });
    }

    /// Sets the entries of a matrix, and returns its squared distance from another one over all entries and over the observed ones.
    pub(super) fn set_and_measure(
        &self,
        values: &[f32],
        matrix: &mut Matrix<f32>,
        other: &Matrix<f32>,
    ) -> (f64, f64) {
        let rows = matrix.values_mut().par_chunks_exact_mut(self.column_count.max(1)).enumerate();
        let row = |(row, out): (usize, &mut [f32])| {
            let (others, mut observed) = (other.row(row), 0.0);
            let (columns, range) = self.row(row);
            for (&column, &value) in columns.iter().zip(&values[range]) {
                out[column as usize] = value;
                observed += f64::from(value - others[column as usize]).powi(2);
            }
            (squared_distance(out, others), observed)
        };
        let rows: Vec<(f64, f64)> = rows.with_min_len(MIN_ROWS).map(row).collect();
        rows.iter().fold((0.0, 0.0), |sum, row| (sum.0 + row.0, sum.1 + row.1))
    }

    /// Returns the largest singular value of the matrix with these values at the entries and zeros elsewhere.
    ///
    /// Golub-Kahan bidiagonalisation from a random start, until ten more steps change it by less than 1e-8 relatively.
    pub(super) fn largest_singular_value(&self, values: &[f32]) -> f64 {
        let mut rng = Rng::new(0, "largest singular value");
        self.largest_singular_value_from(values, (0..self.column_count).map(|_| rng.normal()).collect())
    }

    /// Returns the largest singular value, starting from the combination of some vectors (columns) with the longest image.
    pub(super) fn largest_singular_value_near(&self, values: &[f32], vectors: &Matrix<f32>) -> f64 {
        if vectors.columns() == 0 {
            return 0.0;
        }
        let coefficients = symmetric_eigen(&gram(&self.images(values, vectors))).1;
        let combined = |row: usize| {
            vectors.row(row).iter().zip(coefficients.row(0)).map(|(&x, c)| f64::from(x) * c).sum()
        };
        self.largest_singular_value_from(values, (0..vectors.rows()).map(combined).collect())
    }

    fn largest_singular_value_from(&self, values: &[f32], mut v: Vec<f64>) -> f64 {
        const MAX_STEPS: usize = 120;
        if normalise(&mut v) == 0.0 {
            return 0.0;
        }
        let (mut lefts, mut rights) = (Vec::new(), vec![v]);
        let (mut alphas, mut betas): (Vec<f64>, Vec<f64>) = (Vec::new(), Vec::new());
        let mut estimate = 0.0;
        let steps = MAX_STEPS.min(self.row_count).min(self.column_count);
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
                let before = std::mem::replace(&mut estimate, bidiagonal_norm(&alphas, &betas));
                if is_over || estimate - before <= 1e-8 * estimate {
                    break;
                }
            }
        }
        estimate
    }

    fn times(&self, values: &[f32], x: &[f64]) -> Vec<f64> {
        let row = |ends: &[usize]| {
            let (columns, values) = (&self.columns[ends[0]..ends[1]], &values[ends[0]..ends[1]]);
            let product = |column: u32, value: f32| f64::from(value) * x[column as usize];
            // Four independent sums hide the latency of additions.
            let ((columns, last_columns), (values, last_values)) =
                (columns.as_chunks::<4>(), values.as_chunks::<4>());
            let mut sums = [0.0; 4];
            for (columns, values) in columns.iter().zip(values) {
                (0..4).for_each(|lane| sums[lane] += product(columns[lane], values[lane]));
            }
            let rest: f64 = last_columns.iter().zip(last_values).map(|(&c, &v)| product(c, v)).sum();
            (sums[0] + sums[1]) + (sums[2] + sums[3]) + rest
        };
        self.offsets.par_windows(2).with_min_len(MIN_ROWS).map(row).collect()
    }

    /// Returns the products of the matrix of these values with vectors (columns).
    fn images(&self, values: &[f32], vectors: &Matrix<f32>) -> Matrix<f64> {
        let mut images = Matrix::zeros(self.row_count, vectors.columns());
        let rows = images.values_mut().par_chunks_exact_mut(vectors.columns()).enumerate();
        rows.with_min_len(MIN_ROWS).for_each(|(row, image)| {
            let (columns, range) = self.row(row);
            for (&column, &value) in columns.iter().zip(&values[range]) {
                let vector = vectors.row(column as usize);
                image.iter_mut().zip(vector).for_each(|(sum, &x)| *sum += f64::from(value) * f64::from(x));
            }
        });
        images
    }

    fn transposed_times(&self, values: &[f32], x: &[f64]) -> Vec<f64> {
        let mut out = vec![0.0; self.column_count];
        for (ends, &x) in self.offsets.windows(2).zip(x) {
            for (&column, &value) in self.columns[ends[0]..ends[1]].iter().zip(&values[ends[0]..ends[1]]) {
                out[column as usize] += f64::from(value) * x;
            }
        }
        out
    }
}

/// Returns the largest singular value of a bidiagonal matrix.
fn bidiagonal_norm(alphas: &[f64], betas: &[f64]) -> f64 {
    let size = alphas.len();
    let mut square = Matrix::zeros(size, size);
    for i in 0..size {
        let before = if i > 0 { betas[i - 1] } else { 0.0 };
        square.set(i, i, alphas[i] * alphas[i] + before * before);
        if i + 1 < size {
            let off_diagonal = alphas[i] * betas[i];
            square.set(i, i + 1, off_diagonal);
            square.set(i + 1, i, off_diagonal);
        }
    }
    symmetric_eigen(&square).0[0].max(0.0).sqrt()
}

/// Returns the squared distance, summed in lanes that the compiler can vectorise.
fn squared_distance(a: &[f32], b: &[f32]) -> f64 {
    let mut lanes = [0.0_f32; 8];
    let ((a, a_rest), (b, b_rest)) = (a.as_chunks::<8>(), b.as_chunks::<8>());
    for (a, b) in a.iter().zip(b) {
        for (lane, (a, b)) in lanes.iter_mut().zip(a.iter().zip(b)) {
            *lane += (a - b) * (a - b);
        }
    }
    let rest: f32 = a_rest.iter().zip(b_rest).map(|(a, b)| (a - b) * (a - b)).sum();
    lanes.iter().map(|&lane| f64::from(lane)).sum::<f64>() + f64::from(rest)
}

/// Normalises a vector and returns its length; a vector of length near 0 becomes 0.
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

/// Makes a vector orthogonal to others; sets it to 0 if only rounding errors remain.
fn remove_components(vector: &mut [f64], others: &[Vec<f64>]) {
    let before = square(vector);
    let mut last = before;
    loop {
        for other in others {
            let component = inner(vector, other);
            vector.iter_mut().zip(other).for_each(|(x, other)| *x -= component * other);
        }
        let now = square(vector);
        // One pass suffices unless most of the vector was removed (Daniel et al. 1976).
        let needs_another_pass = now <= 0.5 * last && now > 1e-28 * before;
        last = now;
        if !needs_another_pass {
            break;
        }
    }
    if last <= 1e-28 * before {
        vector.fill(0.0);
    }
}

fn square(vector: &[f64]) -> f64 {
    inner(vector, vector)
}
