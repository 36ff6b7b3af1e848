//! Sums over neighbours in one sample, by their definition.

use crate::kernel::Real;
use crate::kernel::slices::{add_scaled, add_to};
use crate::kernel::sparse::{MASKED, NeighbourSum, RowGradients};

/// The rows that a node gathers.
fn source_rows<'a, T: Real>(task: &'a NeighbourSum<'_, T>, node: usize) -> impl Iterator<Item = usize> + 'a {
    let receives = task.receives(node);
    task.matrix
        .entries(node)
        .filter(move |&(entry, _)| receives && task.is_kept(entry))
        .map(|(_, column)| task.row_of[column])
        .filter(|row| row & MASKED == 0)
        .map(|row| row as usize)
}

/// See [`NeighbourSum`].
pub(crate) fn neighbour_sum<T: Real>(task: &NeighbourSum<'_, T>, output: &mut [T]) {
    for (&node, output) in task.nodes.iter().zip(output.chunks_exact_mut(task.width)) {
        let own = (task.row_of[node as usize] & !MASKED) as usize;
        for (channel, out) in output.iter_mut().enumerate() {
            let value = |row: usize| task.input[row * task.width + channel];
            let gathered: T = source_rows(task, node as usize).map(value).sum();
            *out = gathered + task.self_weight.map_or(T::ZERO, |factor| factor * value(own));
        }
    }
}

/// Adds the gradients of the rows read; returns that of the self weight.
pub(crate) fn neighbour_sum_backward<T: Real>(
    task: &NeighbourSum<'_, T>,
    upstream: &[T],
    gradients: &mut RowGradients<'_, T>,
) -> f64 {
    for (&node, upstream) in task.nodes.iter().zip(upstream.chunks_exact(task.width)) {
        for row in source_rows(task, node as usize) {
            add_to(gradients.row(row, task.width), upstream);
        }
    }
    self_term_backward(task, upstream, gradients)
}

/// [`neighbour_sum_backward`] of the self terms alone.
pub(crate) fn self_term_backward<T: Real>(
    task: &NeighbourSum<'_, T>,
    upstream: &[T],
    gradients: &mut RowGradients<'_, T>,
) -> f64 {
    let Some(self_weight) = task.self_weight else { return 0.0 };
    let mut d_self_weight = 0.0;
    for (&node, upstream) in task.nodes.iter().zip(upstream.chunks_exact(task.width)) {
        let own = (task.row_of[node as usize] & !MASKED) as usize;
        let values = &task.input[own * task.width..(own + 1) * task.width];
        d_self_weight += upstream.iter().zip(values).map(|(&a, &b)| (a * b).to_f64()).sum::<f64>();
        add_scaled(gradients.row(own, task.width), self_weight, upstream);
    }
    d_self_weight
}
