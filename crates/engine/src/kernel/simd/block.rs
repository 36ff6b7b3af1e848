//! Fused MLPs on tiles.

use super::gemm::{Epilogue, GemmOperand, ProductPart, TileRows, column_sums, gemm, gemm_tn, pack};
use super::{RangeAllocator, math, pad, padded_copy, rowwise, scratch, stride, unpad};
use crate::kernel::{Activation, Affine, Block, Buffer, DropoutMask, Isa, Pool};
use std::ops::Range;

/// Weights of a block packed in panels, for forward and backward.
#[derive(Debug, Clone)]
pub struct PackedBlock {
    isa: Isa,
    layers: Vec<Layer>,
    weights: Buffer<f32>,
}

/// Ranges of a layer's values in `PackedBlock::weights`.
#[derive(Debug, Clone)]
struct Layer {
    forward: Range<usize>,
    backward: Range<usize>,
    bias: Range<usize>,
}

impl PackedBlock {
    pub(crate) fn new(isa: Isa, linears: &[Affine<'_, f32>]) -> Self {
        let mut ranges = RangeAllocator(0);
        let layers: Vec<Layer> = linears
            .iter()
            .map(|linear| {
                let (inputs, outputs) = (linear.inputs(), linear.outputs());
                Layer {
                    forward: ranges.take(inputs * stride(isa, outputs)),
                    backward: ranges.take(outputs * stride(isa, inputs)),
                    bias: ranges.take(stride(isa, outputs)),
                }
            })
            .collect();
        let mut weights = Pool::new().zeros(ranges.0);
        for (linear, layer) in linears.iter().zip(&layers) {
            let (inputs, outputs) = (linear.inputs(), linear.outputs());
            let value = |k: usize, column: usize| linear.weight[column * inputs + k];
            pack(isa, inputs, outputs, value, &mut weights[layer.forward.clone()]);
            let value = |k: usize, column: usize| linear.weight[k * inputs + column];
            pack(isa, outputs, inputs, value, &mut weights[layer.backward.clone()]);
            weights[layer.bias.clone()][..outputs].copy_from_slice(linear.bias);
        }
        Self { isa, layers, weights }
    }

    /// `out = rows Wᵀ + b` of layer `at`.
    fn affine(&self, linear: &Affine<'_, f32>, at: usize, rows: &[f32], out: &mut [f32]) {
        let layer = &self.layers[at];
        let term = GemmOperand {
            rows,
            stride: stride(self.isa, linear.inputs()),
            depth: linear.inputs(),
            weight: &self.weights[layer.forward.clone()],
            width: linear.outputs(),
        };
        gemm(
            self.isa,
            &[term],
            Some(&self.weights[layer.bias.clone()]),
            Epilogue::Set,
            out,
            stride(self.isa, linear.outputs()),
        );
    }
}

/// See [`Block::forward`].
pub(crate) fn block_rows(
    block: &Block<'_, f32>,
    packed: &PackedBlock,
    dropout: Option<DropoutMask<'_>>,
    input: &[f32],
    output: &mut [f32],
) {
    let isa = packed.isa;
    let (inputs, outputs) = (block.inputs(), block.outputs());
    let count = input.len() / inputs;
    let widest = block.linears().iter().map(|linear| stride(isa, linear.outputs())).max().unwrap_or(0);
    let mut tiles = [scratch(count * widest.max(stride(isa, inputs))), scratch(count * widest)];
    let [from, to] = &mut tiles;
    let (mut from, mut to) = (from, to);
    let last = block.linears().len() - 1;
    for (at, linear) in block.linears().iter().enumerate() {
        let size = count * stride(isa, linear.outputs());
        let rows: &[f32] = if at > 0 {
            from
        } else if stride(isa, inputs) == inputs {
            input
        } else {
            pad(input, inputs, stride(isa, inputs), from);
            from
        };
        if at == last && stride(isa, outputs) == outputs {
            packed.affine(linear, at, rows, output);
            norm_and_activate(block, dropout, isa, output);
            return;
        }
        packed.affine(linear, at, rows, &mut to[..size]);
        if at < last {
            math::activate(isa, block.between, &mut to[..size]);
            apply_dropout(dropout, isa, block.between, at, &mut to[..size], stride(isa, linear.outputs()));
        }
        std::mem::swap(&mut from, &mut to);
    }
    let size = count * stride(isa, outputs);
    norm_and_activate(block, dropout, isa, &mut from[..size]);
    unpad(&from[..size], stride(isa, outputs), outputs, output);
}

/// Applies the norm, the last activation and its dropout.
fn norm_and_activate(block: &Block<'_, f32>, dropout: Option<DropoutMask<'_>>, isa: Isa, tile: &mut [f32]) {
    let stride = stride(isa, block.outputs());
    if let Some(norm) = block.norm {
        let mut factors = scratch(tile.len() / stride);
        rowwise::normalise(isa, tile, stride, block.outputs(), &mut factors);
        rowwise::scale_and_shift(isa, tile, stride, norm.scale, norm.shift);
    }
    math::activate(isa, block.last, tile);
    apply_dropout(dropout, isa, block.last, block.linears().len() - 1, tile, stride);
}

/// Applies dropout after an activation.
fn apply_dropout(
    dropout: Option<DropoutMask<'_>>,
    isa: Isa,
    activation: Activation,
    layer: usize,
    tile: &mut [f32],
    stride: usize,
) {
    if let Some(dropout) = dropout.and_then(|dropout| dropout.after(activation)) {
        math::apply_dropout(isa, &dropout, layer, tile, stride);
    }
}

/// See [`Block::backward`].
pub(crate) fn block_rows_backward(
    block: &Block<'_, f32>,
    packed: &PackedBlock,
    dropout: Option<DropoutMask<'_>>,
    input: &[f32],
    upstream: &[f32],
    d_input: &mut [f32],
    gradient: &mut [f32],
) {
    let isa = packed.isa;
    let (inputs, outputs) = (block.inputs(), block.outputs());
    let (count, linears) = (input.len() / inputs, block.linears());
    let last = linears.len() - 1;
    let strides: Vec<usize> = linears.iter().map(|linear| stride(isa, linear.outputs())).collect();
    let input_stride = stride(isa, inputs);
    let first = padded_copy(isa, inputs, input);
    // values[i]: output of layer i after its activation; slopes[i]: the activation's derivative there.
    let mut values: Vec<Buffer<f32>> = Vec::new();
    let mut slopes: Vec<Buffer<f32>> = Vec::new();
    for (at, linear) in linears.iter().enumerate() {
        let mut out = scratch(count * strides[at]);
        let rows = match at.checked_sub(1) {
            None => first.as_deref().unwrap_or(input),
            Some(before) => &values[before],
        };
        packed.affine(linear, at, rows, &mut out);
        let mut slope = scratch(count * strides[at]);
        if at < last {
            math::activate_with_slope(isa, block.between, &mut out, &mut slope);
            for tile in [&mut out, &mut slope] {
                apply_dropout(dropout, isa, block.between, at, tile, strides[at]);
            }
        }
        values.push(out);
        slopes.push(slope);
    }
    let mut end = block.parameter_count();
    let width = strides[last];
    let mut back = scratch(count * width);
    pad(upstream, outputs, width, &mut back);
    apply_dropout(dropout, isa, block.last, last, &mut back, width);
    let (tile, slope) = (&mut values[last], &mut slopes[last]);
    if let Some(norm) = block.norm {
        let mut factors = scratch(count);
        rowwise::normalise(isa, tile, width, outputs, &mut factors);
        let mut after = scratch(count * width);
        after.copy_from_slice(tile);
        rowwise::scale_and_shift(isa, &mut after, width, norm.scale, norm.shift);
        math::activate_with_slope(isa, block.last, &mut after, slope);
        let (d_scale, d_shift) = gradient[end - 2 * outputs..end].split_at_mut(outputs);
        end -= 2 * outputs;
        let mut norm = rowwise::NormBackward {
            normal: tile,
            slopes: slope,
            stride: width,
            factors: &factors,
            scale: norm.scale,
            d_scale,
            d_shift,
        };
        rowwise::norm_backward(isa, &mut norm, &mut back);
    } else if block.last != Activation::None {
        math::activate_with_slope(isa, block.last, tile, slope);
        rowwise::scale_by(isa, &mut back, slope);
    }
    for at in (0..linears.len()).rev() {
        let linear = &linears[at];
        let start = end - linear.parameter_count();
        let (d_weight, d_bias) = gradient[start..end].split_at_mut(linear.weight.len());
        end = start;
        let left = TileRows { values: &back, stride: strides[at], width: linear.outputs() };
        column_sums(isa, left, d_bias);
        let rows = match at.checked_sub(1) {
            None => first.as_deref().unwrap_or(input),
            Some(before) => &values[before],
        };
        let before_stride = stride(isa, linear.inputs());
        let right = TileRows { values: rows, stride: before_stride, width: linear.inputs() };
        gemm_tn(isa, left, right, ProductPart::Whole, d_weight, linear.inputs());
        let term = GemmOperand {
            rows: &back,
            stride: strides[at],
            depth: linear.outputs(),
            weight: &packed.weights[packed.layers[at].backward.clone()],
            width: linear.inputs(),
        };
        if at > 0 {
            // The layer's own values are no longer needed: their buffer takes the gradient.
            let mut next = values.pop().filter(|tile| tile.len() == count * before_stride);
            let next = next.get_or_insert_with(|| scratch(count * before_stride));
            let epilogue = match block.between {
                Activation::None => Epilogue::Set,
                _ => Epilogue::Slope(&slopes[at - 1]),
            };
            gemm(isa, &[term], None, epilogue, next, before_stride);
            std::mem::swap(&mut back, next);
        } else if input_stride == inputs {
            gemm(isa, &[term], None, Epilogue::Set, d_input, inputs);
        } else {
            let mut next = scratch(count * input_stride);
            gemm(isa, &[term], None, Epilogue::Set, &mut next, input_stride);
            unpad(&next, input_stride, inputs, d_input);
        }
    }
}
