//! Ranks beside each other: who makes the others wait.

use crate::findings::FileFindings;
use crate::findings::standout::{Source, Standout};
use knockout_stats::{median, share};
use serde::Serialize;

/// A rank is named when it is slower than the median by this part.
const STRAGGLES: f64 = 0.05;

/// Several ranks' steps and totals side by side.
#[derive(Debug, Clone, Serialize)]
pub struct Stragglers {
    /// One row per file.
    pub ranks: Vec<RankRow>,
    /// Steps that all ranks have.
    pub steps: Vec<StepRow>,
    /// What stands out.
    #[serde(skip)]
    pub verdict: Option<Standout>,
}

/// One rank.
#[derive(Debug, Clone, Serialize)]
pub struct RankRow {
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
    /// In how many steps it was the slowest.
    pub slowest_in: usize,
}

/// One step over the ranks.
#[derive(Debug, Clone, Serialize, PartialEq)]
pub struct StepRow {
    /// Name of the step: `ProfilerStep#…`.
    pub name: String,
    /// Length on each rank, in the order of `ranks`.
    pub us: Vec<f64>,
    /// The slowest rank (its place in `ranks` where the file names none).
    pub slowest_rank: i64,
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
        if let Some(count) = slowest_in.get_mut(slowest) {
            *count += 1;
        }
        let longest = us.iter().copied().fold(f64::MIN, f64::max);
        let shortest = us.iter().copied().fold(f64::MAX, f64::min);
        let name = step.name.clone();
        steps.push(StepRow { name, us, slowest_rank: rank_of(slowest), spread_us: longest - shortest });
    }
    let ranks: Vec<RankRow> = files
        .iter()
        .zip(&slowest_in)
        .map(|(f, slowest_in)| RankRow {
            file: f.file.clone(),
            rank: f.rank,
            median_step_us: f.step_summary.as_ref().map(|summary| summary.median_us),
            compute_us: f.gpu.as_ref().map(|gpu| gpu.times.compute_us),
            communication_us: f.gpu.as_ref().map(|gpu| gpu.times.communication_us),
            slowest_in: *slowest_in,
        })
        .collect();
    let verdict = verdict(&ranks, &steps);
    Some(Stragglers { ranks, steps, verdict })
}

fn us_at(us: &[f64], index: usize) -> f64 {
    us.get(index).copied().unwrap_or(0.0)
}

fn verdict(ranks: &[RankRow], steps: &[StepRow]) -> Option<Standout> {
    let compute: Vec<f64> = ranks.iter().filter_map(|rank| rank.compute_us).collect();
    let is_compute = compute.len() == ranks.len();
    let median_steps = || ranks.iter().filter_map(|rank| rank.median_step_us).collect();
    let values = if is_compute { compute } else { median_steps() };
    if values.len() != ranks.len() {
        return None;
    }
    let median_us = median(&values)?;
    let slowest = (0..values.len()).max_by(|&a, &b| us_at(&values, a).total_cmp(&us_at(&values, b)))?;
    let (row, us) = (ranks.get(slowest)?, us_at(&values, slowest));
    let excess = share(us - median_us, median_us);
    (excess > STRAGGLES).then(|| Standout::Straggler {
        source: Source::of(row.rank, &row.file),
        is_compute,
        us,
        median_us,
        excess,
        slowest_in: row.slowest_in,
        steps: steps.len(),
    })
}
