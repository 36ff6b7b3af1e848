//! Profiler steps as values.

use super::{Parts, shares};
use crate::attribute::steps::Step;
use crate::findings::{Share, StepFindings, StepSpan, StepSummary};
use knockout_base::stats::{is_slow, median, quantile, share, us};
use std::collections::BTreeMap;

pub(crate) fn spans(parts: &Parts<'_>, steps: &[Step]) -> Vec<StepSpan> {
    steps
        .iter()
        .map(|step| StepSpan {
            name: parts.kind_name(step.kind).to_owned(),
            us: us(step.end - step.start),
            start_us: us(step.start - parts.origin()),
        })
        .collect()
}

pub(crate) fn steps(parts: &Parts<'_>) -> Vec<StepFindings> {
    let categories = parts.rules.categories().len();
    let row = |sums: &[i64], index: usize| -> Vec<(String, f64)> {
        let cells = sums.get(index * categories..(index + 1) * categories).unwrap_or_default();
        cells.iter().enumerate().map(|(c, nanos)| (parts.category_name(c).to_owned(), us(*nanos))).collect()
    };
    spans(parts, &parts.steps.steps)
        .into_iter()
        .enumerate()
        .map(|(index, span)| {
            let host = row(&parts.steps.host, index);
            let whole = host.iter().map(|(_, us)| us).sum();
            StepFindings {
                host: shares(host, whole),
                device: device_shares(row(&parts.steps.device, index), span.us),
                name: span.name,
                us: span.us,
                start_us: span.start_us,
                slow: false,
            }
        })
        .collect()
}

fn device_shares(rows: Vec<(String, f64)>, step_us: f64) -> Vec<Share> {
    let mut out = shares(rows, 0.0);
    for row in &mut out {
        row.share = share(row.us, step_us);
    }
    out
}

/// The steps together; marks the slow ones.
pub(crate) fn summary(steps: &mut [StepFindings]) -> Option<StepSummary> {
    let all: Vec<f64> = steps.iter().map(|step| step.us).collect();
    let middle = median(&all)?;
    for step in steps.iter_mut() {
        step.slow = is_slow(step.us, middle);
    }
    let mut by_length: Vec<&StepFindings> = steps.iter().collect();
    by_length.sort_by(|a, b| b.us.total_cmp(&a.us));
    Some(StepSummary {
        count: all.len(),
        median_us: middle,
        low_us: quantile(&all, 0.25)?,
        high_us: quantile(&all, 0.75)?,
        min_us: quantile(&all, 0.0)?,
        max_us: quantile(&all, 1.0)?,
        slowest: by_length.iter().take(3).map(|step| step.name.clone()).collect(),
    })
}

/// Self time by name and step: host time inside the step, device time launched from it.
///
/// Only steps that have any are listed: every step has a name of its own, and a table of names by steps would grow with the square.
pub(crate) fn by_name(parts: &Parts<'_>) -> BTreeMap<String, Vec<(u32, f64)>> {
    if parts.steps.pairs_full {
        return BTreeMap::new();
    }
    let mut sums: BTreeMap<&str, BTreeMap<u32, i64>> = BTreeMap::new();
    #[expect(clippy::iter_over_hash_type, reason = "adding integers: the order does not show")]
    for (key, (nanos, _)) in &parts.steps.pairs {
        let (step, kind) = ((key >> 32) as u32, *key as u32);
        *sums.entry(parts.kind_name(kind)).or_default().entry(step).or_default() += nanos;
    }
    let row = |row: BTreeMap<u32, i64>| row.into_iter().map(|(step, nanos)| (step, us(nanos))).collect();
    sums.into_iter().map(|(name, sums)| (name.to_owned(), row(sums))).collect()
}
