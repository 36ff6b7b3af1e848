//! Sentences about measured runs.

use super::range_not_interval;
use crate::units::percent;
use knockout_profile::{ComparisonWarning, RunFinding, RunWarning};
use knockout_stats::FEWEST_FOR_INTERVAL;

pub(crate) fn run_finding(finding: &RunFinding) -> String {
    match finding {
        RunFinding::LongestPhase { phase, share } => {
            format!("{phase} takes {} of a step, more than any other phase", percent(*share))
        }
        RunFinding::Data { share, background: None, .. } => format!(
            "making batches takes {} of a step; batches are made on the training thread, so threads ahead of it would hide some of this",
            percent(*share)
        ),
        RunFinding::Data { share, wait, background: Some(background) } => format!(
            "making batches takes {} of a step; {} of a step is wait time while background threads work for {background:.2} times its length",
            percent(*share),
            percent(*wait)
        ),
        RunFinding::Optimiser { share } => {
            format!("clipping and the optimiser take {} of a step", percent(*share))
        }
        RunFinding::IdleThreads { share, threads } => {
            format!("{} of the {threads} threads' time is not used by this process", percent(*share))
        }
    }
}

/// A warning as `code: sentence`.
pub(crate) fn run_warning(warning: &RunWarning) -> String {
    let sentence = match warning {
        RunWarning::FewSteps(steps) => format!("{steps} steps say little about the next one; measure more"),
        RunWarning::Untracked(share) => format!("{} of a step is in no phase", percent(*share)),
        RunWarning::Overlap(share) => {
            format!("phases sum to {} of the steps, so some overlap", percent(*share))
        }
        RunWarning::Unsteady(share) => format!(
            "the middle half of the steps differs by {} of the median; something else uses the machine",
            percent(*share)
        ),
        RunWarning::Profiler => {
            "spans were recorded meanwhile; compare only with runs that did the same".to_owned()
        }
    };
    format!("{}: {sentence}", warning.code())
}

/// A warning as `code: sentence`, with the side it is about.
pub(crate) fn run_comparison_warning(warning: &ComparisonWarning) -> String {
    match warning {
        ComparisonWarning::OfA(warning) => format!("a: {}", run_warning(warning)),
        ComparisonWarning::OfB(warning) => format!("b: {}", run_warning(warning)),
        ComparisonWarning::NoInterval(steps) => {
            format!("no_interval: {}", range_not_interval(*steps as u64, "steps", FEWEST_FOR_INTERVAL))
        }
    }
}
