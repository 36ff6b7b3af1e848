//! The values behind the HTML picture and the collapsed stacks.

use super::lanes;
use crate::attribute::FileSums;
use crate::attribute::lane::LaneResult;
use crate::collect::record::Side;
use crate::findings::{LanePicture, LaneStacks, Picture, StackNode};
use knockout_base::stats::us;

/// More lanes than this are not drawn.
const MAX_LANES: usize = 48;

pub(crate) fn picture(file: &FileSums<'_>) -> Picture {
    let mut busiest: Vec<&LaneResult> = file.lanes.iter().filter(|lane| lane.time.spans > 0).collect();
    // By events, not by time: a thread that only sleeps is in its call stack all the time.
    busiest.sort_by_key(|lane| (lane.side, std::cmp::Reverse(lane.time.spans), lane.lane));
    let bin_nanos = file.lanes.iter().map(|lane| lane.bin_nanos).max().unwrap_or(1);
    Picture {
        categories: file.rules.categories().to_vec(),
        bin_us: us(bin_nanos),
        bins: file.bins,
        lanes_left_out: busiest.len().saturating_sub(MAX_LANES),
        timelines: busiest.iter().take(MAX_LANES).map(|lane| timeline(file, lane)).collect(),
        stacks: busiest.iter().map(|lane| stacks(file, lane)).collect(),
        names: file.kinds.iter().map(|kind| file.text(kind.name).to_owned()).collect(),
    }
}

fn timeline(file: &FileSums<'_>, lane: &LaneResult) -> LanePicture {
    let width = lane.bin_nanos.max(1);
    let bins = lane.bins.iter().map(|bin| {
        let part = |nanos: i64| (nanos.saturating_mul(1000) / width).clamp(0, 1000) as u16;
        (
            bin.index,
            bin.parts.iter().map(|&(category, nanos)| (category.index() as u8, part(nanos))).collect(),
        )
    });
    LanePicture {
        label: lanes::name(file, lane.lane),
        device: lane.side == Side::Device,
        bins: bins.collect(),
    }
}

fn stacks(file: &FileSums<'_>, lane: &LaneResult) -> LaneStacks {
    let mut nodes: Vec<StackNode> = lane
        .tree
        .nodes
        .iter()
        .map(|node| StackNode {
            parent: node.parent.map(|parent| parent.index() as u32),
            name: node.kind.index() as u32,
            category: node.category.index() as u8,
            self_nanos: node.self_nanos,
            below_nanos: node.self_nanos,
            count: node.events,
        })
        .collect();
    // Children come after their parents, so one pass from the end carries every sum to the top.
    for index in (0..nodes.len()).rev() {
        let Some(StackNode { parent: Some(parent), below_nanos, .. }) = nodes.get(index).copied() else {
            continue;
        };
        if let Some(above) = nodes.get_mut(parent as usize) {
            above.below_nanos = above.below_nanos.saturating_add(below_nanos);
        }
    }
    LaneStacks { label: lanes::name(file, lane.lane), nodes }
}
