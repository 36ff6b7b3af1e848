//! Offsets between the clocks of the ranks, from collectives that end on all ranks at once.

use super::matching::Matched;
use serde::Serialize;

/// Fewest collectives to estimate an offset from.
const FEWEST: usize = 3;
/// Offsets below this are not corrected: ranks do not end a collective at the same nanosecond.
const SMALLEST_NANOS: i64 = 100_000;
/// An offset is corrected where it is this many times its own spread.
const SPREADS: i64 = 4;

/// Clock of a rank against the median of all ranks.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
pub struct ClockOffset {
    /// Microseconds by which the clock is ahead.
    pub us: f64,
    /// Median deviation of single collectives from it.
    pub spread_us: f64,
    /// Collectives it was estimated from.
    pub collectives: usize,
    /// Whether the times of the rank were corrected by it.
    pub is_corrected: bool,
}

/// Offset of every file in nanoseconds; `None` without enough collectives of all ranks.
pub(super) fn offsets(collectives: &[Matched], files: usize) -> Vec<Option<ClockOffset>> {
    let mut differences: Vec<Vec<i64>> = vec![Vec::new(); files];
    let usable =
        collectives.iter().filter(|found| found.kind.ends_together() && found.members.len() == files);
    for found in usable {
        let mut ends: Vec<i64> = found.members.iter().map(|member| member.end).collect();
        let Some(middle) = middle(&mut ends) else { continue };
        for member in &found.members {
            if let Some(list) = differences.get_mut(member.file) {
                list.push(member.end - middle);
            }
        }
    }
    differences.into_iter().map(offset).collect()
}

fn offset(mut differences: Vec<i64>) -> Option<ClockOffset> {
    if differences.len() < FEWEST {
        return None;
    }
    let nanos = middle(&mut differences)?;
    let mut deviations: Vec<i64> = differences.iter().map(|difference| (difference - nanos).abs()).collect();
    let spread = middle(&mut deviations)?;
    Some(ClockOffset {
        us: nanos as f64 / 1000.0,
        spread_us: spread as f64 / 1000.0,
        collectives: differences.len(),
        is_corrected: nanos.abs() >= SMALLEST_NANOS && nanos.abs() > SPREADS * spread,
    })
}

/// Lower median.
fn middle(list: &mut [i64]) -> Option<i64> {
    list.sort_unstable();
    list.get(list.len().checked_sub(1)? / 2).copied()
}

impl ClockOffset {
    /// Nanoseconds to subtract from the times of the rank.
    pub(super) fn correction_nanos(self) -> i64 {
        if self.is_corrected { (self.us * 1000.0).round() as i64 } else { 0 }
    }
}
