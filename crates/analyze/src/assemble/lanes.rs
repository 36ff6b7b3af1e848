//! The lanes of a file as values.

use crate::attribute::FileSums;
use crate::attribute::lane::LaneResult;
use crate::collect::id::CategoryId;
use crate::collect::record::Side;
use crate::collect::same_process;
use crate::findings::{LaneFindings, shares};
use knockout_base::stats::{us, us_wide};
use knockout_trace::LaneId;
use std::collections::BTreeMap;

pub(crate) fn lanes(file: &FileSums<'_>) -> Vec<LaneFindings> {
    file.lanes.iter().filter(|lane| lane.time.spans > 0).map(|lane| findings(file, lane)).collect()
}

/// Returns the name of a lane: the thread's name if the trace has one, else its numbers.
pub(crate) fn name(file: &FileSums<'_>, id: LaneId) -> String {
    let symbols = &file.outcome.symbols;
    let thread = file.lane_names.get(&id).map(|name| file.text(*name).trim().to_owned());
    let label = file
        .process_labels
        .iter()
        .find(|(other, _)| same_process(file.outcome, **other, id))
        .map(|(_, label)| file.text(*label).to_owned());
    let Some(lane) = file.outcome.lanes.get(id) else { return String::new() };
    let own = thread
        .filter(|thread| !thread.is_empty())
        .unwrap_or_else(|| format!("pid {} tid {}", lane.pid.display(symbols), lane.tid.display(symbols)));
    // Threads of unknown number are in process 0, which is also that of a device.
    let is_other = |label: &String| label.starts_with("GPU") && !file.totals.device_lanes.contains(id);
    match label.filter(|label| !label.is_empty() && !is_other(label)) {
        Some(label) => format!("{label}, {own}"),
        None => own,
    }
}

fn findings(file: &FileSums<'_>, lane: &LaneResult) -> LaneFindings {
    let symbols = &file.outcome.symbols;
    let id = file.outcome.lanes.get(lane.lane);
    let mut sums: BTreeMap<CategoryId, i128> = BTreeMap::new();
    let (mut own, mut asleep) = (0_i128, 0_i128);
    for node in &lane.tree.nodes {
        *sums.entry(node.category).or_default() += i128::from(node.self_nanos);
        own += i128::from(node.self_nanos);
        if file.rules.role(node.category).is_asleep() {
            asleep += i128::from(node.self_nanos);
        }
    }
    let rows =
        sums.into_iter().map(|(category, sum)| (file.category_name(category).to_owned(), us_wide(sum)));
    let window = lane.time.window.map_or(0, |(start, end)| end - start);
    LaneFindings {
        pid: id.map_or(serde_json::Value::Null, |lane| lane.pid.to_json(symbols)),
        tid: id.map_or(serde_json::Value::Null, |lane| lane.tid.to_json(symbols)),
        name: name(file, lane.lane),
        rank: file.outcome.document.rank(),
        device_lane: lane.side == Side::Device,
        events: lane.time.spans,
        busy_us: us(lane.time.busy_nanos),
        self_us: us_wide(own),
        asleep_us: us_wide(asleep),
        idle_us: us(window - lane.time.busy_nanos),
        naive_sum_us: us_wide(lane.naive_nanos),
        overlapping_not_nested: lane.time.clipped,
        device_work_us: (lane.side == Side::Device).then(|| us(lane.device_work_nanos)),
        categories: shares(rows.collect(), us_wide(own)),
    }
}
