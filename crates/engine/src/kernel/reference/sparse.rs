//! Products and errors at the entries of sparse matrices, by their definition.

use crate::kernel::sparse::edge_loss::EdgeChunk;
use crate::kernel::{EdgeLoss, Real, Spmm, StoreMode};

/// See [`Spmm`].
pub(crate) fn spmm<T: Real>(task: &Spmm<'_, T>, store: StoreMode, output: &mut [T]) {
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
                StoreMode::Set => row_weight * sum,
                StoreMode::Add => *out + row_weight * sum,
            };
        }
    }
}

/// See [`EdgeLoss`].
pub(crate) fn edge_loss<T: Real>(
    task: &EdgeLoss<'_, T>,
    row_gradient: &mut [T],
    bias_gradient: &mut [T],
) -> f64 {
    task.chunks(row_gradient, bias_gradient).into_iter().map(|chunk| edge_loss_chunk(task, chunk)).sum()
}

pub(crate) fn edge_loss_chunk<T: Real>(task: &EdgeLoss<'_, T>, chunk: EdgeChunk<'_, T>) -> f64 {
    let (mut total, two) = (0.0, T::of(2.0));
    for (at, row) in chunk.rows.enumerate() {
        let values = &task.row_values[row * task.width..(row + 1) * task.width];
        let gradient = &mut chunk.row_gradient[at * task.width..(at + 1) * task.width];
        for (entry, column) in task.matrix.entries(row) {
            let other = &task.column_values[column * task.width..(column + 1) * task.width];
            let mut predicted = values.iter().zip(other).map(|(&a, &b)| a * b).sum::<T>();
            predicted += task.row_bias.map_or(T::ZERO, |bias| bias[row]);
            predicted += task.column_bias.map_or(T::ZERO, |bias| bias[column]);
            let residual = predicted - T::of(f64::from(task.target[entry]));
            total += (residual * residual - task.lambda * predicted * predicted).to_f64();
            let error = two * task.scale * (residual - task.lambda * predicted);
            for (gradient, &other) in gradient.iter_mut().zip(other) {
                *gradient += error * other;
            }
            chunk.bias_gradient[at] += error;
        }
    }
    total
}
