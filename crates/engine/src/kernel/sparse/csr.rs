//! Sparse matrices in CSR form whose entries are all 1: the columns of every row.

use knockout_base::error::{Error, Result};
use std::ops::Range;

/// Column indices, in 16 bits where they fit: half the memory traffic.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum ColumnIndices {
    /// All below 65,536.
    Narrow(Vec<u16>),
    /// Any.
    Wide(Vec<u32>),
}

/// A sparse matrix of ones: the columns of each row.
///
/// A large matrix is stored in bands of columns: walking one band after the other, the rows that a product gathers stay in the
/// second-level cache. Entries are listed band by band, and in each band row by row.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Csr {
    row_count: usize,
    column_count: usize,
    columns: ColumnIndices,
    /// Row offsets into `columns`, for each band.
    bands: Vec<Vec<u32>>,
    /// Bounds of the chunks of rows that are processed in parallel: a function of the matrix alone.
    chunks: Vec<usize>,
}

/// Minimum number of entries in a chunk: enough to hide the cost of handing it to a thread.
const CHUNK_ENTRIES: usize = 1 << 13;
/// Maximum number of chunks: each reads the bands into the cache again.
const CHUNKS: usize = 8;
/// Columns in a band: rows of 64 floats fill 384 KiB, which leaves room in a second-level cache of 512 KiB.
const BAND_COLUMNS: usize = 1536;
/// Minimum mean number of entries per row and band for bands to pay off.
const BAND_ENTRIES: usize = 4;

impl Csr {
    /// Checks offsets and columns. Columns of a row may come in any order and repeat.
    pub fn new(offsets: &[u32], columns: &[u32], column_count: usize) -> Result<Self> {
        let rising = offsets.windows(2).all(|pair| pair[0] <= pair[1]);
        if !rising
            || offsets.first() != Some(&0)
            || offsets.last().map(|&last| last as usize) != Some(columns.len())
        {
            let entries = columns.len();
            return Err(Error::damage(format!("row offsets must rise from 0 to the {entries} entries")));
        }
        if let Some(&column) = columns.iter().find(|&&column| column as usize >= column_count) {
            return Err(Error::damage(format!("column {column} of a matrix with {column_count}")));
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
                ColumnIndices::Narrow(banded.into_iter().map(|column| column as u16).collect())
            } else {
                ColumnIndices::Wide(banded)
            },
            bands,
            chunks: chunk_bounds(offsets),
        })
    }

    /// Number of rows.
    pub fn row_count(&self) -> usize {
        self.row_count
    }

    /// Number of columns.
    pub(crate) fn column_count(&self) -> usize {
        self.column_count
    }

    /// Number of entries.
    pub fn entry_count(&self) -> usize {
        match &self.columns {
            ColumnIndices::Narrow(columns) => columns.len(),
            ColumnIndices::Wide(columns) => columns.len(),
        }
    }

    /// Number of entries of a row.
    pub fn degree(&self, row: usize) -> usize {
        self.bands.iter().map(|band| (band[row + 1] - band[row]) as usize).sum()
    }

    /// The columns of all rows, band by band.
    pub(crate) fn columns(&self) -> &ColumnIndices {
        &self.columns
    }

    /// Row offsets of each band.
    pub(crate) fn bands(&self) -> &[Vec<u32>] {
        &self.bands
    }

    /// Iterates over the entries of a row: (position, column).
    pub fn entries(&self, row: usize) -> impl Iterator<Item = (usize, usize)> + '_ {
        let positions = self.bands.iter().flat_map(move |band| band[row] as usize..band[row + 1] as usize);
        positions.map(|position| match &self.columns {
            ColumnIndices::Narrow(columns) => (position, columns[position] as usize),
            ColumnIndices::Wide(columns) => (position, columns[position] as usize),
        })
    }

    /// Iterates over the columns of a row.
    pub fn row(&self, row: usize) -> impl Iterator<Item = usize> + '_ {
        self.entries(row).map(|(_, column)| column)
    }

    /// Whether any column of a row satisfies a predicate.
    pub fn any(&self, row: usize, predicate: impl Fn(usize) -> bool) -> bool {
        self.bands.iter().any(|band| {
            let entries = band[row] as usize..band[row + 1] as usize;
            match &self.columns {
                ColumnIndices::Narrow(columns) => {
                    columns[entries].iter().any(|&column| predicate(column as usize))
                }
                ColumnIndices::Wide(columns) => {
                    columns[entries].iter().any(|&column| predicate(column as usize))
                }
            }
        })
    }

    /// The rows of each chunk of about equal work.
    pub(crate) fn chunks(&self) -> impl ExactSizeIterator<Item = Range<usize>> + '_ {
        self.chunks.windows(2).map(|pair| pair[0]..pair[1])
    }

    /// Returns the transpose; the entries of each of its rows are in the order of the rows they came from.
    #[must_use]
    pub fn transposed(&self) -> Self {
        let mut rows: Vec<Vec<u32>> = vec![Vec::new(); self.column_count];
        for row in 0..self.row_count {
            self.row(row).for_each(|column| rows[column].push(row as u32));
        }
        Self::from_rows(&rows, self.row_count)
    }

    pub(super) fn from_rows(rows: &[Vec<u32>], column_count: usize) -> Self {
        let mut offsets = vec![0u32];
        let mut end = 0;
        for row in rows {
            end += row.len() as u32;
            offsets.push(end);
        }
        Self::new(&offsets, &rows.concat(), column_count).expect("the rows are those of a validated matrix")
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
        let refusal =
            |offsets: &[u32], columns: &[u32]| Csr::new(offsets, columns, 4).unwrap_err().to_string();
        assert_eq!(refusal(&[0, 1], &[4]), "column 4 of a matrix with 4");
        assert_eq!(refusal(&[0, 2, 1], &[0]), "row offsets must rise from 0 to the 1 entries");
        assert_eq!(refusal(&[], &[]), "row offsets must rise from 0 to the 0 entries");
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
        assert!(matches!(csr.columns(), ColumnIndices::Wide(_)));
        let bounds: Vec<_> = csr.chunks().collect();
        assert!(bounds.len() > 1);
        assert_eq!((bounds[0].start, bounds.last().unwrap().end), (0, rows as usize));
        assert!(bounds.windows(2).all(|pair| pair[0].end == pair[1].start));
    }
}
