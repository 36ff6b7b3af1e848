//! Linear layers, a norm and activations on rows, as one operation: a tile of rows goes through all of them in the cache, and the
//! way back computes the tile again instead of having stored it.

use crate::{Activation, Buffer, Noise, Scalar};
use rayon::prelude::*;

/// A linear layer's numbers: `y = x Wᵀ + b`.
#[derive(Debug, Clone, Copy)]
pub struct Affine<'a, T> {
    /// `[outputs, inputs]`.
    pub weight: &'a [T],
    /// `[outputs]`.
    pub bias: &'a [T],
}

impl<T> Affine<'_, T> {
    /// Values in a row that goes out.
    pub fn outputs(&self) -> usize {
        self.bias.len()
    }

    /// Values in a row that comes in.
    pub fn inputs(&self) -> usize {
        self.weight.len() / self.bias.len()
    }

    /// Weights and biases.
    pub fn number_count(&self) -> usize {
        self.weight.len() + self.bias.len()
    }
}

/// What a norm has learnt: `x̂ · scale + shift`.
#[derive(Debug, Clone, Copy)]
pub struct NormScale<'a, T> {
    /// By channel.
    pub scale: &'a [T],
    /// By channel.
    pub shift: &'a [T],
}

/// Added to a variance before its root is taken.
pub const NORM_EPSILON: f64 = 1e-5;

/// `y = last(norm(linear_n(… between(linear_1(x)))))`, row by row.
#[derive(Debug, Clone)]
pub struct Block<'a, T: Scalar> {
    linears: Vec<Affine<'a, T>>,
    /// After every linear layer but the last.
    pub between: Activation,
    /// Each row over its channels, with population variance; `None`: as it is.
    pub norm: Option<NormScale<'a, T>>,
    /// At the end.
    pub last: Activation,
    /// What is dropped after every activation; `None`: nothing.
    pub noise: Option<Noise<'a>>,
    /// The weights as the fast kernels want them.
    pub(crate) packed: T::PackedBlock,
}

/// Rows that a task takes from its source at once.
pub(crate) const TILE_ROWS: usize = 96;
/// Partial sums of gradients: as many for any number of threads, added in order.
pub(crate) const GROUPS: usize = 32;

impl<'a, T: Scalar> Block<'a, T> {
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
        Self { linears, between, norm, last, noise: None, packed }
    }

    /// The linear layers.
    pub fn linears(&self) -> &[Affine<'a, T>] {
        &self.linears
    }

    /// Values in a row that comes in.
    pub fn inputs(&self) -> usize {
        self.linears[0].inputs()
    }

    /// Values in a row that goes out.
    pub fn outputs(&self) -> usize {
        self.linears[self.linears.len() - 1].outputs()
    }

    /// Numbers in a gradient: of each linear layer its weight and its bias, then of the norm its scale and its shift.
    pub fn number_count(&self) -> usize {
        let linears: usize = self.linears.iter().map(Affine::number_count).sum();
        linears + self.norm.map_or(0, |norm| norm.scale.len() + norm.shift.len())
    }

    /// `output: [n, outputs]` of `input: [n, inputs]`.
    pub fn forward(&self, input: &[T], output: &mut [T]) {
        let tiles = input.par_chunks(TILE_ROWS * self.inputs());
        tiles.zip(output.par_chunks_mut(TILE_ROWS * self.outputs())).enumerate().for_each(
            |(tile, (input, output))| {
                let first = tile * TILE_ROWS;
                let noise = self.noise.map(|noise| noise.part(first..first + input.len() / self.inputs()));
                T::block_rows(self, noise, input, output);
            },
        );
    }

    /// Writes the gradient of the rows to `d_input: [n, inputs]`, given that of the output, and adds those of the parameters to
    /// `gradient`; see [`Block::number_count`].
    pub fn backward(&self, input: &[T], upstream: &[T], d_input: &mut [T], gradient: &mut [T]) {
        let rows = upstream.len() / self.outputs();
        let group_rows = rows_per_group(rows, 1);
        let partials: Vec<Buffer<T>> = d_input
            .par_chunks_mut(group_rows * self.inputs())
            .zip(input.par_chunks(group_rows * self.inputs()))
            .zip(upstream.par_chunks(group_rows * self.outputs()))
            .enumerate()
            .map(|(group, ((d_input, input), upstream))| {
                let mut partial = zeros(self.number_count());
                let size = TILE_ROWS * self.inputs();
                let tiles = d_input.chunks_mut(size).zip(input.chunks(size));
                for (tile, ((d_input, input), upstream)) in
                    tiles.zip(upstream.chunks(TILE_ROWS * self.outputs())).enumerate()
                {
                    let first = group * group_rows + tile * TILE_ROWS;
                    let rows = first..first + d_input.len() / self.inputs();
                    let noise = self.noise.map(|noise| noise.part(rows));
                    T::block_rows_backward(self, noise, input, upstream, d_input, &mut partial);
                }
                partial
            })
            .collect();
        add_in_order(&partials, gradient);
    }
}

/// Rows of a group: whole tiles, at least so many.
pub(crate) fn rows_per_group(rows: usize, least_tiles: usize) -> usize {
    rows.div_ceil(GROUPS).next_multiple_of(TILE_ROWS).max(least_tiles * TILE_ROWS)
}

/// Zeros of the pool, written by this thread alone: it may already be one of many.
pub(crate) fn zeros<T: Scalar>(len: usize) -> Buffer<T> {
    let mut buffer = T::pool().scratch(len);
    buffer.fill(T::ZERO);
    buffer
}

/// `sum += Σ partials`, one after the other.
pub fn add_in_order<T: Scalar>(partials: &[Buffer<T>], sum: &mut [T]) {
    const CHUNK: usize = 1 << 12;
    sum.par_chunks_mut(CHUNK).enumerate().for_each(|(chunk, sum)| {
        for partial in partials {
            for (sum, &value) in sum.iter_mut().zip(&partial[chunk * CHUNK..]) {
                *sum += value;
            }
        }
    });
}
