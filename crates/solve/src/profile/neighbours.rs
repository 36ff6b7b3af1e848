//! Profile neighbours: the mean residual of the most similar profiles at the same partner.
//!
//! Nearest neighbours over interaction profiles are the usual imputation of epistatic miniarray profiles (Ulitsky et al. 2009, Ryan et
//! al. 2010, Žitnik and Zupan 2015). All profiles count, weighted by a high power of their similarity.

use super::{ProfileSide, Profiles, raise};
use crate::error::bad_tensor;
use crate::grid::Grid;
use crate::matrix::{Matrix, product};
use crate::tensor::{Tensor, find, has};
use knockout_base::error::Error;

/// The power of the similarity that weights a neighbour.
pub(super) const POWER: i32 = 5;
/// The power of the means that trees see in addition: more profiles count.
const LOWER_POWER: i32 = 3;
/// Weight of the residual 0, to which means of few neighbours shrink.
pub(super) const PRIOR_WEIGHT: f32 = 1e-3;
const VALUES: &str = "profile_neighbours.values";

/// The expected residual of every cell of the grid.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct ProfileNeighbours {
    values: Vec<f32>,
    shape: TableShape,
}

/// The order of the stored cells.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum TableShape {
    /// The cells below the diagonal of a symmetric grid, row by row.
    Triangle,
    /// All cells, row by row, with the number of columns.
    Rectangle(usize),
}

impl TableShape {
    fn of(grid: &Grid) -> Self {
        if grid.is_symmetric() { Self::Triangle } else { Self::Rectangle(grid.columns().len()) }
    }

    /// Returns the number of cells of a grid.
    fn len(self, grid: &Grid) -> usize {
        match self {
            Self::Triangle => grid.rows().len() * grid.rows().len().saturating_sub(1) / 2,
            Self::Rectangle(columns) => grid.rows().len() * columns,
        }
    }

    /// Returns the index of a cell; a symmetric grid has none on its diagonal.
    fn index(self, row: usize, column: usize) -> usize {
        match self {
            Self::Triangle => {
                let (low, high) = (row.min(column), row.max(column));
                high * (high.max(1) - 1) / 2 + low
            }
            Self::Rectangle(columns) => row * columns + column,
        }
    }
}

impl ProfileNeighbours {
    /// Computes the means of symmetric profiles from their similarities.
    pub(super) fn of_pairs(profiles: Profiles, similarities: Matrix<f32>) -> Self {
        let means = row_means(profiles, &weights(similarities));
        let cells = (0..means.rows()).flat_map(|row| (0..row).map(move |column| (row, column)));
        let values = cells.map(|(row, column)| 0.5 * (means.get(row, column) + means.get(column, row)));
        Self { values: values.collect(), shape: TableShape::Triangle }
    }

    /// Computes the means over similar rows and over similar columns, and averages both.
    pub(super) fn of_rows_and_columns(profiles: &Profiles) -> Self {
        let Profiles { residuals, is_measured } = profiles;
        let mean = |sums: &Matrix<f32>, totals: &Matrix<f32>| -> Vec<f32> {
            let cells = sums.values().iter().zip(totals.values());
            cells.map(|(sum, total)| sum / (total + PRIOR_WEIGHT)).collect()
        };
        let of_rows = weights(profiles.similarities(ProfileSide::Rows));
        let mut values = mean(&product(&of_rows, residuals), &product(&of_rows, is_measured));
        drop(of_rows);
        let of_columns = weights(profiles.similarities(ProfileSide::Columns));
        let others = mean(&product(residuals, &of_columns), &product(is_measured, &of_columns));
        values.iter_mut().zip(others).for_each(|(value, other)| *value = 0.5 * (*value + other));
        Self { values, shape: TableShape::Rectangle(residuals.columns()) }
    }

    /// Returns the expected residual of a set; 0 for sets without a cell.
    pub(crate) fn value(&self, grid: &Grid, set: &[u32]) -> f64 {
        let entry = |row: usize, column: usize| f64::from(self.values[self.shape.index(row, column)]);
        grid.cells(set).mean(entry).unwrap_or(0.0)
    }

    pub(crate) fn tensor(&self) -> Tensor {
        Tensor::vector(VALUES, self.values.clone())
    }

    /// Loads the table; `None` if the solution was stored without it.
    pub(crate) fn load(tensors: &[Tensor], grid: &Grid) -> Result<Option<Self>, Error> {
        if !has(tensors, VALUES) {
            return Ok(None);
        }
        let (values, shape) = (find(tensors, VALUES)?.values.clone(), TableShape::of(grid));
        if values.len() == shape.len(grid) {
            Ok(Some(Self { values, shape }))
        } else {
            Err(bad_tensor(VALUES))
        }
    }
}

/// Features of known genes from their profiles, which trees see.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct NeighbourTables {
    /// Similarities of the profiles.
    pub(crate) similarities: Matrix<f32>,
    /// The mean residual of the profiles that are similar to a row, at each column, weighted by a lower power than the part's.
    pub(crate) means: Matrix<f32>,
}

impl NeighbourTables {
    /// Computes the tables of symmetric profiles.
    pub(crate) fn new(profiles: &Profiles) -> Self {
        let similarities = profiles.similarities(ProfileSide::Rows);
        let mut weights = similarities.clone();
        raise(&mut weights, LOWER_POWER);
        Self { means: row_means(profiles.clone(), &weights), similarities }
    }
}

/// Returns the weighted mean over other rows at every column.
fn row_means(profiles: Profiles, weights: &Matrix<f32>) -> Matrix<f32> {
    let Profiles { residuals, is_measured } = profiles;
    let totals = product(weights, &is_measured);
    drop(is_measured);
    let mut means = product(weights, &residuals);
    let values = means.values_mut().iter_mut().zip(totals.values());
    values.for_each(|(mean, total)| *mean /= total + PRIOR_WEIGHT);
    means
}

fn weights(mut similarities: Matrix<f32>) -> Matrix<f32> {
    raise(&mut similarities, POWER);
    similarities
}
