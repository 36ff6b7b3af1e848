//! Row-tile operations of whole layers for `f32`: what a training step spends nearly all its time in.
//!
//! A tile is some rows of a few layers that fit the second-level cache together. Rows are padded to whole panels (two vectors), so
//! that products never handle a part of one, and every step is one of a few primitives: [`tile`] has the products ([`innermost`] their loops), [`elementary`] the
//! activations, [`rows`] what happens within a row.

#[cfg(target_arch = "x86_64")]
mod avx2;
mod block;
mod dense;
mod elementary;
mod innermost;
mod pairwise;
mod rows;
#[cfg(test)]
mod tests;
mod tile;

pub use block::PackedBlock;
pub(crate) use block::{block_rows, block_rows_backward};
pub(crate) use dense::{linear, transposed_product};
pub use pairwise::PackedPairwise;
pub(crate) use pairwise::{add_pair_gradient, pair_rows, pair_rows_backward};

use crate::{Buffer, Isa, Scalar};

/// A tile with whatever was there before.
fn scratch(len: usize) -> Buffer<f32> {
    f32::pool().scratch(len)
}

/// Values in a row of a tile that is `width` wide: whole panels.
fn stride(isa: Isa, width: usize) -> usize {
    width.next_multiple_of(isa.panel_width())
}

/// The rows of `from`, `width` values each, in rows of `stride`; the rest of each is zero.
fn spread(from: &[f32], width: usize, stride: usize, to: &mut [f32]) {
    for (from, to) in from.chunks_exact(width).zip(to.chunks_exact_mut(stride)) {
        to[..width].copy_from_slice(from);
        to[width..].fill(0.0);
    }
}

/// The other way.
fn gather(from: &[f32], stride: usize, width: usize, to: &mut [f32]) {
    for (from, to) in from.chunks_exact(stride).zip(to.chunks_exact_mut(width)) {
        to.copy_from_slice(&from[..width]);
    }
}

/// Rows of whole panels, where they are not.
fn padded(isa: Isa, width: usize, input: &[f32]) -> Option<Buffer<f32>> {
    let wide = stride(isa, width);
    (wide != width).then(|| {
        let mut padded = scratch(input.len() / width * wide);
        spread(input, width, wide, &mut padded);
        padded
    })
}
