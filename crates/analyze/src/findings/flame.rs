//! The stacks of a run's trace with all steps merged into one, for flame graphs.

use crate::findings::Analysis;
use crate::findings::{LaneStacks, Picture, StackNode};
use std::collections::BTreeMap;

/// Name of all steps together.
const STEPS: &str = "steps";
/// How a profiler names a step; a number follows.
const STEP: &str = "ProfilerStep#";

impl Analysis {
    /// Sums the stacks of all steps, as if every step had one name.
    #[must_use]
    pub fn with_steps_added_up(mut self) -> Self {
        for file in &mut self.ranks {
            add_up(&mut file.picture);
        }
        self
    }
}

fn add_up(picture: &mut Picture) {
    let is_step: Vec<bool> = picture.names.iter().map(|name| name.starts_with(STEP)).collect();
    let steps = picture.names.len() as u32;
    picture.names.push(STEPS.to_owned());
    let name_of =
        |node: &StackNode| if is_step.get(node.name as usize) == Some(&true) { steps } else { node.name };
    for lane in &mut picture.stacks {
        lane.nodes = merged(lane, name_of);
    }
}

/// Nodes with the same path of names from the root become one.
fn merged(lane: &LaneStacks, name_of: impl Fn(&StackNode) -> u32) -> Vec<StackNode> {
    let mut indices: BTreeMap<(Option<u32>, u32, u8), u32> = BTreeMap::new();
    let mut moved: Vec<u32> = Vec::with_capacity(lane.nodes.len());
    let mut out: Vec<StackNode> = Vec::new();
    for node in &lane.nodes {
        // Parents come before their children.
        let parent = node.parent.and_then(|parent| moved.get(parent as usize).copied());
        let name = name_of(node);
        let next = out.len() as u32;
        let index = *indices.entry((parent, name, node.category)).or_insert(next);
        moved.push(index);
        match out.get_mut(index as usize) {
            Some(same) => {
                same.self_nanos += node.self_nanos;
                same.below_nanos += node.below_nanos;
                same.count += node.count;
            }
            None => out.push(StackNode { parent, name, ..*node }),
        }
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn steps_are_merged_and_times_are_kept() {
        let node = |parent, name, self_nanos, below_nanos| StackNode {
            parent,
            name,
            category: 0,
            self_nanos,
            below_nanos,
            count: 1,
        };
        let mut picture = Picture {
            names: ["ProfilerStep#1", "forward", "ProfilerStep#2", "setup"].map(str::to_owned).to_vec(),
            stacks: vec![LaneStacks {
                label: "main".to_owned(),
                nodes: vec![
                    node(None, 0, 2, 10),
                    node(Some(0), 1, 8, 8),
                    node(None, 2, 3, 12),
                    node(Some(2), 1, 9, 9),
                    node(None, 3, 4, 4),
                ],
            }],
            ..Picture::default()
        };
        add_up(&mut picture);
        let found: Vec<(Option<u32>, &str, i64, i64, u64)> = picture.stacks[0]
            .nodes
            .iter()
            .map(|n| {
                (n.parent, picture.names[n.name as usize].as_str(), n.self_nanos, n.below_nanos, n.count)
            })
            .collect();
        assert_eq!(
            found,
            [(None, "steps", 5, 22, 2), (Some(0), "forward", 17, 17, 2), (None, "setup", 4, 4, 1)]
        );
    }
}
