//! Sentences about what stands out. Every one rests on a figure of this trace and says it; when nothing stands out
//! there are none.

use crate::findings::{FileFindings, Verdict};
use knockout_stats::{median, share};

/// Thresholds, as fractions.
const DATA: f64 = 0.15;
const GRAPH: f64 = 0.10;
const EXPOSED: f64 = 0.10;
const IDLE: f64 = 0.20;
const COPIES: f64 = 0.10;
const UNATTRIBUTED: f64 = 0.30;
const SLOW_STEP: f64 = 1.5;
const BOUND: f64 = 0.50;

/// What stands out in one file, the strongest first.
pub(crate) fn of_file(findings: &FileFindings) -> Vec<Verdict> {
    let mut out: Vec<Verdict> = [
        phase(findings, "data loading", "data_loading", DATA),
        phase(findings, "graph processing", "graph_processing", GRAPH),
        exposed_communication(findings),
        idle(findings),
        copies(findings),
        device_bound(findings),
        slow_steps(findings),
        unattributed(findings),
    ]
    .into_iter()
    .flatten()
    .collect();
    out.sort_by(|a, b| b.figure.total_cmp(&a.figure));
    out
}

fn percent(fraction: f64) -> String {
    format!("{:.1} %", 100.0 * fraction)
}

/// Microseconds for people.
pub(crate) fn time(us: f64) -> String {
    let magnitude = us.abs();
    if magnitude >= 1e6 {
        format!("{:.3} s", us / 1e6)
    } else if magnitude >= 1e3 {
        format!("{:.3} ms", us / 1e3)
    } else {
        format!("{us:.3} µs")
    }
}

/// A phase of the host that takes more than its part of the step, by the median over the steps.
fn phase(findings: &FileFindings, category: &str, about: &'static str, limit: f64) -> Option<Verdict> {
    let of_step = |step: &crate::StepFindings| {
        let own = step.host.iter().find(|row| row.name == category).map_or(0.0, |row| row.us);
        share(own, step.us)
    };
    let shares: Vec<f64> = findings.steps.iter().map(of_step).collect();
    let (figure, of) = match median(&shares) {
        Some(figure) if shares.len() == 1 => (figure, "of the one step there is".to_owned()),
        Some(figure) => (figure, format!("of a step (median of {} steps)", shares.len())),
        None => {
            let row = findings.phases.iter().find(|row| row.name == category)?;
            (row.share, "of the host's busy time".to_owned())
        }
    };
    (figure > limit).then(|| Verdict {
        about,
        figure,
        text: format!(
            "{category} takes {} {of}; below {} it would not be mentioned",
            percent(figure),
            percent(limit)
        ),
    })
}

fn exposed_communication(findings: &FileFindings) -> Option<Verdict> {
    let gpu = findings.gpu.as_ref()?;
    let exposed = gpu.times.communication_us - gpu.times.comm_comp_overlap_us;
    let figure = share(exposed, gpu.times.kernel_time_us);
    (figure > EXPOSED).then(|| Verdict {
        about: "exposed_communication",
        figure,
        text: format!(
            "communication that no computation hides takes {} of the device's time ({} of {}); {} of communication is hidden",
            percent(figure),
            time(exposed),
            time(gpu.times.kernel_time_us),
            percent(gpu.times.overlap.unwrap_or(0.0)),
        ),
    })
}

fn idle(findings: &FileFindings) -> Option<Verdict> {
    let gpu = findings.gpu.as_ref()?;
    let figure = share(gpu.times.idle_us, gpu.times.kernel_time_us);
    if figure <= IDLE {
        return None;
    }
    let sum = |cause: fn(&crate::IdleStream) -> f64| gpu.idle_per_stream.values().map(cause).sum::<f64>();
    let host = sum(|stream| stream.host_wait_us);
    let all = sum(|stream| stream.idle_us);
    let cause = if all <= 0.0 {
        String::new()
    } else {
        format!(
            "; {} of the streams' gaps end with a launch that came late (the host is the limit there)",
            percent(share(host, all))
        )
    };
    Some(Verdict {
        about: "device_idle",
        figure,
        text: format!(
            "the device is idle for {} of its time ({} of {}){cause}",
            percent(figure),
            time(gpu.times.idle_us),
            time(gpu.times.kernel_time_us)
        ),
    })
}

fn copies(findings: &FileFindings) -> Option<Verdict> {
    let gpu = findings.gpu.as_ref()?;
    let figure = share(gpu.times.memory_us, gpu.times.busy_us);
    (figure > COPIES).then(|| Verdict {
        about: "memory_copies",
        figure,
        text: format!(
            "copies and fills take {} of the device's busy time ({} of {})",
            percent(figure),
            time(gpu.times.memory_us),
            time(gpu.times.busy_us)
        ),
    })
}

fn device_bound(findings: &FileFindings) -> Option<Verdict> {
    let gpu = findings.gpu.as_ref()?;
    let row = findings.categories.iter().find(|row| row.name == "waiting for the device")?;
    let busy = share(gpu.times.busy_us, gpu.times.kernel_time_us);
    (row.share_of_side > BOUND / 2.0 && busy > 1.0 - IDLE).then(|| Verdict {
        about: "device_bound",
        figure: row.share_of_side,
        text: format!(
            "the host waits for the device for {} of its busy time and the device is busy for {} of its own: the device is the limit",
            percent(row.share_of_side),
            percent(busy)
        ),
    })
}

fn slow_steps(findings: &FileFindings) -> Option<Verdict> {
    let summary = findings.step_summary.as_ref().filter(|summary| summary.count >= 3)?;
    let figure = share(summary.max_us, summary.median_us);
    let name = summary.slowest.first()?;
    (figure > SLOW_STEP).then(|| Verdict {
        about: "slow_step",
        figure: figure - 1.0,
        text: format!(
            "{name} takes {} , {figure:.2} times the median of {} steps ({})",
            time(summary.max_us),
            summary.count,
            time(summary.median_us)
        )
        .replace(" ,", ","),
    })
}

fn unattributed(findings: &FileFindings) -> Option<Verdict> {
    let row = findings.categories.iter().find(|row| row.name == "unattributed" && !row.device)?;
    (row.share_of_side > UNATTRIBUTED).then(|| Verdict {
        about: "unattributed",
        figure: row.share_of_side,
        text: format!(
            "{} of the host's busy time ({}) has no operator inside it; wrap the code with torch.profiler.record_function to see what it is",
            percent(row.share_of_side),
            time(row.us)
        ),
    })
}
