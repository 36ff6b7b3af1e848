//! Blocks of linear layers on tiles.

use super::tile::{Factor, Finish, Part, Rows, column_sums, outer, pack, product};
use super::{elementary, gather, padded, rows, scratch, spread, stride};
use crate::{Activation, Affine, Block, Buffer, Isa, Noise, Pool};
use std::ops::Range;

/// The weights of a block in panels, for both directions.
#[derive(Debug, Clone)]
pub struct PackedBlock {
    isa: Isa,
    layers: Vec<Layer>,
    numbers: Buffer<f32>,
}

/// Where a layer's numbers are.
#[derive(Debug, Clone)]
struct Layer {
    forward: Range<usize>,
    backward: Range<usize>,
    bias: Range<usize>,
}

/// Hands out places one after the other.
pub(super) struct Places(pub(super) usize);

impl Places {
    pub(super) fn take(&mut self, len: usize) -> Range<usize> {
        self.0 += len;
        self.0 - len..self.0
    }
}

impl PackedBlock {
    pub(crate) fn new(isa: Isa, linears: &[Affine<'_, f32>]) -> Self {
        let mut places = Places(0);
        let layers: Vec<Layer> = linears
            .iter()
            .map(|linear| {
                let (inputs, outputs) = (linear.inputs(), linear.outputs());
                Layer {
                    forward: places.take(inputs * stride(isa, outputs)),
                    backward: places.take(outputs * stride(isa, inputs)),
                    bias: places.take(stride(isa, outputs)),
                }
            })
            .collect();
        let mut numbers = Pool::new().zeros(places.0);
        for (linear, layer) in linears.iter().zip(&layers) {
            let (inputs, outputs) = (linear.inputs(), linear.outputs());
            let value = |k: usize, column: usize| linear.weight[column * inputs + k];
            pack(isa, inputs, outputs, value, &mut numbers[layer.forward.clone()]);
            let value = |k: usize, column: usize| linear.weight[k * inputs + column];
            pack(isa, outputs, inputs, value, &mut numbers[layer.backward.clone()]);
            numbers[layer.bias.clone()][..outputs].copy_from_slice(linear.bias);
        }
        Self { isa, layers, numbers }
    }

    /// `out = rows Wᵀ + b` of layer `at`.
    fn affine(&self, linear: &Affine<'_, f32>, at: usize, rows: &[f32], out: &mut [f32]) {
        let layer = &self.layers[at];
        let term = Factor {
            rows,
            stride: stride(self.isa, linear.inputs()),
            depth: linear.inputs(),
            weight: &self.numbers[layer.forward.clone()],
        };
        product(
            self.isa,
            &[term],
            Some(&self.numbers[layer.bias.clone()]),
            Finish::Set,
            out,
            stride(self.isa, linear.outputs()),
        );
    }
}

/// See [`Block::forward`].
pub(crate) fn block_rows(
    block: &Block<'_, f32>,
    packed: &PackedBlock,
    noise: Option<Noise<'_>>,
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
            spread(input, inputs, stride(isa, inputs), from);
            from
        };
        if at == last && stride(isa, outputs) == outputs {
            packed.affine(linear, at, rows, output);
            finish(block, noise, isa, output);
            return;
        }
        packed.affine(linear, at, rows, &mut to[..size]);
        if at < last {
            elementary::activate(isa, block.between, &mut to[..size]);
            drop_from(noise, isa, block.between, at, &mut to[..size], stride(isa, linear.outputs()));
        }
        std::mem::swap(&mut from, &mut to);
    }
    let size = count * stride(isa, outputs);
    finish(block, noise, isa, &mut from[..size]);
    gather(&from[..size], stride(isa, outputs), outputs, output);
}

/// The norm and the last activation.
fn finish(block: &Block<'_, f32>, noise: Option<Noise<'_>>, isa: Isa, tile: &mut [f32]) {
    let stride = stride(isa, block.outputs());
    if let Some(norm) = block.norm {
        let mut factors = scratch(tile.len() / stride);
        rows::normalise(isa, tile, stride, block.outputs(), &mut factors);
        rows::scale_and_shift(isa, tile, stride, norm.scale, norm.shift);
    }
    elementary::activate(isa, block.last, tile);
    drop_from(noise, isa, block.last, block.linears().len() - 1, tile, stride);
}

/// What noise does after an activation.
fn drop_from(
    noise: Option<Noise<'_>>,
    isa: Isa,
    activation: Activation,
    layer: usize,
    tile: &mut [f32],
    stride: usize,
) {
    if let Some(noise) = noise.and_then(|noise| noise.after(activation)) {
        elementary::drop_from(isa, &noise, layer, tile, stride);
    }
}

/// See [`Block::backward`].
pub(crate) fn block_rows_backward(
    block: &Block<'_, f32>,
    packed: &PackedBlock,
    noise: Option<Noise<'_>>,
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
    let first = padded(isa, inputs, input);
    // values[i]: what comes out of layer i and its activation; slopes[i]: the activation's derivative there.
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
            elementary::activate_both(isa, block.between, &mut out, &mut slope);
            for tile in [&mut out, &mut slope] {
                drop_from(noise, isa, block.between, at, tile, strides[at]);
            }
        }
        values.push(out);
        slopes.push(slope);
    }
    let mut end = block.number_count();
    let width = strides[last];
    let mut back = scratch(count * width);
    spread(upstream, outputs, width, &mut back);
    drop_from(noise, isa, block.last, last, &mut back, width);
    let (tile, slope) = (&mut values[last], &mut slopes[last]);
    if let Some(norm) = block.norm {
        let mut factors = scratch(count);
        rows::normalise(isa, tile, width, outputs, &mut factors);
        let mut after = scratch(count * width);
        after.copy_from_slice(tile);
        rows::scale_and_shift(isa, &mut after, width, norm.scale, norm.shift);
        elementary::activate_both(isa, block.last, &mut after, slope);
        let (d_scale, d_shift) = gradient[end - 2 * outputs..end].split_at_mut(outputs);
        end -= 2 * outputs;
        let mut norm = rows::NormBack {
            normal: tile,
            slopes: slope,
            stride: width,
            factors: &factors,
            scale: norm.scale,
            d_scale,
            d_shift,
        };
        rows::norm_backward(isa, &mut norm, &mut back);
    } else if block.last != Activation::None {
        elementary::activate_both(isa, block.last, tile, slope);
        rows::scale_by(isa, &mut back, slope);
    }
    for at in (0..linears.len()).rev() {
        let linear = &linears[at];
        let start = end - linear.number_count();
        let (d_weight, d_bias) = gradient[start..end].split_at_mut(linear.weight.len());
        end = start;
        let left = Rows { values: &back, stride: strides[at], width: linear.outputs() };
        column_sums(isa, left, d_bias);
        let rows = match at.checked_sub(1) {
            None => first.as_deref().unwrap_or(input),
            Some(before) => &values[before],
        };
        let before_stride = stride(isa, linear.inputs());
        let right = Rows { values: rows, stride: before_stride, width: linear.inputs() };
        outer(isa, left, right, Part::Whole, d_weight, linear.inputs());
        let term = Factor {
            rows: &back,
            stride: strides[at],
            depth: linear.outputs(),
            weight: &packed.numbers[packed.layers[at].backward.clone()],
        };
        if at > 0 {
            // The layer's own values are not needed any more.
            let mut next = values.pop().filter(|tile| tile.len() == count * before_stride);
            let next = next.get_or_insert_with(|| scratch(count * before_stride));
            let finish = match block.between {
                Activation::None => Finish::Set,
                _ => Finish::Slope(&slopes[at - 1]),
            };
            product(isa, &[term], None, finish, next, before_stride);
            std::mem::swap(&mut back, next);
        } else if input_stride == inputs {
            product(isa, &[term], None, Finish::Set, d_input, inputs);
        } else {
            let mut next = scratch(count * input_stride);
            product(isa, &[term], None, Finish::Set, &mut next, input_stride);
            gather(&next, input_stride, inputs, d_input);
        }
    }
}
