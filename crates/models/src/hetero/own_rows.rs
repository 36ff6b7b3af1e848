//! Ragged lists of the rows that cells have of their own.

use std::ops::Range;

/// The rows that cells have of their own, as ragged lists of genes.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct OwnRows {
    /// Row offsets of each cell.
    pub(super) offsets: Vec<usize>,
    /// Gene of each row, ascending within a cell.
    pub(super) genes: Vec<u32>,
}

impl OwnRows {
    pub(super) fn of_cells<C: IntoIterator<Item = u32>>(cells: impl IntoIterator<Item = C>) -> Self {
        let (mut offsets, mut genes) = (vec![0], Vec::new());
        for cell in cells {
            genes.extend(cell);
            offsets.push(genes.len());
        }
        Self { offsets, genes }
    }

    /// Whether no cell has a row of its own.
    pub(super) fn is_empty(&self) -> bool {
        self.genes.is_empty()
    }

    /// Number of rows.
    pub(super) fn len(&self) -> usize {
        self.genes.len()
    }

    /// Genes of a cell's rows.
    pub(super) fn of(&self, cell: usize) -> &[u32] {
        &self.genes[self.offsets[cell]..self.offsets[cell + 1]]
    }

    /// Splits a range of rows by cell.
    pub(super) fn parts(&self, rows: Range<usize>) -> impl Iterator<Item = (usize, Range<usize>)> + '_ {
        let first = self.offsets.partition_point(|&offset| offset <= rows.start).saturating_sub(1);
        (first..self.offsets.len() - 1).map_while(move |cell| {
            let part = self.offsets[cell].max(rows.start)..self.offsets[cell + 1].min(rows.end);
            (self.offsets[cell] < rows.end).then_some((cell, part))
        })
    }
}
