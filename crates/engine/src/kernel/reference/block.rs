//! Fused MLPs, by their definition.

use super::{linear, transposed_product};
use crate::kernel::{
    Activation, Affine, Block, DropoutMask, Layout, LinearTerm, NORM_EPSILON, Real, Scalar, StoreMode,
};

/// `x Wᵀ + b`.
pub(super) fn affine<T: Real>(affine: &Affine<'_, T>, input: &[T]) -> Vec<T> {
    let width = affine.outputs();
    let mut output = vec![T::ZERO; input.len() / affine.inputs() * width];
    let term =
        LinearTerm { rows: input, depth: affine.inputs(), weight: affine.weight, layout: Layout::OutIn };
    linear(&[term], Some(affine.bias), Activation::None, StoreMode::Set, &mut output, width);
    output
}

/// Adds to the gradient of a layer, in the order weight, bias; returns that of its input.
pub(super) fn affine_backward<T: Real>(
    affine: &Affine<'_, T>,
    input: &[T],
    upstream: &[T],
    gradient: &mut [T],
) -> Vec<T> {
    let (weight, bias) = gradient.split_at_mut(affine.weight.len());
    transposed_product(upstream, input, [affine.outputs(), affine.inputs()], weight, Some(bias));
    let mut d_input = vec![T::ZERO; input.len()];
    let term =
        LinearTerm { rows: upstream, depth: affine.outputs(), weight: affine.weight, layout: Layout::InOut };
    linear(&[term], None, Activation::None, StoreMode::Set, &mut d_input, affine.inputs());
    d_input
}

pub(super) fn activate<T: Real>(activation: Activation, values: &[T]) -> Vec<T> {
    values.iter().map(|&value| activation.apply(value)).collect()
}

/// Applies dropout after an activation.
pub(super) fn apply_dropout<T: Real>(
    dropout: Option<DropoutMask<'_>>,
    activation: Activation,
    layer: usize,
    values: &mut [T],
    width: usize,
) {
    if let Some(dropout) = dropout.and_then(|dropout| dropout.after(activation)) {
        dropout.apply(layer, values, width);
    }
}

/// x̂ of every row, and 1 / its standard deviation.
fn normalise<T: Real>(values: &[T], width: usize) -> (Vec<T>, Vec<T>) {
    let mut normal = values.to_vec();
    let one_over = T::of(1.0 / width as f64);
    let factors = normal.chunks_exact_mut(width).map(|row| {
        let mean = row.iter().copied().sum::<T>() * one_over;
        let variance = row.iter().map(|&value| (value - mean) * (value - mean)).sum::<T>() * one_over;
        let factor = T::ONE / (variance + T::of(NORM_EPSILON)).sqrt();
        for value in row.iter_mut() {
            *value = (*value - mean) * factor;
        }
        factor
    });
    let factors = factors.collect();
    (normal, factors)
}

/// See [`Block::forward`].
pub(crate) fn block_rows<T: Scalar>(
    block: &Block<'_, T>,
    dropout: Option<DropoutMask<'_>>,
    input: &[T],
    output: &mut [T],
) {
    let mut rows = input.to_vec();
    for (at, layer) in block.linears().iter().enumerate() {
        rows = affine(layer, &rows);
        if at + 1 < block.linears().len() {
            rows = activate(block.between, &rows);
            apply_dropout(dropout, block.between, at, &mut rows, layer.outputs());
        }
    }
    if let Some(norm) = block.norm {
        rows = normalise(&rows, block.outputs()).0;
        for row in rows.chunks_exact_mut(block.outputs()) {
            for (value, (&scale, &shift)) in row.iter_mut().zip(norm.scale.iter().zip(norm.shift)) {
                *value = *value * scale + shift;
            }
        }
    }
    output.copy_from_slice(&activate(block.last, &rows));
    apply_dropout(dropout, block.last, block.linears().len() - 1, output, block.outputs());
}

/// See [`Block::backward`].
pub(crate) fn block_rows_backward<T: Scalar>(
    block: &Block<'_, T>,
    dropout: Option<DropoutMask<'_>>,
    input: &[T],
    upstream: &[T],
    d_input: &mut [T],
    gradient: &mut [T],
) {
    // inputs[i]: input of layer i; before[i]: its output before the activation.
    let (mut before, mut inputs) = (Vec::new(), vec![input.to_vec()]);
    for (at, layer) in block.linears().iter().enumerate() {
        let out = affine(layer, &inputs[at]);
        let mut values = activate(block.between, &out);
        apply_dropout(dropout, block.between, at, &mut values, layer.outputs());
        inputs.push(values);
        before.push(out);
    }
    let (width, count) = (block.outputs(), block.linears().len());
    let mut end = block.parameter_count();
    let mut upstream = upstream.to_vec();
    apply_dropout(dropout, block.last, count - 1, &mut upstream, width);
    if let Some(norm) = block.norm {
        let (normal, factors) = normalise(&before[count - 1], width);
        let (d_scale, d_shift) = gradient[end - 2 * width..end].split_at_mut(width);
        end -= 2 * width;
        for ((row, upstream), &factor) in
            normal.chunks_exact(width).zip(upstream.chunks_exact_mut(width)).zip(&factors)
        {
            let (mut mean, mut product) = (T::ZERO, T::ZERO);
            for channel in 0..width {
                let after = row[channel] * norm.scale[channel] + norm.shift[channel];
                let slope = upstream[channel] * block.last.derivative(after);
                d_scale[channel] += slope * row[channel];
                d_shift[channel] += slope;
                upstream[channel] = slope * norm.scale[channel];
                mean += upstream[channel];
                product += upstream[channel] * row[channel];
            }
            let one_over = T::of(1.0 / width as f64);
            for channel in 0..width {
                let centred = upstream[channel] - mean * one_over - row[channel] * product * one_over;
                upstream[channel] = centred * factor;
            }
        }
    } else {
        for (upstream, &value) in upstream.iter_mut().zip(&before[count - 1]) {
            *upstream *= block.last.derivative(value);
        }
    }
    for at in (0..count).rev() {
        let layer = &block.linears()[at];
        let start = end - layer.parameter_count();
        let mut back = affine_backward(layer, &inputs[at], &upstream, &mut gradient[start..end]);
        end = start;
        if at > 0 {
            apply_dropout(dropout, block.between, at - 1, &mut back, layer.inputs());
            for (back, &value) in back.iter_mut().zip(&before[at - 1]) {
                *back *= block.between.derivative(value);
            }
        }
        upstream = back;
    }
    d_input.copy_from_slice(&upstream);
}
