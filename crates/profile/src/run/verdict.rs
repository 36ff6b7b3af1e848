//! Sentences about what stands out in a run. Every one rests on a figure of this run and says it.

use super::profile::{RunProfile, RunVerdict};
use knockout_meter::StepPhase;
use knockout_stats::share;

/// Thresholds, as fractions.
const DATA: f64 = 0.15;
const IDLE_CORES: f64 = 0.50;
const OPTIMISER: f64 = 0.15;
const UNTRACKED: f64 = 0.05;
const UNSTEADY: f64 = 0.25;
/// Below this many steps a spread is a guess.
const FEW: u64 = 5;

fn percent(fraction: f64) -> String {
    format!("{:.1} %", 100.0 * fraction)
}

fn verdict(about: &str, figure: f64, text: String) -> RunVerdict {
    RunVerdict { about: about.to_owned(), figure, text }
}

/// What stands out, the strongest first; never empty, as some phase is always the longest.
pub(super) fn of(profile: &RunProfile) -> Vec<RunVerdict> {
    let mut out: Vec<RunVerdict> = [longest(profile), data(profile), optimiser(profile), idle_cores(profile)]
        .into_iter()
        .flatten()
        .collect();
    out.sort_by(|a, b| b.figure.total_cmp(&a.figure));
    out
}

fn longest(profile: &RunProfile) -> Option<RunVerdict> {
    let row = profile.phases.iter().max_by(|a, b| a.share.total_cmp(&b.share))?;
    let text = format!("{} takes {} of a step, more than any other phase", row.name, percent(row.share));
    Some(verdict("longest_phase", row.share, text))
}

fn data(profile: &RunProfile) -> Option<RunVerdict> {
    let shares = StepPhase::ALL
        .into_iter()
        .filter(|phase| phase.is_data())
        .map(|phase| profile.share_of(phase.name()));
    let figure: f64 = shares.sum();
    if figure <= DATA {
        return None;
    }
    let wait = profile.share_of(StepPhase::Wait.name());
    let how = if profile.background.is_empty() {
        "; batches are made on the training thread, so threads ahead of it would hide some of this".to_owned()
    } else {
        let behind: f64 = profile.background.iter().map(|row| row.share).sum();
        format!(
            "; {} of a step is waiting while threads behind it work for {:.2} times its length",
            percent(wait),
            behind
        )
    };
    Some(verdict("data", figure, format!("making batches takes {} of a step{how}", percent(figure))))
}

fn optimiser(profile: &RunProfile) -> Option<RunVerdict> {
    let figure = profile.share_of(StepPhase::Optimiser.name()) + profile.share_of(StepPhase::Clip.name());
    let text = || format!("clipping and the optimiser take {} of a step", percent(figure));
    (figure > OPTIMISER).then(|| verdict("optimiser", figure, text()))
}

fn idle_cores(profile: &RunProfile) -> Option<RunVerdict> {
    let busy = share(profile.cpu_s_per_step, profile.wall_s_per_step * profile.threads.max(1) as f64);
    let figure = 1.0 - busy;
    let text = || {
        format!("{} of the {} threads' time is not used by this process", percent(figure), profile.threads)
    };
    (profile.threads > 0 && figure > IDLE_CORES).then(|| verdict("idle_threads", figure, text()))
}

/// What to know before trusting the figures.
pub(super) fn warnings(profile: &RunProfile) -> Vec<String> {
    let mut out = Vec::new();
    if profile.steps < FEW {
        out.push(format!("few_steps: {} steps say little about the next one; measure more", profile.steps));
    }
    let untracked = profile.share_of(StepPhase::UNTRACKED);
    if untracked > UNTRACKED {
        out.push(format!("untracked: {} of a step is in no phase", percent(untracked)));
    }
    let tracked: f64 = profile.phases.iter().map(|row| row.share).sum();
    if tracked > 1.01 {
        out.push(format!("overlap: phases add up to {} of the steps, so some overlap", percent(tracked)));
    }
    let quartiles = profile.step.high_quartile_s - profile.step.low_quartile_s;
    if share(quartiles, profile.step.median_s) > UNSTEADY {
        out.push(format!(
            "unsteady: the middle half of the steps differs by {} of the median; something else uses the machine",
            percent(share(quartiles, profile.step.median_s))
        ));
    }
    if profile.conditions.profiler {
        out.push(
            "profiler: a trace was recorded meanwhile; compare only with runs that did the same".to_owned(),
        );
    }
    out
}
