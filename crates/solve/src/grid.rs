//! Gene sets as cells of a matrix: a row is what a screen holds fixed (a gene, or the query pair of triples), a column the gene
//! that is deleted as well.
//!
//! A pair {a, b} is two cells, (a, b) and (b, a). A triple is one: its row is the one of its three pairs that most training
//! triples share, which is the query pair wherever a screen has them. Sets of other sizes have no cell.

use crate::model::SolveError;
use crate::tensor::{Tensor, tensor};
use knockout_data::cell::GeneSetsRef;
use std::collections::{BTreeMap, BTreeSet};

/// What a row stands for.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Row {
    Gene(u32),
    Pair(u32, u32),
}

impl Row {
    fn pair(self) -> Option<(u32, u32)> {
        match self {
            Self::Pair(a, b) => Some((a, b)),
            Self::Gene(_) => None,
        }
    }
}

/// Training triples that a pair needs to be a row.
const LEAST_TRIPLES: u32 = 5;

/// The rows and columns that training sets span.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Grid {
    /// The rows, ascending, and how many training records each has.
    rows: Vec<(Row, u32)>,
    /// Genes of the columns, ascending.
    columns: Vec<u32>,
    /// Pairs that are rows, which come after all genes that are.
    pairs: PairIndex,
    /// Places of genes as rows and as columns; [`NOWHERE`] for others.
    row_of_gene: Vec<u32>,
    column_of_gene: Vec<u32>,
}

/// Numbers of pairs, found by their first gene: most genes are the first of none.
#[derive(Debug, Clone, PartialEq, Default)]
struct PairIndex {
    /// Where the pairs of each first gene begin.
    starts: Vec<u32>,
    seconds: Vec<u32>,
}

impl PairIndex {
    /// Numbers ascending pairs in their order.
    fn of(pairs: impl Iterator<Item = (u32, u32)>) -> Self {
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
        self.seconds[start..end].binary_search(&second).ok().map(|place| start + place)
    }

    fn len(&self) -> usize {
        self.seconds.len()
    }
}

/// No row or column.
const NOWHERE: u32 = u32::MAX;

/// One or two cells.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Cells {
    places: [(u32, u32); 2],
    count: u8,
}

impl Cells {
    pub(crate) fn iter(&self) -> impl Iterator<Item = (usize, usize)> + '_ {
        self.places[..usize::from(self.count)].iter().map(|&(row, column)| (row as usize, column as usize))
    }

    /// The mean over the cells of a value; `None` where there is no cell.
    pub(crate) fn mean(&self, value: impl Fn(usize, usize) -> f64) -> Option<f64> {
        let sum: f64 = self.iter().map(|(row, column)| value(row, column)).sum();
        (self.count > 0).then(|| sum / f64::from(self.count))
    }
}

/// The three ways to take a triple apart into a pair and a gene.
pub(crate) fn parts_of_triple(set: &[u32]) -> [(Row, u32); 3] {
    let (a, b, c) = (set[0], set[1], set[2]);
    [(Row::Pair(a, b), c), (Row::Pair(a, c), b), (Row::Pair(b, c), a)]
}

impl Grid {
    /// The grid of training sets, whose genes are ascending.
    pub(crate) fn of(sets: GeneSetsRef<'_>) -> Self {
        let triples = || sets.iter().filter(|set| set.len() == 3);
        let mut all: Vec<(u32, u32)> =
            triples().flat_map(parts_of_triple).filter_map(|(row, _)| row.pair()).collect();
        all.sort_unstable();
        let counts: Vec<u32> = all.chunk_by(|a, b| a == b).map(|same| same.len() as u32).collect();
        all.dedup();
        let pairs = PairIndex::of(all.iter().copied());
        let place = |row: Row| row.pair().and_then(|pair| pairs.get(pair));
        let mut belonging = vec![0; all.len()];
        for set in triples() {
            let part = most_frequent(set, |row| place(row).map(|place| counts[place]));
            part.and_then(|(row, _)| place(row)).into_iter().for_each(|place| belonging[place] += 1);
        }
        let (mut rows, mut columns): (BTreeMap<Row, u32>, BTreeSet<u32>) = Default::default();
        for (&(a, b), &count) in all.iter().zip(&belonging).filter(|(_, count)| **count >= LEAST_TRIPLES) {
            rows.insert(Row::Pair(a, b), count);
        }
        let count =
            |row: Row| place(row).map(|place| belonging[place]).filter(|&count| count >= LEAST_TRIPLES);
        columns.extend(triples().filter_map(|set| most_frequent(set, count)).map(|(_, gene)| gene));
        let mut of_gene: Vec<u32> = Vec::new();
        for &gene in sets.iter().filter(|set| set.len() == 2).flatten() {
            if of_gene.len() <= gene as usize {
                of_gene.resize(gene as usize + 1, 0);
            }
            of_gene[gene as usize] += 1;
        }
        for (gene, &count) in of_gene.iter().enumerate().filter(|(_, count)| **count > 0) {
            rows.insert(Row::Gene(gene as u32), count);
            columns.insert(gene as u32);
        }
        Self::new(rows.into_iter().collect(), columns.into_iter().collect())
    }

    /// A grid of these rows and columns, both ascending.
    pub(crate) fn new(rows: Vec<(Row, u32)>, columns: Vec<u32>) -> Self {
        let (mut row_of_gene, mut column_of_gene) = (Vec::new(), Vec::new());
        let put = |gene: u32, place: u32, places: &mut Vec<u32>| {
            // Ascending: the last gene is the largest.
            places.resize(gene as usize, NOWHERE);
            places.push(place);
        };
        for (&(row, _), place) in rows.iter().zip(0..) {
            if let Row::Gene(gene) = row {
                put(gene, place, &mut row_of_gene);
            }
        }
        let pairs = PairIndex::of(rows.iter().filter_map(|(row, _)| row.pair()));
        columns.iter().zip(0..).for_each(|(&gene, place)| put(gene, place, &mut column_of_gene));
        Self { rows, columns, pairs, row_of_gene, column_of_gene }
    }

    fn place_of_row(&self, row: Row) -> Option<u32> {
        match row {
            Row::Gene(gene) => place_in(&self.row_of_gene, gene),
            Row::Pair(a, b) => {
                let before = self.rows.len() - self.pairs.len();
                self.pairs.get((a, b)).map(|place| (before + place) as u32)
            }
        }
    }

    /// The place of a gene's own row.
    pub(crate) fn row_of_gene(&self, gene: usize) -> Option<usize> {
        place_in(&self.row_of_gene, gene as u32).map(|place| place as usize)
    }

    /// The place of a gene's column.
    pub(crate) fn column_of_gene(&self, gene: usize) -> Option<usize> {
        place_in(&self.column_of_gene, gene as u32).map(|place| place as usize)
    }

    /// Genes of rows and columns, ascending.
    pub(crate) fn genes(&self) -> Vec<u32> {
        let of_rows = self.rows.iter().flat_map(|&(row, _)| match row {
            Row::Gene(gene) => [gene, gene],
            Row::Pair(a, b) => [a, b],
        });
        let mut genes: Vec<u32> = of_rows.chain(self.columns.iter().copied()).collect();
        genes.sort_unstable();
        genes.dedup();
        genes
    }

    pub(crate) fn rows(&self) -> &[(Row, u32)] {
        &self.rows
    }

    pub(crate) fn columns(&self) -> &[u32] {
        &self.columns
    }

    /// Pairs that are rows, with a number from 0 in their order.
    pub(crate) fn pair_rows(&self) -> impl Iterator<Item = (u32, u32)> + '_ {
        self.rows[self.rows.len() - self.pairs.len()..].iter().filter_map(|(row, _)| row.pair())
    }

    /// The row and the gene that a triple belongs to, if one of its pairs is a row.
    pub(crate) fn part_of_triple(&self, set: &[u32]) -> Option<(Row, u32)> {
        if set.len() != 3 || self.pairs.len() == 0 {
            return None;
        }
        most_frequent(set, |row| self.place_of_row(row).map(|place| self.rows[place as usize].1))
    }

    /// The cells of a set of ascending genes.
    pub(crate) fn cells(&self, set: &[u32]) -> Cells {
        let parts: [Option<(Row, u32)>; 2] = match *set {
            [a, b] => [Some((Row::Gene(a), b)), Some((Row::Gene(b), a))],
            [_, _, _] => [self.part_of_triple(set), None],
            _ => [None, None],
        };
        let mut cells = Cells { places: [(0, 0); 2], count: 0 };
        for (row, gene) in parts.into_iter().flatten() {
            if let (Some(row), Some(column)) = (self.place_of_row(row), place_in(&self.column_of_gene, gene))
            {
                cells.places[usize::from(cells.count)] = (row, column);
                cells.count += 1;
            }
        }
        cells
    }

    /// Rows and columns as they are stored.
    pub(crate) fn tensors(&self) -> [Tensor; 2] {
        let (rows, columns) = self.to_numbers();
        [
            Tensor::new("grid.rows", &[rows.len() / 3, 3], rows),
            Tensor::new("grid.columns", &[columns.len()], columns),
        ]
    }

    /// The grid of stored tensors.
    pub(crate) fn load(tensors: &[Tensor], gene_count: usize) -> Result<Self, SolveError> {
        let (rows, columns) = (tensor(tensors, "grid.rows")?, tensor(tensors, "grid.columns")?);
        Self::from_numbers(&rows.values, &columns.values, gene_count)
            .ok_or_else(|| SolveError::Tensor { name: "grid.rows".to_owned() })
    }

    /// Rows and columns as numbers that can be stored: of each row its first gene, its second or -1, and its records.
    fn to_numbers(&self) -> (Vec<f32>, Vec<f32>) {
        let row = |&(row, count): &(Row, u32)| match row {
            Row::Gene(gene) => [gene as f32, -1.0, count as f32],
            Row::Pair(a, b) => [a as f32, b as f32, count as f32],
        };
        (self.rows.iter().flat_map(row).collect(), self.columns.iter().map(|&gene| gene as f32).collect())
    }

    /// The grid of what [`Grid::to_numbers`] gave; `None` if these are no rows and columns of `gene_count` genes.
    fn from_numbers(rows: &[f32], columns: &[f32], gene_count: usize) -> Option<Self> {
        let gene = |value: f32| {
            let gene = value as u32;
            (gene as f32 == value && (gene as usize) < gene_count).then_some(gene)
        };
        let row = |part: &[f32; 3]| {
            let row = if part[1] < 0.0 {
                Row::Gene(gene(part[0])?)
            } else {
                Row::Pair(gene(part[0])?, gene(part[1])?)
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

fn place_in(places: &[u32], gene: u32) -> Option<u32> {
    places.get(gene as usize).copied().filter(|&place| place != NOWHERE)
}

/// The part of a triple whose pair counts most; the first of equals.
fn most_frequent(set: &[u32], count: impl Fn(Row) -> Option<u32>) -> Option<(Row, u32)> {
    let mut best: Option<(u32, (Row, u32))> = None;
    for (row, gene) in parts_of_triple(set) {
        if let Some(count) = count(row)
            && best.is_none_or(|(most, _)| count > most)
        {
            best = Some((count, (row, gene)));
        }
    }
    best.map(|(_, part)| part)
}

#[cfg(test)]
mod tests {
    use super::*;
    use knockout_data::cell::GeneSets;

    fn sets(list: &[&[u32]]) -> GeneSets {
        list.iter().copied().collect()
    }

    #[test]
    fn a_pair_is_two_cells() {
        let grid = Grid::of(sets(&[&[3, 9], &[3, 5]]).view());
        assert_eq!(grid.columns(), [3, 5, 9]);
        assert_eq!(grid.cells(&[3, 9]).iter().collect::<Vec<_>>(), [(0, 2), (2, 0)]);
        assert_eq!(grid.cells(&[5, 9]).iter().collect::<Vec<_>>(), [(1, 2), (2, 1)]);
        // A gene that training never saw has no row and no column.
        assert_eq!(grid.cells(&[3, 4]).iter().count(), 0);
        assert_eq!(grid.cells(&[3]).mean(|_, _| 1.0), None);
    }

    #[test]
    fn a_triple_lies_in_the_row_of_its_query() {
        let triples: Vec<[u32; 3]> = (10..20).map(|array| [1, 2, array]).chain([[1, 5, 10]]).collect();
        let triples: GeneSets = triples.iter().map(|set| &set[..]).collect();
        let grid = Grid::of(triples.view());
        assert_eq!(grid.rows(), [(Row::Pair(1, 2), 10)]);
        assert_eq!(grid.columns(), (10..20).collect::<Vec<_>>());
        assert_eq!(grid.cells(&[1, 2, 12]).iter().collect::<Vec<_>>(), [(0, 2)]);
        assert_eq!(grid.cells(&[1, 5, 10]).iter().count(), 0);
        let (rows, columns) = grid.to_numbers();
        assert_eq!(Grid::from_numbers(&rows, &columns, 20), Some(grid));
        assert_eq!(Grid::from_numbers(&rows, &columns, 19), None);
        assert_eq!(Grid::from_numbers(&[0.5, -1.0, 1.0], &[], 19), None);
    }
}
