//! Statistics of measurements: the one module that estimates, ranks, correlates and compares series of numbers.
//!
//! Independent of steps, traces, models or files.

pub mod bootstrap;
mod compare;
mod correlation;
mod estimate;
mod quantile;
mod ranks;
mod units;

pub use compare::{ComparisonRow, DifferingCondition, Middle, sort_by_difference};
pub use correlation::{
    is_constant, mean, pearson, rows_with_target, spearman, sum, sum_of_squared_deviations,
};
pub use estimate::{Estimate, FEWEST_FOR_INTERVAL};
pub use quantile::{is_slow, median, quantile, relative_iqr};
use ranks::average_ranks;
pub use units::{share, us, us_wide};
