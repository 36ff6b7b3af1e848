//! Turns the sums of one file into findings.

use super::{
    bound, collectives, critical, device, lanes, modules, operations, picture, shapes, steps, warnings,
};
use crate::attribute::FileSums;
use crate::attribute::autograd::waited;
use crate::attribute::lane::LaneResult;
use crate::collect::Collector;
use crate::collect::id::CategoryId;
use crate::collect::record::Side;
use crate::collect::rules::Role;
use crate::findings::judge;
use crate::findings::{
    CategoryShare, EventCat, FileFindings, FirstStepRow, FirstStepRows, StepSummary, TimeShare, module_tree,
    shares,
};
use knockout_base::error::Result;
use knockout_base::stats::{us, us_wide};
use knockout_trace::ReadOutcome;
use std::collections::BTreeMap;

impl Collector {
    /// Returns the findings of the file that was read; `label` names it.
    pub fn finish(self, label: &str, outcome: &ReadOutcome) -> Result<FileFindings> {
        Ok(findings(label, FileSums::of(self, outcome)?))
    }
}

fn findings(label: &str, mut file: FileSums<'_>) -> FileFindings {
    let memory = std::mem::take(&mut file.memory).finish(file.origin());
    let file = &file;
    let totals = &file.totals;
    let length = |window: Option<(i64, i64)>| us(window.map_or(0, |(start, end)| end - start));
    let autograd = autograd(file);
    let (categories, sides) = categories(file, &autograd);
    let counts = &totals.counts;
    let document = &file.outcome.document;
    let times = bound::times(file);
    let mut findings = FileFindings {
        file: label.to_owned(),
        rank: document.rank().or_else(|| rank_in_name(label)),
        world_size: document.world_size(),
        devices: document.device_names().into_iter().map(str::to_owned).collect(),
        conditions: conditions(file),
        events: file.outcome.events,
        events_by_ph: counts.by_event_type(),
        complete_events: counts.complete(),
        complete_with_positive_dur: totals.positive,
        complete_with_zero_dur: counts.zero,
        complete_with_negative_dur: counts.negative,
        complete_without_usable_times: counts.without_times,
        naive_sum_us: us_wide(totals.naive_nanos),
        span_us: length(totals.window),
        span_without_trace_cat_us: length(totals.work_window),
        distinct_names: operations::distinct_names(file),
        event_cats: event_cats(file),
        self_us: us_wide(sides.0 + sides.1),
        host_us: us_wide(sides.0),
        device_us: us_wide(sides.1),
        autograd_wait_us: us_wide(autograd.wait),
        autograd_wait_unnamed_us: us_wide(autograd.unnamed),
        autograd_threads_us: us_wide(autograd.busy),
        window_nanos: totals.window,
        work_window_nanos: totals.work_window,
        categories,
        phases: phases(file, sides.0),
        operations: operations::operations(file),
        python: operations::python(file, sides.0, sides.0 - asleep(file)),
        module_tree: modules::tree(file),
        shapes: shapes::rows(file),
        lanes: lanes::lanes(file),
        steps: steps::steps(file, &times.steps),
        steps_gpu: steps::spans(file, &file.steps_gpu),
        step_summary: None,
        gpu: device::whole(file),
        gpu_hta: device::hta(file),
        memory,
        critical_path: critical::path(file),
        bound: bound::bound(file, &times),
        collectives: collectives::table(&file.collectives, &file.kinds, &file.outcome.symbols),
        findings: Vec::new(),
        warnings: Vec::new(),
        spilled_bytes: file.spilled_bytes,
        picture: picture::picture(file),
        first_step: first_step(file),
    };
    steps::mark_cut(file, &mut findings.steps);
    findings.step_summary = StepSummary::of(&mut findings.steps);
    findings.module_tree = module_tree([&findings.module_tree], findings.shared_us());
    findings.warnings = warnings::of_file(file, &findings);
    findings.findings = judge::of_file(&findings);
    findings
}

/// Returns the rank that a file name gives: `rank3.json`, `trace_rank-12.json.gz`, `host.rank_0.pt.trace.json`.
fn rank_in_name(label: &str) -> Option<i64> {
    let name = label.rsplit(['/', '\\']).next().unwrap_or(label).to_ascii_lowercase();
    let mut numbers = name.split("rank").skip(1).filter_map(|rest| {
        let digits = rest.trim_start_matches(['_', '-', '.']);
        let end = digits.find(|c: char| !c.is_ascii_digit()).unwrap_or(digits.len());
        digits.get(..end)?.parse().ok()
    });
    numbers.next()
}

/// Self time by category over all lanes, and the sums of the host's and of the device's.
fn categories(file: &FileSums<'_>, autograd: &AutogradTimes) -> (Vec<CategoryShare>, (i128, i128)) {
    let count = file.rules.categories().len();
    let mut sums = vec![0_i128; count];
    for node in file.lanes.iter().flat_map(|lane| &lane.tree.nodes) {
        if let Some(sum) = sums.get_mut(node.category.index()) {
            *sum += i128::from(node.self_nanos);
        }
    }
    let rows = || file.rules.categories().iter().zip(&sums);
    // A wait for the device that is drawn on a host thread is the device's: the category decides, not the lane.
    let side = |wanted: bool| rows().filter(|(row, _)| row.device == wanted).map(|(_, sum)| *sum).sum();
    let occurring = rows().filter(|&(_, &sum)| sum != 0);
    let times =
        occurring.map(|(row, &sum)| CategoryShare::new(&row.name, row.device, row.role, us_wide(sum)));
    let waits = [(Role::Backward, us_wide(autograd.wait)), (Role::Unattributed, us_wide(autograd.unnamed))];
    (CategoryShare::with_shares(times.collect(), &waits), (side(false), side(true)))
}

/// Time in which a host thread sleeps in its call stack.
fn asleep(file: &FileSums<'_>) -> i128 {
    let is_asleep = |category: CategoryId| {
        let row = file.rules.categories().get(category.index());
        row.is_some_and(|row| !row.device && row.role.is_asleep())
    };
    let nodes = file.lanes.iter().flat_map(|lane| &lane.tree.nodes);
    nodes.filter(|node| is_asleep(node.category)).map(|node| i128::from(node.self_nanos)).sum()
}

/// Times of autograd's own threads.
struct AutogradTimes {
    /// Backward time of host threads other than these, where there are any: they wait.
    wait: i128,
    /// Time of the thread with the steps in which it waits for these and no span says so.
    unnamed: i128,
    /// Time in which these threads are busy.
    busy: i128,
}

fn autograd(file: &FileSums<'_>) -> AutogradTimes {
    let (engines, others): (Vec<&LaneResult>, Vec<&LaneResult>) =
        file.lanes.iter().filter(|lane| lane.side == Side::Host).partition(|lane| !lane.engine.is_empty());
    if engines.is_empty() {
        return AutogradTimes { wait: 0, unnamed: 0, busy: 0 };
    }
    let nodes = others.iter().flat_map(|lane| &lane.tree.nodes);
    let backward = nodes.filter(|node| file.rules.role(node.category) == Role::Backward);
    let wait: i128 = backward.map(|node| i128::from(node.self_nanos)).sum();
    let has_steps = |lane: &&&LaneResult| file.steps.steps.iter().any(|step| step.lane == lane.lane);
    let unnamed = match others.iter().filter(has_steps).collect::<Vec<_>>()[..] {
        [lane] if wait == 0 => waited(&lane.unnamed, engines.iter().map(|lane| &lane.engine)),
        _ => 0,
    };
    AutogradTimes {
        wait,
        unnamed: i128::from(unnamed),
        busy: engines.iter().map(|lane| i128::from(lane.time.busy_nanos)).sum(),
    }
}

/// Host time by the phase around it; a thread that sleeps outside any phase has a row of its own.
fn phases(file: &FileSums<'_>, host: i128) -> Vec<TimeShare> {
    let mut sums: BTreeMap<Option<CategoryId>, i128> = BTreeMap::new();
    let is_host =
        |category: CategoryId| file.rules.categories().get(category.index()).is_some_and(|row| !row.device);
    let nodes = file.lanes.iter().flat_map(|lane| &lane.tree.nodes);
    for node in nodes.filter(|node| is_host(node.category)) {
        let asleep = || file.rules.role(node.category).is_asleep().then_some(node.category);
        *sums.entry(node.phase.or_else(asleep)).or_default() += i128::from(node.self_nanos);
    }
    let name = |phase: Option<CategoryId>| match phase {
        Some(phase) => file.category_name(phase).to_owned(),
        None => "outside any phase".to_owned(),
    };
    let rows = sums.into_iter().map(|(phase, sum)| (name(phase), us_wide(sum)));
    shares(rows.collect(), us_wide(host))
}

fn event_cats(file: &FileSums<'_>) -> Vec<EventCat> {
    let mut sums: BTreeMap<&str, (u64, i128)> = BTreeMap::new();
    for kind in file.kinds.iter().filter(|kind| kind.events > 0) {
        let entry = sums.entry(file.text(kind.cat)).or_default();
        entry.0 += kind.events;
        entry.1 += kind.sum_nanos;
    }
    let mut out: Vec<(i128, EventCat)> = sums
        .into_iter()
        .map(|(name, (events, sum))| (sum, EventCat { name: name.to_owned(), events, sum_us: us_wide(sum) }))
        .collect();
    out.sort_by(|a, b| b.0.cmp(&a.0).then_with(|| a.1.name.cmp(&b.1.name)));
    out.into_iter().map(|(_, row)| row).collect()
}

/// Returns the conditions under which the trace was recorded. Only plain values: a trace may carry an environment with secrets.
fn conditions(file: &FileSums<'_>) -> BTreeMap<String, String> {
    const KEYS: [&str; 10] = [
        "schemaVersion",
        "record_shapes",
        "profile_memory",
        "with_stack",
        "with_flops",
        "with_modules",
        "cuda_runtime_version",
        "cuda_driver_version",
        "hip_runtime_version",
        "cupti_version",
    ];
    let document = &file.outcome.document;
    let mut out = BTreeMap::new();
    for key in KEYS {
        if let Some(value) = document.get(key).filter(|value| value.is_number() || value.is_boolean()) {
            out.insert(key.to_owned(), value.to_string());
        }
    }
    // Conditions as knockout's own recorder writes them.
    let own = document.get("conditions").and_then(|conditions| conditions.as_object());
    for (key, value) in own.into_iter().flatten() {
        let text = value.as_str().map(str::to_owned);
        let plain = || (value.is_number() || value.is_boolean()).then(|| value.to_string());
        if let Some(text) = text.or_else(plain) {
            out.insert(key.clone(), text);
        }
    }
    if let Some(made) = warnings::converted(document) {
        out.insert(warnings::CONVERT.to_owned(), made);
    }
    if let Some(world) = document.world_size() {
        out.insert("world_size".to_owned(), world.to_string());
    }
    let backend =
        document.get("distributedInfo").and_then(|info| info.get("backend")).and_then(|b| b.as_str());
    if let Some(backend) = backend {
        out.insert("backend".to_owned(), backend.to_owned());
    }
    let mut devices = document.device_names();
    devices.sort_unstable();
    devices.dedup();
    if !devices.is_empty() {
        out.insert("device".to_owned(), devices.join(", "));
    }
    out.insert("steps".to_owned(), file.steps.steps.len().to_string());
    out.insert("rules".to_owned(), file.rules.name().to_owned());
    out
}

fn first_step(file: &FileSums<'_>) -> FirstStepRows {
    let mut rows: BTreeMap<String, (u64, i64, u64, i64)> = BTreeMap::new();
    for (kind, row) in &file.steps.first {
        let entry = rows.entry(file.kind_name(*kind).to_owned()).or_default();
        entry.0 += row.host_rows;
        entry.1 += row.host_nanos;
        entry.2 += row.device_rows;
        entry.3 += row.device_nanos;
    }
    FirstStepRows {
        iterations: file.hta.iterations.clone(),
        rows: rows
            .into_iter()
            .map(|(name, (host_count, host, device_count, device))| {
                (name, FirstStepRow { host_count, host_us: us(host), device_count, device_us: us(device) })
            })
            .collect(),
        step_count: file.steps.steps.len(),
        by_step: steps::by_name(file),
    }
}

#[cfg(test)]
mod tests {
    use super::rank_in_name;

    #[test]
    fn a_file_name_gives_the_rank_where_the_trace_does_not() {
        assert_eq!(rank_in_name("/a/rank7/hta_rank12.json.gz"), Some(12));
        assert_eq!(rank_in_name("node0.rank_3.pt.trace.json"), Some(3));
        assert_eq!(rank_in_name("low_rank.json"), None);
        assert_eq!(rank_in_name("trace.json"), None);
    }
}
