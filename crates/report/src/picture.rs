//! Data of the interactive pictures, cut to a bounded size: timelines come in intervals, stacks and steps are cut to the largest.

use crate::job;
use crate::page::{Interactive, Medium, Section, colour};
use knockout_analyze::{Analysis, Category, FileFindings, LaneStacks, StackNode, TimeShare};
use serde_json::{Value, json};
use std::collections::BTreeMap;

const MAX_STEPS: usize = 2000;
const MAX_FLAME: usize = 6000;
const MAX_LANES: usize = 64;
const MAX_MEMORY: usize = 6000;

/// Categories of all files, numbered in order of appearance.
struct Categories<'a> {
    list: Vec<&'a Category>,
}

impl<'a> Categories<'a> {
    fn of(analysis: &'a Analysis) -> Self {
        let mut list: Vec<&Category> = Vec::new();
        for category in analysis.ranks.iter().flat_map(|file| &file.picture.categories) {
            if !list.iter().any(|known| known.name == category.name) {
                list.push(category);
            }
        }
        Self { list }
    }

    fn number(&self, name: &str) -> Option<usize> {
        self.list.iter().position(|known| known.name == name)
    }

    /// Returns the number of a file's own category.
    fn shared(&self, file: &FileFindings, own: u8) -> Option<usize> {
        file.picture.categories.get(usize::from(own)).and_then(|category| self.number(&category.name))
    }

    fn to_json(&self) -> Value {
        self.list
            .iter()
            .map(|category| json!({"name": category.name, "colour": own_colour(category)}))
            .collect()
    }
}

fn own_colour(category: &Category) -> String {
    category.colour.clone().unwrap_or_else(|| colour(&category.name).to_owned())
}

/// Returns the colour of a category: the one of the rules, if they have one.
pub(crate) fn category_colour(analysis: &Analysis, name: &str) -> String {
    let mut all = analysis.ranks.iter().flat_map(|file| &file.picture.categories);
    all.find(|category| category.name == name).map_or_else(|| colour(name).to_owned(), own_colour)
}

/// Names with their colours.
fn coloured<'n>(names: impl Iterator<Item = &'n str>) -> Value {
    names.map(|name| json!({"name": name, "colour": colour(name)})).collect()
}

/// Returns the picture of the steps of a trace.
pub(crate) fn steps(analysis: &Analysis) -> Interactive {
    let categories = Categories::of(analysis);
    let parts = |rows: &[TimeShare]| -> Value {
        let known = rows.iter().take(8).filter_map(|row| Some((categories.number(&row.name)?, row.us)));
        known.map(|(category, us)| json!({"category": category, "us": us})).collect()
    };
    let steps = analysis.steps.iter().take(MAX_STEPS).map(|step| {
        json!({
            "name": step.name, "us": step.us, "is_slow": step.slow,
            "parts": parts(&step.host), "launched": parts(&step.device),
        })
    });
    let median = analysis.step_summary.as_ref().map(|summary| summary.median_us);
    step_picture("step".to_owned(), &categories.to_json(), median, &steps.collect())
}

fn step_picture(id: String, categories: &Value, median_us: Option<f64>, steps: &Value) -> Interactive {
    Interactive {
        kind: "steps",
        id,
        data: json!({"categories": categories, "median_us": median_us, "steps": steps}),
    }
}

/// Returns the picture of the steps of a measured run.
pub(crate) fn run_steps(profile: &knockout_analyze::profile::RunProfile, id: String) -> Interactive {
    let steps = profile.step_bars().into_iter().take(MAX_STEPS).map(|step| {
        let parts: Value = step.parts.iter().map(|(phase, us)| json!({"category": phase, "us": us})).collect();
        json!({"name": format!("step {}", step.number), "us": step.us, "is_slow": step.is_slow, "parts": parts})
    });
    let phases = coloured(profile.phases.iter().map(|row| row.name.as_str()));
    step_picture(id, &phases, Some(profile.step.median_s * 1e6), &steps.collect())
}

/// Returns the picture of memory over time: microseconds, bytes, and the phase before.
pub(crate) fn memory<B: serde::Serialize>(
    id: String,
    points: impl Iterator<Item = (f64, B, Option<String>)>,
) -> Interactive {
    let points: Value = points
        .take(MAX_MEMORY)
        .map(|(us, bytes, after)| match after {
            Some(after) => json!({"us": us, "bytes": bytes, "after": after}),
            None => json!({"us": us, "bytes": bytes}),
        })
        .collect();
    Interactive { kind: "memory", id, data: json!({"points": points}) }
}

fn label(analysis: &Analysis, file: &FileFindings, lane: &str) -> String {
    match (analysis.ranks.len(), file.rank) {
        (1, _) => lane.to_owned(),
        (_, Some(rank)) => format!("rank {rank}, {lane}"),
        (_, None) => format!("{}, {lane}", file.file),
    }
}

/// Returns the section of the timeline.
pub(crate) fn timeline(analysis: &Analysis) -> Option<Section> {
    let categories = Categories::of(analysis);
    let files = job::detailed(analysis);
    let room = (MAX_LANES / files.len().max(1)).max(1);
    let mut lanes = Vec::new();
    let (mut total, mut left_out) = (0.0_f64, 0);
    for file in files.iter().filter(|file| !file.picture.timelines.is_empty()) {
        let picture = &file.picture;
        total = total.max(picture.bin_us * picture.bins as f64);
        left_out += picture.lanes_left_out + picture.timelines.len().saturating_sub(room);
        for lane in picture.timelines.iter().take(room) {
            // One list for each field: an object for each interval would take ten times the memory.
            let [mut at, mut numbers, mut parts] = [(); 3].map(|()| Vec::<Value>::new());
            for (index, own) in &lane.bins {
                for (category, part) in own.iter().filter(|(_, part)| *part > 0) {
                    let Some(category) = categories.shared(file, *category) else { continue };
                    at.push(json!(index));
                    numbers.push(json!(category));
                    parts.push(json!(part));
                }
            }
            let bins = json!({"at": at, "category": numbers, "part": parts});
            lanes.push(
                json!({"label": label(analysis, file, &lane.label), "bin_us": picture.bin_us, "bins": bins}),
            );
        }
    }
    if lanes.is_empty() {
        return None;
    }
    let data = json!({"categories": categories.to_json(), "total_us": total, "lanes": lanes});
    let section = Section::new("timeline", "Timeline")
        .note(job::with_detailed(
            analysis,
            "Every thread and stream in equal intervals, by category. Scroll or use the buttons to zoom, drag to move.",
        ))
        .with(Interactive { kind: "timeline", id: "timeline".to_owned(), data })
        .only(Medium::Html);
    Some(if left_out > 0 {
        section.with(format!("{left_out} less busy lanes are not drawn."))
    } else {
        section
    })
}

/// Returns the section of the flame graph: call trees cut to their largest nodes. A node is never larger than its parent, so paths
/// stay whole.
pub(crate) fn flame(analysis: &Analysis, title: &str, id: &str) -> Option<Section> {
    let categories = Categories::of(analysis);
    let files = job::detailed(analysis);
    let all = || files.iter().flat_map(|&file| file.picture.stacks.iter().map(move |lane| (file, lane)));
    let mut sizes: Vec<i64> =
        all().flat_map(|(_, lane)| lane.nodes.iter().map(|node| node.below_nanos)).collect();
    sizes.sort_unstable_by(|a, b| b.cmp(a));
    let least = sizes.get(MAX_FLAME).copied().map_or(0, |size| size + 1).max(1);
    let mut names: BTreeMap<String, usize> = BTreeMap::new();
    let mut lanes = Vec::new();
    for (file, lane) in all() {
        if let Some(nodes) = nodes(file, lane, least, &categories, &mut names) {
            lanes.push(json!({"label": label(analysis, file, &lane.label), "nodes": nodes}));
        }
    }
    if lanes.is_empty() {
        return None;
    }
    let mut list = vec![""; names.len()];
    for (name, number) in &names {
        list[*number] = name;
    }
    let cut = if sizes.len() > MAX_FLAME { " Only the largest boxes are drawn." } else { "" };
    let note = "Calls inside calls, equal stacks added up; the largest come first, not the earliest. Click to zoom, click the top bar to go back.";
    let data = json!({"categories": categories.to_json(), "names": list, "lanes": lanes});
    let section = Section::new(id, title).note(job::with_detailed(analysis, &format!("{note}{cut}")));
    Some(section.with(Interactive { kind: "flame", id: id.to_owned(), data }).only(Medium::Html))
}

/// Returns the nodes of a lane as one list for each field, which is a third of the size of one object for each node.
fn nodes(
    file: &FileFindings,
    lane: &LaneStacks,
    least: i64,
    categories: &Categories<'_>,
    names: &mut BTreeMap<String, usize>,
) -> Option<Value> {
    let mut kept: BTreeMap<u32, usize> = BTreeMap::new();
    let [mut parents, mut numbers, mut kinds, mut totals, mut selves, mut counts] =
        [(); 6].map(|()| Vec::<Value>::new());
    for (index, node) in lane.nodes.iter().enumerate().filter(|(_, node)| node.below_nanos >= least) {
        let StackNode { parent, name, category, self_nanos, below_nanos, count } = *node;
        let text = file.picture.names.get(name as usize).map_or("", String::as_str);
        let next = names.len();
        numbers.push(json!(*names.entry(text.to_owned()).or_insert(next)));
        parents.push(json!(parent.and_then(|parent| kept.get(&parent).copied())));
        kept.insert(index as u32, kept.len());
        kinds.push(json!(categories.shared(file, category)));
        totals.push(json!(below_nanos));
        selves.push(json!(self_nanos));
        counts.push(json!(count));
    }
    (!kept.is_empty()).then(|| {
        json!({
            "parent": parents, "name": numbers, "category": kinds,
            "total_ns": totals, "self_ns": selves, "count": counts,
        })
    })
}
