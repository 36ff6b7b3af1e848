//! Predictions of the solved process from tables: a pair takes two inner products of short rows, a triple of a known query pair one
//! lookup.

use super::setting::KernelSetting;
use super::variance::{PairVariance, TripleVariance};
use crate::error::bad_tensor;
use crate::grid::{Grid, RowKey, splits_of_triple};
use crate::matrix::{Matrix, dot, product};
use crate::pair_products::{GeneTableRows, PairForm};
use crate::process::{KernelFeatures, ProcessFields, QueryKernel};
use crate::tensor::{Tensor, find, find_vector, has};
use knockout_base::error::Error;
use knockout_data::cell::GeneSetsRef;

/// Posterior means and variances of the process.
pub(super) struct PosteriorTables {
    features: KernelFeatures,
    grid: Grid,
    pairs: Option<PairTables>,
    triples: Option<TripleTables>,
}

struct PairTables {
    /// A row per gene; its product with the features of the other gene is half of the value of a pair.
    rows: Matrix<f32>,
    /// Number of records of each gene.
    counts: Vec<f32>,
    variance: PairVariance,
}

struct TripleTables {
    rows: Vec<(u32, u32)>,
    /// For every gene, as an array gene, the contribution of each row.
    contributions: Matrix<f32>,
    /// The process at every array gene and row.
    at_rows: Matrix<f32>,
    queries: QueryKernel,
    row_counts: Vec<f32>,
    counts: Vec<f32>,
    variance: TripleVariance,
}

/// Intermediate results that triples with the same first two genes share.
#[derive(Default)]
pub(super) struct TripleCache {
    pair: Option<(u32, u32)>,
    /// Similarity of the two genes with every row.
    similarities: Vec<f32>,
    /// Coefficients of the third gene's similarities with the genes of query pairs.
    third: Vec<f32>,
    /// The terms that do not depend on the third gene.
    constant: f32,
}

impl PosteriorTables {
    /// Computes the tables of a solution.
    pub(super) fn new(
        mut fields: ProcessFields,
        solution: &[f32],
        features: KernelFeatures,
        grid: &Grid,
        setting: KernelSetting,
    ) -> Self {
        let genes = features.genes();
        let (of_pairs, of_triples) = fields.split(solution);
        let of_all_genes = |some: &[u32], values: Vec<f32>| {
            let mut all = vec![0.0; genes];
            some.iter().zip(values).for_each(|(&gene, value)| all[gene as usize] = value);
            all
        };
        let pairs = fields.pairs.as_mut().map(|field| {
            let counts = of_all_genes(&field.genes, field.counts());
            (field.tables(of_pairs, &features), counts)
        });
        let triples = fields.triples.as_mut().map(|field| {
            let (row_counts, counts) = field.counts();
            (field.tables(of_triples, &features), row_counts, of_all_genes(&field.genes, counts))
        });
        drop(fields);
        Self::from_parts(features, grid.clone(), setting, pairs, triples)
    }

    fn from_parts(
        features: KernelFeatures,
        grid: Grid,
        setting: KernelSetting,
        pairs: Option<(Matrix<f32>, Vec<f32>)>,
        triples: Option<(Matrix<f32>, Vec<f32>, Vec<f32>)>,
    ) -> Self {
        let pairs = pairs.map(|(rows, counts)| {
            let variance = PairVariance::new(&features, setting, &counts);
            PairTables { rows, counts, variance }
        });
        let triples = triples.map(|(contributions, row_counts, counts)| {
            let rows: Vec<(u32, u32)> = grid.pair_rows().collect();
            let queries = QueryKernel::new(&rows, &features, setting.nugget, setting.single);
            let at_rows = product(&contributions, &queries.of_rows());
            let variance = TripleVariance::new(&features, setting, &rows, &row_counts, &counts);
            TripleTables { rows, contributions, at_rows, queries, row_counts, counts, variance }
        });
        Self { features, grid, pairs, triples }
    }

    pub(super) fn genes(&self) -> usize {
        self.features.genes()
    }

    pub(super) fn features(&self) -> &KernelFeatures {
        &self.features
    }

    pub(super) fn grid(&self) -> &Grid {
        &self.grid
    }

    /// Returns the process at a set of ascending genes.
    ///
    /// A triple with a known query pair has one split, as in training. Any other triple gets the mean of its three splits.
    pub(super) fn value(&self, set: &[u32], cache: &mut TripleCache) -> f64 {
        match (set, &self.pairs, &self.triples) {
            (&[a, b], Some(pairs), _) => {
                let (a, b, features) = (a as usize, b as usize, &self.features.vectors);
                f64::from(dot(pairs.rows.row(a), features.row(b)) + dot(pairs.rows.row(b), features.row(a)))
            }
            (&[a, b, c], _, Some(triples)) => f64::from(match self.known_row(set, triples) {
                Some((row, gene)) => triples.at_rows.get(gene as usize, row),
                None => triples.new_triple([a, b, c], cache),
            }),
            _ => 0.0,
        }
    }

    /// Returns the variance of the process at a set.
    fn variance(&self, set: &[u32]) -> f64 {
        match (set, &self.pairs, &self.triples) {
            (&[a, b], Some(pairs), _) => f64::from(pairs.variance.of_pair(a, b)),
            (&[_, _, _], _, Some(triples)) => f64::from(match self.known_row(set, triples) {
                Some((row, gene)) => triples.variance.of_row(row, gene),
                None => splits_of_triple(set)
                    .into_iter()
                    .map(|(row, gene)| match row {
                        RowKey::Pair(a, b) => triples.variance.of_new_pair(a, b, gene) / 3.0,
                        RowKey::Gene(_) => 0.0,
                    })
                    .sum(),
            }),
            _ => 0.0,
        }
    }

    /// Returns the variances of the process at sets.
    pub(super) fn variances(&self, sets: GeneSetsRef<'_>) -> Vec<f64> {
        let of_pairs = self.pairs.as_ref().map(|pairs| pairs.variance.of_sets(sets));
        let variance = |(i, set): (usize, &[u32])| match &of_pairs {
            Some(of_pairs) if set.len() == 2 => f64::from(of_pairs[i]),
            _ => self.variance(set),
        };
        sets.iter().enumerate().map(variance).collect()
    }

    /// Returns the process at pairs as a bilinear form, times a weight; `None` if training had no pairs.
    pub(super) fn form(&self, weight: f64) -> Option<PairForm<'_>> {
        self.pairs.as_ref().map(|pairs| PairForm {
            weight,
            x: GeneTableRows { table: &pairs.rows, row_of: &Some },
            y: GeneTableRows { table: &self.features.vectors, row_of: &Some },
        })
    }

    /// Returns the row and the array gene of a triple with a known query pair.
    fn known_row(&self, set: &[u32], triples: &TripleTables) -> Option<(usize, u32)> {
        match self.grid.split_triple(set)? {
            (RowKey::Pair(a, b), gene) => Some((triples.rows.binary_search(&(a, b)).ok()?, gene)),
            (RowKey::Gene(_), _) => None,
        }
    }

    pub(super) fn tensors(&self) -> Vec<Tensor> {
        let mut tensors = self.features.tensors();
        if let Some(pairs) = &self.pairs {
            tensors.push(Tensor::from_matrix("network_kernel.pairs", &pairs.rows));
            tensors.push(Tensor::vector("network_kernel.pair_counts", pairs.counts.clone()));
        }
        if let Some(triples) = &self.triples {
            tensors.push(Tensor::from_matrix("network_kernel.triples", &triples.contributions));
            tensors.push(Tensor::vector("network_kernel.row_counts", triples.row_counts.clone()));
            tensors.push(Tensor::vector("network_kernel.array_counts", triples.counts.clone()));
        }
        tensors
    }

    pub(super) fn load(tensors: &[Tensor], genes: usize, setting: KernelSetting) -> Result<Self, Error> {
        let grid = Grid::load(tensors, genes)?;
        let features = KernelFeatures::load(tensors, genes)?;
        let vector = |name: &str, length: usize| find_vector(tensors, name, length);
        let table = |name: &str, columns: usize| {
            let matrix = find(tensors, name)?.matrix_with_rows(genes)?;
            if matrix.columns() == columns { Ok(matrix) } else { Err(bad_tensor(name)) }
        };
        let pairs = if has(tensors, "network_kernel.pairs") {
            let rows = table("network_kernel.pairs", features.vectors.columns())?;
            Some((rows, vector("network_kernel.pair_counts", genes)?))
        } else {
            None
        };
        let triples = if has(tensors, "network_kernel.triples") {
            let rows = grid.pair_rows().count();
            let contributions = table("network_kernel.triples", rows)?;
            let counts = vector("network_kernel.array_counts", genes)?;
            Some((contributions, vector("network_kernel.row_counts", rows)?, counts))
        } else {
            None
        };
        Ok(Self::from_parts(features, grid, setting, pairs, triples))
    }
}

impl TripleTables {
    /// Returns the process at a triple without a known pair. Terms that do not depend on the third gene are cached.
    fn new_triple(&self, [a, b, c]: [u32; 3], cache: &mut TripleCache) -> f32 {
        if cache.pair != Some((a, b)) {
            cache.pair = Some((a, b));
            self.queries.similarities(a, b, &mut cache.similarities);
            cache.third.clear();
            cache.third.resize(self.queries.kernel.columns(), 0.0);
            cache.constant = 0.0;
            let each = 0.25 * self.queries.single;
            for (fixed, array) in [(a, b), (b, a)] {
                let (fixed, contributions) =
                    (self.queries.kernel.row(fixed as usize), self.contributions.row(array as usize));
                for (&(x, y), contribution) in self.queries.rows.iter().zip(contributions) {
                    cache.third[y] += (0.5 * fixed[x] + each) * contribution;
                    cache.third[x] += (0.5 * fixed[y] + each) * contribution;
                    cache.constant += each * (fixed[x] + fixed[y]) * contribution;
                }
            }
        }
        let c = c as usize;
        let first = dot(&cache.similarities, self.contributions.row(c));
        (first + dot(&cache.third, self.queries.kernel.row(c)) + cache.constant) / 3.0
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use knockout_base::random::Rng;
    use knockout_data::cell::GeneSets;

    /// Pairs, triples of known query pairs and others, in any order.
    #[test]
    fn tables_predict_the_same_as_the_fields() {
        let mut rng = Rng::new(1, "answers");
        let genes = 12_u32;
        let mut numbers = |count: usize| -> Vec<f32> { (0..count).map(|_| rng.normal() as f32).collect() };
        let residual = numbers(genes as usize).iter().map(|x| x.abs()).collect();
        let features =
            KernelFeatures::new(Matrix::new(genes as usize, 3, numbers(3 * genes as usize)), residual);
        let mut sets = GeneSets::default();
        (1..genes).for_each(|b| (0..b).filter(|a| (a + b) % 3 > 0).for_each(|a| sets.push(&[a, b])));
        for (a, b) in [(0, 1), (0, 2), (3, 5)] {
            (6..genes).for_each(|array| sets.push(&[a, b, array]));
        }
        let grid = Grid::from_sets(sets.view());
        let setting = KernelSetting { nugget: 0.7, noise: 0.5, single: 0.4 };
        let scores = numbers(sets.view().len());
        let mut fields = ProcessFields::new(&grid, sets.view(), &scores, &features, |_| true);
        fields.set(&features, setting.nugget, setting.single);
        let solution = numbers(fields.len());
        let mut tested = GeneSets::default();
        for c in 2..genes {
            for b in 1..c {
                tested.push(&[b, c]);
                (0..b).for_each(|a| tested.push(&[a, b, c]));
            }
        }
        let expected = fields.predict(&solution, &features, &grid, tested.view());
        let tables = PosteriorTables::new(fields, &solution, features, &grid, setting);
        let mut cache = TripleCache::default();
        for (set, expected) in tested.view().iter().zip(expected) {
            let found = tables.value(set, &mut cache);
            assert!((found - expected).abs() < 1e-4 * (1.0 + expected.abs()), "{set:?}: {found} {expected}");
            assert!(tables.variance(set) > 0.0);
        }
    }
}
