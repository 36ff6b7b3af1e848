//! Eigenvalues and eigenvectors of a symmetric matrix.
//!
//! Householder reduction to a tridiagonal matrix, then implicit QL steps (the algorithms `tred2` and `tql2` of EISPACK, Wilkinson and
//! Reinsch 1971). Eigenvectors are rows throughout, so every inner loop runs over contiguous numbers. The rotations of QL steps do not
//! depend on the vectors: they are collected and applied to a few columns at a time, which stay in the first-level cache.

#![expect(clippy::inline_always, reason = "inlined code is compiled for the instruction set of its caller")]

use super::{Matrix, inner};
use std::ops::Range;

/// Returns the eigenvalues in descending order and a matrix whose rows are the eigenvectors.
///
/// # Panics
///
/// If the matrix is not square.
pub(crate) fn symmetric_eigen(matrix: &Matrix<f64>) -> (Vec<f64>, Matrix<f64>) {
    /// Gives the same bits: no operation is fused or reordered.
    #[cfg(target_arch = "x86_64")]
    #[target_feature(enable = "avx2")]
    fn with_wider_vectors(matrix: &Matrix<f64>) -> (Vec<f64>, Matrix<f64>) {
        decompose(matrix)
    }
    #[cfg(target_arch = "x86_64")]
    if is_x86_feature_detected!("avx2") {
        #[expect(unsafe_code, reason = "calls a version compiled for a detected instruction set")]
        // SAFETY: the CPU supports AVX2.
        return unsafe { with_wider_vectors(matrix) };
    }
    decompose(matrix)
}

#[inline(always)]
fn decompose(matrix: &Matrix<f64>) -> (Vec<f64>, Matrix<f64>) {
    let size = matrix.rows();
    assert_eq!(size, matrix.columns(), "a symmetric matrix is square");
    if size == 0 {
        return (Vec::new(), matrix.clone());
    }
    let mut vectors = matrix.clone();
    let (mut diagonal, mut off_diagonal) = (vec![0.0; size], vec![0.0; size]);
    reduce(&mut vectors, &mut diagonal, &mut off_diagonal);
    accumulate(&mut vectors, &mut diagonal);
    iterate(&mut vectors, &mut diagonal, &mut off_diagonal);
    let mut order: Vec<usize> = (0..size).collect();
    order.sort_by(|&a, &b| diagonal[b].total_cmp(&diagonal[a]));
    let sorted = order.iter().flat_map(|&row| vectors.row(row).iter().copied()).collect();
    (order.iter().map(|&i| diagonal[i]).collect(), Matrix::new(size, size, sorted))
}

/// Householder reduction; leaves the reflections in `v` and the off-diagonal entries in `e[1..]`.
#[inline(always)]
fn reduce(v: &mut Matrix<f64>, d: &mut [f64], e: &mut [f64]) {
    let size = v.rows();
    for (j, d) in d.iter_mut().enumerate() {
        *d = v.get(j, size - 1);
    }
    for i in (1..size).rev() {
        let scale: f64 = d[..i].iter().map(|x| x.abs()).sum();
        let mut h = 0.0;
        if scale == 0.0 {
            e[i] = d[i - 1];
            for (j, d) in d[..i].iter_mut().enumerate() {
                *d = v.get(j, i - 1);
                v.set(j, i, 0.0);
                v.set(i, j, 0.0);
            }
        } else {
            for x in &mut d[..i] {
                *x /= scale;
                h += *x * *x;
            }
            let f = d[i - 1];
            let g = if f > 0.0 { -h.sqrt() } else { h.sqrt() };
            e[i] = scale * g;
            h -= f * g;
            d[i - 1] = f - g;
            e[..i].fill(0.0);
            for j in 0..i {
                let f = d[j];
                v.set(i, j, f);
                let row = v.row(j);
                let behind = &row[j + 1..i];
                e[j] += row[j] * f + inner(behind, &d[j + 1..i]);
                e[j + 1..i].iter_mut().zip(behind).for_each(|(e, x)| *e += x * f);
            }
            let mut f = 0.0;
            for (e, d) in e[..i].iter_mut().zip(&d[..i]) {
                *e /= h;
                f += *e * d;
            }
            let half = f / (h + h);
            e[..i].iter_mut().zip(&d[..i]).for_each(|(e, d)| *e -= half * d);
            for j in 0..i {
                let (f, g) = (d[j], e[j]);
                let row = v.row_mut(j);
                for ((x, e), d) in row[j..i].iter_mut().zip(&e[j..i]).zip(&d[j..i]) {
                    *x -= f * e + g * d;
                }
                d[j] = row[i - 1];
                row[i] = 0.0;
            }
        }
        d[i] = h;
    }
}

/// Multiplies the reflections.
#[inline(always)]
fn accumulate(v: &mut Matrix<f64>, d: &mut [f64]) {
    let size = v.rows();
    for i in 0..size - 1 {
        let pivot = v.get(i, i);
        v.set(i, size - 1, pivot);
        v.set(i, i, 1.0);
        let h = d[i + 1];
        if h != 0.0 {
            let (above, below) = v.values_mut().split_at_mut((i + 1) * size);
            let reflection = &below[..=i];
            d[..=i].iter_mut().zip(reflection).for_each(|(d, x)| *d = x / h);
            for row in above.chunks_exact_mut(size) {
                let g = inner(reflection, &row[..=i]);
                row[..=i].iter_mut().zip(&d[..=i]).for_each(|(x, d)| *x -= g * d);
            }
        }
        v.row_mut(i + 1)[..=i].fill(0.0);
    }
    for (j, d) in d.iter_mut().enumerate() {
        *d = v.get(j, size - 1);
        v.set(j, size - 1, 0.0);
    }
    v.set(size - 1, size - 1, 1.0);
}

/// Implicit QL steps until every off-diagonal entry has vanished.
#[inline(always)]
fn iterate(v: &mut Matrix<f64>, d: &mut [f64], e: &mut [f64]) {
    /// Three steps per eigenvalue are usual; only values that are not finite need more than this.
    const MAX_STEPS: usize = 200;
    let size = d.len();
    e.rotate_left(1);
    e[size - 1] = 0.0;
    let mut pending = Rotations::default();
    let (mut shift, mut largest) = (0.0_f64, 0.0_f64);
    for l in 0..size {
        largest = largest.max(d[l].abs() + e[l].abs());
        let m = (l..size - 1).find(|&m| e[m].abs() <= f64::EPSILON * largest).unwrap_or(size - 1);
        let mut steps = 0;
        while m > l && steps < MAX_STEPS {
            steps += 1;
            let g = d[l];
            let mut p = (d[l + 1] - g) / (2.0 * e[l]);
            let r = p.hypot(1.0).copysign(p);
            d[l] = e[l] / (p + r);
            d[l + 1] = e[l] * (p + r);
            let next = d[l + 1];
            let h = g - d[l];
            d[l + 2..].iter_mut().for_each(|d| *d -= h);
            shift += h;
            p = d[m];
            let (mut c, mut c2, mut c3) = (1.0, 1.0, 1.0);
            let off_diagonal_next = e[l + 1];
            let (mut s, mut s2) = (0.0, 0.0);
            pending.begin(v, l..m);
            for i in (l..m).rev() {
                (c3, c2, s2) = (c2, c, s);
                let (g, h) = (c * e[i], c * p);
                let r = (p * p + e[i] * e[i]).sqrt();
                e[i + 1] = s * r;
                (s, c) = (e[i] / r, p / r);
                p = c * d[i] - s * g;
                d[i + 1] = h + s * (c * g + s * d[i]);
                pending.rotations.push((c, s));
            }
            p = -s * s2 * c3 * off_diagonal_next * e[l] / next;
            (e[l], d[l]) = (s * p, c * p);
            if e[l].abs() <= f64::EPSILON * largest {
                break;
            }
        }
        d[l] += shift;
        e[l] = 0.0;
    }
    pending.apply(v);
}

/// Rotations of adjacent rows that are still to be applied.
#[derive(Default)]
struct Rotations {
    /// The rows of each step, rotated pairwise from the last to the first.
    steps: Vec<Range<usize>>,
    /// Cosine and sine of each rotation, step by step.
    rotations: Vec<(f64, f64)>,
}

impl Rotations {
    /// Columns that are rotated at a time.
    const COLUMNS: usize = 8;
    /// Maximum number of collected rotations: they should stay in the cache too.
    const MAX: usize = 1 << 14;

    /// Begins a step; applies the collected rotations first if there is no room for its own.
    #[inline(always)]
    fn begin(&mut self, v: &mut Matrix<f64>, rows: Range<usize>) {
        if self.rotations.len() + rows.len() > Self::MAX {
            self.apply(v);
        }
        self.steps.push(rows);
    }

    #[inline(always)]
    fn apply(&mut self, v: &mut Matrix<f64>) {
        let (rows, columns) = (v.rows(), v.columns());
        let mut panel = vec![[0.0; Self::COLUMNS]; rows];
        for first in (0..columns).step_by(Self::COLUMNS) {
            for (row, panel) in panel.iter_mut().enumerate() {
                match v.row(row)[first..].first_chunk() {
                    Some(whole) => *panel = *whole,
                    None => panel[..columns - first].copy_from_slice(&v.row(row)[first..]),
                }
            }
            let mut rotations = self.rotations.iter();
            for step in &self.steps {
                let mut carried = panel[step.end];
                for (i, &(c, s)) in step.clone().rev().zip(&mut rotations) {
                    let own = panel[i];
                    for column in 0..Self::COLUMNS {
                        panel[i + 1][column] = s * own[column] + c * carried[column];
                        carried[column] = c * own[column] - s * carried[column];
                    }
                }
                panel[step.start] = carried;
            }
            for (row, panel) in panel.iter().enumerate() {
                match v.row_mut(row)[first..].first_chunk_mut() {
                    Some(whole) => *whole = *panel,
                    None => v.row_mut(row)[first..].copy_from_slice(&panel[..columns - first]),
                }
            }
        }
        self.steps.clear();
        self.rotations.clear();
    }
}

#[cfg(test)]
mod tests {
    use super::super::product;
    use super::*;
    use knockout_base::random::Rng;

    /// Checks matrices of several sizes, also with repeated and zero eigenvalues.
    #[test]
    fn orthonormal_vectors_and_values_reproduce_the_matrix() {
        let mut rng = Rng::new(0, "eigen");
        for size in [1, 2, 3, 5, 20, 64, 163] {
            for rank in [size, size / 2, 1] {
                let factor = Matrix::new(size, rank, (0..size * rank).map(|_| rng.normal()).collect());
                let mut transposed = Matrix::zeros(rank, size);
                (0..size).for_each(|i| (0..rank).for_each(|k| transposed.set(k, i, factor.get(i, k))));
                let mut matrix = product(&factor, &transposed);
                (0..size).for_each(|i| matrix.set(i, i, matrix.get(i, i) - 0.5));
                let (values, vectors) = symmetric_eigen(&matrix);
                assert!(values.is_sorted_by(|a, b| a >= b));
                assert_eq!((&values, &vectors), (&decompose(&matrix).0, &decompose(&matrix).1));
                let largest = values.iter().fold(1.0_f64, |most, x| most.max(x.abs()));
                for i in 0..size {
                    for j in 0..size {
                        let back: f64 =
                            (0..size).map(|k| values[k] * vectors.get(k, i) * vectors.get(k, j)).sum();
                        assert!((back - matrix.get(i, j)).abs() < 1e-12 * largest * size as f64);
                        let dot: f64 = vectors.row(i).iter().zip(vectors.row(j)).map(|(a, b)| a * b).sum();
                        assert!((dot - f64::from(u8::from(i == j))).abs() < 1e-12 * size as f64);
                    }
                }
            }
        }
    }
}
