//! Which rows of several graphs meet in each row of a result, tile by tile.
//!
//! Rows of a result often read the same row of a graph: what a deletion left alone is the wild type's. A tile therefore names every row
//! of a graph once, and whoever works on the tile computes once what depends on that row alone. Rows that share are brought into one tile by
//! the order in which tiles take them.

use crate::block::TILE_ROWS;
use crate::{Buffer, Noise, Scalar};
use rayon::prelude::*;
use std::ops::Range;

/// The rows of all graphs that meet in the rows of a result.
#[derive(Debug)]
pub struct Meeting {
    graphs: usize,
    rows: usize,
    order: Option<Order>,
    /// `[graphs, rows of the tile]` for each tile: which of the tile's rows of the graph is read.
    local: Vec<u8>,
    /// Where the rows of each graph begin in `sources`, tile by tile, and the end.
    starts: Vec<u32>,
    /// Rows of a graph.
    sources: Vec<u32>,
}

#[derive(Debug)]
struct Order {
    /// The row at each place.
    rows: Vec<u32>,
    /// The place of each row.
    places: Vec<u32>,
}

/// The rows of one tile.
#[derive(Debug, Clone, Copy)]
pub struct Met<'a, T> {
    /// Those of all graphs, one after the other, each `stride` values.
    pub(crate) rows: &'a [T],
    pub(crate) stride: usize,
    /// Where those of each graph begin, and the end.
    pub(crate) starts: &'a [u32],
    /// `[graphs, n]`: which row of its graph each row of the result reads.
    pub(crate) local: &'a [u8],
    /// What is dropped in each row of the result.
    pub(crate) noise: Option<Noise<'a>>,
}

impl<'a, T> Met<'a, T> {
    /// How many graphs.
    pub(crate) fn graphs(&self) -> usize {
        self.starts.len() - 1
    }

    /// Rows of the result.
    pub(crate) fn count(&self) -> usize {
        self.local.len() / self.graphs()
    }

    /// Where the rows of a graph lie in the tile.
    pub(crate) fn span(&self, graph: usize) -> Range<usize> {
        let [start, end] = [graph, graph + 1].map(|at| (self.starts[at] - self.starts[0]) as usize);
        start * self.stride..end * self.stride
    }

    /// The rows of a graph.
    pub(crate) fn graph(&self, graph: usize) -> &'a [T] {
        &self.rows[self.span(graph)]
    }

    /// Which of them each row of the result reads.
    pub(crate) fn local(&self, graph: usize) -> &'a [u8] {
        &self.local[graph * self.count()..(graph + 1) * self.count()]
    }
}

impl Meeting {
    /// `indexes` has for each graph the row that each row of the result reads; `order` all rows of the result, those beside each other that
    /// share what they read. Without it they are taken as they are.
    ///
    /// # Panics
    ///
    /// If graphs differ in the number of rows, or the order does: a bug of the caller.
    pub fn new(indexes: &[&[u32]], order: Option<Vec<u32>>) -> Self {
        let (graphs, rows) = (indexes.len(), indexes.first().map_or(0, |index| index.len()));
        assert!(indexes.iter().all(|index| index.len() == rows), "every graph gives each row one of its own");
        let order = order.map(|order| {
            assert_eq!(order.len(), rows, "the order has every row");
            let mut places = vec![0; rows];
            for (place, &row) in order.iter().enumerate() {
                places[row as usize] = place as u32;
            }
            Order { rows: order, places }
        });
        let mut meeting = Self {
            graphs,
            rows,
            order,
            local: Vec::with_capacity(rows * graphs),
            starts: vec![0],
            sources: Vec::new(),
        };
        let tiles: Vec<(Vec<u8>, Vec<Vec<u32>>)> = (0..meeting.tile_count())
            .into_par_iter()
            .map(|tile| {
                let places = meeting.places(tile);
                let mut local = Vec::with_capacity(graphs * places.len());
                let sources = indexes.iter().map(|index| {
                    let read: Vec<u32> = places.clone().map(|place| index[meeting.row_at(place)]).collect();
                    each_once(read, &mut local)
                });
                let sources = sources.collect();
                (local, sources)
            })
            .collect();
        for (local, sources) in tiles {
            meeting.local.extend(local);
            for sources in sources {
                meeting.sources.extend(sources);
                meeting.starts.push(meeting.sources.len() as u32);
            }
        }
        meeting
    }

    /// Rows of the result.
    pub fn row_count(&self) -> usize {
        self.rows
    }

    /// Rows of graphs, those of a tile once.
    pub fn source_count(&self) -> usize {
        self.sources.len()
    }

    /// The places of a graph's rows among all sources, and the rows.
    pub fn sources(&self, graph: usize) -> impl Iterator<Item = (u32, u32)> + Clone + '_ {
        (0..self.tile_count()).flat_map(move |tile| {
            let at = tile * self.graphs + graph;
            (self.starts[at]..self.starts[at + 1]).map(|source| (source, self.sources[source as usize]))
        })
    }

    pub(crate) fn tile_count(&self) -> usize {
        self.rows.div_ceil(TILE_ROWS)
    }

    /// The row of the result at a place.
    pub(crate) fn row_at(&self, place: usize) -> usize {
        self.order.as_ref().map_or(place, |order| order.rows[place] as usize)
    }

    /// The places in the order that a tile takes.
    pub(crate) fn places(&self, tile: usize) -> Range<usize> {
        tile * TILE_ROWS..self.rows.min((tile + 1) * TILE_ROWS)
    }

    /// The sources of tiles.
    pub(crate) fn span(&self, tiles: Range<usize>) -> Range<usize> {
        self.starts[tiles.start * self.graphs] as usize..self.starts[tiles.end * self.graphs] as usize
    }

    /// A tile of the rows of each graph, `width` values each.
    pub(crate) fn tile<'t, T: Scalar>(
        &'t self,
        tile: usize,
        graphs: &[&[T]],
        width: usize,
        scratch: &'t mut [T],
    ) -> Met<'t, T> {
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
        let places = self.places(tile);
        let local = &self.local[places.start * self.graphs..places.end * self.graphs];
        Met { rows, stride: width, starts, local, noise: None }
    }

    /// The rows at a tile's places; `None` where they lie there as they are.
    pub(crate) fn picked<T: Scalar>(&self, tile: usize, from: &[T], width: usize) -> Option<Buffer<T>> {
        let order = &self.order.as_ref()?.rows[self.places(tile)];
        let mut rows = T::pool().scratch(order.len() * width);
        for (out, &row) in rows.chunks_exact_mut(width).zip(order) {
            out.copy_from_slice(&from[row as usize * width..][..width]);
        }
        Some(rows)
    }

    /// Lets `write` fill rows that lie as tiles take them, and puts each where it belongs.
    pub(crate) fn in_order<T: Scalar>(&self, out: &mut [T], width: usize, write: impl FnOnce(&mut [T])) {
        /// Rows in a task.
        const CHUNK: usize = 512;
        let Some(order) = &self.order else { return write(out) };
        let mut rows = T::pool().scratch(out.len());
        write(&mut rows);
        out.par_chunks_mut(CHUNK * width).zip(order.places.par_chunks(CHUNK)).for_each(|(out, places)| {
            for (out, &place) in out.chunks_exact_mut(width).zip(places) {
                out.copy_from_slice(&rows[place as usize * width..][..width]);
            }
        });
    }
}

/// Adds to `local` which of the rows that come back each row reads.
///
/// A row may be named twice: looking for it in one slot finds rows that lie beside each other, and missing one costs time alone. Where few are
/// shared all are named as they are read, so that nobody has to look anything up.
fn each_once(read: Vec<u32>, local: &mut Vec<u8>) -> Vec<u32> {
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
        /// Through its tile each row reads what its index says, in any order, and all sources are the graph's.
        #[test]
        fn rows_read_what_they_are_to(
            indexes in (1usize..4, 1usize..300).prop_flat_map(|(graphs, rows)| {
                prop::collection::vec(prop::collection::vec(0u32..40, rows), graphs)
            }),
            seed: u64,
            ordered: bool,
        ) {
            let rows = indexes[0].len();
            let mut order: Vec<u32> = (0..rows as u32).collect();
            knockout_random::Rng::new(seed, "order").shuffle(&mut order);
            let given: Vec<&[u32]> = indexes.iter().map(|index| &index[..]).collect();
            let meeting = Meeting::new(&given, ordered.then(|| order.clone()));
            if !ordered {
                order = (0..rows as u32).collect();
            }
            let graphs: Vec<Vec<f64>> = (0..indexes.len())
                .map(|graph| (0..40).map(|row| f64::from(row + 100 * graph as u32)).collect())
                .collect();
            let graphs: Vec<&[f64]> = graphs.iter().map(|graph| &graph[..]).collect();
            let mut scratch = vec![0.0; graphs.len() * TILE_ROWS];
            for tile in 0..meeting.tile_count() {
                let met = meeting.tile(tile, &graphs, 1, &mut scratch);
                prop_assert_eq!(met.count(), meeting.places(tile).len());
                for (at, place) in meeting.places(tile).enumerate() {
                    for (graph, index) in indexes.iter().enumerate() {
                        let read = met.graph(graph)[met.local(graph)[at] as usize];
                        let meant = index[order[place] as usize] + 100 * graph as u32;
                        prop_assert!((read - f64::from(meant)).abs() < 0.5);
                    }
                }
            }
            let mut named = 0;
            for (graph, index) in indexes.iter().enumerate() {
                for (source, row) in meeting.sources(graph) {
                    prop_assert_eq!(meeting.sources[source as usize], row);
                    prop_assert!(index.contains(&row));
                    named += 1;
                }
            }
            prop_assert_eq!(named, meeting.source_count());
            let mut out = vec![0.0; rows];
            meeting.in_order(&mut out, 1, |out| {
                for (out, &row) in out.iter_mut().zip(&order) {
                    *out = f64::from(row);
                }
            });
            prop_assert!(out.iter().zip(0u32..).all(|(&value, row)| (value - f64::from(row)).abs() < 0.5));
        }
    }
}
