//! Inputs of a tile of rows: its source rows, and the distinct pairs of them.

use crate::kernel::dense::block::TILE_ROWS;
use crate::kernel::simd::math;
use crate::kernel::slices::add_to;
use crate::kernel::{DropoutMask, Isa, SourceTile};

/// The source rows of a tile, padded to whole panels.
pub(super) struct Tile<'a> {
    pub(super) sources: SourceTile<'a, f32>,
    pub(super) width: usize,
}

impl<'a> Tile<'a> {
    /// `padded` are the rows of whole panels, where those of `sources` are not.
    pub(super) fn new(
        sources: SourceTile<'a, f32>,
        padded: Option<&'a [f32]>,
        stride: usize,
        width: usize,
    ) -> Self {
        Self { sources: SourceTile { rows: padded.unwrap_or(sources.rows), stride, ..sources }, width }
    }

    /// Number of source rows of a graph.
    pub(super) fn source_count(&self, graph: usize) -> usize {
        self.sources.span(graph).len() / self.sources.stride
    }

    /// Whether output row n reads source row n, for every n.
    pub(super) fn is_one_to_one(&self, graph: usize) -> bool {
        self.source_count(graph) == self.sources.count()
    }

    /// Mean over graphs of the rows that each output row reads.
    pub(super) fn mean(&self, out: &mut [f32]) {
        out.fill(0.0);
        for graph in 0..self.sources.graphs() {
            let (rows, stride) = (self.sources.graph(graph), self.sources.stride);
            for (out, &at) in out.chunks_exact_mut(stride).zip(self.sources.local(graph)) {
                add_to(out, &rows[usize::from(at) * stride..][..stride]);
            }
        }
        let share = 1.0 / self.sources.graphs() as f32;
        for value in out {
            *value *= share;
        }
    }

    pub(super) fn distinct_pairs(&self, i: usize, j: usize) -> DistinctPairs {
        DistinctPairs::new(self.sources.local(i), self.sources.local(j))
    }
}

/// The distinct pairs of source rows of two graphs that the output rows of a tile read.
pub(super) struct DistinctPairs {
    pub(super) count: usize,
    /// Pair that each output row reads.
    of_row: [u8; TILE_ROWS],
    pub(super) rows: usize,
    left: [u8; TILE_ROWS],
    right: [u8; TILE_ROWS],
    /// Number of output rows that read each pair.
    pub(super) readers: [u8; TILE_ROWS],
}

impl DistinctPairs {
    pub(super) fn new(left: &[u8], right: &[u8]) -> Self {
        let none = [0; TILE_ROWS];
        let mut distinct =
            Self { count: 0, of_row: none, rows: left.len(), left: none, right: none, readers: none };
        // By left row: the right row of its latest pair, and that pair. A pair that comes back after another is listed again.
        let mut last = [(u8::MAX, 0u8); TILE_ROWS];
        for (row, (&left, &right)) in left.iter().zip(right).enumerate() {
            let last = &mut last[usize::from(left)];
            if last.0 != right {
                *last = (right, distinct.count as u8);
                distinct.left[distinct.count] = left;
                distinct.right[distinct.count] = right;
                distinct.count += 1;
            }
            distinct.of_row[row] = last.1;
            distinct.readers[usize::from(last.1)] += 1;
        }
        distinct
    }

    /// Applies dropout to rows of pairs; the key of a pair is that of the output rows that read it.
    pub(super) fn apply_dropout<const N: usize>(
        &self,
        isa: Isa,
        dropout: &DropoutMask<'_>,
        site: usize,
        tiles: [&mut [f32]; N],
        stride: usize,
    ) {
        let mut keys = [0; TILE_ROWS];
        for (row, &pair) in self.of_row().iter().enumerate() {
            keys[usize::from(pair)] = dropout.key(row);
        }
        let dropout = dropout.with_keys(&keys[..self.count]);
        for tile in tiles {
            math::apply_dropout(isa, &dropout, site, tile, stride);
        }
    }

    /// Scatters the scores of pairs to the output rows.
    pub(super) fn expand(&self, scores: &[f32], out: &mut [f32]) {
        for (out, &pair) in out.iter_mut().zip(self.of_row()) {
            *out = scores[usize::from(pair)];
        }
    }

    pub(super) fn left(&self) -> &[u8] {
        &self.left[..self.count]
    }

    pub(super) fn right(&self) -> &[u8] {
        &self.right[..self.count]
    }

    pub(super) fn of_row(&self) -> &[u8] {
        &self.of_row[..self.rows]
    }

    /// Whether output row n reads pair n, for every n.
    pub(super) fn is_one_to_one(&self) -> bool {
        self.count == self.rows
    }
}
