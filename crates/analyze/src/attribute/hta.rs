//! The clock and the cut of Holistic Trace Analysis 0.5.0, repeated on purpose so that its figures can be compared.
//!
//! Defines how HTA rounds times and which rows it keeps; [`crate::attribute::gpu`] computes the figures.

use crate::collect::StepEvent;
use crate::collect::kind::Kind;
use std::collections::BTreeSet;

/// HTA's view of one file.
#[derive(Debug, Clone)]
pub(crate) struct Hta {
    /// Some `ts` is fractional, so all times are rounded inwards to whole microseconds, in `f64`.
    pub(crate) fractional: bool,
    /// Host rows from here on are dropped (HTA's clock), if there is more than one step name.
    pub(crate) cut: Option<i64>,
    /// `cut` by the exact clock; the largest number when nothing is dropped.
    dropped_from: i64,
    pub(crate) trimmed: bool,
    pub(crate) step_names: usize,
    /// Distinct step numbers, rising.
    pub(crate) iterations: Vec<i64>,
    /// Where a host row belongs to the first step, by the exact clock; few intervals, `start <= t < end`.
    first_step: Vec<(i64, i64)>,
}

impl Hta {
    pub(crate) fn new(
        fractional_starts: u64,
        steps: &[StepEvent],
        kinds: &[Kind],
        name: impl Fn(&Kind) -> String,
    ) -> Self {
        let mut hta = Self {
            fractional: fractional_starts > 0,
            cut: None,
            dropped_from: i64::MAX,
            trimmed: false,
            step_names: 0,
            iterations: Vec::new(),
            first_step: Vec::new(),
        };
        let mut names = BTreeSet::new();
        let mut numbered: Vec<(i64, i64, i64)> = Vec::new();
        for step in steps {
            let Some(kind) = kinds.get(step.kind.index()) else { continue };
            if !kind.is(Kind::HAS_CATEGORY) {
                continue;
            }
            if kind.is(Kind::HTA_STEP) {
                names.insert(kind.name);
                if !step.device_row {
                    hta.cut = hta.cut.max(Some(hta.start(step.start)));
                }
            }
            if let Some(number) = step_number(&name(kind)) {
                numbered.push((hta.start(step.start), hta.end(step.start, step.duration), number));
            }
        }
        hta.step_names = names.len();
        hta.trimmed = names.len() > 1;
        let all: BTreeSet<i64> = numbered.iter().map(|&(_, _, number)| number).collect();
        hta.iterations = all.into_iter().collect();
        let first = hta.iterations.first().map(|&first| intervals_of(first, &numbered)).unwrap_or_default();
        hta.first_step = first.into_iter().map(|(from, to)| (hta.exact(from), hta.exact(to))).collect();
        if let Some(cut) = hta.cut.filter(|_| hta.trimmed) {
            hta.dropped_from = hta.exact(cut);
        }
        hta
    }

    /// HTA's start of an event, in nanoseconds.
    #[inline]
    pub(crate) fn start(&self, start: i64) -> i64 {
        if self.fractional { (micros(start).ceil() as i64).saturating_mul(1000) } else { start }
    }

    /// HTA's end, which may lie before its start.
    #[inline]
    pub(crate) fn end(&self, start: i64, duration: i64) -> i64 {
        if self.fractional {
            ((micros(start) + micros(duration)).floor() as i64).saturating_mul(1000)
        } else {
            start.saturating_add(duration)
        }
    }

    /// The first instant of the exact clock at which HTA's shows `wanted` or later; rounding never turns two
    /// instants around, so this is a search.
    fn exact(&self, wanted: i64) -> i64 {
        let (mut before, mut after) = (wanted.saturating_sub(4000), wanted.saturating_add(4000));
        while before < after {
            let middle = before + (after - before) / 2;
            if self.start(middle) >= wanted { after = middle } else { before = middle + 1 }
        }
        before
    }

    /// Whether a host row that begins then is kept.
    #[inline]
    pub(crate) fn keeps_host_row(&self, start: i64) -> bool {
        start < self.dropped_from
    }

    /// Whether a row that begins then belongs to the first step.
    #[inline]
    pub(crate) fn in_first_step(&self, start: i64) -> bool {
        self.first_step.iter().any(|&(from, to)| from <= start && start < to)
    }
}

/// The microseconds HTA reads from the text: the nearest `f64` to the decimal number.
#[inline]
fn micros(nanos: i64) -> f64 {
    nanos.div_euclid(1000) as f64 + nanos.rem_euclid(1000) as f64 / 1000.0
}

/// The number in `ProfilerStep#12` or `ProfilerStep # 12`.
fn step_number(name: &str) -> Option<i64> {
    let rest = name.strip_prefix("ProfilerStep")?.trim_start().strip_prefix('#')?.trim_start();
    let digits = rest.split(|c: char| !c.is_ascii_digit()).next()?;
    digits.parse().ok()
}

/// Where step `wanted` is the last in file order to cover an instant.
fn intervals_of(wanted: i64, steps: &[(i64, i64, i64)]) -> Vec<(i64, i64)> {
    let mut edges: Vec<i64> = steps.iter().flat_map(|&(from, to, _)| [from, to]).collect();
    edges.sort_unstable();
    edges.dedup();
    let owner =
        |at: i64| steps.iter().rev().find(|&&(from, to, _)| from <= at && at < to).map(|&(_, _, n)| n);
    // Thousands of steps would make this slow; then only the wanted ones are looked at.
    let mine: Vec<(i64, i64)> =
        steps.iter().filter(|&&(_, _, n)| n == wanted).map(|&(from, to, _)| (from, to)).collect();
    let near = |at: i64| mine.iter().any(|&(from, to)| from <= at && at < to);
    edges
        .windows(2)
        .filter_map(|edge| match edge {
            &[from, to] if near(from) && owner(from) == Some(wanted) => Some((from, to)),
            _ => None,
        })
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn times_are_rounded_as_float64_rounds_them() {
        let hta = Hta::new(1, &[], &[], |_| String::new());
        assert_eq!(hta.start(1500), 2000);
        assert_eq!(hta.end(1500, 700), 2000);
        assert_eq!(hta.end(1100, 200), 1000, "shorter than a microsecond: it ends before it starts");
        // 1712195495519689.047 is not a float64; the nearest one is whole.
        assert_eq!(hta.start(1_712_195_495_519_689_047), 1_712_195_495_519_689_000);
    }

    #[test]
    fn an_instant_of_its_clock_is_found_on_the_exact_one() {
        for fractional in [false, true] {
            let hta = Hta::new(u64::from(fractional), &[], &[], |_| String::new());
            for wanted in [0, 5000, 1_712_195_495_519_689_000, -7000] {
                let exact = hta.exact(wanted);
                assert!(hta.start(exact) >= wanted && hta.start(exact - 1) < wanted, "{fractional} {wanted}");
            }
        }
    }

    #[test]
    fn step_numbers_are_read_from_names() {
        assert_eq!(step_number("ProfilerStep#552"), Some(552));
        assert_eq!(step_number("ProfilerStep # 7 x"), Some(7));
        assert_eq!(step_number("ProfilerStep"), None);
    }
}
