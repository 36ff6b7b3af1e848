//! The analysis of a trace as a page: findings first, then the tables and pictures they rest on.

use crate::job;
use crate::modules;
use crate::page::{Bar, Column, Fact, Medium, Page, Section, Table, TableCell};
use crate::picture::{self, category_colour};
use crate::sentence::{
    MOST_APART, answers, autograd_wait, cut_files, launches, limit_word, other_findings, sourced_warning,
};
use crate::shapes;
use crate::units::{bytes, count, counted, percent, shortened, time};
use knockout_analyze::{
    Analysis, DeviceTimes, FEWEST_FOR_INTERVAL, FileFindings, Gpu, GpuHta, LaunchFigures, TimeShare,
};
use std::fmt::Write as _;

/// Rows of long tables in text; JSON and HTML have more.
const TOP: usize = 15;
const NAME_WIDTH: usize = 64;
/// Rows of long tables in HTML.
const MAX_OPERATIONS: usize = 3000;
const MAX_ROWS: usize = 64;

/// Renders the analysis as text.
pub fn analysis_text(analysis: &Analysis) -> String {
    let mut out: String = file_lines(analysis).iter().flat_map(|line| [line, "\n"]).collect();
    for cut in cut_files(analysis) {
        writeln!(out, "{cut}").ok();
    }
    for answer in answers(analysis) {
        writeln!(out, "{answer}").ok();
    }
    writeln!(
        out,
        "{}, {} of them with a duration; {} from first to last",
        counted(analysis.events, "event"),
        count(analysis.complete_with_positive_dur),
        time(analysis.span_without_trace_cat_us)
    )
    .ok();
    writeln!(
        out,
        "self time {} (host {}, device {}); plain sum of durations {}, nested ones counted again",
        time(analysis.self_us),
        time(analysis.host_us),
        time(analysis.device_us),
        time(analysis.naive_sum_us)
    )
    .ok();
    out + &page(analysis, Medium::Text).sections_to_text()
}

/// Renders the analysis as one HTML file.
pub fn analysis_html(analysis: &Analysis) -> String {
    page(analysis, Medium::Html).to_html()
}

/// Returns the page of an analysis.
pub fn analysis_page(analysis: &Analysis) -> Page {
    page(analysis, Medium::Html)
}

/// Pictures of large jobs take a gigabyte: a text is made without them.
fn page(analysis: &Analysis, medium: Medium) -> Page {
    let title = match analysis.files.as_slice() {
        [only] => file_name(only).to_owned(),
        files => format!("{} ranks", files.len()),
    };
    let mut sections = vec![findings(analysis).only(Medium::Text)];
    sections.extend(job::section(analysis));
    sections.extend(categories(analysis));
    sections.extend(phases(analysis));
    sections.extend(steps(analysis));
    sections.extend(critical(analysis));
    sections.extend(modules::section(analysis));
    sections.extend(shapes::section(analysis));
    if medium == Medium::Html {
        sections.extend(picture::timeline(analysis));
        sections.extend(picture::flame(analysis, "Flame graph", "flame"));
    }
    sections.extend(operations(analysis));
    sections.extend(python(analysis));
    sections.extend(job::detailed(analysis).into_iter().filter_map(|file| device(analysis, file)));
    sections.extend(stragglers(analysis));
    sections.push(lanes(analysis));
    sections.extend(memory(analysis));
    Page {
        title,
        subtitle: file_lines(analysis).join(" · "),
        made_by: "knockout trace".to_owned(),
        footnote: "Self time counts every instant of a thread or stream once.".to_owned(),
        facts: facts(analysis),
        findings: cut_files(analysis)
            .into_iter()
            .chain(answers(analysis))
            .chain(other_findings(analysis))
            .collect(),
        warnings: analysis.warnings.iter().map(sourced_warning).collect(),
        sections,
        picture: job::arrivals(analysis),
        ..Page::default()
    }
}

/// Returns the last component of a path.
pub(crate) fn file_name(path: &str) -> &str {
    path.rsplit(['/', '\\']).next().unwrap_or(path)
}

/// Returns a line for each file; of a large job for the first and the last.
fn file_lines(analysis: &Analysis) -> Vec<String> {
    match &analysis.ranks[..] {
        [first, .., last] if analysis.ranks.len() > MOST_APART => {
            let others = format!("… {} more", analysis.ranks.len() - 2);
            vec![file_line(first), others, file_line(last)]
        }
        files => files.iter().map(file_line).collect(),
    }
}

fn file_line(file: &FileFindings) -> String {
    let rank = match (file.rank, file.world_size) {
        (Some(rank), Some(world)) => format!(", rank {rank} of {world}"),
        (Some(rank), None) => format!(", rank {rank}"),
        _ => String::new(),
    };
    let device = file.devices.iter().find(|name| !name.trim().is_empty());
    let device = device.map(|name| format!(", {name}")).unwrap_or_default();
    format!("{}{rank}{device}", file.file)
}

fn facts(analysis: &Analysis) -> Vec<Fact> {
    let mut facts = vec![
        Fact::new("events", count(analysis.events)),
        Fact::new("first to last", time(analysis.span_without_trace_cat_us)),
        Fact::new("self time, host", time(analysis.host_us)),
        Fact::new("self time, device", time(analysis.device_us)),
    ];
    if let Some(summary) = &analysis.step_summary {
        facts.push(Fact::new("steps", count(summary.count)));
        facts.push(Fact::new("median step", time(summary.median_us)));
    }
    if let Some(idle_us) = analysis.device_idle_us() {
        let name = if analysis.steps.is_empty() { "device idle" } else { "device idle in steps" };
        facts.push(Fact::new(name, time(idle_us)));
    }
    facts
}

fn findings(analysis: &Analysis) -> Section {
    let section = Section::new("findings", "Findings");
    let others = other_findings(analysis);
    if others.is_empty() { section.with("nothing else stands out") } else { section.with(others) }
}

/// A cell with a time to sort by.
fn time_cell(us: f64) -> TableCell {
    TableCell::number(time(us), us)
}

fn percent_cell(share: f64) -> TableCell {
    TableCell::number(percent(share), share)
}

fn count_cell(number: u64) -> TableCell {
    TableCell::number(count(number), number as f64)
}

fn dash() -> TableCell {
    "-".into()
}

fn categories(analysis: &Analysis) -> Vec<Section> {
    let mut sections = Vec::new();
    for (side, device, id) in [("host", false, "categories"), ("device", true, "device-categories")] {
        let rows = || analysis.categories.iter().filter(move |row| row.device == device);
        let most = rows().map(|row| row.us).fold(1e-9, f64::max);
        let mut table = Table::new([
            Column::name("category"),
            Column::bar(),
            Column::number("self time"),
            Column::number("of all"),
            Column::number(format!("of {side}")),
        ]);
        for row in rows() {
            let colour = category_colour(analysis, &row.name);
            table.row([
                TableCell::coloured(&row.name, &colour),
                Bar::of(row.us / most, colour).into(),
                time_cell(row.us),
                percent_cell(row.share),
                row.share_of_work.map_or_else(dash, percent_cell),
            ]);
        }
        if table.is_empty() {
            continue;
        }
        let mut section = Section::new(id, format!("Where the {side} time went")).with(table);
        if let Some(row) = rows().find(|row| row.is_asleep()) {
            section = section.with(asleep(&row.name, side));
        }
        if let Some(wait) = autograd_wait(analysis).filter(|_| !device) {
            section = section.with(wait);
        }
        sections.push(section);
    }
    sections
}

/// Explains time without a share of its side.
fn asleep(name: &str, side: &str) -> String {
    let what = if side == "device" {
        "a span drawn over device work has nothing under it, so the device is idle"
    } else {
        "a thread sleeps in its call stack"
    };
    format!("{name}: {what}; it is not part of the {side}'s work, of which the last column has shares")
}

/// A table of shares, with bars in the colours that `colour` returns.
fn share_table(rows: &[TimeShare], colour: impl Fn(&str) -> String) -> Table {
    let most = rows.iter().map(|row| row.share).fold(1e-9, f64::max);
    let columns = [Column::name(""), Column::bar(), Column::number("time"), Column::number("share")];
    Table::new(columns).limited(TOP, 2 * TOP).with_rows(rows.iter().take(MAX_ROWS).map(|row| {
        let bar = Bar::of(row.share / most, colour(&row.name));
        [TableCell::from(&row.name[..]), bar.into(), time_cell(row.us), percent_cell(row.share)]
    }))
}

fn phases(analysis: &Analysis) -> Option<Section> {
    let section =
        Section::new("phases", "Host time by phase").note("Launches and waits inside a phase count for it.");
    let table = share_table(&analysis.phases, |name| category_colour(analysis, name));
    (!table.is_empty()).then(|| section.with(table))
}

fn steps(analysis: &Analysis) -> Option<Section> {
    let summary = analysis.step_summary.as_ref()?;
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
    let parts = |rows: &[TimeShare]| {
        let largest = rows.iter().take(3);
        largest
            .map(|row| format!("{} {}", shortened(&row.name, NAME_WIDTH), time(row.us)))
            .collect::<Vec<_>>()
            .join(", ")
    };
    let mut longest: Vec<_> = analysis.steps.iter().collect();
    longest.sort_by(|a, b| b.us.total_cmp(&a.us));
    longest.truncate(TOP);
    let columns = [
        Column::name("step"),
        Column::number("length"),
        Column::text(""),
        Column::text("bound by"),
        Column::text("host time, largest parts").wide_only(),
        Column::text("device time launched").wide_only(),
    ];
    let table = Table::new(columns).id("step-table").with_rows(longest.iter().map(|step| {
        let mark = match (step.slow, step.is_cut) {
            (true, true) => "slow, cut",
            (true, false) => "slow",
            (false, true) => "cut",
            (false, false) => "",
        };
        [
            TableCell::from(&step.name[..]),
            time_cell(step.us),
            TableCell::from(mark),
            limit_word(step.limit).into(),
            parts(&step.host).into(),
            parts(&step.device).into(),
        ]
    }));
    let left = analysis.steps.len() - longest.len();
    let mut section = Section::new("steps", format!("Steps: {}, {lengths}", summary.count))
        .note(
            "Colours are the host time inside a step by category, its threads summed and drawn to the step’s length. \
             The dashed line is the median. Click a step for its parts.",
        )
        .with(picture::steps(analysis))
        .with(table);
    if left > 0 {
        section = section.with(format!("and {left} shorter ones"));
    }
    if longest.iter().any(|step| step.is_cut) {
        section = section.with(
            "cut: the recording began or ended inside of annotations of the step, so its phases are incomplete; the warning has the time",
        );
    }
    Some(section)
}

fn critical(analysis: &Analysis) -> Option<Section> {
    let path = analysis.critical_path.as_ref()?;
    let of = path.rank.map_or_else(String::new, |rank| format!(" of rank {rank}"));
    let title = format!("Critical path of the slowest step, {}{of} ({})", path.step, time(path.us));
    let longest = share_table(&path.operations, |_| "var(--accent)".to_owned())
        .titled("Its longest parts")
        .limited(8, 10);
    let section =
        Section::new("critical", title).note("What the end of the step waited for, back to its start.");
    Some(section.with(share_table(&path.parts, |name| category_colour(analysis, name))).with(longest))
}

fn operations(analysis: &Analysis) -> Vec<Section> {
    let table = |rows: Vec<&knockout_analyze::Operation>| {
        let columns = [
            Column::name("operation"),
            Column::number("self time"),
            Column::number("total"),
            Column::number("count"),
            Column::text("category").wide_only(),
        ];
        Table::new(columns).limited(TOP, 40).with_rows(rows.into_iter().map(|row| {
            [
                TableCell::from(&row.name[..]),
                time_cell(row.self_us),
                time_cell(row.total_us),
                count_cell(row.count),
                TableCell::coloured(
                    shortened(&row.category, NAME_WIDTH),
                    category_colour(analysis, &row.category),
                ),
            ]
        }))
    };
    let by_self: Vec<_> = analysis.operations.iter().take(MAX_OPERATIONS).collect();
    let mut by_total: Vec<_> = analysis.operations.iter().collect();
    if by_total.is_empty() {
        return Vec::new();
    }
    by_total.sort_by(|a, b| b.total_us.total_cmp(&a.total_us).then_with(|| a.name.cmp(&b.name)));
    by_total.truncate(TOP);
    let mut first =
        Section::new("operations", "Operations by self time").with(table(by_self).id("operation-table"));
    if let Some(left) = analysis.operations.len().checked_sub(MAX_OPERATIONS).filter(|left| *left > 0) {
        first = first
            .with(format!("{} with less self time left out; --json has all", counted(left, "operation")));
    }
    let second = Section::new("total", "Operations by total time").with(table(by_total)).only(Medium::Text);
    vec![first, second]
}

fn python(analysis: &Analysis) -> Option<Section> {
    let columns = [
        Column::name("python function"),
        Column::number("with native"),
        Column::number("of host"),
        Column::number("python alone").wide_only(),
        Column::number("calls"),
    ];
    let table = Table::new(columns).id("python-table").limited(TOP, TOP).with_rows(
        analysis.python.iter().take(MAX_ROWS).map(|row| {
            [
                TableCell::from(&row.name[..]),
                time_cell(row.us),
                row.share_of_awake.map_or_else(dash, percent_cell),
                time_cell(row.python_us),
                count_cell(row.count),
            ]
        }),
    );
    let section = Section::new("python", "Python functions, with the native time called from each");
    (!table.is_empty()).then(|| section.note("Without deeper Python functions.").with(table))
}

fn device(analysis: &Analysis, file: &FileFindings) -> Option<Section> {
    let (gpu, files) = (file.gpu.as_ref()?, analysis.ranks.len());
    let of = match file.rank {
        _ if files < 2 => String::new(),
        Some(rank) => format!(" of rank {rank}"),
        None => format!(" of {}", file.file),
    };
    let id =
        if files < 2 { "device".to_owned() } else { format!("device-{}", file.rank.unwrap_or_default()) };
    let mut section = Section::new(&id, format!("Device{of}, {}", counted(gpu.device_events, "event")))
        .with(device_times(gpu, file.gpu_hta.as_ref()))
        .with(launches(gpu));
    if !gpu.by_phase.is_empty() {
        section = section.with(
            share_table(&gpu.by_phase, |name| category_colour(analysis, name))
                .titled("Device time by the phase that launched it"),
        );
    }
    if !gpu.idle_per_stream.is_empty() {
        section = section.with(streams(gpu).id(format!("{id}-streams")));
    }
    Some(section)
}

/// Times of a device by the rule of this program and by that of Holistic Trace Analysis.
fn device_times(gpu: &Gpu, hta: Option<&GpuHta>) -> Table {
    let column = |times: &DeviceTimes, launch: &LaunchFigures| {
        [
            time(times.kernel_time_us),
            time(times.idle_us),
            time(times.busy_us),
            time(times.compute_us),
            time(times.non_compute_us),
            time(times.memory_us),
            time(times.communication_us),
            time(times.comm_comp_overlap_us),
            times.overlap.map_or_else(|| "-".to_owned(), percent),
            time(launch.delay_us),
        ]
    };
    let names = [
        "first to last kernel",
        "idle",
        "busy",
        "compute",
        "non-compute",
        "copies and fills",
        "communication",
        "communication beside computation",
        "share of it",
        "from launch call to start, in all",
    ];
    let own = column(&gpu.times, &gpu.launch);
    let Some(hta) = hta else {
        let rows = names.into_iter().zip(own).map(|(name, own)| [name.to_owned(), own]);
        return Table::new([Column::text(""), Column::number("whole trace")]).with_rows(rows);
    };
    let note = if hta.trimmed { "HTA’s rule, without the last step" } else { "HTA’s rule" };
    let rows = names.into_iter().zip(own).zip(column(&hta.times, &hta.launch));
    Table::new([Column::text(""), Column::number("whole trace"), Column::number(note)])
        .with_rows(rows.map(|((name, own), hta)| [name.to_owned(), own, hta]))
}

fn streams(gpu: &Gpu) -> Table {
    let columns = ["events", "idle", "host wait", "kernel wait", "other", "queue mean", "max"];
    let columns = [Column::text("stream")].into_iter().chain(columns.map(Column::number));
    let rows = gpu.idle_per_stream.iter().take(MAX_ROWS).map(|(name, row)| {
        let queue = gpu.queue_length.get(name);
        [
            // Some accelerators number streams, and no devices.
            TableCell::from(name.strip_prefix("None:").unwrap_or(name)),
            count_cell(row.events),
            time_cell(row.idle_us),
            time_cell(row.host_wait_us),
            time_cell(row.kernel_wait_us),
            time_cell(row.other_us),
            queue.map_or_else(TableCell::default, |q| TableCell::number(format!("{:.2}", q.mean), q.mean)),
            queue.map_or_else(TableCell::default, |q| TableCell::number(q.max.to_string(), q.max as f64)),
        ]
    });
    Table::new(columns)
        .titled("Idle time per stream by cause, and its queue")
        .limited(2 * TOP, 20)
        .with_rows(rows)
}

fn stragglers(analysis: &Analysis) -> Option<Section> {
    let stragglers = analysis.stragglers.as_ref()?;
    let time_or_dash = |us: Option<f64>| us.map_or_else(dash, time_cell);
    let ranks = Table::new([
        Column::text("rank"),
        Column::name("file"),
        Column::number("median step"),
        Column::number("compute"),
        Column::number("communication"),
        Column::number("slowest by more than 1 %, steps"),
    ])
    .id("rank-table")
    .limited(4 * TOP, 2 * TOP)
    .with_rows(stragglers.ranks.iter().map(|row| {
        [
            row.rank.map_or_else(dash, |rank| TableCell::number(rank.to_string(), rank as f64)),
            TableCell::from(&row.file[..]),
            time_or_dash(row.median_step_us),
            time_or_dash(row.compute_us),
            time_or_dash(row.communication_us),
            TableCell::number(row.slowest_in.to_string(), row.slowest_in as f64),
        ]
    }));
    let steps = Table::new([Column::name("step"), Column::number("slowest rank"), Column::number("spread")])
        .id("rank-steps")
        .limited(TOP, 2 * TOP)
        .with_rows(stragglers.steps.iter().map(|row| {
            let clear = if row.is_clear { "" } else { " (by less than 1 %)" };
            [
                TableCell::from(&row.name[..]),
                format!("{}{clear}", row.slowest_rank).into(),
                time_cell(row.spread_us),
            ]
        }));
    let section = Section::new("ranks", "Ranks").note(job::with_detailed(analysis, "")).with(ranks);
    Some(if steps.is_empty() { section } else { section.with(steps) })
}

fn lanes(analysis: &Analysis) -> Section {
    let mut busiest: Vec<_> = analysis.lanes.iter().collect();
    busiest.sort_by(|a, b| b.busy_us.total_cmp(&a.busy_us));
    let columns = [
        Column::name("lane"),
        Column::number("events"),
        Column::number("busy"),
        Column::number("idle"),
        Column::text("largest parts").wide_only(),
    ];
    let rows = busiest.iter().take(MAX_ROWS).map(|lane| {
        let parts = lane.categories.iter().take(3);
        let parts: Vec<String> =
            parts.map(|row| format!("{} {}", shortened(&row.name, NAME_WIDTH), percent(row.share))).collect();
        let (busy, idle) = lane.work_and_rest_us();
        [
            TableCell::from(&lane.name[..]),
            count_cell(lane.events),
            time_cell(busy),
            time_cell(idle),
            parts.join(", ").into(),
        ]
    });
    let table = Table::new(columns).id("lane-table").limited(2 * TOP, 20).with_rows(rows);
    Section::new("lanes", "Threads and streams").with(table)
}

fn memory(analysis: &Analysis) -> Vec<Section> {
    let columns = ["events", "most allocated", "most reserved", "net"].map(Column::number);
    let table = Table::new([Column::text("device (type:id)")].into_iter().chain(columns)).with_rows(
        analysis.memory.iter().map(|row| {
            [
                row.device.clone(),
                count(row.events),
                row.max_total_allocated.map_or_else(|| "-".to_owned(), bytes),
                row.max_total_reserved.map_or_else(|| "-".to_owned(), bytes),
                bytes(row.sum_bytes),
            ]
        }),
    );
    let table = (!table.is_empty()).then(|| Section::new("memory", "Memory").with(table));
    let curves = analysis.memory.iter().filter(|row| row.timeline.len() > 1).enumerate();
    let curves = curves.map(|(index, row)| {
        let points = row.timeline.iter().map(|point| (point.at_us, point.allocated, None));
        Section::new(format!("memory-of-{index}"), format!("Memory allocated on device {}", row.device))
            .with(picture::memory(format!("memory-{index}"), points))
            .only(Medium::Html)
    });
    table.into_iter().chain(curves).collect()
}
