//! Hidden layers of a pair and of its score, which forward and backward both compute.

use super::pack::{PackedPairs, PairRanges};
use super::tile::{DistinctPairs, Tile};
use crate::kernel::Buffer;
use crate::kernel::simd::gemm::{Epilogue, GemmOperand, gemm};
use crate::kernel::simd::{rowwise, stride};
use std::ops::Range;

impl PackedPairs {
    /// The operand of rows of `depth` values times a packed weight, which makes rows of `width`.
    pub(super) fn term<'t>(
        &'t self,
        rows: &'t [f32],
        [depth, width]: [usize; 2],
        weight: &Range<usize>,
    ) -> GemmOperand<'t> {
        let stride = stride(self.isa, depth);
        GemmOperand { rows, stride, depth, weight: &self.weights[weight.clone()], width }
    }

    /// A pair's hidden layer before its activation, one row per distinct pair of source rows; `parts` is scratch memory for each half.
    pub(super) fn hidden(
        &self,
        pair: &PairRanges,
        tile: &Tile<'_>,
        (i, j): (usize, usize),
        distinct: &DistinctPairs,
        parts: &mut [Buffer<f32>; 2],
        out: &mut [f32],
    ) {
        let (isa, wide) = (self.isa, stride(self.isa, pair.hidden));
        let bias = Some(&self.weights[pair.first_bias.clone()]);
        let [left, right] = [(i, 0), (j, 1)].map(|(graph, half)| {
            self.term(tile.sources.graph(graph), [tile.width, pair.hidden], &pair.halves[half])
        });
        if i == j {
            gemm(isa, &[left], bias, Epilogue::Set, out, wide);
        } else if tile.is_one_to_one(i) && tile.is_one_to_one(j) {
            gemm(isa, &[left, right], bias, Epilogue::Set, out, wide);
        } else {
            let [lefts, rights] = parts;
            let (lefts, rights) =
                (&mut lefts[..tile.source_count(i) * wide], &mut rights[..tile.source_count(j) * wide]);
            gemm(isa, &[left], bias, Epilogue::Set, lefts, wide);
            gemm(isa, &[right], None, Epilogue::Set, rights, wide);
            rowwise::gather_sum(isa, (lefts, distinct.left()), (rights, distinct.right()), wide, out);
        }
    }

    /// The score's hidden layer before its activation, given a pair's.
    pub(super) fn composed(&self, pair: &PairRanges, scored: usize, hidden: &[f32], out: &mut [f32]) {
        let term = self.term(hidden, [pair.hidden, scored], &pair.composed);
        gemm(
            self.isa,
            &[term],
            Some(&self.weights[pair.composed_bias.clone()]),
            Epilogue::Set,
            out,
            stride(self.isa, scored),
        );
    }
}
