//! Findings and warnings of a run.

use super::finding::{RunFinding, RunWarning};
use super::profile::{PhaseRow, RunProfile};
use knockout_base::stats::share;
use knockout_trace::meter::StepPhase;

/// Thresholds, as fractions.
const DATA: f64 = 0.15;
const IDLE_CORES: f64 = 0.50;
const OPTIMISER: f64 = 0.15;
const UNTRACKED: f64 = 0.05;
const UNSTEADY: f64 = 0.25;
/// A mean step above so many median ones is that of a few long steps.
const UNEVEN: f64 = 1.5;
/// Below this many steps a spread is a guess.
const FEW: u64 = 5;

/// Returns the findings, the strongest first; never empty, as some phase is always the longest.
pub(super) fn findings(profile: &RunProfile) -> Vec<RunFinding> {
    let mut out: Vec<RunFinding> =
        [longest(profile), data(profile), optimiser(profile), idle_threads(profile)]
            .into_iter()
            .flatten()
            .collect();
    out.sort_by(|a, b| b.figure().total_cmp(&a.figure()));
    out
}

fn longest(profile: &RunProfile) -> Option<RunFinding> {
    // Means are those of the longest steps where these are far longer than the others.
    let of_median = is_uneven(profile);
    let part = |row: &PhaseRow| {
        if of_median { share(row.spread.median_s, profile.step.median_s) } else { row.share }
    };
    let row = profile.phases.iter().max_by(|a, b| part(a).total_cmp(&part(b)))?;
    Some(RunFinding::LongestPhase { phase: row.name.clone(), share: part(row), of_median })
}

/// Whether single steps are so long that the mean does not describe the others.
fn is_uneven(profile: &RunProfile) -> bool {
    profile.wall_s_per_step > UNEVEN * profile.step.median_s
}

fn data(profile: &RunProfile) -> Option<RunFinding> {
    let phases = StepPhase::ALL.into_iter().filter(|phase| phase.is_data());
    let share = phases.map(|phase| profile.share_of(phase.name())).sum();
    let behind = || profile.background.iter().map(|row| row.share).sum();
    (share > DATA).then(|| RunFinding::Data {
        share,
        wait: profile.share_of(StepPhase::Wait.name()),
        background: (!profile.background.is_empty()).then(behind),
    })
}

fn optimiser(profile: &RunProfile) -> Option<RunFinding> {
    let share = profile.share_of(StepPhase::Optimiser.name()) + profile.share_of(StepPhase::Clip.name());
    (share > OPTIMISER).then_some(RunFinding::Optimiser { share })
}

fn idle_threads(profile: &RunProfile) -> Option<RunFinding> {
    let threads = profile.threads;
    let share = 1.0 - share(profile.cpu_s_per_step, profile.wall_s_per_step * threads.max(1) as f64);
    (threads > 0 && share > IDLE_CORES).then_some(RunFinding::IdleThreads { share, threads })
}

/// Returns the reasons to distrust the figures.
pub(super) fn warnings(profile: &RunProfile) -> Vec<RunWarning> {
    let untracked = profile.share_of(StepPhase::UNTRACKED);
    let tracked: f64 = profile.phases.iter().map(|row| row.share).sum();
    let quartiles = profile.step.high_quartile_s - profile.step.low_quartile_s;
    let spread = share(quartiles, profile.step.median_s);
    [
        (profile.steps < FEW, RunWarning::FewSteps(profile.steps)),
        (untracked > UNTRACKED, RunWarning::Untracked(untracked)),
        (tracked > 1.01, RunWarning::Overlap(tracked)),
        (spread > UNSTEADY, RunWarning::Unsteady(spread)),
        (is_uneven(profile), RunWarning::Uneven(share(profile.wall_s_per_step, profile.step.median_s))),
        (profile.conditions.profiler, RunWarning::Profiler),
    ]
    .into_iter()
    .filter_map(|(applies, warning)| applies.then_some(warning))
    .collect()
}
