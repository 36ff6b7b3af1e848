//! Sentences about measured runs.

use super::range_not_interval;
use crate::units::{duration_of_seconds, percent};
use knockout_analyze::profile::{Measured, NotCounted, RunComparisonWarning, RunFinding, RunWarning};
use knockout_base::stats::FEWEST_FOR_INTERVAL;

/// When a measurement was made, and how long it took.
pub(crate) fn measured_text(measured: &Measured) -> String {
    let date = measured.began.replace('T', " ").replace('Z', " UTC");
    format!("{date}, took {}", duration_of_seconds(measured.took_s))
}

pub(crate) fn run_finding(finding: &RunFinding) -> String {
    match finding {
        RunFinding::LongestPhase { phase, share, of_median } => {
            let step = if *of_median { "the median step" } else { "a step" };
            format!("{phase} takes {} of {step}, more than any other phase", percent(*share))
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
        RunFinding::IdleThreads { share, threads: 1 } => {
            format!("{} of the one thread's time is not used by this process", percent(*share))
        }
        RunFinding::IdleThreads { share, threads } => {
            format!("{} of the {threads} threads' time is not used by this process", percent(*share))
        }
    }
}

/// Returns why reads from memory are not counted, and what to do.
pub(crate) fn reads_not_counted(reason: &NotCounted) -> String {
    let another = "Name another event with --memory-event";
    match reason {
        NotCounted::Unsupported { event } => format!(
            "Not counted: perf cannot sample {event} here. Most virtual machines hide the counters of the hardware. {another}, or measure on a \
             machine where `perf stat -e cycles true` prints a number."
        ),
        NotCounted::Miscounts { event, counted } => format!(
            "Not counted: {event} counted {} of the bytes that a loop read from memory, so it does not count reads from memory. {another}.",
            percent(*counted)
        ),
        NotCounted::CountsCached { event, counted } => format!(
            "Not counted: {event} counted {} of the bytes that a loop read from a cache, so it does not count reads from memory alone. {another}.",
            percent(*counted)
        ),
    }
}

/// A warning as `code: sentence`.
pub(crate) fn run_warning(warning: &RunWarning) -> String {
    let sentence = match warning {
        RunWarning::FewSteps(1) => "one step is too few; measure more".to_owned(),
        RunWarning::Uneven(ratio) => format!(
            "the mean step takes {ratio:.1} times the median one, so a few steps were far longer than the others; means and shares are of all of them"
        ),
        RunWarning::FewSteps(steps) => format!("{steps} steps are too few; measure more"),
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
pub(crate) fn run_comparison_warning(warning: &RunComparisonWarning) -> String {
    match warning {
        RunComparisonWarning::OfA(warning) => format!("a: {}", run_warning(warning)),
        RunComparisonWarning::OfB(warning) => format!("b: {}", run_warning(warning)),
        RunComparisonWarning::NoInterval(steps) => {
            format!("no_interval: {}", range_not_interval(*steps as u64, "steps", FEWEST_FOR_INTERVAL))
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn one_thread_is_singular_and_an_outlier_is_reported() {
        let idle = run_finding(&RunFinding::IdleThreads { share: 0.5, threads: 1 });
        assert_eq!(idle, "50.0 % of the one thread's time is not used by this process");
        let longest = RunFinding::LongestPhase { phase: "forward".to_owned(), share: 0.4, of_median: true };
        assert_eq!(
            run_finding(&longest),
            "forward takes 40.0 % of the median step, more than any other phase"
        );
        assert!(run_warning(&RunWarning::Uneven(10.0)).starts_with("uneven: the mean step takes 10.0 times"));
    }
}
