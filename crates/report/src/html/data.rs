//! The document inside the page: what the script draws, cut to a bounded size.

use crate::units::{bytes, count, percent, time};
use knockout_analyze::{Analysis, FileFindings, LaneStacks, Picture, Share, StackNode};
use serde_json::{Value, json};
use std::collections::BTreeMap;

const MAX_STEPS: usize = 2000;
const MAX_OPERATIONS: usize = 3000;
const MAX_FLAME: usize = 6000;
const MAX_LANES: usize = 64;
const MAX_ROWS: usize = 60;

/// Everything the page shows.
pub(super) fn of(analysis: &Analysis) -> Value {
    let names = CategoryNames::of(analysis);
    json!({
        "kind": "analysis",
        "files": analysis.ranks.iter().map(file).collect::<Vec<_>>(),
        "facts": facts(analysis),
        "verdicts": crate::sentence::cut_files(analysis).into_iter()
            .chain(crate::sentence::bounds(analysis))
            .chain(analysis.verdicts.iter().map(crate::sentence::sourced_standout)).collect::<Vec<_>>(),
        "warnings": crate::trace_warnings(analysis),
        "categories": names.list,
        "shares": analysis.categories.iter().map(|row| {
            json!([names.number(&row.name), row.us, row.share, u8::from(row.device), row.share_of_work])
        }).collect::<Vec<_>>(),
        "autograd": crate::sentence::autograd_wait(analysis),
        "phases": shares(&analysis.phases),
        "steps": steps(analysis, &names),
        "critical": analysis.critical_path.as_ref().map(|path| json!({
            "step": path.step, "us": path.us,
            "parts": path.parts.iter().map(|row| json!([names.number(&row.name), row.name, row.us, row.share])).collect::<Vec<_>>(),
            "operations": shares(&path.operations),
        })),
        "timeline": timeline(analysis, &names),
        "flame": flame(analysis, &names),
        "operations": analysis.operations.iter().take(MAX_OPERATIONS).map(|row| {
            json!([row.name, names.number(&row.category), row.self_us, row.total_us, row.count])
        }).collect::<Vec<_>>(),
        "operations_left_out": analysis.operations.len().saturating_sub(MAX_OPERATIONS),
        "python": analysis.python.iter().take(MAX_ROWS).map(|row| {
            json!([row.name, row.us, row.share, row.python_us, row.count])
        }).collect::<Vec<_>>(),
        "devices": analysis.ranks.iter().filter_map(device).collect::<Vec<_>>(),
        "ranks": analysis.stragglers,
        "memory": analysis.memory.iter().map(|row| json!({
            "device": row.device,
            "text": format!(
                "{} events, most allocated {}, most reserved {}",
                count(row.events),
                row.max_total_allocated.map_or_else(|| "unknown".to_owned(), bytes),
                row.max_total_reserved.map_or_else(|| "unknown".to_owned(), bytes),
            ),
            "points": row.timeline.iter().map(|point| json!([point.at_us, point.allocated])).collect::<Vec<_>>(),
        })).collect::<Vec<_>>(),
        "lanes": analysis.lanes.iter().take(MAX_LANES).map(|lane| {
            let largest: Vec<String> =
                lane.categories.iter().take(3).map(|row| format!("{} {}", row.name, percent(row.share))).collect();
            let (busy, idle) = lane.work_and_rest_us();
            json!([lane.name, lane.events, busy, idle, largest.join(", ")])
        }).collect::<Vec<_>>(),
    })
}

/// Categories of all files under one numbering.
struct CategoryNames {
    list: Vec<String>,
    numbers: BTreeMap<String, usize>,
}

impl CategoryNames {
    fn of(analysis: &Analysis) -> Self {
        let mut names = Self { list: Vec::new(), numbers: BTreeMap::new() };
        for name in analysis.ranks.iter().flat_map(|file| &file.picture.categories).map(|row| &row.name) {
            if !names.numbers.contains_key(name) {
                names.numbers.insert(name.clone(), names.list.len());
                names.list.push(name.clone());
            }
        }
        names
    }

    fn number(&self, name: &str) -> Option<usize> {
        self.numbers.get(name).copied()
    }

    /// The shared number of a file's own.
    fn shared(&self, picture: &Picture, own: u8) -> Option<usize> {
        picture.categories.get(usize::from(own)).and_then(|row| self.number(&row.name))
    }
}

fn file(file: &FileFindings) -> Value {
    json!({
        "name": file.file,
        "rank": file.rank,
        "world": file.world_size,
        "devices": file.devices,
    })
}

fn facts(analysis: &Analysis) -> Value {
    let mut facts = vec![
        json!(["events", count(analysis.events)]),
        json!(["first to last", time(analysis.span_without_trace_cat_us)]),
        json!(["self time, host", time(analysis.host_us)]),
        json!(["self time, device", time(analysis.device_us)]),
    ];
    if let Some(summary) = &analysis.step_summary {
        facts.push(json!(["steps", count(summary.count as u64)]));
        facts.push(json!(["median step", time(summary.median_us)]));
    }
    if let Some(gpu) = &analysis.gpu {
        facts.push(json!(["device idle", time(gpu.times.idle_us)]));
    }
    json!(facts)
}

fn shares(rows: &[Share]) -> Vec<Value> {
    rows.iter().take(MAX_ROWS).map(|row| json!([row.name, row.us, row.share])).collect()
}

fn steps(analysis: &Analysis, names: &CategoryNames) -> Value {
    let parts = |rows: &[Share]| -> Vec<Value> {
        rows.iter().take(8).map(|row| json!([names.number(&row.name), row.us])).collect()
    };
    let list: Vec<Value> = analysis
        .steps
        .iter()
        .take(MAX_STEPS)
        .map(|step| json!([step.name, step.us, parts(&step.host), parts(&step.device), u8::from(step.slow)]))
        .collect();
    json!({
        "list": list,
        "left_out": analysis.steps.len().saturating_sub(MAX_STEPS),
        "median": analysis.step_summary.as_ref().map(|summary| summary.median_us),
    })
}

fn label(analysis: &Analysis, file: &FileFindings, lane: &str) -> String {
    match (analysis.ranks.len(), file.rank) {
        (1, _) => lane.to_owned(),
        (_, Some(rank)) => format!("rank {rank}, {lane}"),
        (_, None) => format!("{}, {lane}", file.file),
    }
}

fn timeline(analysis: &Analysis, names: &CategoryNames) -> Value {
    let files: Vec<Value> = analysis
        .ranks
        .iter()
        .map(|file| {
            let picture = &file.picture;
            let room = MAX_LANES / analysis.ranks.len().max(1);
            let lanes: Vec<Value> = picture
                .timelines
                .iter()
                .take(room.max(2))
                .map(|lane| {
                    let bins: Vec<Value> = lane
                        .bins
                        .iter()
                        .map(|(index, parts)| {
                            let mut flat = vec![json!(index)];
                            for (category, part) in parts.iter().filter(|(_, part)| *part > 0) {
                                flat.push(json!(names.shared(picture, *category)));
                                flat.push(json!(part));
                            }
                            Value::Array(flat)
                        })
                        .collect();
                    json!({"label": label(analysis, file, &lane.label), "device": lane.device, "bins": bins})
                })
                .collect();
            json!({"bin": picture.bin_us, "bins": picture.bins, "lanes": lanes, "left_out": picture.lanes_left_out})
        })
        .collect();
    json!(files)
}

/// The flame graph by itself, with its own list of categories.
pub(super) fn flame_graph(analysis: &Analysis) -> Value {
    let names = CategoryNames::of(analysis);
    let mut graph = flame(analysis, &names);
    if let Some(graph) = graph.as_object_mut() {
        graph.insert("categories".to_owned(), json!(names.list));
    }
    graph
}

/// Call trees cut to their largest places; a place is never larger than the one it is in, so paths stay whole.
fn flame(analysis: &Analysis, names: &CategoryNames) -> Value {
    let all =
        || analysis.ranks.iter().flat_map(|file| file.picture.stacks.iter().map(move |lane| (file, lane)));
    let mut sizes: Vec<i64> =
        all().flat_map(|(_, lane)| lane.nodes.iter().map(|node| node.below_nanos)).collect();
    sizes.sort_unstable_by(|a, b| b.cmp(a));
    let least = sizes.get(MAX_FLAME).copied().map_or(0, |size| size + 1).max(1);
    let mut texts: BTreeMap<String, usize> = BTreeMap::new();
    let mut lanes = Vec::new();
    for (file, lane) in all() {
        let nodes = nodes(file, lane, least, names, &mut texts);
        if !nodes.is_empty() {
            lanes.push(json!({"label": label(analysis, file, &lane.label), "nodes": nodes}));
        }
    }
    let mut list = vec![""; texts.len()];
    for (text, number) in &texts {
        if let Some(slot) = list.get_mut(*number) {
            *slot = text;
        }
    }
    json!({"names": list, "lanes": lanes, "cut": sizes.len() > MAX_FLAME})
}

fn nodes(
    file: &FileFindings,
    lane: &LaneStacks,
    least: i64,
    names: &CategoryNames,
    texts: &mut BTreeMap<String, usize>,
) -> Vec<Value> {
    let mut kept: BTreeMap<u32, usize> = BTreeMap::new();
    let mut out = Vec::new();
    for (index, node) in lane.nodes.iter().enumerate().filter(|(_, node)| node.below_nanos >= least) {
        let StackNode { parent, name, category, self_nanos, below_nanos, count } = *node;
        let text = file.picture.names.get(name as usize).map_or("", String::as_str);
        let next = texts.len();
        let number = *texts.entry(text.to_owned()).or_insert(next);
        let parent = parent.and_then(|parent| kept.get(&parent).copied());
        kept.insert(index as u32, out.len());
        out.push(json!([
            parent,
            number,
            names.shared(&file.picture, category),
            below_nanos,
            self_nanos,
            count
        ]));
    }
    out
}

fn device(file: &FileFindings) -> Option<Value> {
    let gpu = file.gpu.as_ref()?;
    let row = |name: &str, us: f64, hta: Option<f64>| json!([name, time(us), hta.map(time)]);
    let hta = file.gpu_hta.as_ref();
    let streams: Vec<Value> = gpu
        .idle_per_stream
        .iter()
        .take(MAX_ROWS)
        .map(|(name, idle)| {
            let queue = gpu.queue_length.get(name);
            json!([
                name,
                idle.events,
                idle.idle_us,
                idle.host_wait_us,
                idle.kernel_wait_us,
                idle.other_us,
                queue.map(|q| format!("{:.2}", q.mean)),
                queue.map(|q| q.max)
            ])
        })
        .collect();
    Some(json!({
        "name": file.rank.map_or_else(|| file.file.clone(), |rank| format!("rank {rank}")),
        "rows": [
            row("kernel time", gpu.times.kernel_time_us, hta.map(|h| h.times.kernel_time_us)),
            row("idle", gpu.times.idle_us, hta.map(|h| h.times.idle_us)),
            row("compute", gpu.times.compute_us, hta.map(|h| h.times.compute_us)),
            row("non-compute", gpu.times.non_compute_us, hta.map(|h| h.times.non_compute_us)),
            row("communication", gpu.times.communication_us, hta.map(|h| h.times.communication_us)),
            row("communication beside computation", gpu.times.comm_comp_overlap_us, hta.map(|h| h.times.comm_comp_overlap_us)),
            row("copies and fills", gpu.times.memory_us, hta.map(|h| h.times.memory_us)),
            row("from launch call to start, in all", gpu.launch.delay_us, hta.map(|h| h.launch.delay_us)),
        ],
        "phases": shares(&gpu.by_phase),
        "launches": crate::sentence::launches(gpu),
        "streams": streams,
    }))
}
