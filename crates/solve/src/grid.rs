//! Gene sets as cells of a matrix: a row is a gene or the query pair of triples, a column is the other deleted gene.
//!
//! A pair {a, b} has two cells, (a, b) and (b, a). A triple has one: its row is the one of its three pairs that most training
//! triples share, which is the query pair if the screen has query pairs. Sets of other sizes have no cell.

use crate::error::bad_tensor;
use crate::tensor::{Tensor, find};
use knockout_base::error::Error;
use knockout_data::cell::GeneSetsRef;
use std::collections::{BTreeMap, BTreeSet};

/// The gene or query pair of a row.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum RowKey {
    Gene(u32),
    Pair(u32, u32),
}

impl RowKey {
    fn pair(self) -> Option<(u32, u32)> {
        match self {
            Self::Pair(a, b) => Some((a, b)),
            Self::Gene(_) => None,
        }
    }
}

/// Minimum number of training triples for a pair to be a row.
const MIN_TRIPLES: u32 = 5;

/// The rows and columns of the training sets.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Grid {
    /// The rows, ascending, with the number of training records of each.
    rows: Vec<(RowKey, u32)>,
    /// Genes of the columns, ascending.
    columns: Vec<u32>,
    /// Pairs that are rows; they follow all genes that are rows.
    pairs: PairIndex,
    /// Row and column index of each gene, or [`NONE`].
    row_of_gene: Vec<u32>,
    column_of_gene: Vec<u32>,
}

/// Index of pairs, sorted by their first gene.
#[derive(Debug, Clone, PartialEq, Default)]
struct PairIndex {
    /// Start of the pairs of each first gene.
    starts: Vec<u32>,
    seconds: Vec<u32>,
}

impl PairIndex {
    /// Indexes ascending pairs.
    fn new(pairs: impl Iterator<Item = (u32, u32)>) -> Self {
        let (mut starts, mut seconds) = (vec![0], Vec::new());
        for (first, second) in pairs {
            starts.resize(first as usize + 1, seconds.len() as u32);
            seconds.push(second);
        }
        starts.push(seconds.len() as u32);
        Self { starts, seconds }
    }

    fn get(&self, (first, second): (u32, u32)) -> Option<usize> {
        let start = *self.starts.get(first as usize)? as usize;
        let end = *self.starts.get(first as usize + 1)? as usize;
        self.seconds[start..end].binary_search(&second).ok().map(|offset| start + offset)
    }

    fn len(&self) -> usize {
        self.seconds.len()
    }
}

/// Marks a gene without a row or column.
const NONE: u32 = u32::MAX;

/// The cells of a gene set: two at most.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct GridCells {
    indices: [(u32, u32); 2],
    count: u8,
}

impl GridCells {
    pub(crate) fn iter(&self) -> impl Iterator<Item = (usize, usize)> + '_ {
        self.indices[..usize::from(self.count)].iter().map(|&(row, column)| (row as usize, column as usize))
    }

    /// Returns the mean of a value over the cells; `None` without cells.
    pub(crate) fn mean(&self, value: impl Fn(usize, usize) -> f64) -> Option<f64> {
        let sum: f64 = self.iter().map(|(row, column)| value(row, column)).sum();
        (self.count > 0).then(|| sum / f64::from(self.count))
    }
}

/// Returns the three splits of a triple into a pair and a gene.
pub(crate) fn splits_of_triple(set: &[u32]) -> [(RowKey, u32); 3] {
    let (a, b, c) = (set[0], set[1], set[2]);
    [(RowKey::Pair(a, b), c), (RowKey::Pair(a, c), b), (RowKey::Pair(b, c), a)]
}

impl Grid {
    /// Builds the grid of training sets, whose genes are ascending.
    pub(crate) fn from_sets(sets: GeneSetsRef<'_>) -> Self {
        let triples = || sets.iter().filter(|set| set.len() == 3);
        let mut all: Vec<(u32, u32)> =
            triples().flat_map(splits_of_triple).filter_map(|(row, _)| row.pair()).collect();
        all.sort_unstable();
        let counts: Vec<u32> = all.chunk_by(|a, b| a == b).map(|same| same.len() as u32).collect();
        all.dedup();
        let pairs = PairIndex::new(all.iter().copied());
        let index = |row: RowKey| row.pair().and_then(|pair| pairs.get(pair));
        let mut assigned = vec![0; all.len()];
        for set in triples() {
            let split = most_frequent(set, |row| index(row).map(|i| counts[i]));
            split.and_then(|(row, _)| index(row)).into_iter().for_each(|i| assigned[i] += 1);
        }
        let (mut rows, mut columns): (BTreeMap<RowKey, u32>, BTreeSet<u32>) = Default::default();
        for (&(a, b), &count) in all.iter().zip(&assigned).filter(|(_, count)| **count >= MIN_TRIPLES) {
            rows.insert(RowKey::Pair(a, b), count);
        }
        let count = |row: RowKey| index(row).map(|i| assigned[i]).filter(|&count| count >= MIN_TRIPLES);
        columns.extend(triples().filter_map(|set| most_frequent(set, count)).map(|(_, gene)| gene));
        let mut of_gene: Vec<u32> = Vec::new();
        for &gene in sets.iter().filter(|set| set.len() == 2).flatten() {
            if of_gene.len() <= gene as usize {
                of_gene.resize(gene as usize + 1, 0);
            }
            of_gene[gene as usize] += 1;
        }
        for (gene, &count) in of_gene.iter().enumerate().filter(|(_, count)| **count > 0) {
            rows.insert(RowKey::Gene(gene as u32), count);
            columns.insert(gene as u32);
        }
        Self::new(rows.into_iter().collect(), columns.into_iter().collect())
    }

    /// Creates a grid of rows and columns, both ascending.
    fn new(rows: Vec<(RowKey, u32)>, columns: Vec<u32>) -> Self {
        let (mut row_of_gene, mut column_of_gene) = (Vec::new(), Vec::new());
        let put = |gene: u32, index: u32, indices: &mut Vec<u32>| {
            // Genes are ascending, so this one is the largest so far.
            indices.resize(gene as usize, NONE);
            indices.push(index);
        };
        for (&(row, _), index) in rows.iter().zip(0..) {
            if let RowKey::Gene(gene) = row {
                put(gene, index, &mut row_of_gene);
            }
        }
        let pairs = PairIndex::new(rows.iter().filter_map(|(row, _)| row.pair()));
        columns.iter().zip(0..).for_each(|(&gene, index)| put(gene, index, &mut column_of_gene));
        Self { rows, columns, pairs, row_of_gene, column_of_gene }
    }

    fn row_index(&self, row: RowKey) -> Option<u32> {
        match row {
            RowKey::Gene(gene) => lookup(&self.row_of_gene, gene),
            RowKey::Pair(a, b) => {
                let gene_rows = self.rows.len() - self.pairs.len();
                self.pairs.get((a, b)).map(|pair| (gene_rows + pair) as u32)
            }
        }
    }

    /// Returns the row index of a gene.
    pub(crate) fn row_of_gene(&self, gene: usize) -> Option<usize> {
        lookup(&self.row_of_gene, gene as u32).map(|row| row as usize)
    }

    /// Returns the column index of a gene.
    pub(crate) fn column_of_gene(&self, gene: usize) -> Option<usize> {
        lookup(&self.column_of_gene, gene as u32).map(|column| column as usize)
    }

    /// Returns the genes of all rows and columns, ascending.
    pub(crate) fn genes(&self) -> Vec<u32> {
        let of_rows = self.rows.iter().flat_map(|&(row, _)| match row {
            RowKey::Gene(gene) => [gene, gene],
            RowKey::Pair(a, b) => [a, b],
        });
        let mut genes: Vec<u32> = of_rows.chain(self.columns.iter().copied()).collect();
        genes.sort_unstable();
        genes.dedup();
        genes
    }

    pub(crate) fn rows(&self) -> &[(RowKey, u32)] {
        &self.rows
    }

    pub(crate) fn columns(&self) -> &[u32] {
        &self.columns
    }

    /// Returns whether rows and columns are the same genes: all sets are pairs.
    pub(crate) fn is_symmetric(&self) -> bool {
        self.pairs.len() == 0
    }

    /// Returns the pairs that are rows, in the order of the rows.
    pub(crate) fn pair_rows(&self) -> impl Iterator<Item = (u32, u32)> + '_ {
        self.rows[self.rows.len() - self.pairs.len()..].iter().filter_map(|(row, _)| row.pair())
    }

    /// Splits a triple into its row and the remaining gene; `None` if no pair of it is a row.
    pub(crate) fn split_triple(&self, set: &[u32]) -> Option<(RowKey, u32)> {
        if set.len() != 3 || self.pairs.len() == 0 {
            return None;
        }
        most_frequent(set, |row| self.row_index(row).map(|index| self.rows[index as usize].1))
    }

    /// Returns the cells of a set of ascending genes.
    pub(crate) fn cells(&self, set: &[u32]) -> GridCells {
        let splits: [Option<(RowKey, u32)>; 2] = match *set {
            [a, b] => [Some((RowKey::Gene(a), b)), Some((RowKey::Gene(b), a))],
            [_, _, _] => [self.split_triple(set), None],
            _ => [None, None],
        };
        let mut cells = GridCells { indices: [(0, 0); 2], count: 0 };
        for (row, gene) in splits.into_iter().flatten() {
            if let (Some(row), Some(column)) = (self.row_index(row), lookup(&self.column_of_gene, gene)) {
                cells.indices[usize::from(cells.count)] = (row, column);
                cells.count += 1;
            }
        }
        cells
    }

    /// Returns the tensors of the rows and columns.
    pub(crate) fn tensors(&self) -> [Tensor; 2] {
        let (rows, columns) = self.to_numbers();
        [Tensor::new("grid.rows", &[rows.len() / 3, 3], rows), Tensor::vector("grid.columns", columns)]
    }

    /// Loads a grid from its tensors.
    pub(crate) fn load(tensors: &[Tensor], gene_count: usize) -> Result<Self, Error> {
        let (rows, columns) = (find(tensors, "grid.rows")?, find(tensors, "grid.columns")?);
        Self::from_numbers(&rows.values, &columns.values, gene_count).ok_or_else(|| bad_tensor("grid.rows"))
    }

    /// Returns rows and columns as numbers. A row is its first gene, its second gene or -1, and its number of records.
    fn to_numbers(&self) -> (Vec<f32>, Vec<f32>) {
        let row = |&(row, count): &(RowKey, u32)| match row {
            RowKey::Gene(gene) => [gene as f32, -1.0, count as f32],
            RowKey::Pair(a, b) => [a as f32, b as f32, count as f32],
        };
        (self.rows.iter().flat_map(row).collect(), self.columns.iter().map(|&gene| gene as f32).collect())
    }

    /// Reverses [`Grid::to_numbers`]; `None` if the numbers are not rows and columns of `gene_count` genes.
    fn from_numbers(rows: &[f32], columns: &[f32], gene_count: usize) -> Option<Self> {
        let gene = |value: f32| {
            let gene = value as u32;
            (gene as f32 == value && (gene as usize) < gene_count).then_some(gene)
        };
        let row = |part: &[f32; 3]| {
            let row = if part[1] < 0.0 {
                RowKey::Gene(gene(part[0])?)
            } else {
                RowKey::Pair(gene(part[0])?, gene(part[1])?)
            };
            Some((row, part[2] as u32))
        };
        let (parts, rest) = rows.as_chunks::<3>();
        let rows = parts.iter().map(row).collect::<Option<Vec<_>>>()?;
        let columns = columns.iter().map(|&value| gene(value)).collect::<Option<Vec<_>>>()?;
        let ascending = rows.is_sorted_by(|a, b| a.0 < b.0) && columns.is_sorted_by(|a, b| a < b);
        (rest.is_empty() && ascending).then(|| Self::new(rows, columns))
    }
}

fn lookup(indices: &[u32], gene: u32) -> Option<u32> {
    indices.get(gene as usize).copied().filter(|&index| index != NONE)
}

/// Returns the split of a triple whose pair has the highest count; the first on a tie.
fn most_frequent(set: &[u32], count: impl Fn(RowKey) -> Option<u32>) -> Option<(RowKey, u32)> {
    let mut best: Option<(u32, (RowKey, u32))> = None;
    for (row, gene) in splits_of_triple(set) {
        if let Some(count) = count(row)
            && best.is_none_or(|(most, _)| count > most)
        {
            best = Some((count, (row, gene)));
        }
    }
    best.map(|(_, split)| split)
}

#[cfg(test)]
mod tests {
    use super::*;
    use knockout_data::cell::GeneSets;

    fn sets(list: &[&[u32]]) -> GeneSets {
        list.iter().copied().collect()
    }

    #[test]
    fn a_pair_has_two_cells() {
        let grid = Grid::from_sets(sets(&[&[3, 9], &[3, 5]]).view());
        assert_eq!(grid.columns(), [3, 5, 9]);
        assert_eq!(grid.cells(&[3, 9]).iter().collect::<Vec<_>>(), [(0, 2), (2, 0)]);
        assert_eq!(grid.cells(&[5, 9]).iter().collect::<Vec<_>>(), [(1, 2), (2, 1)]);
        // A gene without training records has no row and no column.
        assert_eq!(grid.cells(&[3, 4]).iter().count(), 0);
        assert_eq!(grid.cells(&[3]).mean(|_, _| 1.0), None);
    }

    #[test]
    fn a_triple_is_in_the_row_of_its_query_pair() {
        let triples: Vec<[u32; 3]> = (10..20).map(|array| [1, 2, array]).chain([[1, 5, 10]]).collect();
        let triples: GeneSets = triples.iter().map(|set| &set[..]).collect();
        let grid = Grid::from_sets(triples.view());
        assert_eq!(grid.rows(), [(RowKey::Pair(1, 2), 10)]);
        assert_eq!(grid.columns(), (10..20).collect::<Vec<_>>());
        assert_eq!(grid.cells(&[1, 2, 12]).iter().collect::<Vec<_>>(), [(0, 2)]);
        assert_eq!(grid.cells(&[1, 5, 10]).iter().count(), 0);
        let (rows, columns) = grid.to_numbers();
        assert_eq!(Grid::from_numbers(&rows, &columns, 20), Some(grid));
        assert_eq!(Grid::from_numbers(&rows, &columns, 19), None);
        assert_eq!(Grid::from_numbers(&[0.5, -1.0, 1.0], &[], 19), None);
    }
}
