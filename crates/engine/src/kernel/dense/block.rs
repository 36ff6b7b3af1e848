//! A fused MLP on rows: linear layers, a norm and activations as one operation. A tile of rows goes through all of them in the cache, and the
//! backward pass recomputes the tile instead of storing its activations.

use crate::kernel::{Activation, Buffer, DropoutMask, Scalar};
use rayon::prelude::*;

/// Weight and bias of a linear layer, `y = x Wᵀ + b`.
#[derive(Debug, Clone, Copy)]
pub struct Affine<'a, T> {
    /// `[outputs, inputs]`.
    pub weight: &'a [T],
    /// `[outputs]`.
    pub bias: &'a [T],
}

impl<T> Affine<'_, T> {
    /// Output width.
    pub fn outputs(&self) -> usize {
        self.bias.len()
    }

    /// Input width.
    pub fn inputs(&self) -> usize {
        self.weight.len() / self.bias.len()
    }

    /// Number of weights and biases.
    pub fn parameter_count(&self) -> usize {
        self.weight.len() + self.bias.len()
    }
}

/// Affine parameters of a norm: `x̂ · scale + shift`.
#[derive(Debug, Clone, Copy)]
pub struct NormScale<'a, T> {
    /// γ, `[width]`.
    pub scale: &'a [T],
    /// β, `[width]`.
    pub shift: &'a [T],
}

/// ε of norms, added to the variance.
pub const NORM_EPSILON: f64 = 1e-5;

/// `y = last(norm(linear_n(… between(linear_1(x)))))`, row by row; `x: [n, inputs]`, `y: [n, outputs]`.
#[derive(Debug, Clone)]
pub struct Block<'a, T: Scalar> {
    linears: Vec<Affine<'a, T>>,
    /// Activation after every linear layer but the last.
    pub between: Activation,
    /// Layer norm over the channels of a row, with population variance.
    pub norm: Option<NormScale<'a, T>>,
    /// Activation at the end.
    pub last: Activation,
    /// Dropout after every activation.
    pub dropout: Option<DropoutMask<'a>>,
    /// Weights in the layout of the tile kernels.
    pub(crate) packed: T::PackedBlock,
}

/// Rows of a tile.
pub(crate) const TILE_ROWS: usize = 96;
/// Number of partial gradients: the same for any number of threads, reduced in order.
pub(crate) const GROUPS: usize = 32;

impl<'a, T: Scalar> Block<'a, T> {
    /// A block without dropout.
    ///
    /// # Panics
    ///
    /// If there is no linear layer or their widths do not follow one another: a bug of the caller.
    pub fn new(
        linears: Vec<Affine<'a, T>>,
        between: Activation,
        norm: Option<NormScale<'a, T>>,
        last: Activation,
    ) -> Self {
        assert!(!linears.is_empty(), "a block has a linear layer");
        assert!(
            linears.windows(2).all(|pair| pair[0].outputs() == pair[1].inputs()),
            "widths of linear layers follow one another"
        );
        let packed = T::pack_block(&linears);
        Self { linears, between, norm, last, dropout: None, packed }
    }

    /// The linear layers.
    pub fn linears(&self) -> &[Affine<'a, T>] {
        &self.linears
    }

    /// Input width.
    pub fn inputs(&self) -> usize {
        self.linears[0].inputs()
    }

    /// Output width.
    pub fn outputs(&self) -> usize {
        self.linears[self.linears.len() - 1].outputs()
    }

    /// Number of parameters, which is the length of a flat gradient: weight and bias of each linear layer, then scale and shift of the norm.
    pub fn parameter_count(&self) -> usize {
        let linears: usize = self.linears.iter().map(Affine::parameter_count).sum();
        linears + self.norm.map_or(0, |norm| norm.scale.len() + norm.shift.len())
    }

    /// Writes `output: [n, outputs]` for `input: [n, inputs]`.
    pub fn forward(&self, input: &[T], output: &mut [T]) {
        let tiles = input.par_chunks(TILE_ROWS * self.inputs());
        tiles.zip(output.par_chunks_mut(TILE_ROWS * self.outputs())).enumerate().for_each(
            |(tile, (input, output))| {
                let first = tile * TILE_ROWS;
                let dropout =
                    self.dropout.map(|dropout| dropout.slice(first..first + input.len() / self.inputs()));
                T::block_rows(self, dropout, input, output);
            },
        );
    }

    /// Writes the gradient of the input to `d_input: [n, inputs]`, given that of the output, and adds those of the parameters to
    /// `gradient`; see [`Block::parameter_count`].
    pub fn backward(&self, input: &[T], upstream: &[T], d_input: &mut [T], gradient: &mut [T]) {
        let rows = upstream.len() / self.outputs();
        let group_rows = rows_per_group(rows, 1);
        let partials: Vec<Buffer<T>> = d_input
            .par_chunks_mut(group_rows * self.inputs())
            .zip(input.par_chunks(group_rows * self.inputs()))
            .zip(upstream.par_chunks(group_rows * self.outputs()))
            .enumerate()
            .map(|(group, ((d_input, input), upstream))| {
                let mut partial = zeros(self.parameter_count());
                let size = TILE_ROWS * self.inputs();
                let tiles = d_input.chunks_mut(size).zip(input.chunks(size));
                for (tile, ((d_input, input), upstream)) in
                    tiles.zip(upstream.chunks(TILE_ROWS * self.outputs())).enumerate()
                {
                    let first = group * group_rows + tile * TILE_ROWS;
                    let rows = first..first + d_input.len() / self.inputs();
                    let dropout = self.dropout.map(|dropout| dropout.slice(rows));
                    T::block_rows_backward(self, dropout, input, upstream, d_input, &mut partial);
                }
                partial
            })
            .collect();
        reduce_in_order(&partials, gradient);
    }
}

/// Rows of a group: whole tiles, at least `least_tiles`.
pub(crate) fn rows_per_group(rows: usize, least_tiles: usize) -> usize {
    rows.div_ceil(GROUPS).next_multiple_of(TILE_ROWS).max(least_tiles * TILE_ROWS)
}

/// A zeroed buffer of the pool, cleared by this thread alone: it may already be one of many.
pub(crate) fn zeros<T: Scalar>(len: usize) -> Buffer<T> {
    let mut buffer = T::pool().scratch(len);
    buffer.fill(T::ZERO);
    buffer
}

/// `sum += Σ partials`, reduced one after the other.
pub fn reduce_in_order<T: Scalar>(partials: &[Buffer<T>], sum: &mut [T]) {
    const CHUNK: usize = 1 << 12;
    sum.par_chunks_mut(CHUNK).enumerate().for_each(|(chunk, sum)| {
        for partial in partials {
            for (sum, &value) in sum.iter_mut().zip(&partial[chunk * CHUNK..]) {
                *sum += value;
            }
        }
    });
}
