//! Findings of one file, by thresholds on its figures.

use super::device::IdleStream;
use super::file::{FileFindings, StepFindings};
use super::finding::TraceFinding;
use crate::collect::rules::Role;
use knockout_base::stats::{median, share};

/// Thresholds, as fractions.
const DATA: f64 = 0.15;
const GRAPH: f64 = 0.10;
const EXPOSED: f64 = 0.10;
const IDLE: f64 = 0.20;
const COPIES: f64 = 0.10;
const UNATTRIBUTED: f64 = 0.30;
const SLOW_STEP: f64 = 1.5;

/// Returns the findings of one file, the strongest first.
pub(crate) fn of_file(findings: &FileFindings) -> Vec<TraceFinding> {
    let mut out: Vec<TraceFinding> = [
        host_category(findings, Role::DataLoading, "data_loading", DATA),
        host_category(findings, Role::GraphProcessing, "graph_processing", GRAPH),
        exposed_communication(findings),
        idle(findings),
        copies(findings),
        slow_steps(findings),
        unattributed(findings),
    ]
    .into_iter()
    .flatten()
    .collect();
    out.sort_by(|a, b| b.figure().total_cmp(&a.figure()));
    out
}

fn host_category(
    findings: &FileFindings,
    role: Role,
    about: &'static str,
    limit: f64,
) -> Option<TraceFinding> {
    let of_step = |step: &StepFindings| share(findings.us_of(&step.host, role).unwrap_or(0.0), step.us);
    let shares: Vec<f64> = findings.steps.iter().map(of_step).collect();
    let whole = || findings.share_of_phase(role);
    let share = median(&shares).or_else(whole)?;
    let category = findings.picture.categories.iter().find(|category| category.role == role)?.name.clone();
    (share > limit).then_some(TraceFinding::HostCategory {
        about,
        category,
        share,
        steps: shares.len(),
        limit,
    })
}

fn exposed_communication(findings: &FileFindings) -> Option<TraceFinding> {
    let times = &findings.gpu.as_ref()?.times;
    let parts = &findings.bound.parts;
    let (us, of_us) = (parts.communication_us, parts.total_us());
    let hidden = times.overlap.unwrap_or(0.0);
    let share = share(us, of_us);
    (share > EXPOSED).then_some(TraceFinding::ExposedCommunication { share, us, of_us, hidden })
}

fn idle(findings: &FileFindings) -> Option<TraceFinding> {
    let gpu = findings.gpu.as_ref()?;
    let of_us = findings.bound.parts.total_us();
    let share_idle = 1.0 - findings.bound.device_busy?;
    let sum = |cause: fn(&IdleStream) -> f64| gpu.idle_per_stream.values().map(cause).sum::<f64>();
    let (host, all) = (sum(|stream| stream.host_wait_us), sum(|stream| stream.idle_us));
    let host_limited = (all > 0.0).then(|| share(host, all));
    let us = findings.bound.device_idle_us()?;
    (share_idle > IDLE && of_us > 0.0).then_some(TraceFinding::DeviceIdle {
        share: share_idle,
        us,
        of_us,
        host_limited,
    })
}

fn copies(findings: &FileFindings) -> Option<TraceFinding> {
    let times = &findings.gpu.as_ref()?.times;
    let (us, of_us) = (times.memory_us, times.busy_us);
    let share = share(us, of_us);
    (share > COPIES).then_some(TraceFinding::MemoryCopies { share, us, of_us })
}

fn slow_steps(findings: &FileFindings) -> Option<TraceFinding> {
    let summary = findings.step_summary.as_ref().filter(|summary| summary.count >= 3)?;
    let ratio = share(summary.max_us, summary.median_us);
    let name = summary.slowest.first()?;
    (ratio > SLOW_STEP).then(|| TraceFinding::SlowStep {
        name: name.clone(),
        us: summary.max_us,
        median_us: summary.median_us,
        steps: summary.count,
        ratio,
    })
}

fn unattributed(findings: &FileFindings) -> Option<TraceFinding> {
    let row = findings.categories.iter().find(|row| row.role == Role::Unattributed && !row.device)?;
    let share = row.share_of_work.unwrap_or(row.share_of_side);
    // Known waiting is not a part of it.
    let us = row.us - findings.autograd_wait_unnamed_us;
    let is_known = findings.waits().iter().any(|(_, us)| *us > 0.0);
    let autograd_us = if is_known { 0.0 } else { findings.autograd_threads_us.min(us) };
    (share > UNATTRIBUTED).then_some(TraceFinding::Unattributed { share, us, autograd_us })
}
