//! The end of a transformer block: dropout, the residual connection and a norm.

use super::{Dropout, NormVars, add_to};
use knockout_engine::grad::{Parameters, Tape, Var};
use knockout_engine::kernel::{Buffer, NORM_EPSILON, Scalar, reduce_in_order};
use rayon::prelude::*;

/// `y = norm(x + dropout(h)) · γ + β`, the norm over the channels of a row with population variance; `x, h, y: [n, width]`.
#[derive(Debug, Clone, Copy)]
pub(crate) struct ResidualNorm {
    norm: NormVars,
    width: usize,
}

/// Rows of a task; the gradients of γ and β are reduced over tasks in order.
const ROWS: usize = 256;

impl ResidualNorm {
    /// Adds `name.weight` (γ, from 1) and `name.bias` (β, from 0).
    pub(crate) fn new<T: Scalar>(parameters: &mut Parameters<T>, name: &str, width: usize) -> Self {
        let scale = parameters.add(format!("{name}.weight"), &[width], || 1.0);
        let shift = parameters.add(format!("{name}.bias"), &[width], || 0.0);
        Self { norm: NormVars { scale, shift }, width }
    }

    /// Records the layer.
    pub(crate) fn forward<T: Scalar>(
        self,
        tape: &mut Tape<'_, T>,
        name: &'static str,
        [x, h]: [Var; 2],
        dropout: Option<&Dropout>,
    ) -> Var {
        let (width, chunk) = (self.width, ROWS * self.width);
        let back = dropout.cloned();
        tape.op(
            name,
            [tape.value(x).len() / width, width],
            |values, out| {
                let (scale, shift) = (values.of(self.norm.scale), values.of(self.norm.shift));
                let rows = values.of(x).par_chunks(chunk).zip(values.of(h).par_chunks(chunk));
                out.par_chunks_mut(chunk).zip(rows).enumerate().for_each(|(task, (out, (x, h)))| {
                    add_dropped(task, x, h, dropout, width, out);
                    for row in out.chunks_exact_mut(width) {
                        normalise(row);
                        for ((value, &scale), &shift) in row.iter_mut().zip(scale).zip(shift) {
                            *value = *value * scale + shift;
                        }
                    }
                });
            },
            move |step, (), gradients| {
                let (values, pool) = (step.values, step.values.pool());
                let scale = values.of(self.norm.scale);
                let mut d_h = pool.scratch(step.output.len());
                let rows = values.of(x).par_chunks(chunk).zip(values.of(h).par_chunks(chunk));
                let partials: Vec<Buffer<T>> = step
                    .gradient
                    .par_chunks_mut(chunk)
                    .zip(d_h.par_chunks_mut(chunk))
                    .zip(rows)
                    .enumerate()
                    .map(|(task, ((gradient, d_h), (x, h)))| {
                        // Rows of the norm's input, then normalised; at the end the gradient of h.
                        add_dropped(task, x, h, back.as_ref(), width, d_h);
                        let mut partial = T::pool().scratch(2 * width);
                        partial.fill(T::ZERO);
                        for (row, gradient) in
                            d_h.chunks_exact_mut(width).zip(gradient.chunks_exact_mut(width))
                        {
                            let inverse = normalise(row);
                            norm_backward(row, inverse, scale, gradient, &mut partial);
                        }
                        d_h.copy_from_slice(gradient);
                        drop_rows(task, back.as_ref(), width, d_h);
                        partial
                    })
                    .collect();
                let mut sums = pool.zeros(2 * width);
                reduce_in_order(&partials, &mut sums);
                gradients.add(self.norm.scale, |sum| add_to(sum, &sums[..width]));
                gradients.add(self.norm.shift, |sum| add_to(sum, &sums[width..]));
                gradients.add(x, |sum| add_to(sum, step.gradient));
                gradients.add(h, |sum| add_to(sum, &d_h));
            },
        )
    }
}

/// `out = x + dropout(h)` for the rows of a task.
fn add_dropped<T: Scalar>(
    task: usize,
    x: &[T],
    h: &[T],
    dropout: Option<&Dropout>,
    width: usize,
    out: &mut [T],
) {
    out.copy_from_slice(h);
    drop_rows(task, dropout, width, out);
    add_to(out, x);
}

fn drop_rows<T: Scalar>(task: usize, dropout: Option<&Dropout>, width: usize, rows: &mut [T]) {
    if let Some(dropout) = dropout {
        let first = task * ROWS;
        dropout.mask().slice(first..first + rows.len() / width).apply(0, rows, width);
    }
}

/// Normalises a row; returns 1 / its standard deviation.
fn normalise<T: Scalar>(row: &mut [T]) -> T {
    let count = T::of(row.len() as f64);
    let mean = row.iter().copied().sum::<T>() / count;
    let mut variance = T::ZERO;
    for value in row.iter_mut() {
        *value -= mean;
        variance += *value * *value;
    }
    let inverse = T::ONE / (variance / count + T::of(NORM_EPSILON)).sqrt();
    for value in row.iter_mut() {
        *value *= inverse;
    }
    inverse
}

/// Turns the gradient of a row's output into that of the norm's input, and adds to those of γ and β.
fn norm_backward<T: Scalar>(normal: &[T], inverse: T, scale: &[T], gradient: &mut [T], partial: &mut [T]) {
    let count = T::of(normal.len() as f64);
    let (d_scale, d_shift) = partial.split_at_mut(normal.len());
    let (mut mean, mut product) = (T::ZERO, T::ZERO);
    for at in 0..normal.len() {
        d_scale[at] += gradient[at] * normal[at];
        d_shift[at] += gradient[at];
        gradient[at] *= scale[at];
        mean += gradient[at];
        product += gradient[at] * normal[at];
    }
    let (mean, product) = (mean / count, product / count);
    for (gradient, &normal) in gradient.iter_mut().zip(normal) {
        *gradient = inverse * (*gradient - mean - normal * product);
    }
}
