//! Collapsed stacks: one line per stack, frames from the outside in, self time in nanoseconds. What flame graph
//! programs (inferno, speedscope, flamegraph.pl) read.

use knockout_analyze::{Analysis, LaneStacks, Picture};
use std::fmt::Write as _;

/// All stacks of all files, lanes in order of their time, stacks in order of first appearance.
pub fn collapsed(analysis: &Analysis) -> String {
    let mut out = String::new();
    for file in &analysis.ranks {
        let root = if analysis.ranks.len() > 1 { format!("{};", frame(&file.file)) } else { String::new() };
        for lane in &file.picture.stacks {
            stacks(&file.picture, lane, &root, &mut out);
        }
    }
    out
}

fn stacks(picture: &Picture, lane: &LaneStacks, root: &str, out: &mut String) {
    let names: Vec<String> = picture.names.iter().map(|name| frame(name)).collect();
    let mut path: Vec<&str> = Vec::new();
    for node in lane.nodes.iter().filter(|node| node.self_nanos > 0) {
        path.clear();
        let mut at = Some(node);
        while let Some(node) = at {
            path.push(names.get(node.name as usize).map_or("", String::as_str));
            at = node.parent.and_then(|parent| lane.nodes.get(parent as usize));
        }
        write!(out, "{root}{}", frame(&lane.label)).unwrap_or_default();
        for name in path.iter().rev() {
            out.push(';');
            out.push_str(name);
        }
        writeln!(out, " {}", node.self_nanos).unwrap_or_default();
    }
}

/// A frame must not hold what separates frames and lines.
pub(crate) fn frame(name: &str) -> String {
    name.chars()
        .map(|c| {
            if c == ';' {
                ':'
            } else if c.is_control() {
                ' '
            } else {
                c
            }
        })
        .collect()
}
