//! Where records lie, and products with their covariance.
//!
//! The covariance of two cells is a product of the likeness of their rows and that of their columns, so a product with it is
//! a few products of matrices of genes by directions, never one over pairs of records. Gene pairs form a symmetric field over
//! genes; triples one of query pairs by array genes. Records of one cell count as one, measured as often.

use super::features::Features;
use crate::grid::{Grid, Row, parts_of_triple};
use crate::matrix::{Matrix, dot, product, product_into, upper_inner_products};
use knockout_data::cell::GeneSetsRef;
use rayon::prelude::*;

/// Cells that were measured, row by row.
pub(super) struct Cells {
    offsets: Vec<usize>,
    columns: Vec<u32>,
    /// Means of the records of each cell.
    pub(super) means: Vec<f32>,
    /// Roots of how many there are.
    pub(super) weights: Vec<f32>,
}

impl Cells {
    /// Puts records, each a row, a column and a score, into the order of cells.
    fn of(rows: usize, records: impl Iterator<Item = (u32, u32, f32)> + Clone) -> Self {
        let mut starts = vec![0_usize; rows + 1];
        records.clone().for_each(|(row, ..)| starts[row as usize + 1] += 1);
        (0..rows).for_each(|row| starts[row + 1] += starts[row]);
        let (mut free, mut entries) = (starts.clone(), vec![(0_u32, 0.0_f32); starts[rows]]);
        for (row, column, score) in records {
            entries[free[row as usize]] = (column, score);
            free[row as usize] += 1;
        }
        let mut cells =
            Self { offsets: vec![0], columns: Vec::new(), means: Vec::new(), weights: Vec::new() };
        for row in starts.windows(2) {
            let row = &mut entries[row[0]..row[1]];
            row.sort_by_key(|&(column, _)| column);
            for same in row.chunk_by(|a, b| a.0 == b.0) {
                let sum: f64 = same.iter().map(|entry| f64::from(entry.1)).sum();
                cells.columns.push(same[0].0);
                cells.means.push((sum / same.len() as f64) as f32);
                cells.weights.push((same.len() as f32).sqrt());
            }
            cells.offsets.push(cells.columns.len());
        }
        cells
    }

    pub(super) fn len(&self) -> usize {
        self.columns.len()
    }

    fn row(&self, row: usize) -> (&[u32], std::ops::Range<usize>) {
        let range = self.offsets[row]..self.offsets[row + 1];
        (&self.columns[range.clone()], range)
    }

    /// Puts weighted values into a matrix that is 0 elsewhere.
    fn scatter(&self, values: &[f32], out: &mut Matrix<f32>) {
        let columns = out.columns();
        out.values_mut().par_chunks_exact_mut(columns.max(1)).enumerate().for_each(|(row, out)| {
            out.fill(0.0);
            let (places, range) = self.row(row);
            let weighted = values[range.clone()].iter().zip(&self.weights[range]);
            places
                .iter()
                .zip(weighted)
                .for_each(|(&place, (value, weight))| out[place as usize] = value * weight);
        });
    }

    /// Takes weighted values out of a matrix.
    fn gather(&self, matrix: &Matrix<f32>, out: &mut [f32]) {
        for row in 0..matrix.rows() {
            let (places, range) = self.row(row);
            let (values, weights) = (matrix.row(row), &self.weights[range.clone()]);
            for ((out, &place), weight) in out[range].iter_mut().zip(places).zip(weights) {
                *out = weight * values[place as usize];
            }
        }
    }
}

/// What a gene shares with itself alone: the setting, and what its features leave of the networks.
fn alone(features: &Features, genes: &[u32], own: f32) -> Vec<f32> {
    genes.iter().map(|&gene| own + features.rest[gene as usize]).collect()
}

/// The symmetric field of gene pairs.
pub(super) struct PairField {
    pub(super) genes: Vec<u32>,
    /// Above the diagonal alone.
    pub(super) cells: Cells,
    features: Matrix<f32>,
    alone: Vec<f32>,
    spread: Matrix<f32>,
    field: Matrix<f32>,
    /// Tables beside features, and features beside tables.
    left: Matrix<f32>,
    right: Matrix<f32>,
}

impl PairField {
    /// The field of ascending pairs of `genes` with their scores; `None` without any.
    pub(super) fn of(genes: Vec<u32>, sets: &[(u32, u32, f32)], features: &Features) -> Option<Self> {
        if sets.is_empty() {
            return None;
        }
        let mut place = vec![0_u32; features.genes()];
        genes.iter().zip(0..).for_each(|(&gene, at)| place[gene as usize] = at);
        let places = sets.iter().map(|&(a, b, score)| (place[a as usize], place[b as usize], score));
        let (count, cells) = (genes.len(), Cells::of(genes.len(), places));
        let matrix = || Matrix::zeros(count, count);
        let (spread, field) = (matrix(), matrix());
        let features = features.some(&genes);
        let both = beside(&features, &features);
        let (left, right) = (both.clone(), both);
        Some(Self { features, alone: vec![0.0; count], genes, cells, spread, field, left, right })
    }

    fn set(&mut self, features: &Features, own: f32) {
        self.alone = alone(features, &self.genes, own);
    }

    /// Sums of features over every gene's records, weighted by values, and their inner products with the features.
    fn sums(&mut self, values: &[f32]) -> (Matrix<f32>, Matrix<f32>) {
        self.cells.scatter(values, &mut self.spread);
        mirror(&mut self.spread);
        let sums = product(&self.spread, &self.features);
        let inner = product(self.features.transposed(), &sums);
        (sums, inner)
    }

    /// Adds what genes share with themselves alone to the rows of tables; a pair is two cells, each with half of its weight.
    fn add_alone(&self, sums: &Matrix<f32>, tables: &mut Matrix<f32>, place: impl Fn(usize) -> usize) {
        tables.values_mut().iter_mut().for_each(|t| *t *= 0.25);
        for (row, alone) in self.alone.iter().enumerate() {
            let (out, sums) = (tables.row_mut(place(row)), sums.row(row));
            out.iter_mut().zip(sums).for_each(|(t, sum)| *t += 0.5 * alone * sum);
        }
    }

    /// The covariance times values.
    fn times(&mut self, values: &[f32], out: &mut [f32]) {
        let (sums, inner) = self.sums(values);
        let mut tables = product(&self.features, &inner);
        self.add_alone(&sums, &mut tables, |row| row);
        let width = tables.columns();
        for row in 0..tables.rows() {
            self.left.row_mut(row)[..width].copy_from_slice(tables.row(row));
            self.right.row_mut(row)[width..].copy_from_slice(tables.row(row));
        }
        upper_inner_products(&self.left, &self.right, &mut self.field);
        self.cells.gather(&self.field, out);
    }

    /// For every gene a row t: the process at a pair is t·φ + φ·t, of one gene's row and the other's features.
    pub(super) fn answers(&mut self, values: &[f32], features: &Features) -> Matrix<f32> {
        let (sums, inner) = self.sums(values);
        let mut tables = product(&features.vectors, &inner);
        self.add_alone(&sums, &mut tables, |row| self.genes[row] as usize);
        tables
    }

    /// Records of each gene.
    pub(super) fn counts(&self) -> Vec<f32> {
        let mut counts = vec![0.0; self.genes.len()];
        for row in 0..self.genes.len() {
            let (columns, range) = self.cells.row(row);
            for (&column, weight) in columns.iter().zip(&self.cells.weights[range]) {
                counts[row] += weight * weight;
                counts[column as usize] += weight * weight;
            }
        }
        counts
    }
}

/// The field of triples: query pairs by array genes.
pub(super) struct TripleField {
    pub(super) rows: Vec<(u32, u32)>,
    pub(super) genes: Vec<u32>,
    pub(super) cells: Cells,
    features: Matrix<f32>,
    alone: Vec<f32>,
    pub(super) kernel: Matrix<f32>,
    queries: Queries,
    spread: Matrix<f32>,
}

impl TripleField {
    /// The field of triples, each a row and an array gene of `genes`, with their scores; `None` without any.
    pub(super) fn of(
        rows: Vec<(u32, u32)>,
        genes: Vec<u32>,
        sets: &[(u32, u32, f32)],
        features: &Features,
    ) -> Option<Self> {
        if sets.is_empty() {
            return None;
        }
        let mut place = vec![0_u32; features.genes()];
        genes.iter().zip(0..).for_each(|(&gene, at)| place[gene as usize] = at);
        let cells =
            Cells::of(rows.len(), sets.iter().map(|&(row, gene, score)| (row, place[gene as usize], score)));
        let (kernel, spread) =
            (Matrix::zeros(rows.len(), rows.len()), Matrix::zeros(rows.len(), genes.len()));
        let queries = Queries::of(&rows, features, 0.0, 0.0);
        let features = features.some(&genes);
        Some(Self { rows, alone: Vec::new(), features, genes, cells, kernel, queries, spread })
    }

    fn set(&mut self, features: &Features, own: f32, single: f32) {
        self.alone = alone(features, &self.genes, own);
        self.queries = Queries::of(&self.rows, features, own, single);
        self.kernel = self.queries.kernel();
    }

    fn times(&mut self, values: &[f32], out: &mut [f32]) {
        self.cells.scatter(values, &mut self.spread);
        let rows = product(&self.kernel, &self.spread);
        let inner = product(&rows, &self.features);
        product_into(&inner, self.features.transposed(), &mut self.spread);
        let columns = self.spread.columns();
        let lines = self.spread.values_mut().par_chunks_exact_mut(columns.max(1));
        lines.zip(rows.values().par_chunks_exact(columns.max(1))).for_each(|(field, rows)| {
            for (field, (row, alone)) in field.iter_mut().zip(rows.iter().zip(&self.alone)) {
                *field += row * alone;
            }
        });
        self.cells.gather(&self.spread, out);
    }

    /// For every gene as an array, what each row adds.
    pub(super) fn answers(&mut self, values: &[f32], features: &Features) -> Matrix<f32> {
        self.cells.scatter(values, &mut self.spread);
        let inner = product(&self.spread, &self.features);
        let mut answers = product(&features.vectors, inner.transposed());
        for ((&gene, alone), place) in self.genes.iter().zip(&self.alone).zip(0..) {
            let out = answers.row_mut(gene as usize).iter_mut().enumerate();
            out.for_each(|(row, out)| *out += alone * self.spread.get(row, place));
        }
        answers
    }

    /// Records of each row and of each array gene.
    pub(super) fn counts(&self) -> (Vec<f32>, Vec<f32>) {
        let (mut rows, mut genes) = (vec![0.0; self.rows.len()], vec![0.0; self.genes.len()]);
        for (row, sum) in rows.iter_mut().enumerate() {
            let (columns, range) = self.cells.row(row);
            for (&column, weight) in columns.iter().zip(&self.cells.weights[range]) {
                *sum += weight * weight;
                genes[column as usize] += weight * weight;
            }
        }
        (rows, genes)
    }
}

/// How alike every gene is to the genes of query pairs, and pairs to pairs.
///
/// Two pairs are alike where both genes are, one each (a product of likenesses), and, times `single`, where any gene of one is like any of
/// the other (their mean): what a query pair does to an array gene is partly what its genes do each.
pub(super) struct Queries {
    /// Places of the genes of each row.
    pub(super) rows: Vec<(usize, usize)>,
    genes: Vec<u32>,
    /// All genes by genes of query pairs.
    pub(super) kernel: Matrix<f32>,
    pub(super) single: f32,
}

impl Queries {
    pub(super) fn of(rows: &[(u32, u32)], features: &Features, own: f32, single: f32) -> Self {
        let mut genes: Vec<u32> = rows.iter().flat_map(|&(a, b)| [a, b]).collect();
        genes.sort_unstable();
        genes.dedup();
        let mut kernel = product(&features.vectors, features.some(&genes).transposed());
        for (place, &gene) in genes.iter().enumerate() {
            let shared = kernel.get(gene as usize, place) + own + features.rest[gene as usize];
            kernel.set(gene as usize, place, shared);
        }
        let place = |gene: u32| genes.binary_search(&gene).unwrap_or_default();
        Self { rows: rows.iter().map(|&(a, b)| (place(a), place(b))).collect(), genes, kernel, single }
    }

    /// The likeness of a pair of genes with every row.
    pub(super) fn line(&self, a: u32, b: u32, out: &mut Vec<f32>) {
        let (a, b) = (self.kernel.row(a as usize), self.kernel.row(b as usize));
        let each = 0.25 * self.single;
        let likeness =
            |&(c, d): &(usize, usize)| 0.5 * (a[c] * b[d] + a[d] * b[c]) + each * (a[c] + a[d] + b[c] + b[d]);
        out.clear();
        out.extend(self.rows.iter().map(likeness));
    }

    pub(super) fn kernel(&self) -> Matrix<f32> {
        let mut out = Matrix::zeros(self.rows.len(), self.rows.len());
        let mut line = Vec::new();
        for (row, &(a, b)) in self.rows.iter().enumerate() {
            self.line(self.genes[a], self.genes[b], &mut line);
            out.row_mut(row).copy_from_slice(&line);
        }
        out
    }
}

/// A place in one of the fields, measured or not.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Place {
    /// Two genes, ascending.
    Pair(usize, usize),
    /// A row and an array gene.
    Triple(usize, usize),
}

/// Both fields: two processes with the same settings that know nothing of each other.
pub(super) struct Fields {
    pub(super) pairs: Option<PairField>,
    pub(super) triples: Option<TripleField>,
}

impl Fields {
    /// The fields of records whose pairs, or arrays, are of genes that count.
    pub(super) fn of(
        grid: &Grid,
        sets: GeneSetsRef<'_>,
        scores: &[f32],
        features: &Features,
        counts: impl Fn(u32) -> bool,
    ) -> Self {
        let (mut pairs, mut triples) = (Vec::new(), Vec::new());
        let (mut is_in_pair, mut is_array) = (vec![false; features.genes()], vec![false; features.genes()]);
        let rows: Vec<(u32, u32)> = grid.pair_rows().collect();
        for (set, &score) in sets.iter().zip(scores) {
            match *set {
                [a, b] if counts(a) && counts(b) => {
                    (is_in_pair[a as usize], is_in_pair[b as usize]) = (true, true);
                    pairs.push((a, b, score));
                }
                [_, _, _] => {
                    if let Some((Row::Pair(a, b), gene)) = grid.part_of_triple(set)
                        && counts(gene)
                        && let Ok(row) = rows.binary_search(&(a, b))
                    {
                        is_array[gene as usize] = true;
                        triples.push((row as u32, gene, score));
                    }
                }
                _ => {}
            }
        }
        let listed =
            |is: Vec<bool>| (0..is.len() as u32).filter(|&gene| is[gene as usize]).collect::<Vec<_>>();
        Self {
            pairs: PairField::of(listed(is_in_pair), &pairs, features),
            triples: TripleField::of(rows, listed(is_array), &triples, features),
        }
    }

    /// Sets what a gene shares with itself alone, and how much single genes count in the likeness of query pairs.
    pub(super) fn set(&mut self, features: &Features, own: f32, single: f32) {
        self.pairs.iter_mut().for_each(|field| field.set(features, own));
        self.triples.iter_mut().for_each(|field| field.set(features, own, single));
    }

    pub(super) fn cells(&self) -> impl Iterator<Item = &Cells> {
        self.pairs.iter().map(|field| &field.cells).chain(self.triples.iter().map(|field| &field.cells))
    }

    /// Weighted means of the cells: the right-hand side.
    pub(super) fn targets(&self) -> Vec<f32> {
        self.cells().flat_map(|cells| cells.means.iter().zip(&cells.weights).map(|(y, w)| y * w)).collect()
    }

    /// Values of the pairs' cells, and of the triples'.
    pub(super) fn split<'v>(&self, values: &'v [f32]) -> (&'v [f32], &'v [f32]) {
        values.split_at(self.pairs.as_ref().map_or(0, |field| field.cells.len()))
    }

    /// Where a set lies in the fields, if it does.
    pub(super) fn place(&self, grid: &Grid, set: &[u32]) -> Option<Place> {
        let place = |genes: &[u32], gene: u32| genes.binary_search(&gene).ok();
        match (set, &self.pairs, &self.triples) {
            (&[a, b], Some(field), _) => Some(Place::Pair(place(&field.genes, a)?, place(&field.genes, b)?)),
            (&[_, _, _], _, Some(field)) => match grid.part_of_triple(set)? {
                (Row::Pair(a, b), gene) => {
                    Some(Place::Triple(field.rows.binary_search(&(a, b)).ok()?, place(&field.genes, gene)?))
                }
                (Row::Gene(_), _) => None,
            },
            _ => None,
        }
    }

    /// What the last product with the covariance has at a place.
    pub(super) fn last(&self, place: Place) -> f32 {
        match (place, &self.pairs, &self.triples) {
            (Place::Pair(row, column), Some(field), _) => field.field.get(row, column),
            (Place::Triple(row, column), _, Some(field)) => field.spread.get(row, column),
            _ => 0.0,
        }
    }

    /// What a solution says of sets.
    pub(super) fn predict(
        &mut self,
        solution: &[f32],
        features: &Features,
        grid: &Grid,
        sets: GeneSetsRef<'_>,
    ) -> Vec<f64> {
        let (of_pairs, of_triples) = self.split(solution);
        let tables = self.pairs.as_mut().map(|field| field.answers(of_pairs, features));
        let answers = self.triples.as_mut().map(|field| (field.answers(of_triples, features), &*field));
        let (vectors, mut line) = (&features.vectors, Vec::new());
        let mut one = |set: &[u32]| match (set, &tables, &answers) {
            (&[a, b], Some(tables), _) => {
                let (a, b) = (a as usize, b as usize);
                dot(tables.row(a), vectors.row(b)) + dot(tables.row(b), vectors.row(a))
            }
            (&[_, _, _], _, Some((answers, field))) => {
                let value = |row: Row, gene: u32, line: &mut Vec<f32>| {
                    if let Row::Pair(a, b) = row {
                        field.queries.line(a, b, line);
                    }
                    dot(line, answers.row(gene as usize))
                };
                match grid.part_of_triple(set) {
                    Some((row, gene)) => value(row, gene, &mut line),
                    None => {
                        parts_of_triple(set)
                            .map(|(row, gene)| value(row, gene, &mut line))
                            .iter()
                            .sum::<f32>()
                            / 3.0
                    }
                }
            }
            _ => 0.0,
        };
        sets.iter().map(|set| f64::from(one(set))).collect()
    }

    /// The covariance times values, in the weighted cells.
    pub(super) fn times(&mut self, values: &[f32], out: &mut [f32]) {
        let (of_pairs, of_triples) = self.split(values);
        let (out_pairs, out_triples) = out.split_at_mut(of_pairs.len());
        self.pairs.iter_mut().for_each(|field| field.times(of_pairs, out_pairs));
        self.triples.iter_mut().for_each(|field| field.times(of_triples, out_triples));
    }
}

/// Copies what is above the diagonal below it, in tiles.
fn mirror(matrix: &mut Matrix<f32>) {
    const TILE: usize = 64;
    let size = matrix.rows();
    let values = matrix.values_mut();
    for first_row in (0..size).step_by(TILE) {
        for first_column in (first_row..size).step_by(TILE) {
            for row in first_row..(first_row + TILE).min(size) {
                for column in first_column.max(row + 1)..(first_column + TILE).min(size) {
                    values[column * size + row] = values[row * size + column];
                }
            }
        }
    }
}

/// Two matrices of as many rows side by side.
fn beside(a: &Matrix<f32>, b: &Matrix<f32>) -> Matrix<f32> {
    let mut values = Vec::with_capacity(a.values().len() + b.values().len());
    for row in 0..a.rows() {
        values.extend_from_slice(a.row(row));
        values.extend_from_slice(b.row(row));
    }
    Matrix::new(a.rows(), a.columns() + b.columns(), values)
}
