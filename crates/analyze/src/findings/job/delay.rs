//! The reason why a rank arrives late: the work on which it spends more time than the others before a collective.

use crate::collect::rules::Role;
use crate::findings::finding::{Delay, DelayCause};
use crate::findings::{FileFindings, StepFindings, TimeShare};
use knockout_base::stats::median;
use std::collections::{BTreeMap, BTreeSet};

/// A cause explains at least this part of the delay; smaller ones are not named.
const EXPLAINS: f64 = 0.25;

/// Returns the cause of most of a rank's delay in the steps of these indices; `None` without a cause of at least a quarter of
/// `delay_us` per step.
pub(super) fn of(
    files: &[FileFindings],
    corrections: &[i64],
    late: usize,
    steps: &BTreeSet<usize>,
    delay_us: f64,
) -> Option<Delay> {
    let mut sums: BTreeMap<DelayCause, f64> = BTreeMap::new();
    let own = files.get(late)?;
    let others =
        || files.iter().zip(corrections).enumerate().filter(|(index, _)| *index != late).map(|(_, of)| of);
    for &index in steps {
        let Some(step) = own.steps.get(index) else { continue };
        let same: Vec<(&FileFindings, &StepFindings, i64)> = others()
            .filter_map(|(file, correction)| Some((file, file.steps.get(index)?, *correction)))
            .collect();
        let middle = |value: &dyn Fn(&StepFindings) -> f64| {
            median(&same.iter().map(|(_, step, _)| value(step)).collect::<Vec<_>>()).unwrap_or(0.0)
        };
        let begin = |file: &FileFindings, step: &StepFindings, correction: i64| {
            (start_nanos(file, step) - correction) as f64 / 1000.0
        };
        let begins: Vec<f64> =
            same.iter().map(|(file, step, correction)| begin(file, step, *correction)).collect();
        let correction = corrections.get(late).copied().unwrap_or(0);
        let late_start = begin(own, step, correction) - median(&begins).unwrap_or(0.0);
        *sums.entry(DelayCause::LateStart).or_default() += late_start;
        let works = |row: &&TimeShare| {
            let role = own.role_of(&row.name);
            !role.is_wait() && role != Role::Communication
        };
        for row in step.host.iter().filter(works) {
            let more = row.us - middle(&|other| us_of(&other.host, &row.name));
            *sums.entry(DelayCause::Host(row.name.clone())).or_default() += more;
        }
        for row in step.device.iter().filter(works) {
            let more = row.us - middle(&|other| us_of(&other.device, &row.name));
            *sums.entry(DelayCause::Device(row.name.clone())).or_default() += more;
        }
    }
    let count = steps.len().max(1) as f64;
    let most = sums.into_iter().max_by(|a, b| a.1.total_cmp(&b.1))?;
    let delay = Delay { cause: most.0, us: most.1 / count };
    (delay.us > EXPLAINS * delay_us).then_some(delay)
}

fn us_of(rows: &[TimeShare], name: &str) -> f64 {
    rows.iter().find(|row| row.name == name).map_or(0.0, |row| row.us)
}

/// Start of a step on the clock of its rank.
pub(super) fn start_nanos(file: &FileFindings, step: &StepFindings) -> i64 {
    file.window_nanos.map_or(0, |(first, _)| first) + (step.start_us * 1000.0).round() as i64
}
