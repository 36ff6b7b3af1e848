//! Named parts of a whole.

use knockout_base::stats::share;
use serde::Serialize;

/// A named part of a whole.
#[derive(Debug, Clone, Serialize, PartialEq)]
pub struct TimeShare {
    /// Name of the part.
    pub name: String,
    /// Time in microseconds.
    pub us: f64,
    /// Fraction of the whole, from 0 to 1.
    pub share: f64,
}

/// Returns the sum; without values it is 0, where that of the standard library is -0.
pub(crate) fn sum(values: impl IntoIterator<Item = f64>) -> f64 {
    values.into_iter().fold(0.0, |sum, value| sum + value)
}

/// Returns named parts as shares of a whole, largest first, without empty ones.
pub(crate) fn shares(rows: Vec<(String, f64)>, whole: f64) -> Vec<TimeShare> {
    let mut out: Vec<TimeShare> = rows
        .into_iter()
        .filter(|(_, us)| *us != 0.0)
        .map(|(name, us)| TimeShare { name, us, share: share(us, whole) })
        .collect();
    out.sort_by(|a, b| b.us.total_cmp(&a.us).then_with(|| a.name.cmp(&b.name)));
    out
}
