//! Profiler steps as values.

use super::warnings::outside_us;
use crate::attribute::FileSums;
use crate::attribute::steps::ProfilerStep;
use crate::collect::id::StepId;
use crate::findings::{Limit, StepFindings, StepSpan, TimeParts, TimeShare, shares};
use knockout_base::stats::{median, share, us};
use std::collections::BTreeMap;

pub(crate) fn spans(file: &FileSums<'_>, steps: &[ProfilerStep]) -> Vec<StepSpan> {
    steps
        .iter()
        .map(|step| StepSpan {
            name: file.kind_name(step.kind).to_owned(),
            us: us(step.end - step.start),
            start_us: us(step.start - file.origin()),
        })
        .collect()
}

/// Returns the findings of all steps; `times` has the parts of each.
pub(crate) fn steps(file: &FileSums<'_>, times: &[TimeParts]) -> Vec<StepFindings> {
    let categories = file.rules.categories().len();
    let row = |sums: &[i64], index: usize| -> Vec<(String, f64)> {
        let cells = sums.get(index * categories..(index + 1) * categories).unwrap_or_default();
        let names = file.rules.categories().iter().map(|category| category.name.clone());
        names.zip(cells).map(|(name, nanos)| (name, us(*nanos))).collect()
    };
    spans(file, &file.steps.steps)
        .into_iter()
        .enumerate()
        .map(|(index, span)| {
            let host = row(&file.steps.host, index);
            let whole = host.iter().map(|(_, us)| us).sum();
            let time = times.get(index).copied().unwrap_or_default();
            StepFindings {
                parts: time,
                limit: limit(file, &time, &host),
                host: shares(host, whole),
                device: device_shares(row(&file.steps.device, index), span.us),
                name: span.name,
                us: span.us,
                start_us: span.start_us,
                slow: false,
                is_cut: false,
            }
        })
        .collect()
}

/// Returns the cause that takes most of a step. Without a device all time is the host's, and communication is the cause where no
/// category of host time is longer.
fn limit(file: &FileSums<'_>, time: &TimeParts, host: &[(String, f64)]) -> Limit {
    let (limit, ..) = time.limit(file.has_device());
    let is_other = |row: &&(String, f64)| !file.is_communication(&row.0);
    let longest = host.iter().filter(is_other).map(|(_, us)| *us).fold(0.0, f64::max);
    let communicates = time.communication_us > 0.0 && time.communication_us >= longest;
    if limit == Limit::Operations && communicates { Limit::Communication } else { limit }
}

/// A step has been cut if this share of it is operators outside any phase, and so many times that of the median step.
const CUT: f64 = 0.10;
const CUT_FACTOR: f64 = 4.0;

/// Marks the first and the last step where they lack spans around their operators that the other steps have, and the last step of a file
/// that ends early.
pub(crate) fn mark_cut(file: &FileSums<'_>, steps: &mut [StepFindings]) {
    mark_without_spans(file, steps);
    if let Some(last) = steps.last_mut().filter(|_| file.outcome.damage.is_some()) {
        last.is_cut = true;
    }
}

fn mark_without_spans(file: &FileSums<'_>, steps: &mut [StepFindings]) {
    let share_outside = |step: &StepFindings| share(outside_us(file, step), step.us);
    let shares: Vec<f64> = steps.iter().map(share_outside).collect();
    let ([first, _, .., last], Some(usual)) = (steps, median(&shares)) else { return };
    for step in [first, last] {
        step.is_cut = share_outside(step) > CUT.max(CUT_FACTOR * usual);
    }
}

fn device_shares(rows: Vec<(String, f64)>, step_us: f64) -> Vec<TimeShare> {
    let mut out = shares(rows, 0.0);
    for row in &mut out {
        row.share = share(row.us, step_us);
    }
    out
}

/// Self time by name and step: host time inside the step, device time launched from it.
///
/// Only steps that have any are listed: every step has a name of its own, and a table of names by steps would grow with the square.
pub(crate) fn by_name(file: &FileSums<'_>) -> BTreeMap<String, Vec<(u32, f64)>> {
    if file.steps.pairs_full {
        return BTreeMap::new();
    }
    let mut sums: BTreeMap<&str, BTreeMap<StepId, i64>> = BTreeMap::new();
    // Sums of integers do not depend on the order.
    for (step, kind, nanos) in file.steps.pairs() {
        *sums.entry(file.kind_name(kind)).or_default().entry(step).or_default() += nanos;
    }
    let row = |row: BTreeMap<StepId, i64>| {
        row.into_iter().map(|(step, nanos)| (step.index() as u32, us(nanos))).collect()
    };
    sums.into_iter().map(|(name, sums)| (name.to_owned(), row(sums))).collect()
}
