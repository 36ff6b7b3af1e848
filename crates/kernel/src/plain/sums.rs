//! Sums over a graph in one sample, by their definition.

use crate::Real;
use crate::sums::{DROPPED, SumGradients, Sums};

/// The nodes that send to `node`, as rows of the input; itself without the mark.
fn senders<'a, T: Real>(task: &'a Sums<'_, T>, node: usize) -> impl Iterator<Item = usize> + 'a {
    let receives = task.receives(node);
    task.matrix
        .entries(node)
        .filter(move |&(entry, _)| receives && task.is_kept(entry))
        .map(|(_, column)| task.place[column])
        .filter(|place| place & DROPPED == 0)
        .map(|place| place as usize)
}

/// See [`Sums`].
pub fn sums<T: Real>(task: &Sums<'_, T>, input: &[T], nodes: &[u32], output: &mut [T]) {
    for (&node, output) in nodes.iter().zip(output.chunks_exact_mut(task.width)) {
        let own = (task.place[node as usize] & !DROPPED) as usize;
        for (channel, out) in output.iter_mut().enumerate() {
            let arrived: T = senders(task, node as usize).map(|row| input[row * task.width + channel]).sum();
            let own = task.own.map_or(T::ZERO, |factor| factor * input[own * task.width + channel]);
            *out = arrived + own;
        }
    }
}

/// Adds what they pass back; returns the gradient of the own rows' factor.
pub fn sums_backward<T: Real>(
    task: &Sums<'_, T>,
    input: &[T],
    nodes: &[u32],
    upstream: &[T],
    gradients: &mut SumGradients<'_, T>,
) -> f64 {
    for (&node, upstream) in nodes.iter().zip(upstream.chunks_exact(task.width)) {
        for row in senders(task, node as usize) {
            for (sum, &value) in gradients.row(row, task.width).iter_mut().zip(upstream) {
                *sum += value;
            }
        }
    }
    own_backward(task, input, nodes, upstream, gradients)
}

/// The part of it that concerns the own rows.
pub fn own_backward<T: Real>(
    task: &Sums<'_, T>,
    input: &[T],
    nodes: &[u32],
    upstream: &[T],
    gradients: &mut SumGradients<'_, T>,
) -> f64 {
    let Some(of_own) = task.own else { return 0.0 };
    let mut factor = 0.0;
    for (&node, upstream) in nodes.iter().zip(upstream.chunks_exact(task.width)) {
        let own = (task.place[node as usize] & !DROPPED) as usize;
        let values = &input[own * task.width..(own + 1) * task.width];
        factor += upstream.iter().zip(values).map(|(&a, &b)| (a * b).to_f64()).sum::<f64>();
        for (sum, &value) in gradients.row(own, task.width).iter_mut().zip(upstream) {
            *sum += of_own * value;
        }
    }
    factor
}
