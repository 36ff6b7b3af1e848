//! Row deduplication: the distinct source rows that each tile of output rows reads, graph by graph.
//!
//! Output rows often read the same row of a graph: one that no deletion reached is shared by all samples. A tile therefore lists every source
//! row once, and kernels compute once what depends on that row alone. The order in which tiles take output rows brings those that share
//! sources together.

use super::block::TILE_ROWS;
use crate::kernel::{Buffer, DropoutMask, Scalar};
use rayon::prelude::*;
use std::ops::Range;

/// The distinct source rows of every tile of output rows.
#[derive(Debug)]
pub struct SharedRows {
    graphs: usize,
    rows: usize,
    order: Option<Permutation>,
    /// `[graphs, rows of the tile]` for each tile: which of the tile's source rows of the graph each output row reads.
    local: Vec<u8>,
    /// Offsets of each graph's rows in `sources`, tile by tile.
    starts: Vec<u32>,
    /// Row index in its graph of every source row.
    sources: Vec<u32>,
}

#[derive(Debug)]
struct Permutation {
    /// Output row at each position.
    rows: Vec<u32>,
    /// Position of each output row.
    positions: Vec<u32>,
}

/// The source rows of one tile, gathered.
#[derive(Debug, Clone, Copy)]
pub struct SourceTile<'a, T> {
    /// Rows of all graphs, one graph after the other, `stride` values each.
    pub(crate) rows: &'a [T],
    pub(crate) stride: usize,
    /// Offsets of each graph's rows.
    pub(crate) starts: &'a [u32],
    /// `[graphs, n]`: which source row of the graph each output row reads.
    pub(crate) local: &'a [u8],
    /// Dropout mask of the output rows.
    pub(crate) dropout: Option<DropoutMask<'a>>,
}

impl<'a, T> SourceTile<'a, T> {
    /// Number of graphs.
    pub(crate) fn graphs(&self) -> usize {
        self.starts.len() - 1
    }

    /// Number of output rows.
    pub(crate) fn count(&self) -> usize {
        self.local.len() / self.graphs()
    }

    /// Range of a graph's values in `rows`.
    pub(crate) fn span(&self, graph: usize) -> Range<usize> {
        let [start, end] = [graph, graph + 1].map(|at| (self.starts[at] - self.starts[0]) as usize);
        start * self.stride..end * self.stride
    }

    /// Source rows of a graph.
    pub(crate) fn graph(&self, graph: usize) -> &'a [T] {
        &self.rows[self.span(graph)]
    }

    /// The source row of a graph that each output row reads.
    pub(crate) fn local(&self, graph: usize) -> &'a [u8] {
        &self.local[graph * self.count()..(graph + 1) * self.count()]
    }
}

impl SharedRows {
    /// `indexes` has for each graph the row that each output row reads; `order` is a permutation of the output rows that brings those that
    /// share sources together. Without it tiles take them as they are.
    ///
    /// # Panics
    ///
    /// If graphs differ in the number of rows, or the order does: a bug of the caller.
    pub fn new(indexes: &[&[u32]], order: Option<Vec<u32>>) -> Self {
        let (graphs, rows) = (indexes.len(), indexes.first().map_or(0, |index| index.len()));
        assert!(indexes.iter().all(|index| index.len() == rows), "one index per graph and output row");
        let order = order.map(|order| {
            assert_eq!(order.len(), rows, "the order is a permutation");
            let mut positions = vec![0; rows];
            for (position, &row) in order.iter().enumerate() {
                positions[row as usize] = position as u32;
            }
            Permutation { rows: order, positions }
        });
        let mut shared_rows = Self {
            graphs,
            rows,
            order,
            local: Vec::with_capacity(rows * graphs),
            starts: vec![0],
            sources: Vec::new(),
        };
        let tiles: Vec<(Vec<u8>, Vec<Vec<u32>>)> = (0..shared_rows.tile_count())
            .into_par_iter()
            .map(|tile| {
                let positions = shared_rows.positions(tile);
                let mut local = Vec::with_capacity(graphs * positions.len());
                let sources = indexes.iter().map(|index| {
                    let read: Vec<u32> =
                        positions.clone().map(|position| index[shared_rows.row_at(position)]).collect();
                    dedup_rows(read, &mut local)
                });
                let sources = sources.collect();
                (local, sources)
            })
            .collect();
        for (local, sources) in tiles {
            shared_rows.local.extend(local);
            for sources in sources {
                shared_rows.sources.extend(sources);
                shared_rows.starts.push(shared_rows.sources.len() as u32);
            }
        }
        shared_rows
    }

    /// Number of output rows.
    pub fn row_count(&self) -> usize {
        self.rows
    }

    /// Number of source rows, summed over tiles.
    pub fn source_count(&self) -> usize {
        self.sources.len()
    }

    /// Iterates over a graph's source rows: (position among all sources, row of the graph).
    pub fn sources(&self, graph: usize) -> impl Iterator<Item = (u32, u32)> + Clone + '_ {
        (0..self.tile_count()).flat_map(move |tile| {
            let at = tile * self.graphs + graph;
            (self.starts[at]..self.starts[at + 1]).map(|source| (source, self.sources[source as usize]))
        })
    }

    pub(crate) fn tile_count(&self) -> usize {
        self.rows.div_ceil(TILE_ROWS)
    }

    /// The output row at a position.
    pub(crate) fn row_at(&self, position: usize) -> usize {
        self.order.as_ref().map_or(position, |order| order.rows[position] as usize)
    }

    /// Positions that a tile takes.
    pub(crate) fn positions(&self, tile: usize) -> Range<usize> {
        tile * TILE_ROWS..self.rows.min((tile + 1) * TILE_ROWS)
    }

    /// Range of the source rows of some tiles.
    pub(crate) fn span(&self, tiles: Range<usize>) -> Range<usize> {
        self.starts[tiles.start * self.graphs] as usize..self.starts[tiles.end * self.graphs] as usize
    }

    /// Gathers the source rows of a tile, `width` values each, into `scratch`.
    pub(crate) fn tile<'t, T: Scalar>(
        &'t self,
        tile: usize,
        graphs: &[&[T]],
        width: usize,
        scratch: &'t mut [T],
    ) -> SourceTile<'t, T> {
        let span = self.span(tile..tile + 1);
        let starts = &self.starts[tile * self.graphs..=(tile + 1) * self.graphs];
        let rows = &mut scratch[..span.len() * width];
        let mut out = rows.chunks_exact_mut(width);
        for (graph, from) in graphs.iter().enumerate() {
            for &row in &self.sources[starts[graph] as usize..starts[graph + 1] as usize] {
                if let Some(out) = out.next() {
                    out.copy_from_slice(&from[row as usize * width..][..width]);
                }
            }
        }
        let positions = self.positions(tile);
        let local = &self.local[positions.start * self.graphs..positions.end * self.graphs];
        SourceTile { rows, stride: width, starts, local, dropout: None }
    }

    /// Gathers the rows at a tile's positions; `None` where they are contiguous already.
    pub(crate) fn gather_rows<T: Scalar>(&self, tile: usize, from: &[T], width: usize) -> Option<Buffer<T>> {
        let order = &self.order.as_ref()?.rows[self.positions(tile)];
        let mut rows = T::pool().scratch(order.len() * width);
        for (out, &row) in rows.chunks_exact_mut(width).zip(order) {
            out.copy_from_slice(&from[row as usize * width..][..width]);
        }
        Some(rows)
    }

    /// Fills rows in tile order with `write` and scatters them to their output rows.
    pub(crate) fn scatter_rows<T: Scalar>(&self, out: &mut [T], width: usize, write: impl FnOnce(&mut [T])) {
        /// Rows in a task.
        const CHUNK: usize = 512;
        let Some(order) = &self.order else { return write(out) };
        let mut rows = T::pool().scratch(out.len());
        write(&mut rows);
        out.par_chunks_mut(CHUNK * width).zip(order.positions.par_chunks(CHUNK)).for_each(
            |(out, positions)| {
                for (out, &position) in out.chunks_exact_mut(width).zip(positions) {
                    out.copy_from_slice(&rows[position as usize * width..][..width]);
                }
            },
        );
    }
}

/// Returns the distinct rows among those read, and appends to `local` which of them each reader reads.
///
/// The lookup is a direct-mapped table, so a row may be listed twice: that costs time, not correctness. Where few rows are shared, all are
/// listed as they are read, so that kernels can skip the indirection.
fn dedup_rows(read: Vec<u32>, local: &mut Vec<u8>) -> Vec<u32> {
    const SLOTS: usize = 256;
    let mut slots = [(u32::MAX, 0u8); SLOTS];
    let (first, mut sources) = (local.len(), Vec::with_capacity(read.len()));
    for &row in &read {
        let slot = &mut slots[row as usize % SLOTS];
        if slot.0 != row {
            *slot = (row, sources.len() as u8);
            sources.push(row);
        }
        local.push(slot.1);
    }
    if sources.len() * 8 > read.len() * 7 {
        local.truncate(first);
        local.extend(0..read.len() as u8);
        return read;
    }
    sources
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        /// Through its tile each output row reads the row of its index, in any order.
        #[test]
        fn every_row_reads_the_row_of_its_index(
            indexes in (1usize..4, 1usize..300).prop_flat_map(|(graphs, rows)| {
                prop::collection::vec(prop::collection::vec(0u32..40, rows), graphs)
            }),
            seed: u64,
            ordered: bool,
        ) {
            let rows = indexes[0].len();
            let mut order: Vec<u32> = (0..rows as u32).collect();
            knockout_base::random::Rng::new(seed, "order").shuffle(&mut order);
            let given: Vec<&[u32]> = indexes.iter().map(|index| &index[..]).collect();
            let shared_rows = SharedRows::new(&given, ordered.then(|| order.clone()));
            if !ordered {
                order = (0..rows as u32).collect();
            }
            let graphs: Vec<Vec<f64>> = (0..indexes.len())
                .map(|graph| (0..40).map(|row| f64::from(row + 100 * graph as u32)).collect())
                .collect();
            let graphs: Vec<&[f64]> = graphs.iter().map(|graph| &graph[..]).collect();
            let mut scratch = vec![0.0; graphs.len() * TILE_ROWS];
            for tile in 0..shared_rows.tile_count() {
                let sources = shared_rows.tile(tile, &graphs, 1, &mut scratch);
                prop_assert_eq!(sources.count(), shared_rows.positions(tile).len());
                for (at, position) in shared_rows.positions(tile).enumerate() {
                    for (graph, index) in indexes.iter().enumerate() {
                        let read = sources.graph(graph)[sources.local(graph)[at] as usize];
                        let expected = index[order[position] as usize] + 100 * graph as u32;
                        prop_assert!((read - f64::from(expected)).abs() < 0.5);
                    }
                }
            }
            let mut listed = 0;
            for (graph, index) in indexes.iter().enumerate() {
                for (source, row) in shared_rows.sources(graph) {
                    prop_assert_eq!(shared_rows.sources[source as usize], row);
                    prop_assert!(index.contains(&row));
                    listed += 1;
                }
            }
            prop_assert_eq!(listed, shared_rows.source_count());
            let mut out = vec![0.0; rows];
            shared_rows.scatter_rows(&mut out, 1, |out| {
                for (out, &row) in out.iter_mut().zip(&order) {
                    *out = f64::from(row);
                }
            });
            prop_assert!(out.iter().zip(0u32..).all(|(&value, row)| (value - f64::from(row)).abs() < 0.5));
        }
    }
}
