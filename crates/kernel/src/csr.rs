//! Sparse matrices whose entries are all one: which columns a row has.

use std::ops::Range;

/// Column numbers, in 16 bits where they fit: half the memory to walk.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Columns {
    /// All below 65,536.
    Narrow(Vec<u16>),
    /// Any.
    Wide(Vec<u32>),
}

/// A list of rows, each with its columns.
///
/// A large matrix is kept in bands of columns: walking one band after the other, the rows that a product gathers stay in the
/// second-level cache. Entries are listed band by band, and in each band row by row.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Csr {
    row_count: usize,
    column_count: usize,
    columns: Columns,
    /// For each band, where each row's entries begin, and the end.
    bands: Vec<Vec<u32>>,
    /// Bounds of the chunks of rows that are worked on in parallel: a function of the matrix alone.
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
const CHUNK_ENTRIES: usize = 1 << 13;
/// Chunks, at most: each reads the bands into the cache anew.
const CHUNKS: usize = 8;
/// Columns in a band: rows of 64 floats fill 384 KiB, which leaves room in a cache of 512.
const BAND_COLUMNS: usize = 1536;
/// Entries per row of a band, at least, for bands to be worth their while.
const BAND_ENTRIES: usize = 4;

impl Csr {
    /// Checks the parts. Columns of a row may come in any order and repeat.
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
        let row_count = offsets.len() - 1;
        let wanted = column_count.div_ceil(BAND_COLUMNS).max(1);
        let band_count = if columns.len() >= wanted * row_count * BAND_ENTRIES { wanted } else { 1 };
        let band_of = |column: u32| if band_count == 1 { 0 } else { column as usize / BAND_COLUMNS };
        let (mut bands, mut banded) = (Vec::with_capacity(band_count), Vec::with_capacity(columns.len()));
        for band in 0..band_count {
            let mut starts = vec![banded.len() as u32];
            for pair in offsets.windows(2) {
                let row = &columns[pair[0] as usize..pair[1] as usize];
                banded.extend(row.iter().copied().filter(|&column| band_of(column) == band));
                starts.push(banded.len() as u32);
            }
            bands.push(starts);
        }
        Ok(Self {
            row_count,
            column_count,
            columns: if column_count <= usize::from(u16::MAX) + 1 {
                Columns::Narrow(banded.into_iter().map(|column| column as u16).collect())
            } else {
                Columns::Wide(banded)
            },
            bands,
            chunks: chunk_bounds(offsets),
        })
    }

    /// How many rows.
    pub fn row_count(&self) -> usize {
        self.row_count
    }

    /// How many columns.
    pub fn column_count(&self) -> usize {
        self.column_count
    }

    /// How many entries.
    pub fn entry_count(&self) -> usize {
        match &self.columns {
            Columns::Narrow(columns) => columns.len(),
            Columns::Wide(columns) => columns.len(),
        }
    }

    /// How many entries a row has.
    pub fn entries_of(&self, row: usize) -> usize {
        self.bands.iter().map(|band| (band[row + 1] - band[row]) as usize).sum()
    }

    /// The columns of all rows, band by band.
    pub(crate) fn columns(&self) -> &Columns {
        &self.columns
    }

    /// Where each row's entries begin, for each band.
    pub(crate) fn bands(&self) -> &[Vec<u32>] {
        &self.bands
    }

    /// The entries of a row: places and columns.
    pub fn entries(&self, row: usize) -> impl Iterator<Item = (usize, usize)> + '_ {
        let places = self.bands.iter().flat_map(move |band| band[row] as usize..band[row + 1] as usize);
        places.map(|place| match &self.columns {
            Columns::Narrow(columns) => (place, columns[place] as usize),
            Columns::Wide(columns) => (place, columns[place] as usize),
        })
    }

    /// The columns of a row.
    pub fn row(&self, row: usize) -> impl Iterator<Item = usize> + '_ {
        self.entries(row).map(|(_, column)| column)
    }

    /// Whether a column of a row is wanted.
    pub fn any(&self, row: usize, is_wanted: impl Fn(usize) -> bool) -> bool {
        self.bands.iter().any(|band| {
            let entries = band[row] as usize..band[row + 1] as usize;
            match &self.columns {
                Columns::Narrow(columns) => columns[entries].iter().any(|&column| is_wanted(column as usize)),
                Columns::Wide(columns) => columns[entries].iter().any(|&column| is_wanted(column as usize)),
            }
        })
    }

    /// The rows of each chunk of about equal work.
    pub(crate) fn chunks(&self) -> impl ExactSizeIterator<Item = Range<usize>> + '_ {
        self.chunks.windows(2).map(|pair| pair[0]..pair[1])
    }

    /// Rows become columns; the entries of a row come in the order of the rows they came from.
    #[must_use]
    pub fn transposed(&self) -> Self {
        let mut rows: Vec<Vec<u32>> = vec![Vec::new(); self.column_count];
        for row in 0..self.row_count {
            self.row(row).for_each(|column| rows[column].push(row as u32));
        }
        Self::from_rows(&rows, self.row_count)
    }

    fn from_rows(rows: &[Vec<u32>], column_count: usize) -> Self {
        let mut offsets = vec![0u32];
        let mut end = 0;
        for row in rows {
            end += row.len() as u32;
            offsets.push(end);
        }
        Self::new(&offsets, &rows.concat(), column_count)
            .expect("the rows are those of a matrix that was checked")
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
        let weight = |row| match incoming.entries_of(row) {
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
    let sorted: Vec<Vec<u32>> = (0..csr.row_count)
        .map(|row| {
            let mut columns: Vec<u32> = csr.row(row).map(|column| column as u32).collect();
            columns.sort_unstable();
            columns
        })
        .collect();
    let runs = |columns: &[u32]| columns.chunk_by(|a, b| a == b).map(|run| run[0]).collect();
    let once =
        Csr::from_rows(&sorted.iter().map(|columns| runs(columns)).collect::<Vec<_>>(), csr.column_count);
    let mut counts = vec![0.0; once.entry_count()];
    for (row, columns) in sorted.iter().enumerate() {
        // The columns of a row rise through the bands, as the runs do.
        for ((place, _), run) in once.entries(row).zip(columns.chunk_by(|a, b| a == b)) {
            counts[place] = run.len() as f32;
        }
    }
    (once, counts)
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
    fn bands_keep_every_entry() {
        let (rows, columns) = (40u32, 4000u32);
        let offsets: Vec<u32> = (0..=rows).map(|row| row * 50).collect();
        let entries: Vec<u32> = (0..rows * 50).map(|entry| entry * 7919 % columns).collect();
        let csr = Csr::new(&offsets, &entries, columns as usize).unwrap();
        assert!(csr.bands().len() > 1);
        for row in 0..rows as usize {
            let mut expected: Vec<usize> =
                entries[row * 50..(row + 1) * 50].iter().map(|&column| column as usize).collect();
            let mut found: Vec<usize> = csr.row(row).collect();
            expected.sort_unstable();
            found.sort_unstable();
            assert_eq!(found, expected);
        }
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
