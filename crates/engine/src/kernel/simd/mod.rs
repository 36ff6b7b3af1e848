//! Instruction sets, and the `f32` kernels of whole layers on tiles of rows: what a training step spends nearly all its time in.
//!
//! A tile is some rows that fit the second-level cache together with the weights of a few layers. Rows are padded to whole panels (two
//! vectors), so that products never handle a part of one. A layer is made of a few primitives: [`gemm`] has the matrix products
//! ([`microkernel`] and [`avx2`] their innermost loops), [`math`] the activations, [`rowwise`] norms, dot products, gathers and scatters.

pub(crate) mod attention;
#[cfg(target_arch = "x86_64")]
mod avx2;
#[cfg(target_arch = "x86_64")]
mod avx512;
mod block;
mod gemm;
pub(crate) mod isa;
pub(crate) mod lanes;
mod linear;
mod math;
mod microkernel;
mod pairwise;
mod peak;
mod rowwise;
mod set_scores;
#[cfg(test)]
mod tests;

pub use block::PackedBlock;
pub(crate) use block::{block_rows, block_rows_backward};
pub use isa::Isa;
pub(crate) use linear::{linear, transposed_product};
pub use pairwise::PackedPairwise;
pub(crate) use pairwise::{add_pair_gradient, pair_rows, pair_rows_backward};
pub use peak::peak_flop_per_s;

pub(crate) use set_scores::{Members, PackedSquare, attend, square_scores};

use crate::kernel::{Buffer, Scalar};
use std::ops::Range;

/// As many rows of two vectors as a vector has lanes.
#[cfg(target_arch = "x86_64")]
type VectorBlock<const L: usize> = [[[f32; L]; 2]; L];

/// A buffer of the pool with arbitrary contents.
fn scratch(len: usize) -> Buffer<f32> {
    f32::pool().scratch(len)
}

/// Row stride of a tile that is `width` wide: whole panels.
fn stride(isa: Isa, width: usize) -> usize {
    width.next_multiple_of(isa.panel_width())
}

/// Copies rows of `width` values to rows of `stride`, padded with zeros.
fn pad(from: &[f32], width: usize, stride: usize, to: &mut [f32]) {
    for (from, to) in from.chunks_exact(width).zip(to.chunks_exact_mut(stride)) {
        to[..width].copy_from_slice(from);
        to[width..].fill(0.0);
    }
}

/// Copies rows of `stride` values to rows of `width`, without the padding.
fn unpad(from: &[f32], stride: usize, width: usize, to: &mut [f32]) {
    for (from, to) in from.chunks_exact(stride).zip(to.chunks_exact_mut(width)) {
        to.copy_from_slice(&from[..width]);
    }
}

/// Rows of whole panels, where they are not.
fn padded_copy(isa: Isa, width: usize, input: &[f32]) -> Option<Buffer<f32>> {
    let wide = stride(isa, width);
    (wide != width).then(|| {
        let mut padded = scratch(input.len() / width * wide);
        pad(input, width, wide, &mut padded);
        padded
    })
}

/// Allocates consecutive ranges of a buffer.
struct RangeAllocator(usize);

impl RangeAllocator {
    fn take(&mut self, len: usize) -> Range<usize> {
        self.0 += len;
        self.0 - len..self.0
    }
}
