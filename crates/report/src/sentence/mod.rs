//! Sentences about findings, warnings and estimates. All prose about figures is written here; nothing is computed.

mod experiment;
mod run;
mod trace;

pub(crate) use experiment::{decision_texts, experiment_warning, headline, insight, next_step};
pub(crate) use run::{measured_text, reads_not_counted, run_comparison_warning, run_finding, run_warning};
pub(crate) use trace::{
    MOST_APART, answers, autograd_wait, bounds, cause_of, cut_files, job_notes, launches, limit_word,
    other_findings, sourced_finding, sourced_warning, trace_comparison_warning,
};
pub use trace::{trace_warning, trace_warnings};

use crate::units::count;
use knockout_base::stats::Estimate;

/// Formats an estimate with its interval in brackets; `text` formats one value.
pub(crate) fn estimate(estimate: &Estimate, text: impl Fn(f64) -> String) -> String {
    let Estimate { median, low, high, .. } = *estimate;
    match estimate.rounds {
        0 | 1 => text(median),
        _ if estimate.is_interval() => format!("{} ({} to {})", text(median), text(low), text(high)),
        _ => format!("{} (range {} to {})", text(median), text(low), text(high)),
    }
}

/// Formats that bounds are a range because there are too few observations.
fn range_not_interval(number: u64, what: &str, fewest: usize) -> String {
    format!("{} {what}: range, no interval; measure at least {fewest}", count(number))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_range_is_not_called_an_interval() {
        let spelt = |rounds: &[f64]| estimate(&Estimate::of(rounds), |value| format!("{value:.1}"));
        assert_eq!(spelt(&[1.0, 2.0, 3.0, 4.0, 5.0]), "3.0 (1.0 to 5.0)");
        assert_eq!(spelt(&[1.0, 2.0, 3.0]), "2.0 (range 1.0 to 3.0)");
        assert_eq!(spelt(&[1.0]), "1.0");
    }
}
