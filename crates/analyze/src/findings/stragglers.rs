//! Comparison of ranks: the one that makes the others wait.

use crate::findings::FileFindings;
use crate::findings::finding::{FindingSource, TraceFinding};
use knockout_base::stats::{median, share};
use serde::Serialize;

/// A rank is the slowest in a step when the next one is shorter by more than this part: clocks differ by less.
const SLOWEST: f64 = 0.01;
/// A rank is named when it is slower than the median by this part.
const STRAGGLES: f64 = 0.05;

/// Several ranks' steps and totals side by side.
#[derive(Debug, Clone, Serialize)]
pub struct Stragglers {
    /// One row per file.
    pub ranks: Vec<StragglerRow>,
    /// Steps that all ranks have.
    pub steps: Vec<StepRow>,
    /// Findings that stand out.
    #[serde(skip)]
    pub finding: Option<TraceFinding>,
}

/// One rank.
#[derive(Debug, Clone, Serialize)]
pub struct StragglerRow {
    /// Label of the file.
    pub file: String,
    /// `distributedInfo.rank` of the file.
    pub rank: Option<i64>,
    /// Median length of a step.
    pub median_step_us: Option<f64>,
    /// Device time in computation.
    pub compute_us: Option<f64>,
    /// Device time in communication; the rank that waits least communicates least.
    pub communication_us: Option<f64>,
    /// In how many steps it was the slowest, by more than one per cent.
    pub slowest_in: usize,
}

/// One step over the ranks.
#[derive(Debug, Clone, Serialize, PartialEq)]
pub struct StepRow {
    /// Name of the step: `ProfilerStep#…`.
    pub name: String,
    /// Length on each rank, in the order of `ranks`.
    pub us: Vec<f64>,
    /// The slowest rank (its index in `ranks` where the file names none).
    pub slowest_rank: i64,
    /// Whether it is longer than the next by more than one per cent.
    pub is_clear: bool,
    /// Longest minus shortest length in microseconds.
    pub spread_us: f64,
}

/// `None` for less than two files.
pub(crate) fn of(files: &[FileFindings]) -> Option<Stragglers> {
    if files.len() < 2 {
        return None;
    }
    let rank_of = |index: usize| files.get(index).and_then(|f| f.rank).unwrap_or(index as i64);
    let mut steps = Vec::new();
    let mut slowest_in = vec![0_usize; files.len()];
    for step in files.first().into_iter().flat_map(|f| &f.steps) {
        let lengths: Option<Vec<f64>> = files
            .iter()
            .map(|f| f.steps.iter().find(|other| other.name == step.name).map(|other| other.us))
            .collect();
        let Some(us) = lengths else { continue };
        let slowest = (0..us.len()).max_by(|&a, &b| us_at(&us, a).total_cmp(&us_at(&us, b)).then(b.cmp(&a)));
        let Some(slowest) = slowest else { continue };
        let longest = us_at(&us, slowest);
        let others = us.iter().enumerate().filter(|(place, _)| *place != slowest).map(|(_, us)| *us);
        let next = others.fold(f64::MIN, f64::max);
        let is_clear = longest > next * (1.0 + SLOWEST);
        if let Some(count) = slowest_in.get_mut(slowest) {
            *count += usize::from(is_clear);
        }
        let shortest = us.iter().copied().fold(f64::MAX, f64::min);
        let name = step.name.clone();
        steps.push(StepRow {
            name,
            us,
            slowest_rank: rank_of(slowest),
            is_clear,
            spread_us: longest - shortest,
        });
    }
    let ranks: Vec<StragglerRow> = files
        .iter()
        .zip(&slowest_in)
        .map(|(f, slowest_in)| StragglerRow {
            file: f.file.clone(),
            rank: f.rank,
            median_step_us: f.step_summary.as_ref().map(|summary| summary.median_us),
            compute_us: f.gpu.as_ref().map(|gpu| gpu.times.compute_us),
            communication_us: f.gpu.as_ref().map(|gpu| gpu.times.communication_us),
            slowest_in: *slowest_in,
        })
        .collect();
    let finding = straggler(&ranks, &steps);
    Some(Stragglers { ranks, steps, finding })
}

fn us_at(us: &[f64], index: usize) -> f64 {
    us.get(index).copied().unwrap_or(0.0)
}

fn straggler(ranks: &[StragglerRow], steps: &[StepRow]) -> Option<TraceFinding> {
    let compute: Vec<f64> = ranks.iter().filter_map(|rank| rank.compute_us).collect();
    let is_compute = compute.len() == ranks.len();
    let median_steps = || ranks.iter().filter_map(|rank| rank.median_step_us).collect();
    let values = if is_compute { compute } else { median_steps() };
    if values.len() != ranks.len() {
        return None;
    }
    let slowest = (0..values.len()).max_by(|&a, &b| us_at(&values, a).total_cmp(&us_at(&values, b)))?;
    // The median of two is between them: the other is what to compare with.
    let other = (ranks.len() == 2).then(|| 1 - slowest);
    let median_us = match other {
        Some(other) => us_at(&values, other),
        None => median(&values)?,
    };
    let (row, us) = (ranks.get(slowest)?, us_at(&values, slowest));
    let excess = share(us - median_us, median_us);
    let per_step = if is_compute { steps.len() } else { 1 };
    (excess > STRAGGLES).then(|| TraceFinding::Straggler {
        source: FindingSource::of(row.rank, &row.file),
        against: other.and_then(|other| ranks.get(other)).map(|row| FindingSource::of(row.rank, &row.file)),
        is_compute,
        us,
        median_us,
        excess,
        step_us: (per_step > 0).then(|| (us - median_us) / per_step as f64),
        slowest_in: row.slowest_in,
        steps: steps.len(),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn row(rank: i64, compute_us: f64) -> StragglerRow {
        StragglerRow {
            file: String::new(),
            rank: Some(rank),
            median_step_us: Some(100.0),
            compute_us: Some(compute_us),
            communication_us: None,
            slowest_in: 0,
        }
    }

    #[test]
    fn of_two_ranks_each_is_compared_with_the_other() {
        let step = |name: &str| StepRow {
            name: name.to_owned(),
            us: vec![],
            slowest_rank: 1,
            is_clear: false,
            spread_us: 0.0,
        };
        let steps = [step("1"), step("2")];
        let two = straggler(&[row(0, 100.0), row(1, 150.0)], &steps).unwrap();
        let TraceFinding::Straggler { against, median_us, excess, step_us, .. } = two else {
            panic!("{two:?}")
        };
        assert_eq!(against, Some(FindingSource::Rank(0)));
        assert_eq!((median_us, excess, step_us), (100.0, 0.5, Some(25.0)));
        let three = straggler(&[row(0, 100.0), row(1, 150.0), row(2, 110.0)], &steps).unwrap();
        let TraceFinding::Straggler { against, median_us, .. } = three else { panic!("{three:?}") };
        assert_eq!((against, median_us), (None, 110.0));
    }
}
