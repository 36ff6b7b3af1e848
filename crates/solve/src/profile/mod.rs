//! Profiles: the residuals of the additive part over the grid, row by row or column by column, and their similarity.
//!
//! Genes of one pathway have similar profiles. Both parts of the stack that use them need many partners in common: a gene without
//! training records has no profile.

mod kernel;
mod neighbours;
mod similar;

use crate::additive_fit::AdditiveFit;
use crate::error::out_of_range;
use crate::grid::Grid;
use crate::matrix::{Matrix, product};
use crate::model::SolveObserver;
use crate::process::KernelFeatures;
use crate::tensor::Tensor;
use knockout_base::error::Error;
use knockout_data::cell::GeneSetsRef;
use rayon::prelude::*;
use serde::{Deserialize, Serialize};

pub(crate) use kernel::ProfileKernel;
pub(crate) use neighbours::{NeighbourTables, ProfileNeighbours};

/// Shared partners that halve a similarity: few partners agree by chance.
const HALVING_PARTNERS: f32 = 30.0;
/// Similarities up to this one count as 0.
const MIN_SIMILARITY: f32 = 0.1;
/// Genes times directions: all directions of up to 1,280 genes, and [`MIN_DIRECTIONS`] of 6,400 or more.
const DIRECTION_VALUES: usize = 1_280 * 1_280;
const MIN_DIRECTIONS: usize = 256;
const MAX_RANK: usize = 8_192;

/// Options of the parts that use profiles.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default = "ProfileOptions::earlier")]
pub struct ProfileOptions {
    /// Number of directions of the similarity of profiles in the profile kernel; 0 to let the number of genes decide.
    pub rank: usize,
    /// Maximum memory of the matrices, in MiB; screens that need more are solved without these parts and trees.
    pub memory_mib: usize,
}

impl Default for ProfileOptions {
    fn default() -> Self {
        Self { rank: 0, memory_mib: 4096 }
    }
}

impl ProfileOptions {
    /// Returns the options that configurations without them were written with.
    pub(crate) fn earlier() -> Self {
        Self { rank: MIN_DIRECTIONS, ..Self::default() }
    }

    pub(crate) fn check(&self) -> Result<(), Error> {
        if self.rank <= MAX_RANK {
            Ok(())
        } else {
            Err(out_of_range("profile.rank", &self.rank, "it must be from 0 to 8192"))
        }
    }

    /// Returns the number of directions for this many genes.
    fn directions(&self, genes: usize) -> usize {
        let directions =
            if self.rank > 0 { self.rank } else { (DIRECTION_VALUES / genes.max(1)).max(MIN_DIRECTIONS) };
        directions.min(genes)
    }

    /// Returns whether the matrices of a grid fit into the memory: at most four of its size, or of that of its similarities, at once.
    pub(crate) fn allows(&self, grid: &Grid) -> bool {
        let (rows, columns) = (grid.rows().len(), grid.columns().len());
        self.allows_values(2 * rows * columns + 2 * rows.max(columns).pow(2))
    }

    /// Returns whether the features of trees fit, too: the matrices above and two tables twice, because folds build their own, and the
    /// means of all `genes` of the cell.
    pub(crate) fn allows_trees(&self, grid: &Grid, genes: usize) -> bool {
        let known = grid.rows().len();
        self.allows_values(12 * known.pow(2) + 6 * known * genes)
    }

    fn allows_values(&self, values: usize) -> bool {
        values * size_of::<f32>() / (1 << 20) <= self.memory_mib
    }
}

/// The parts of a stack that use profiles.
#[derive(Debug, Clone, Default, PartialEq)]
pub(crate) struct ProfileParts {
    pub(crate) neighbours: Option<ProfileNeighbours>,
    /// Of screens of pairs alone.
    pub(crate) kernel: Option<ProfileKernel>,
}

/// Flags of the parts to build.
#[derive(Debug, Clone, Copy)]
pub(crate) struct WantedParts {
    pub(crate) neighbours: bool,
    pub(crate) kernel: bool,
}

impl ProfileParts {
    /// Computes the parts from the residuals of the training part. `networks` has the features of all genes in the networks.
    pub(crate) fn solve(
        options: &ProfileOptions,
        wanted: WantedParts,
        sets: GeneSetsRef<'_>,
        base: &AdditiveFit,
        networks: &KernelFeatures,
        observer: &mut dyn SolveObserver,
    ) -> Self {
        let grid = &base.grid;
        let is_kernel_possible = wanted.kernel && grid.is_symmetric();
        if !options.allows(grid) || grid.rows().is_empty() || !(wanted.neighbours || is_kernel_possible) {
            return Self::default();
        }
        let profiles = Profiles::new(grid, sets, &base.residuals, 1);
        if !grid.is_symmetric() {
            return Self {
                neighbours: Some(ProfileNeighbours::of_rows_and_columns(&profiles)),
                kernel: None,
            };
        }
        let similarities = profiles.similarities(ProfileSide::Rows);
        let features = is_kernel_possible.then(|| {
            let directions = options.directions(grid.rows().len());
            kernel::features(&similarities, &networks.of_genes(&grid.genes()), directions)
        });
        let neighbours = wanted.neighbours.then(|| ProfileNeighbours::of_pairs(profiles, similarities));
        let mut on_step = |step| observer.on_step("profile kernel", step);
        let kernel = features
            .map(|features| ProfileKernel::solve(features, grid, sets, &base.residuals, &mut on_step));
        Self { neighbours, kernel }
    }

    pub(crate) fn tensors(&self) -> Vec<Tensor> {
        let neighbours = self.neighbours.as_ref().map(ProfileNeighbours::tensor);
        let kernel = self.kernel.as_ref().map(ProfileKernel::tensors);
        neighbours.into_iter().chain(kernel.into_iter().flatten()).collect()
    }

    /// Loads the parts that a solution was stored with.
    pub(crate) fn load(tensors: &[Tensor], grid: &Grid) -> Result<Self, Error> {
        let kernel = ProfileKernel::load(tensors, grid)?;
        Ok(Self { neighbours: ProfileNeighbours::load(tensors, grid)?, kernel })
    }
}

/// The profiles that are compared.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum ProfileSide {
    Rows,
    Columns,
}

/// The residuals over the grid.
#[derive(Clone)]
pub(crate) struct Profiles {
    /// Rows by columns; 0 where nothing is measured.
    pub(crate) residuals: Matrix<f32>,
    /// 1 where something is measured, otherwise 0.
    pub(crate) is_measured: Matrix<f32>,
}

impl Profiles {
    /// Averages the residuals of each cell, over the rows and every k-th column of the grid.
    pub(crate) fn new(grid: &Grid, sets: GeneSetsRef<'_>, residuals: &[f64], column_stride: usize) -> Self {
        let columns = grid.columns().len().div_ceil(column_stride);
        let mut sums = Matrix::<f32>::zeros(grid.rows().len(), columns);
        let mut counts = sums.clone();
        for (set, &residual) in sets.iter().zip(residuals) {
            for (row, column) in grid.cells(set).iter().filter(|(_, column)| column % column_stride == 0) {
                let column = column / column_stride;
                sums.set(row, column, sums.get(row, column) + residual as f32);
                counts.set(row, column, counts.get(row, column) + 1.0);
            }
        }
        for (sum, count) in sums.values_mut().iter_mut().zip(counts.values_mut()) {
            if *count > 0.0 {
                *sum /= *count;
                *count = 1.0;
            }
        }
        Self { residuals: sums, is_measured: counts }
    }

    /// Returns the correlations (around 0) of profiles over the partners they share, shrunk if these are few; 0 on the diagonal.
    fn similarities(&self, of: ProfileSide) -> Matrix<f32> {
        let inner_products = |a: &Matrix<f32>, b: &Matrix<f32>| match of {
            ProfileSide::Rows => product(a, b.transposed()),
            ProfileSide::Columns => product(a.transposed(), b),
        };
        let mut squares = self.residuals.clone();
        squares.values_mut().iter_mut().for_each(|x| *x *= *x);
        // The squared norm of a profile over the partners of another one.
        let norms = inner_products(&squares, &self.is_measured);
        drop(squares);
        let mut similarities = inner_products(&self.residuals, &self.residuals);
        let size = similarities.columns();
        let rows = similarities.values_mut().par_chunks_exact_mut(size.max(1)).enumerate();
        rows.for_each(|(row, similarities)| {
            for (column, similarity) in similarities.iter_mut().enumerate() {
                let norm = (norms.get(row, column) * norms.get(column, row)).sqrt();
                *similarity = if norm > 0.0 && row != column { *similarity / norm } else { 0.0 };
            }
        });
        drop(norms);
        let shared = inner_products(&self.is_measured, &self.is_measured);
        let pairs = similarities.values_mut().par_iter_mut().zip(shared.values()).with_min_len(1 << 14);
        pairs.for_each(|(similarity, shared)| *similarity *= shared / (shared + HALVING_PARTNERS));
        similarities
    }
}

/// Raises similarities to a power; those up to [`MIN_SIMILARITY`] become 0.
fn raise(similarities: &mut Matrix<f32>, power: i32) {
    similarities.values_mut().par_iter_mut().with_min_len(1 << 14).for_each(|similarity| {
        *similarity = if *similarity > MIN_SIMILARITY { similarity.powi(power) } else { 0.0 };
    });
}

#[cfg(test)]
mod tests {
    use super::*;
    use knockout_base::random::Rng;
    use knockout_data::cell::GeneSets;

    /// Some pairs of 12 genes, one of them twice, and triples of three query pairs if they are wanted.
    fn records(with_triples: bool) -> (GeneSets, Vec<f64>) {
        let mut rng = Rng::new(0, "profiles");
        let mut sets = GeneSets::default();
        for b in 1..12_u32 {
            (0..b).filter(|_| rng.below(10) < 7).for_each(|a| sets.push(&[a, b]));
        }
        let first = sets.get(0).to_vec();
        sets.push(&first);
        if with_triples {
            for (a, b) in [(0, 1), (0, 2), (1, 4)] {
                (5..12_u32).for_each(|array| sets.push(&[a, b, array]));
            }
        }
        let residuals = (0..sets.len()).map(|_| 3.0 * rng.normal()).collect();
        (sets, residuals)
    }

    /// Residuals as nested lists: `None` where nothing is measured.
    fn dense(grid: &Grid, sets: &GeneSets, residuals: &[f64]) -> Vec<Vec<Option<f64>>> {
        let mut values: Vec<Vec<Vec<f64>>> = vec![vec![Vec::new(); grid.columns().len()]; grid.rows().len()];
        for (set, &residual) in sets.view().iter().zip(residuals) {
            grid.cells(set).iter().for_each(|(row, column)| values[row][column].push(residual));
        }
        let mean = |list: &Vec<f64>| (!list.is_empty()).then(|| list.iter().sum::<f64>() / list.len() as f64);
        values.iter().map(|row| row.iter().map(mean).collect()).collect()
    }

    fn transposed(rows: &[Vec<Option<f64>>]) -> Vec<Vec<Option<f64>>> {
        (0..rows[0].len()).map(|column| rows.iter().map(|row| row[column]).collect()).collect()
    }

    /// The definition of the similarity of two profiles.
    fn similarity(a: &[Option<f64>], b: &[Option<f64>]) -> f64 {
        let shared: Vec<(f64, f64)> = a.iter().zip(b).filter_map(|(a, b)| a.zip(*b)).collect();
        let sum = |of: &dyn Fn(&(f64, f64)) -> f64| shared.iter().map(of).sum::<f64>();
        let norm = (sum(&|(a, _)| a * a) * sum(&|(_, b)| b * b)).sqrt();
        let count = shared.len() as f64;
        if norm > 0.0 { sum(&|(a, b)| a * b) / norm * count / (count + 30.0) } else { 0.0 }
    }

    /// The mean over similar rows at each cell.
    fn neighbour_means(rows: &[Vec<Option<f64>>], power: i32) -> Vec<Vec<f64>> {
        let weight = |a: usize, b: usize| {
            let similarity = if a == b { 0.0 } else { similarity(&rows[a], &rows[b]) };
            if similarity > 0.1 { similarity.powi(power) } else { 0.0 }
        };
        let mean = |row: usize, column: usize| {
            let others = (0..rows.len()).filter_map(|other| Some((weight(row, other), rows[other][column]?)));
            let (sum, total) =
                others.fold((0.0, 1e-3), |(sum, total), (w, value)| (sum + w * value, total + w));
            sum / total
        };
        (0..rows.len()).map(|row| (0..rows[0].len()).map(|column| mean(row, column)).collect()).collect()
    }

    #[test]
    fn similarities_match_their_definition() {
        for with_triples in [false, true] {
            let (sets, residuals) = records(with_triples);
            let grid = Grid::from_sets(sets.view());
            assert_eq!(grid.is_symmetric(), !with_triples);
            let profiles = Profiles::new(&grid, sets.view(), &residuals, 1);
            let rows = dense(&grid, &sets, &residuals);
            let of_columns = transposed(&rows);
            for (found, expected) in [
                (profiles.similarities(ProfileSide::Rows), &rows),
                (profiles.similarities(ProfileSide::Columns), &of_columns),
            ] {
                for a in 0..expected.len() {
                    for b in 0..expected.len() {
                        let expected = if a == b { 0.0 } else { similarity(&expected[a], &expected[b]) };
                        assert!((f64::from(found.get(a, b)) - expected).abs() < 1e-5, "{a} {b}");
                    }
                }
            }
        }
    }

    #[test]
    fn neighbours_match_their_definition() {
        for with_triples in [false, true] {
            let (sets, residuals) = records(with_triples);
            let grid = Grid::from_sets(sets.view());
            let profiles = || Profiles::new(&grid, sets.view(), &residuals, 1);
            let general = ProfileNeighbours::of_rows_and_columns(&profiles());
            let found = if with_triples {
                general.clone()
            } else {
                ProfileNeighbours::of_pairs(profiles(), profiles().similarities(ProfileSide::Rows))
            };
            let rows = dense(&grid, &sets, &residuals);
            let (of_rows, of_columns) = (neighbour_means(&rows, 5), neighbour_means(&transposed(&rows), 5));
            let mut all: GeneSets = (1..12_u32)
                .flat_map(|b| (0..b).map(move |a| [a, b]))
                .collect::<Vec<_>>()
                .iter()
                .map(|set| &set[..])
                .collect();
            (5..12_u32).for_each(|array| all.push(&[0, 2, array]));
            for set in all.view().iter() {
                let entry =
                    |row: usize, column: usize| 0.5 * (of_rows[row][column] + of_columns[column][row]);
                let expected = grid.cells(set).mean(entry).unwrap_or(0.0);
                assert!((found.value(&grid, set) - expected).abs() < 1e-4, "{set:?}");
                assert!((general.value(&grid, set) - expected).abs() < 1e-4, "{set:?}");
                let similar = profiles().similar(&grid, set);
                let effects: f64 = similar.iter().map(|profile| profile.effect).sum();
                assert!((effects - expected).abs() < 1e-4, "{set:?}: {effects} {expected}");
                for profile in similar {
                    // The residual of a cell is the mean of its repeats.
                    let of_set: Vec<f64> = (0..sets.len())
                        .filter(|&row| sets.get(row) == profile.set)
                        .map(|row| residuals[row])
                        .collect();
                    assert!((knockout_base::stats::mean(&of_set) - profile.residual).abs() < 1e-5);
                    assert!(
                        profile.like.iter().all(|gene| set.contains(gene)) && profile.like != profile.genes
                    );
                }
            }
            // A gene without training records has no profile.
            assert_eq!(found.value(&grid, &[3, 40]), 0.0);
            let tensor = found.tensor();
            assert_eq!(ProfileNeighbours::load(std::slice::from_ref(&tensor), &grid).unwrap(), Some(found));
            let short = Tensor::vector(tensor.name, tensor.values[1..].to_vec());
            assert!(ProfileNeighbours::load(&[short], &grid).is_err());
        }
    }

    #[test]
    fn tables_of_neighbours_match_their_definition() {
        let (sets, residuals) = records(false);
        let grid = Grid::from_sets(sets.view());
        let found = NeighbourTables::new(&Profiles::new(&grid, sets.view(), &residuals, 1));
        let rows = dense(&grid, &sets, &residuals);
        let expected = neighbour_means(&rows, 3);
        for a in 0..rows.len() {
            for b in 0..rows.len() {
                let similarity = if a == b { 0.0 } else { similarity(&rows[a], &rows[b]) };
                assert!((f64::from(found.similarities.get(a, b)) - similarity).abs() < 1e-5, "{a} {b}");
                assert!((f64::from(found.means.get(a, b)) - expected[a][b]).abs() < 1e-4, "{a} {b}");
            }
        }
    }

    #[test]
    fn small_screens_keep_all_directions() {
        let automatic = ProfileOptions::default();
        assert_eq!([40, 1_280, 2_000, 6_500].map(|genes| automatic.directions(genes)), [40, 1_280, 819, 256]);
        let chosen = ProfileOptions { rank: 300, ..automatic };
        assert_eq!([40, 6_500].map(|genes| chosen.directions(genes)), [40, 300]);
        assert!(automatic.check().is_ok() && ProfileOptions { rank: 8_193, ..automatic }.check().is_err());
    }

    #[test]
    fn a_grid_beyond_the_memory_has_no_parts() {
        let (sets, residuals) = records(false);
        let grid = Grid::from_sets(sets.view());
        let options = |memory_mib| ProfileOptions { memory_mib, ..ProfileOptions::default() };
        assert!(options(1).allows(&grid));
        // 200 genes need 4 x 200 x 200 x 4 bytes: less than one MiB; 300 need more.
        let grid_of = |genes: u32| {
            let sets: Vec<[u32; 2]> = (1..genes).map(|gene| [0, gene]).collect();
            Grid::from_sets(sets.iter().map(|set| &set[..]).collect::<GeneSets>().view())
        };
        assert!(options(0).allows(&grid_of(200)) && !options(0).allows(&grid_of(300)));
        assert_eq!(residuals.len(), sets.len());
    }
}
