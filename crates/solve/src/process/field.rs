//! The measured cells of the process, and products with their covariance.
//!
//! The covariance of two cells is the product of the similarities of their rows and of their columns. So a product with it is a few
//! products of genes-by-directions matrices, never one over pairs of records. Gene pairs form a symmetric field over genes; triples form a
//! field of query pairs by array genes. Repeated records of a cell are averaged and weighted by their number.

use super::features::KernelFeatures;
use crate::grid::{Grid, RowKey, splits_of_triple};
use crate::matrix::{Matrix, concat_columns, dot, product, product_into, upper_inner_products};
use knockout_data::cell::GeneSetsRef;
use rayon::prelude::*;

/// The measured cells, row by row.
struct MeasuredCells {
    offsets: Vec<usize>,
    columns: Vec<u32>,
    /// Means of the records of each cell.
    means: Vec<f32>,
    /// Square roots of their numbers.
    weights: Vec<f32>,
}

impl MeasuredCells {
    /// Sorts and averages records of (row, column, score).
    fn new(rows: usize, records: impl Iterator<Item = (u32, u32, f32)> + Clone) -> Self {
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

    fn len(&self) -> usize {
        self.columns.len()
    }

    /// Returns the columns of the cells of a row, and the range of the cells.
    fn row(&self, row: usize) -> (&[u32], std::ops::Range<usize>) {
        let range = self.offsets[row]..self.offsets[row + 1];
        (&self.columns[range.clone()], range)
    }

    /// Writes weighted values to a matrix that is 0 elsewhere.
    fn scatter(&self, values: &[f32], out: &mut Matrix<f32>) {
        let columns = out.columns();
        out.values_mut().par_chunks_exact_mut(columns.max(1)).enumerate().for_each(|(row, out)| {
            out.fill(0.0);
            let (columns, range) = self.row(row);
            let weighted = values[range.clone()].iter().zip(&self.weights[range]);
            for (&column, (value, weight)) in columns.iter().zip(weighted) {
                out[column as usize] = value * weight;
            }
        });
    }

    /// Reads weighted values from a matrix.
    fn gather(&self, matrix: &Matrix<f32>, out: &mut [f32]) {
        for row in 0..matrix.rows() {
            let (columns, range) = self.row(row);
            let (values, weights) = (matrix.row(row), &self.weights[range.clone()]);
            for ((out, &column), weight) in out[range].iter_mut().zip(columns).zip(weights) {
                *out = weight * values[column as usize];
            }
        }
    }
}

/// Returns the variance of genes that they share with no other gene.
fn unshared_variances(features: &KernelFeatures, genes: &[u32], nugget: f32) -> Vec<f32> {
    genes.iter().map(|&gene| features.unshared_variance(gene as usize, nugget)).collect()
}

/// Returns the index of each gene among some; 0 for others.
fn indices_of(genes: &[u32], gene_count: usize) -> Vec<u32> {
    let mut indices = vec![0_u32; gene_count];
    genes.iter().zip(0..).for_each(|(&gene, index)| indices[gene as usize] = index);
    indices
}

/// The symmetric field of gene pairs.
pub(crate) struct PairField {
    pub(crate) genes: Vec<u32>,
    /// Cells above the diagonal.
    cells: MeasuredCells,
    features: Matrix<f32>,
    unshared: Vec<f32>,
    /// Values of the cells in a dense matrix.
    dense: Matrix<f32>,
    /// The last product with the covariance, on and above the diagonal.
    field: Matrix<f32>,
    /// The matrices [tables | features] and [features | tables].
    left: Matrix<f32>,
    right: Matrix<f32>,
}

impl PairField {
    /// Creates the field of ascending pairs of `genes` with their scores; `None` without pairs.
    fn new(genes: Vec<u32>, sets: &[(u32, u32, f32)], features: &KernelFeatures) -> Option<Self> {
        if sets.is_empty() {
            return None;
        }
        let index = indices_of(&genes, features.genes());
        let records = sets.iter().map(|&(a, b, score)| (index[a as usize], index[b as usize], score));
        let (count, cells) = (genes.len(), MeasuredCells::new(genes.len(), records));
        let matrix = || Matrix::zeros(count, count);
        let (dense, field) = (matrix(), matrix());
        let features = features.select(&genes);
        let both = concat_columns(&features, &features);
        let (left, right) = (both.clone(), both);
        Some(Self { features, unshared: vec![0.0; count], genes, cells, dense, field, left, right })
    }

    fn set(&mut self, features: &KernelFeatures, nugget: f32) {
        self.unshared = unshared_variances(features, &self.genes, nugget);
    }

    /// Returns the sums of features over every gene's records, weighted by values, and their inner products with the features.
    fn sums(&mut self, values: &[f32]) -> (Matrix<f32>, Matrix<f32>) {
        self.cells.scatter(values, &mut self.dense);
        mirror(&mut self.dense);
        let sums = product(&self.dense, &self.features);
        let inner = product(self.features.transposed(), &sums);
        (sums, inner)
    }

    /// Adds the unshared variances to the rows of tables. A pair is two cells, each with half of its weight.
    fn add_unshared(&self, sums: &Matrix<f32>, tables: &mut Matrix<f32>, row_of: impl Fn(usize) -> usize) {
        tables.values_mut().iter_mut().for_each(|t| *t *= 0.25);
        for (row, unshared) in self.unshared.iter().enumerate() {
            let (out, sums) = (tables.row_mut(row_of(row)), sums.row(row));
            out.iter_mut().zip(sums).for_each(|(t, sum)| *t += 0.5 * unshared * sum);
        }
    }

    /// Multiplies values with the covariance.
    fn times(&mut self, values: &[f32], out: &mut [f32]) {
        let (sums, inner) = self.sums(values);
        let mut tables = product(&self.features, &inner);
        self.add_unshared(&sums, &mut tables, |row| row);
        let width = tables.columns();
        for row in 0..tables.rows() {
            self.left.row_mut(row)[..width].copy_from_slice(tables.row(row));
            self.right.row_mut(row)[width..].copy_from_slice(tables.row(row));
        }
        upper_inner_products(&self.left, &self.right, &mut self.field);
        self.cells.gather(&self.field, out);
    }

    /// Returns a row t for every gene. The process at a pair is t(a)·φ(b) + φ(a)·t(b), with the features φ.
    pub(crate) fn tables(&mut self, values: &[f32], features: &KernelFeatures) -> Matrix<f32> {
        let (sums, inner) = self.sums(values);
        let mut tables = product(&features.vectors, &inner);
        self.add_unshared(&sums, &mut tables, |row| self.genes[row] as usize);
        tables
    }

    /// Returns the number of records of each gene.
    pub(crate) fn counts(&self) -> Vec<f32> {
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
pub(crate) struct TripleField {
    rows: Vec<(u32, u32)>,
    pub(crate) genes: Vec<u32>,
    cells: MeasuredCells,
    features: Matrix<f32>,
    unshared: Vec<f32>,
    /// Similarities of the rows.
    pub(crate) kernel: Matrix<f32>,
    queries: QueryKernel,
    /// Values of the cells, then the last product with the covariance.
    dense: Matrix<f32>,
}

impl TripleField {
    /// Creates the field of triples, each a row and an array gene of `genes`, with their scores; `None` without triples.
    fn new(
        rows: Vec<(u32, u32)>,
        genes: Vec<u32>,
        sets: &[(u32, u32, f32)],
        features: &KernelFeatures,
    ) -> Option<Self> {
        if sets.is_empty() {
            return None;
        }
        let index = indices_of(&genes, features.genes());
        let records = sets.iter().map(|&(row, gene, score)| (row, index[gene as usize], score));
        let cells = MeasuredCells::new(rows.len(), records);
        let (kernel, dense) = (Matrix::zeros(rows.len(), rows.len()), Matrix::zeros(rows.len(), genes.len()));
        let queries = QueryKernel::new(&rows, features, 0.0, 0.0);
        let features = features.select(&genes);
        Some(Self { rows, unshared: Vec::new(), features, genes, cells, kernel, queries, dense })
    }

    fn set(&mut self, features: &KernelFeatures, nugget: f32, single: f32) {
        self.unshared = unshared_variances(features, &self.genes, nugget);
        self.queries = QueryKernel::new(&self.rows, features, nugget, single);
        self.kernel = self.queries.of_rows();
    }

    /// Multiplies values with the covariance.
    fn times(&mut self, values: &[f32], out: &mut [f32]) {
        self.cells.scatter(values, &mut self.dense);
        let rows = product(&self.kernel, &self.dense);
        let inner = product(&rows, &self.features);
        product_into(&inner, self.features.transposed(), &mut self.dense);
        let columns = self.dense.columns();
        let lines = self.dense.values_mut().par_chunks_exact_mut(columns.max(1));
        lines.zip(rows.values().par_chunks_exact(columns.max(1))).for_each(|(field, rows)| {
            for (field, (row, unshared)) in field.iter_mut().zip(rows.iter().zip(&self.unshared)) {
                *field += row * unshared;
            }
        });
        self.cells.gather(&self.dense, out);
    }

    /// Returns for every gene, as an array gene, the contribution of each row.
    pub(crate) fn tables(&mut self, values: &[f32], features: &KernelFeatures) -> Matrix<f32> {
        self.cells.scatter(values, &mut self.dense);
        let inner = product(&self.dense, &self.features);
        let mut tables = product(&features.vectors, inner.transposed());
        for ((&gene, unshared), column) in self.genes.iter().zip(&self.unshared).zip(0..) {
            let out = tables.row_mut(gene as usize).iter_mut().enumerate();
            out.for_each(|(row, out)| *out += unshared * self.dense.get(row, column));
        }
        tables
    }

    /// Returns the number of records of each row and of each array gene.
    pub(crate) fn counts(&self) -> (Vec<f32>, Vec<f32>) {
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

/// Similarities of all genes with the genes of query pairs, and of query pairs with each other.
///
/// The similarity of two pairs is the product of the similarities of their genes, one with one, plus `single` times the mean similarity
/// of any two of their genes: part of the effect of a query pair on an array gene is the effect of each of its genes.
pub(crate) struct QueryKernel {
    /// Indices of the genes of each row.
    pub(crate) rows: Vec<(usize, usize)>,
    genes: Vec<u32>,
    /// All genes by genes of query pairs.
    pub(crate) kernel: Matrix<f32>,
    pub(crate) single: f32,
}

impl QueryKernel {
    pub(crate) fn new(rows: &[(u32, u32)], features: &KernelFeatures, nugget: f32, single: f32) -> Self {
        let mut genes: Vec<u32> = rows.iter().flat_map(|&(a, b)| [a, b]).collect();
        genes.sort_unstable();
        genes.dedup();
        let mut kernel = product(&features.vectors, features.select(&genes).transposed());
        for (column, &gene) in genes.iter().enumerate() {
            let variance =
                kernel.get(gene as usize, column) + features.unshared_variance(gene as usize, nugget);
            kernel.set(gene as usize, column, variance);
        }
        let index = |gene: u32| genes.binary_search(&gene).unwrap_or_default();
        Self { rows: rows.iter().map(|&(a, b)| (index(a), index(b))).collect(), genes, kernel, single }
    }

    /// Writes the similarity of a pair of genes with every row.
    pub(crate) fn similarities(&self, a: u32, b: u32, out: &mut Vec<f32>) {
        let (a, b) = (self.kernel.row(a as usize), self.kernel.row(b as usize));
        let each = 0.25 * self.single;
        let similarity =
            |&(c, d): &(usize, usize)| 0.5 * (a[c] * b[d] + a[d] * b[c]) + each * (a[c] + a[d] + b[c] + b[d]);
        out.clear();
        out.extend(self.rows.iter().map(similarity));
    }

    /// Returns the similarities of all rows.
    pub(crate) fn of_rows(&self) -> Matrix<f32> {
        let mut out = Matrix::zeros(self.rows.len(), self.rows.len());
        let mut similarities = Vec::new();
        for (row, &(a, b)) in self.rows.iter().enumerate() {
            self.similarities(self.genes[a], self.genes[b], &mut similarities);
            out.row_mut(row).copy_from_slice(&similarities);
        }
        out
    }
}

/// The index of a cell of one of the fields, measured or not.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum FieldCell {
    /// Indices of two genes, ascending.
    Pair(usize, usize),
    /// Indices of a row and an array gene.
    Triple(usize, usize),
}

/// Both fields: two independent processes with the same setting.
pub(crate) struct ProcessFields {
    pub(crate) pairs: Option<PairField>,
    pub(crate) triples: Option<TripleField>,
}

impl ProcessFields {
    /// Creates the fields of the records whose pairs, or array genes, are used.
    pub(crate) fn new(
        grid: &Grid,
        sets: GeneSetsRef<'_>,
        scores: &[f32],
        features: &KernelFeatures,
        is_used: impl Fn(u32) -> bool,
    ) -> Self {
        let (mut pairs, mut triples) = (Vec::new(), Vec::new());
        let (mut is_in_pair, mut is_array) = (vec![false; features.genes()], vec![false; features.genes()]);
        let rows: Vec<(u32, u32)> = grid.pair_rows().collect();
        for (set, &score) in sets.iter().zip(scores) {
            match *set {
                [a, b] if is_used(a) && is_used(b) => {
                    (is_in_pair[a as usize], is_in_pair[b as usize]) = (true, true);
                    pairs.push((a, b, score));
                }
                [_, _, _] => {
                    if let Some((RowKey::Pair(a, b), gene)) = grid.split_triple(set)
                        && is_used(gene)
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
            pairs: PairField::new(listed(is_in_pair), &pairs, features),
            triples: TripleField::new(rows, listed(is_array), &triples, features),
        }
    }

    /// Creates the field of ascending pairs with their scores. Genes are numbered as in the features, and every gene has a pair.
    pub(crate) fn of_pairs(pairs: &[(u32, u32, f32)], features: &KernelFeatures) -> Self {
        let genes = (0..features.genes() as u32).collect();
        Self { pairs: PairField::new(genes, pairs, features), triples: None }
    }

    /// Sets the nugget and the weight of single genes in the similarity of query pairs.
    pub(crate) fn set(&mut self, features: &KernelFeatures, nugget: f32, single: f32) {
        self.pairs.iter_mut().for_each(|field| field.set(features, nugget));
        self.triples.iter_mut().for_each(|field| field.set(features, nugget, single));
    }

    fn cells(&self) -> impl Iterator<Item = &MeasuredCells> {
        self.pairs.iter().map(|field| &field.cells).chain(self.triples.iter().map(|field| &field.cells))
    }

    /// Returns the number of measured cells.
    pub(crate) fn len(&self) -> usize {
        self.cells().map(MeasuredCells::len).sum()
    }

    /// Returns the weighted means of the cells: the right-hand side.
    pub(crate) fn targets(&self) -> Vec<f32> {
        self.cells().flat_map(|cells| cells.means.iter().zip(&cells.weights).map(|(y, w)| y * w)).collect()
    }

    /// Splits values into those of pairs and those of triples.
    pub(crate) fn split<'v>(&self, values: &'v [f32]) -> (&'v [f32], &'v [f32]) {
        values.split_at(self.pairs.as_ref().map_or(0, |field| field.cells.len()))
    }

    /// Returns the cell of a set; `None` if it is in no field.
    pub(crate) fn cell(&self, grid: &Grid, set: &[u32]) -> Option<FieldCell> {
        let index = |genes: &[u32], gene: u32| genes.binary_search(&gene).ok();
        match (set, &self.pairs, &self.triples) {
            (&[a, b], Some(field), _) => {
                Some(FieldCell::Pair(index(&field.genes, a)?, index(&field.genes, b)?))
            }
            (&[_, _, _], _, Some(field)) => match grid.split_triple(set)? {
                (RowKey::Pair(a, b), gene) => {
                    let row = field.rows.binary_search(&(a, b)).ok()?;
                    Some(FieldCell::Triple(row, index(&field.genes, gene)?))
                }
                (RowKey::Gene(_), _) => None,
            },
            _ => None,
        }
    }

    /// Returns the last product with the covariance at a cell.
    pub(crate) fn last_product(&self, cell: FieldCell) -> f32 {
        match (cell, &self.pairs, &self.triples) {
            (FieldCell::Pair(row, column), Some(field), _) => field.field.get(row, column),
            (FieldCell::Triple(row, column), _, Some(field)) => field.dense.get(row, column),
            _ => 0.0,
        }
    }

    /// Predicts sets from a solution.
    pub(crate) fn predict(
        &mut self,
        solution: &[f32],
        features: &KernelFeatures,
        grid: &Grid,
        sets: GeneSetsRef<'_>,
    ) -> Vec<f64> {
        let (of_pairs, of_triples) = self.split(solution);
        let pair_tables = self.pairs.as_mut().map(|field| field.tables(of_pairs, features));
        let triple_tables = self.triples.as_mut().map(|field| (field.tables(of_triples, features), &*field));
        let (vectors, mut similarities) = (&features.vectors, Vec::new());
        let mut predict = |set: &[u32]| match (set, &pair_tables, &triple_tables) {
            (&[a, b], Some(tables), _) => {
                let (a, b) = (a as usize, b as usize);
                dot(tables.row(a), vectors.row(b)) + dot(tables.row(b), vectors.row(a))
            }
            (&[_, _, _], _, Some((tables, field))) => {
                let mut value = |(row, gene): (RowKey, u32)| {
                    if let RowKey::Pair(a, b) = row {
                        field.queries.similarities(a, b, &mut similarities);
                    }
                    dot(&similarities, tables.row(gene as usize))
                };
                match grid.split_triple(set) {
                    Some(split) => value(split),
                    None => splits_of_triple(set).map(value).iter().sum::<f32>() / 3.0,
                }
            }
            _ => 0.0,
        };
        sets.iter().map(|set| f64::from(predict(set))).collect()
    }

    /// Multiplies values with the covariance of the weighted cells.
    pub(crate) fn times(&mut self, values: &[f32], out: &mut [f32]) {
        let (of_pairs, of_triples) = self.split(values);
        let (out_pairs, out_triples) = out.split_at_mut(of_pairs.len());
        self.pairs.iter_mut().for_each(|field| field.times(of_pairs, out_pairs));
        self.triples.iter_mut().for_each(|field| field.times(of_triples, out_triples));
    }
}

/// Copies the entries above the diagonal to those below it, in tiles.
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
