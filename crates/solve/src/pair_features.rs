//! Features of pairs for boosted trees: predictions of the parts of a stack, and what is known of both genes.
//!
//! A gene with training records has its mean score, the size of its residuals and the shares of strong ones. A new gene has the means of
//! these over the known genes, weighted by their similarity in the networks. The features of one new gene begin with it; those of two
//! known or two new genes are in ascending order, value by value.
//!
//! A pair also has mean residuals of the genes that are similar in the networks. The profile kernel fills in residuals that were not
//! measured, so these means are over whole profiles. Known genes also have the similarity of their profiles, and the mean residuals of the
//! genes whose profiles are similar to either. All genes have the amplitude that is expected from fitness and essentiality.

use crate::additive_fit::AdditiveFit;
use crate::error::bad_tensor;
use crate::matrix::{Matrix, dot, product};
use crate::model::Records;
use crate::network_kernel::Amplitudes;
use crate::profile::{NeighbourTables, ProfileKernel, Profiles};
use crate::tensor::{Tensor, find, find_vector, has};
use knockout_base::error::Error;
use knockout_data::cell::{Cell, GenePositions, Separation};

/// Weight of the value 0, to which means over few similar genes shrink.
const PRIOR_WEIGHT: f32 = 0.1;
/// The powers of the similarity that weight profiles: each gives a mean.
const POWERS: [i32; 3] = [1, 2, 3];
/// Residuals beyond this many standard deviations are strong.
const STRONG: f64 = 2.0;
/// Distance of genes on different chromosomes.
const FAR: f32 = 3e6;
/// Figures of the training records of a gene: effect, size, strong negative and positive shares, and similarity to known genes.
const FIGURES: usize = 5;
/// Features of the pair itself beside the parts: means over similar genes, new genes, similarity in the networks, distance, and for known
/// genes the similarity of their profiles and the mean over the profiles similar to each.
const OF_PAIR: usize = POWERS.len() + 6;

const GENES: &str = "trees.genes";
const KNOWN: &str = "trees.known";
const PROFILES: &str = "trees.profiles";
const SIMILARITIES: &str = "trees.similarities";
const NEIGHBOURS: &str = "trees.neighbours";
const AMPLITUDES: &str = "trees.amplitudes";

/// Tables that the features of pairs are looked up in.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct PairFeatures {
    /// For each gene, its figures.
    genes: Matrix<f32>,
    is_known: Vec<bool>,
    means: ProfileMeans,
    /// Of the known genes.
    neighbours: NeighbourTables,
    /// For each gene: features of the cell, the logarithm of its degree, and the amplitude that is expected from its features.
    traits: Matrix<f32>,
    positions: Option<GenePositions>,
}

impl PairFeatures {
    /// Computes the tables from the training records and the residuals of the additive part; `vectors` has the similarity of genes in the
    /// networks, and the profile kernel predicts residuals that were not measured, which otherwise are 0.
    pub(crate) fn new(
        cell: &Cell,
        names: &[String],
        train: &Records,
        base: &AdditiveFit,
        profile_kernel: Option<&ProfileKernel>,
        vectors: &Matrix<f32>,
    ) -> Self {
        let (count, directions) = (cell.genes().len(), vectors.columns());
        let mean = knockout_base::stats::mean(&train.scores);
        let residuals = &base.residuals;
        let rms = (residuals.iter().map(|r| r * r).sum::<f64>() / residuals.len().max(1) as f64).sqrt();
        let mut genes = Matrix::<f32>::zeros(count, FIGURES);
        let mut records = vec![0.0_f32; count];
        for ((set, score), &residual) in train.sets.view().iter().zip(&train.scores).zip(residuals) {
            for &gene in set {
                records[gene as usize] += 1.0;
                let strong = |is: bool| f32::from(u8::from(is));
                let figures = [
                    (score - mean) as f32,
                    (residual * residual) as f32,
                    strong(residual < -STRONG * rms),
                    strong(residual > STRONG * rms),
                ];
                genes.row_mut(gene as usize).iter_mut().zip(figures).for_each(|(sum, value)| *sum += value);
            }
        }
        let is_known: Vec<bool> = records.iter().map(|&records| records > 0.0).collect();
        let mut similar = Matrix::<f32>::zeros(FIGURES, directions);
        for gene in (0..count).filter(|&gene| is_known[gene]) {
            let row = genes.row_mut(gene);
            for sum in row.iter_mut() {
                *sum /= records[gene];
            }
            row[1] = row[1].sqrt();
            row[FIGURES - 1] = 1.0;
            for (figure, value) in genes.row(gene).iter().enumerate() {
                let into = similar.row_mut(figure).iter_mut().zip(vectors.row(gene));
                into.for_each(|(sum, x)| *sum += value * x);
            }
        }
        for (gene, is_known) in is_known.iter().enumerate() {
            let total = dot(vectors.row(gene), similar.row(FIGURES - 1)).max(0.0);
            if !is_known {
                for figure in 0..FIGURES - 1 {
                    let mean = dot(vectors.row(gene), similar.row(figure)) / (total + PRIOR_WEIGHT);
                    genes.set(gene, figure, mean);
                }
            }
            genes.set(gene, FIGURES - 1, total);
        }
        let measured = Profiles::new(&base.grid, train.sets.view(), residuals, 1);
        let neighbours = NeighbourTables::new(&measured);
        let Profiles { residuals: mut profiles, is_measured } = measured;
        if let Some(predicted) = profile_kernel.map(ProfileKernel::values) {
            let all = profiles.values_mut().iter_mut().zip(is_measured.values()).zip(predicted.values());
            let unmeasured = all.filter(|((_, is_measured), _)| **is_measured == 0.0);
            unmeasured.for_each(|((residual, _), predicted)| *residual = *predicted);
        }
        let means = ProfileMeans::new(profiles, base.grid.genes(), vectors);
        let amplitudes = Amplitudes::expected(names, cell, train.sets.view(), residuals);
        let amplitudes = amplitudes.map_or_else(|| vec![1.0; count], |found| found.values);
        let traits = traits(cell, names, &amplitudes);
        let positions = cell.positions().cloned();
        Self { genes, is_known, means, neighbours, traits, positions }
    }

    /// Returns the number of features, given that of the parts.
    pub(crate) fn width(&self, parts: usize) -> usize {
        parts + OF_PAIR + 2 * (FIGURES + self.traits.columns())
    }

    /// Returns the indices of the features that predict a score or a residual: trees start from a weighted sum of these.
    pub(crate) fn predictors(parts: usize) -> impl Iterator<Item = usize> {
        0..parts + POWERS.len()
    }

    /// Returns how many genes of a pair are new.
    pub(crate) fn new_genes(&self, set: &[u32]) -> usize {
        set.iter().filter(|&&gene| !self.is_known[gene as usize]).count()
    }

    /// Appends the features of a pair, given the predictions of the parts.
    pub(crate) fn push(&self, set: [u32; 2], parts: &[f64], vectors: &Matrix<f32>, out: &mut Vec<f32>) {
        let [mut a, mut b] = set.map(|gene| gene as usize);
        if self.is_known[a] && !self.is_known[b] {
            std::mem::swap(&mut a, &mut b);
        }
        let new = self.new_genes(&set);
        out.extend(parts.iter().map(|&part| part as f32));
        let distance = match self.positions.as_ref().map(|found| found.separation(set[0], set[1])) {
            Some(Separation::Bases(bases)) => bases as f32,
            Some(Separation::OtherChromosome) => FAR,
            Some(Separation::Unknown) | None => f32::NAN,
        };
        out.extend(self.means.of_pair(a, b));
        out.extend([new as f32, dot(vectors.row(a), vectors.row(b)), distance]);
        let in_order = |x: f32, y: f32| if new == 1 || x <= y || y.is_nan() { [x, y] } else { [y, x] };
        match (self.means.row_of[a], self.means.row_of[b]) {
            (Some(a), Some(b)) => {
                let NeighbourTables { similarities, means } = &self.neighbours;
                out.push(similarities.get(a, b));
                out.extend(in_order(means.get(a, b), means.get(b, a)));
            }
            _ => out.extend([f32::NAN; 3]),
        }
        for table in [&self.genes, &self.traits] {
            out.extend(table.row(a).iter().zip(table.row(b)).flat_map(|(&x, &y)| in_order(x, y)));
        }
    }

    pub(crate) fn tensors(&self) -> [Tensor; 6] {
        let amplitude = |gene: usize| self.traits.get(gene, self.traits.columns() - 1);
        let flags = self.is_known.iter().map(|&is_known| f32::from(u8::from(is_known))).collect();
        [
            Tensor::from_matrix(GENES, &self.genes),
            Tensor::vector(KNOWN, flags),
            Tensor::from_matrix(PROFILES, &self.means.profiles),
            Tensor::from_matrix(SIMILARITIES, &self.neighbours.similarities),
            Tensor::from_matrix(NEIGHBOURS, &self.neighbours.means),
            Tensor::vector(AMPLITUDES, (0..self.traits.rows()).map(amplitude).collect()),
        ]
    }

    /// Loads the tables; `None` if a solution was stored without them.
    pub(crate) fn load(
        tensors: &[Tensor],
        cell: &Cell,
        names: &[String],
        vectors: &Matrix<f32>,
    ) -> Result<Option<Self>, Error> {
        if !has(tensors, GENES) {
            return Ok(None);
        }
        let count = cell.genes().len();
        let genes = find(tensors, GENES)?.matrix_with_rows(count)?;
        let is_known: Vec<bool> =
            find_vector(tensors, KNOWN, count)?.iter().map(|&flag| flag > 0.0).collect();
        let known: Vec<u32> = (0..count as u32).filter(|&gene| is_known[gene as usize]).collect();
        let of_known = |name: &str| {
            let matrix = find(tensors, name)?.matrix_with_rows(known.len())?;
            if matrix.columns() == known.len() { Ok(matrix) } else { Err(bad_tensor(name)) }
        };
        let profiles = of_known(PROFILES)?;
        let neighbours =
            NeighbourTables { similarities: of_known(SIMILARITIES)?, means: of_known(NEIGHBOURS)? };
        let amplitudes = find_vector(tensors, AMPLITUDES, count)?;
        let traits = traits(cell, names, &amplitudes);
        if genes.columns() != FIGURES {
            return Err(bad_tensor(GENES));
        }
        let means = ProfileMeans::new(profiles, known, vectors);
        let positions = cell.positions().cloned();
        Ok(Some(Self { genes, is_known, means, neighbours, traits, positions }))
    }
}

/// Returns what is known of each gene before any screen, and its expected amplitude.
fn traits(cell: &Cell, names: &[String], amplitudes: &[f32]) -> Matrix<f32> {
    let columns: Vec<usize> = cell.features().map_or_else(Vec::new, |features| {
        names.iter().filter_map(|name| features.names().iter().position(|known| known == name)).collect()
    });
    let mut traits = Matrix::zeros(cell.genes().len(), columns.len() + 2);
    for (gene, amplitude) in amplitudes.iter().enumerate() {
        let row = traits.row_mut(gene);
        for (value, &column) in row.iter_mut().zip(&columns) {
            *value = cell.features().and_then(|all| all.get(gene, column)).unwrap_or(f32::NAN);
        }
        let degree: usize = cell.networks().iter().map(|network| network.degree(gene)).sum();
        row[columns.len()] = (1.0 + degree as f32).ln();
        row[columns.len() + 1] = *amplitude;
    }
    traits
}

/// Means of profiles over the known genes, weighted by powers of their similarity to each gene in the networks.
#[derive(Debug, Clone, PartialEq)]
struct ProfileMeans {
    /// Known genes by known genes.
    profiles: Matrix<f32>,
    /// The row of each gene in the profiles.
    row_of: Vec<Option<usize>>,
    /// For each power.
    tables: Vec<MeanTables>,
}

/// Genes by known genes: the weights of the profiles, and their weighted sum.
#[derive(Debug, Clone, PartialEq)]
struct MeanTables {
    weights: Matrix<f32>,
    means: Matrix<f32>,
}

impl ProfileMeans {
    /// Computes the means, given the profiles of the known genes.
    fn new(profiles: Matrix<f32>, known: Vec<u32>, vectors: &Matrix<f32>) -> Self {
        let mut of_known = Matrix::zeros(known.len(), vectors.columns());
        let mut row_of = vec![None; vectors.rows()];
        for (row, gene) in known.into_iter().enumerate() {
            of_known.row_mut(row).copy_from_slice(vectors.row(gene as usize));
            row_of[gene as usize] = Some(row);
        }
        let similarities = product(vectors, of_known.transposed());
        let of_power = |power: i32| {
            let mut weights = similarities.clone();
            for (gene, own) in row_of.iter().enumerate() {
                let row = weights.row_mut(gene);
                for weight in row.iter_mut() {
                    *weight = weight.max(0.0).powi(power);
                }
                if let Some(own) = *own {
                    row[own] = 0.0;
                }
                let total: f32 = row.iter().sum::<f32>() + PRIOR_WEIGHT.powi(power);
                for weight in row.iter_mut() {
                    *weight /= total;
                }
            }
            MeanTables { means: product(&weights, &profiles), weights }
        };
        let tables = POWERS.map(of_power).to_vec();
        Self { profiles, row_of, tables }
    }

    /// Returns the mean residuals at a pair: over the genes similar to the new one, to either of two known ones, or to both of two new
    /// ones.
    fn of_pair(&self, a: usize, b: usize) -> impl Iterator<Item = f32> + '_ {
        let (row_a, row_b) = (self.row_of[a], self.row_of[b]);
        self.tables.iter().map(move |MeanTables { weights, means }| match (row_a, row_b) {
            (None, None) => dot(means.row(a), weights.row(b)),
            (None, Some(b)) => means.get(a, b),
            (Some(a), None) => means.get(b, a),
            (Some(row_a), Some(row_b)) => 0.5 * (means.get(a, row_b) + means.get(b, row_a)),
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use knockout_base::random::Rng;

    /// Genes 1, 3 and 4 are known, 0 and 2 are new.
    #[test]
    fn means_are_sums_over_the_known_genes_that_are_similar() {
        let mut rng = Rng::new(0, "profile means");
        let mut matrix = |rows: usize, columns: usize| {
            Matrix::new(rows, columns, (0..rows * columns).map(|_| rng.normal() as f32).collect())
        };
        let (vectors, half, known) = (matrix(5, 3), matrix(3, 3), [1_usize, 3, 4]);
        let mut profiles = half.clone();
        (0..9).for_each(|i| profiles.set(i / 3, i % 3, half.get(i / 3, i % 3) + half.get(i % 3, i / 3)));
        let found = ProfileMeans::new(profiles.clone(), known.map(|gene| gene as u32).to_vec(), &vectors);

        for (index, power) in POWERS.into_iter().enumerate() {
            let weight = |gene: usize, row: usize| {
                let similarity = |row: usize| {
                    let other = known[row];
                    let is_own = gene == other;
                    if is_own { 0.0 } else { dot(vectors.row(gene), vectors.row(other)).max(0.0).powi(power) }
                };
                similarity(row) / ((0..3).map(similarity).sum::<f32>() + 0.1_f32.powi(power))
            };
            let mean = |gene: usize, column: usize| -> f32 {
                (0..3).map(|row| weight(gene, row) * profiles.get(row, column)).sum()
            };
            let both: f32 = (0..3).map(|column| mean(0, column) * weight(2, column)).sum();
            let expected = [((0, 2), both), ((2, 3), mean(2, 1)), ((1, 4), 0.5 * (mean(1, 2) + mean(4, 0)))];
            for ((a, b), expected) in expected {
                for (a, b) in [(a, b), (b, a)] {
                    let found = found.of_pair(a, b).nth(index).unwrap();
                    assert!((found - expected).abs() < 1e-5, "{a} and {b}: {found}, expected {expected}");
                }
            }
        }
    }
}
