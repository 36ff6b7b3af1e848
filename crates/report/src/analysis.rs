//! The analysis of a trace for a terminal: what stands out first, then the tables it rests on.

use crate::sentence::{autograd_wait, bounds, cut_files, launches, sourced_standout, sourced_warning};
use crate::table::Table;
use crate::units::{bytes, count, percent, shortened, time};
use knockout_analyze::{Analysis, FEWEST_FOR_INTERVAL, FileFindings, Gpu, Share};
use std::fmt::Write as _;

/// Rows shown of long tables; JSON and HTML have all.
const TOP: usize = 15;
const NAME_WIDTH: usize = 64;

/// The analysis as text.
pub fn analysis_text(analysis: &Analysis) -> String {
    let mut out = String::new();
    heading(&mut out, analysis);
    verdicts(&mut out, analysis);
    categories(&mut out, analysis);
    shares(&mut out, "Host time by phase (launches and waits inside a phase count for it)", &analysis.phases);
    steps(&mut out, analysis);
    critical(&mut out, analysis);
    operations(&mut out, analysis);
    python(&mut out, analysis);
    for file in &analysis.ranks {
        device(&mut out, file, analysis.ranks.len());
    }
    stragglers(&mut out, analysis);
    lanes(&mut out, analysis);
    memory(&mut out, analysis);
    warnings(&mut out, analysis.warnings.iter().map(sourced_warning));
    out
}

fn title(out: &mut String, text: &str) {
    out.push('\n');
    out.push_str(text);
    out.push('\n');
}

fn line(out: &mut String, text: std::fmt::Arguments<'_>) {
    // Writing to a string cannot fail.
    out.write_fmt(text).unwrap_or_default();
    out.push('\n');
}

fn heading(out: &mut String, analysis: &Analysis) {
    for file in &analysis.ranks {
        let rank = match (file.rank, file.world_size) {
            (Some(rank), Some(world)) => format!(", rank {rank} of {world}"),
            (Some(rank), None) => format!(", rank {rank}"),
            _ => String::new(),
        };
        let device = file.devices.iter().find(|name| !name.trim().is_empty());
        let device = device.map(|name| format!(", {name}")).unwrap_or_default();
        line(out, format_args!("{}{rank}{device}", file.file));
    }
    for cut in cut_files(analysis) {
        line(out, format_args!("{cut}"));
    }
    line(
        out,
        format_args!(
            "{} events, {} of them with a duration; {} from first to last",
            count(analysis.events),
            count(analysis.complete_with_positive_dur),
            time(analysis.span_without_trace_cat_us)
        ),
    );
    line(
        out,
        format_args!(
            "self time {} (host {}, device {}); plain sum of durations {}, nested ones counted again",
            time(analysis.self_us),
            time(analysis.host_us),
            time(analysis.device_us),
            time(analysis.naive_sum_us)
        ),
    );
}

fn verdicts(out: &mut String, analysis: &Analysis) {
    title(out, "What bounds it");
    for bound in bounds(analysis) {
        line(out, format_args!("  - {bound}"));
    }
    title(out, "What stands out");
    for verdict in &analysis.verdicts {
        line(out, format_args!("  - {}", sourced_standout(verdict)));
    }
    if analysis.verdicts.is_empty() {
        out.push_str("  nothing else\n");
    }
}

fn categories(out: &mut String, analysis: &Analysis) {
    for (side, device) in [("host", false), ("device", true)] {
        let mut table = Table::new(&["<category", "self time", "of all", &format!("of {side}")]);
        for row in analysis.categories.iter().filter(|row| row.device == device) {
            let of_side = row.share_of_work.map_or_else(|| "-".to_owned(), percent);
            let name = shortened(&row.name, NAME_WIDTH);
            table.row(vec![name, time(row.us), percent(row.share), of_side]);
        }
        if !table.is_empty() {
            title(out, &format!("Where the {side} time went"));
            table.print(out);
            if let Some(row) = analysis.categories.iter().find(|row| row.device == device && row.is_asleep())
            {
                line(out, format_args!("  {}", asleep(&row.name, side)));
            }
            if let Some(wait) = autograd_wait(analysis).filter(|_| !device) {
                line(out, format_args!("  {wait}"));
            }
        }
    }
}

/// What time without a share of its side is.
fn asleep(name: &str, side: &str) -> String {
    let what = if side == "device" {
        "a span drawn over device work has nothing under it, so the device is idle"
    } else {
        "a thread sleeps in its call stack"
    };
    format!("{name}: {what}; it is no part of the {side}'s work, of which the last column has shares")
}

fn shares(out: &mut String, heading: &str, rows: &[Share]) {
    let mut table = Table::new(&["<", "time", "share"]);
    for row in rows.iter().take(TOP) {
        table.row(vec![shortened(&row.name, NAME_WIDTH), time(row.us), percent(row.share)]);
    }
    if !table.is_empty() {
        title(out, heading);
        table.print(out);
    }
}

fn steps(out: &mut String, analysis: &Analysis) {
    let Some(summary) = &analysis.step_summary else { return };
    let lengths = if summary.count < FEWEST_FOR_INTERVAL {
        let all: Vec<String> = analysis.steps.iter().map(|step| time(step.us)).collect();
        match &all[..] {
            [only] => only.clone(),
            _ => format!("in their order {}", all.join(", ")),
        }
    } else {
        format!(
            "median {} (half of them from {} to {}, all from {} to {})",
            time(summary.median_us),
            time(summary.low_us),
            time(summary.high_us),
            time(summary.min_us),
            time(summary.max_us)
        )
    };
    title(out, &format!("Steps: {}, {lengths}", summary.count));
    let mut table =
        Table::new(&["<step", "length", "", "<host time, largest parts", "<device time launched"]);
    let parts = |rows: &[Share]| {
        let largest: Vec<String> = rows
            .iter()
            .take(3)
            .map(|row| format!("{} {}", shortened(&row.name, NAME_WIDTH), time(row.us)))
            .collect();
        largest.join(", ")
    };
    let mut longest: Vec<_> = analysis.steps.iter().collect();
    longest.sort_by(|a, b| b.us.total_cmp(&a.us));
    longest.truncate(TOP);
    for step in &longest {
        let mark = if step.slow { "slow" } else { "" };
        table.row(vec![
            shortened(&step.name, NAME_WIDTH),
            time(step.us),
            mark.to_owned(),
            parts(&step.host),
            parts(&step.device),
        ]);
    }
    table.print(out);
    let left = analysis.steps.len() - longest.len();
    if left > 0 {
        line(out, format_args!("  and {left} shorter ones"));
    }
}

fn critical(out: &mut String, analysis: &Analysis) {
    let Some(path) = &analysis.critical_path else { return };
    shares(
        out,
        &format!("Critical path of the slowest step, {} ({})", path.step, time(path.us)),
        &path.parts,
    );
    shares(
        out,
        "  its longest parts",
        path.operations.get(..8.min(path.operations.len())).unwrap_or_default(),
    );
}

fn operations(out: &mut String, analysis: &Analysis) {
    let by_self: Vec<_> = analysis.operations.iter().collect();
    let mut by_total = by_self.clone();
    by_total.sort_by(|a, b| b.total_us.total_cmp(&a.total_us).then_with(|| a.name.cmp(&b.name)));
    for (heading, rows) in
        [("Operations by self time", by_self), ("Operations by time inside them", by_total)]
    {
        let mut table = Table::new(&["<operation", "self time", "inside", "count", "<category"]);
        for row in rows.into_iter().take(TOP) {
            table.row(vec![
                shortened(&row.name, NAME_WIDTH),
                time(row.self_us),
                time(row.total_us),
                count(row.count),
                shortened(&row.category, NAME_WIDTH),
            ]);
        }
        if !table.is_empty() {
            title(out, heading);
            table.print(out);
        }
    }
}

fn python(out: &mut String, analysis: &Analysis) {
    let mut table = Table::new(&["<python function", "with native", "of host", "python alone", "calls"]);
    for row in analysis.python.iter().take(TOP) {
        table.row(vec![
            shortened(&row.name, NAME_WIDTH),
            time(row.us),
            percent(row.share),
            time(row.python_us),
            count(row.count),
        ]);
    }
    if !table.is_empty() {
        title(out, "Python functions, with the native time called from each");
        table.print(out);
    }
}

fn device(out: &mut String, file: &FileFindings, files: usize) {
    let of = if files > 1 { format!(" of {}", file.file) } else { String::new() };
    if let Some(gpu) = &file.gpu {
        title(out, &format!("Device{of}, whole trace ({} events)", count(gpu.device_events)));
        figures(out, gpu);
        shares(out, "  device time by the phase that launched it", &gpu.by_phase);
        streams(out, gpu);
    }
    if let Some(gpu) = &file.gpu_hta {
        title(out, &format!("Device{of}, by the rule of Holistic Trace Analysis (temporal breakdown)"));
        line(
            out,
            format_args!(
                "  {} from the first to the last kernel: idle {}, compute {}, non-compute {}; overlap {}{}",
                time(gpu.times.kernel_time_us),
                time(gpu.times.idle_us),
                time(gpu.times.compute_us),
                time(gpu.times.non_compute_us),
                gpu.times.overlap.map_or_else(|| "none".to_owned(), percent),
                if gpu.trimmed { "; its last step is left out" } else { "" },
            ),
        );
    }
}

fn figures(out: &mut String, gpu: &Gpu) {
    line(
        out,
        format_args!(
            "  {} from the first to the last kernel: idle {}, busy {} (compute {}, non-compute {})",
            time(gpu.times.kernel_time_us),
            time(gpu.times.idle_us),
            time(gpu.times.busy_us),
            time(gpu.times.compute_us),
            time(gpu.times.non_compute_us)
        ),
    );
    if let Some(overlap) = gpu.times.overlap {
        line(
            out,
            format_args!(
                "  communication {}, of which {} beside computation ({})",
                time(gpu.times.communication_us),
                time(gpu.times.comm_comp_overlap_us),
                percent(overlap)
            ),
        );
    }
    line(out, format_args!("  {}", launches(gpu)));
}

fn streams(out: &mut String, gpu: &Gpu) {
    let mut table =
        Table::new(&["<stream", "events", "idle", "host wait", "kernel wait", "other", "queue mean", "max"]);
    for (name, row) in gpu.idle_per_stream.iter().take(2 * TOP) {
        let queue = gpu.queue_length.get(name);
        table.row(vec![
            // Some accelerators number streams, and no devices.
            name.strip_prefix("None:").unwrap_or(name).to_owned(),
            count(row.events),
            time(row.idle_us),
            time(row.host_wait_us),
            time(row.kernel_wait_us),
            time(row.other_us),
            queue.map_or_else(String::new, |q| format!("{:.2}", q.mean)),
            queue.map_or_else(String::new, |q| q.max.to_string()),
        ]);
    }
    if !table.is_empty() {
        title(out, "  idle time per stream by cause, and its queue");
        table.print(out);
    }
}

fn stragglers(out: &mut String, analysis: &Analysis) {
    let Some(stragglers) = &analysis.stragglers else { return };
    title(out, "Ranks");
    let or_dash = |us: Option<f64>| us.map_or_else(|| "-".to_owned(), time);
    let mut table = Table::new(&[
        "<rank",
        "<file",
        "median step",
        "compute",
        "communication",
        "slowest by more than 1 %, steps",
    ]);
    for row in &stragglers.ranks {
        table.row(vec![
            row.rank.map_or_else(|| "-".to_owned(), |rank| rank.to_string()),
            shortened(&row.file, NAME_WIDTH),
            or_dash(row.median_step_us),
            or_dash(row.compute_us),
            or_dash(row.communication_us),
            row.slowest_in.to_string(),
        ]);
    }
    table.print(out);
    let mut table = Table::new(&["<step", "slowest rank", "spread"]);
    for row in stragglers.steps.iter().take(TOP) {
        let clear = if row.is_clear { "" } else { " (by less than 1 %)" };
        table.row(vec![
            shortened(&row.name, NAME_WIDTH),
            format!("{}{clear}", row.slowest_rank),
            time(row.spread_us),
        ]);
    }
    if !table.is_empty() {
        table.print(out);
    }
}

fn lanes(out: &mut String, analysis: &Analysis) {
    title(out, "Threads and streams");
    let mut table = Table::new(&["<lane", "events", "busy", "idle", "<largest parts"]);
    let mut busiest: Vec<_> = analysis.lanes.iter().collect();
    busiest.sort_by(|a, b| b.busy_us.total_cmp(&a.busy_us));
    for lane in busiest.iter().take(2 * TOP) {
        let parts: Vec<String> = lane
            .categories
            .iter()
            .take(3)
            .map(|row| format!("{} {}", shortened(&row.name, NAME_WIDTH), percent(row.share)))
            .collect();
        let name = shortened(&lane.name, NAME_WIDTH / 2);
        let (busy, idle) = lane.work_and_rest_us();
        table.row(vec![name, count(lane.events), time(busy), time(idle), parts.join(", ")]);
    }
    table.print(out);
}

fn memory(out: &mut String, analysis: &Analysis) {
    let mut table = Table::new(&["<device (type:id)", "events", "most allocated", "most reserved", "net"]);
    for row in &analysis.memory {
        table.row(vec![
            row.device.clone(),
            count(row.events),
            row.max_total_allocated.map_or_else(|| "-".to_owned(), bytes),
            row.max_total_reserved.map_or_else(|| "-".to_owned(), bytes),
            bytes(row.sum_bytes),
        ]);
    }
    if !table.is_empty() {
        title(out, "Memory");
        table.print(out);
    }
}

pub(crate) fn warnings(out: &mut String, warnings: impl Iterator<Item = String>) {
    for (index, warning) in warnings.enumerate() {
        if index == 0 {
            title(out, "Warnings");
        }
        line(out, format_args!("  {warning}"));
    }
}
