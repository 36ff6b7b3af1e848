//! The same operations written as their definitions say, for any float type: what the fast kernels are checked against, and
//! what `f64` runs on. Nothing here is in a hurry.

mod block;
mod pairwise;
mod sums;
#[cfg(test)]
mod tests;

pub use block::{block_rows, block_rows_backward};
pub use pairwise::{pair_rows, pair_rows_backward};
pub use sums::{own_backward, sums, sums_backward};

use crate::edges::EdgeChunk;
use crate::{Activation, EdgeTask, Layout, Real, SpmmTask, Store, Term};

/// See [`SpmmTask`].
pub fn spmm<T: Real>(task: &SpmmTask<'_, T>, store: Store, output: &mut [T]) {
    task.check(output);
    for row in 0..task.matrix.row_count() {
        let row_weight = task.row_weight.map_or(T::ONE, |weights| weights[row]);
        for channel in 0..task.width {
            let mut sum = T::ZERO;
            for column in task.matrix.row(row) {
                let column_weight = task.column_weight.map_or(T::ONE, |weights| weights[column]);
                sum += column_weight * task.input[column * task.width + channel];
            }
            let out = &mut output[row * task.width + channel];
            *out = match store {
                Store::Set => row_weight * sum,
                Store::Add => *out + row_weight * sum,
            };
        }
    }
}

/// `output (+)= activation(Σ terms + bias)`.
pub fn linear<T: Real>(
    terms: &[Term<'_, T>],
    bias: Option<&[T]>,
    activation: Activation,
    store: Store,
    output: &mut [T],
    width: usize,
) {
    for (place, out) in output.iter_mut().enumerate() {
        let (row, column) = (place / width, place % width);
        let mut sum = bias.map_or(T::ZERO, |bias| bias[column]);
        for term in terms {
            for (k, &value) in term.rows[row * term.depth..(row + 1) * term.depth].iter().enumerate() {
                sum += value
                    * match term.layout {
                        Layout::OutIn => term.weight[column * term.depth + k],
                        Layout::InOut => term.weight[k * width + column],
                    };
            }
        }
        let value = activation.apply(sum);
        *out = match store {
            Store::Set => value,
            Store::Add => *out + value,
        };
    }
}

/// `sum[m, k] += leftᵀ right`, `left_sum[m] += Σ left`.
pub fn transposed_product<T: Real>(
    left: &[T],
    right: &[T],
    [m, k]: [usize; 2],
    sum: &mut [T],
    mut left_sum: Option<&mut [T]>,
) {
    // In `f64`, so that thousands of rows cost one rounding each sum, as few as the fast kernels' partial sums do.
    let (mut product, mut total) = (vec![0.0; m * k], vec![0.0; m]);
    for (left, right) in left.chunks_exact(m).zip(right.chunks_exact(k)) {
        for ((product, total), &left) in product.chunks_exact_mut(k).zip(&mut total).zip(left) {
            *total += left.to_f64();
            for (product, &right) in product.iter_mut().zip(right) {
                *product += left.to_f64() * right.to_f64();
            }
        }
    }
    for (sum, value) in sum.iter_mut().zip(product) {
        *sum += T::of(value);
    }
    for (sum, value) in left_sum.iter_mut().flat_map(|sum| sum.iter_mut()).zip(total) {
        *sum += T::of(value);
    }
}

/// See [`EdgeTask`].
pub fn edges<T: Real>(task: &EdgeTask<'_, T>, row_gradient: &mut [T], bias_gradient: &mut [T]) -> f64 {
    task.chunks(row_gradient, bias_gradient).into_iter().map(|chunk| edge_chunk(task, chunk)).sum()
}

pub(crate) fn edge_chunk<T: Real>(task: &EdgeTask<'_, T>, chunk: EdgeChunk<'_, T>) -> f64 {
    let (mut total, two) = (0.0, T::of(2.0));
    for (at, row) in chunk.rows.enumerate() {
        let values = &task.row_values[row * task.width..(row + 1) * task.width];
        let gradient = &mut chunk.row_gradient[at * task.width..(at + 1) * task.width];
        for (entry, column) in task.matrix.entries(row) {
            let other = &task.column_values[column * task.width..(column + 1) * task.width];
            let mut found = values.iter().zip(other).map(|(&a, &b)| a * b).sum::<T>();
            found += task.row_bias.map_or(T::ZERO, |bias| bias[row]);
            found += task.column_bias.map_or(T::ZERO, |bias| bias[column]);
            let miss = found - T::of(f64::from(task.aim[entry]));
            total += (miss * miss - task.lambda * found * found).to_f64();
            let error = two * task.scale * (miss - task.lambda * found);
            for (gradient, &other) in gradient.iter_mut().zip(other) {
                *gradient += error * other;
            }
            chunk.bias_gradient[at] += error;
        }
    }
    total
}
