//! Sparse matrices whose entries are all one: which columns a row has.

use std::ops::Range;

/// Column numbers, in 16 bits where they fit: half the memory to walk.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Columns {
    /// All below 65,536.
    Narrow(Vec<u16>),
    /// Any.
    Wide(Vec<u32>),
}

/// A list of rows, each with its columns.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Csr {
    offsets: Vec<u32>,
    columns: Columns,
    column_count: usize,
    /// Bounds of the chunks that are worked on in parallel: a function of the matrix alone.
    chunks: Vec<usize>,
}

/// The parts of a matrix do not fit together.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum CsrError {
    /// The offsets are not a rising list from 0 to the number of entries.
    #[error("row offsets must rise from 0 to the {entries} entries")]
    Offsets {
        /// How many columns are listed.
        entries: usize,
    },
    /// A column is not there.
    #[error("column {column} of a matrix with {count}")]
    Column {
        /// The column named.
        column: u32,
        /// How many there are.
        count: usize,
    },
}

/// Entries in a chunk, at least: enough that handing it to a thread costs nothing beside it.
const CHUNK_ENTRIES: usize = 1 << 16;
/// Chunks, at most: each reads its panel of the input into the cache anew.
const CHUNKS: usize = 16;

impl Csr {
    /// Checks the parts.
    pub fn new(offsets: &[u32], columns: &[u32], column_count: usize) -> Result<Self, CsrError> {
        let rising = offsets.windows(2).all(|pair| pair[0] <= pair[1]);
        if !rising
            || offsets.first() != Some(&0)
            || offsets.last().map(|&last| last as usize) != Some(columns.len())
        {
            return Err(CsrError::Offsets { entries: columns.len() });
        }
        if let Some(&column) = columns.iter().find(|&&column| column as usize >= column_count) {
            return Err(CsrError::Column { column, count: column_count });
        }
        let narrow = column_count <= usize::from(u16::MAX) + 1;
        Ok(Self {
            chunks: chunk_bounds(offsets),
            offsets: offsets.to_vec(),
            columns: match narrow {
                true => Columns::Narrow(columns.iter().map(|&column| column as u16).collect()),
                false => Columns::Wide(columns.to_vec()),
            },
            column_count,
        })
    }

    /// How many rows.
    pub fn row_count(&self) -> usize {
        self.offsets.len() - 1
    }

    /// How many columns.
    pub fn column_count(&self) -> usize {
        self.column_count
    }

    /// How many entries.
    pub fn entry_count(&self) -> usize {
        self.offsets[self.row_count()] as usize
    }

    /// Where each row's entries begin, and the end.
    pub fn offsets(&self) -> &[u32] {
        &self.offsets
    }

    /// The columns of all rows.
    pub fn columns(&self) -> &Columns {
        &self.columns
    }

    /// The columns of a row.
    pub fn row(&self, row: usize) -> impl Iterator<Item = usize> + '_ {
        let range = self.range(row);
        let (narrow, wide): (&[u16], &[u32]) = match &self.columns {
            Columns::Narrow(columns) => (&columns[range], &[]),
            Columns::Wide(columns) => (&[], &columns[range]),
        };
        narrow.iter().map(|&column| column as usize).chain(wide.iter().map(|&column| column as usize))
    }

    /// The places of a row's entries.
    pub fn range(&self, row: usize) -> Range<usize> {
        self.offsets[row] as usize..self.offsets[row + 1] as usize
    }

    /// The rows of each chunk of about equal work.
    pub(crate) fn chunks(&self) -> impl ExactSizeIterator<Item = Range<usize>> + '_ {
        self.chunks.windows(2).map(|pair| pair[0]..pair[1])
    }

    /// Rows become columns; the entries of a row stay in the order of the rows they came from.
    #[must_use]
    pub fn transposed(&self) -> Self {
        let mut offsets = vec![0u32; self.column_count + 1];
        for row in 0..self.row_count() {
            self.row(row).for_each(|column| offsets[column + 1] += 1);
        }
        for column in 0..self.column_count {
            offsets[column + 1] += offsets[column];
        }
        let (mut next, mut columns) = (offsets.clone(), vec![0u32; self.entry_count()]);
        for row in 0..self.row_count() {
            for column in self.row(row) {
                columns[next[column] as usize] = row as u32;
                next[column] += 1;
            }
        }
        Self::new(&offsets, &columns, self.row_count()).expect("a transposed matrix is well formed")
    }
}

fn chunk_bounds(offsets: &[u32]) -> Vec<usize> {
    let (rows, entries) = (offsets.len() - 1, offsets[offsets.len() - 1] as usize);
    let count = (entries / CHUNK_ENTRIES).clamp(1, CHUNKS);
    let mut bounds: Vec<usize> = (0..count)
        .map(|chunk| offsets.partition_point(|&offset| (offset as usize) < entries * chunk / count))
        .collect();
    bounds[0] = 0;
    bounds.push(rows);
    bounds.dedup();
    bounds
}

/// A directed graph over equal rows and columns, walked both ways.
#[derive(Debug, Clone, PartialEq)]
pub struct Graph {
    /// Row = target, columns = sources: what arrives at a row.
    pub incoming: Csr,
    /// Row = source, columns = targets: where a row goes.
    pub outgoing: Csr,
    /// One over the number of edges that arrive; 0 where none does.
    pub mean_weight: Vec<f64>,
}

impl Graph {
    /// From the targets of every source.
    pub fn from_outgoing(outgoing: Csr) -> Self {
        let incoming = outgoing.transposed();
        let weight = |row| match incoming.range(row).len() {
            0 => 0.0,
            count => 1.0 / count as f64,
        };
        let mean_weight = (0..incoming.row_count()).map(weight).collect();
        Self { incoming, outgoing, mean_weight }
    }

    /// How many rows.
    pub fn row_count(&self) -> usize {
        self.outgoing.row_count()
    }
}

/// What a reconstruction aims at: the distinct edges of a graph and how often each occurs.
#[derive(Debug, Clone, PartialEq)]
pub struct Target {
    /// Row = source.
    pub outgoing: Csr,
    /// How often each entry of `outgoing` occurs.
    pub outgoing_count: Vec<f32>,
    /// Row = target.
    pub incoming: Csr,
    /// How often each entry of `incoming` occurs.
    pub incoming_count: Vec<f32>,
}

impl Target {
    /// Repeated entries become one with a count.
    pub fn of(graph: &Graph) -> Self {
        let (outgoing, outgoing_count) = distinct(&graph.outgoing);
        let (incoming, incoming_count) = distinct(&graph.incoming);
        Self { outgoing, outgoing_count, incoming, incoming_count }
    }
}

fn distinct(csr: &Csr) -> (Csr, Vec<f32>) {
    let (mut offsets, mut columns, mut counts) = (vec![0u32], Vec::new(), Vec::new());
    for row in 0..csr.row_count() {
        let mut sorted: Vec<u32> = csr.row(row).map(|column| column as u32).collect();
        sorted.sort_unstable();
        for run in sorted.chunk_by(|a, b| a == b) {
            columns.push(run[0]);
            counts.push(run.len() as f32);
        }
        offsets.push(columns.len() as u32);
    }
    (
        Csr::new(&offsets, &columns, csr.column_count).expect("fewer entries of a matrix that was checked"),
        counts,
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn transposing_twice_gives_the_matrix() {
        let csr = Csr::new(&[0, 2, 2, 5], &[1, 3, 0, 0, 2], 4).unwrap();
        assert_eq!(csr.transposed().transposed(), csr);
        assert_eq!(csr.transposed().row(0).collect::<Vec<_>>(), [2, 2]);
    }

    #[test]
    fn bad_parts_are_refused() {
        assert_eq!(Csr::new(&[0, 1], &[4], 4), Err(CsrError::Column { column: 4, count: 4 }));
        assert_eq!(Csr::new(&[0, 2, 1], &[0], 4), Err(CsrError::Offsets { entries: 1 }));
        assert_eq!(Csr::new(&[], &[], 4), Err(CsrError::Offsets { entries: 0 }));
    }

    #[test]
    fn repeats_are_counted() {
        let graph = Graph::from_outgoing(Csr::new(&[0, 3, 4, 4], &[1, 2, 1, 0], 3).unwrap());
        let target = Target::of(&graph);
        assert_eq!(target.outgoing.row(0).collect::<Vec<_>>(), [1, 2]);
        assert_eq!(target.outgoing_count, [2.0, 1.0, 1.0]);
        assert_eq!(target.incoming_count, [1.0, 2.0, 1.0]);
        assert_eq!(graph.mean_weight, [1.0, 0.5, 1.0]);
    }

    #[test]
    fn chunks_cover_all_rows() {
        let rows = 70_000;
        let offsets: Vec<u32> = (0..=rows).map(|row| row * 3).collect();
        let columns: Vec<u32> = (0..rows * 3).map(|entry| entry % rows).collect();
        let csr = Csr::new(&offsets, &columns, rows as usize).unwrap();
        assert!(matches!(csr.columns(), Columns::Wide(_)));
        let bounds: Vec<_> = csr.chunks().collect();
        assert!(bounds.len() > 1);
        assert_eq!((bounds[0].start, bounds.last().unwrap().end), (0, rows as usize));
        assert!(bounds.windows(2).all(|pair| pair[0].end == pair[1].start));
    }
}
