//! The heaviest path of call trees: always to the children, of one name, that have most of the device's idle time.

use crate::attribute::FileSums;
use crate::attribute::lane::LaneResult;
use crate::attribute::tree::Node;
use crate::collect::id::NodeId;
use crate::collect::kind::Kind;
use knockout_trace::Symbol;
use std::collections::BTreeMap;

/// The innermost module and the innermost event of the path, with the idle nanoseconds inside.
#[derive(Debug, Default)]
pub(crate) struct Heaviest {
    pub(crate) module: Option<(Symbol, i64)>,
    pub(crate) operation: Option<(Symbol, i64)>,
}

/// A call tree that can be walked downwards.
struct Downwards<'a> {
    nodes: &'a [Node],
    /// Idle nanoseconds in and below each node.
    below: Vec<i64>,
    first_child: Vec<u32>,
    next_sibling: Vec<u32>,
}

const NONE: u32 = u32::MAX;

/// Nodes of one name, as tree and index.
#[derive(Default)]
struct Group {
    is_module: bool,
    idle_nanos: i64,
    nodes: Vec<(usize, u32)>,
}

impl<'a> Downwards<'a> {
    fn new(nodes: &'a [Node], counts: &dyn Fn(&Node) -> bool) -> Self {
        let own = nodes.iter().map(|node| if counts(node) { node.idle_nanos } else { 0 });
        let mut down = Self {
            nodes,
            below: own.collect(),
            first_child: vec![NONE; nodes.len()],
            next_sibling: vec![NONE; nodes.len()],
        };
        // Children come after their parents.
        for (index, node) in nodes.iter().enumerate().rev() {
            let Some(parent) = node.parent.map(NodeId::index) else { continue };
            let inside = down.below.get(index).copied().unwrap_or(0);
            if let Some(sum) = down.below.get_mut(parent) {
                *sum = sum.saturating_add(inside);
            }
            if let (Some(first), Some(next)) =
                (down.first_child.get_mut(parent), down.next_sibling.get_mut(index))
            {
                *next = std::mem::replace(first, index as u32);
            }
        }
        down
    }

    fn children(&self, parent: u32) -> impl Iterator<Item = u32> {
        let at = |list: &[u32], index: u32| list.get(index as usize).copied().filter(|next| *next != NONE);
        std::iter::successors(at(&self.first_child, parent), move |&child| at(&self.next_sibling, child))
    }
}

/// Follows the heaviest path of some lanes down while it has at least `least` idle nanoseconds of the nodes that count.
///
/// Events of one name are taken together, and so are all steps.
pub(crate) fn heaviest_path(
    file: &FileSums<'_>,
    lanes: &[&LaneResult],
    counts: &dyn Fn(&Node) -> bool,
    least: i64,
) -> Heaviest {
    let trees: Vec<Downwards<'_>> =
        lanes.iter().map(|lane| Downwards::new(&lane.tree.nodes, counts)).collect();
    let roots = trees.iter().enumerate().flat_map(|(tree, down)| {
        let is_root = |(_, node): &(usize, &Node)| node.parent.is_none();
        down.nodes.iter().enumerate().filter(is_root).map(move |(index, _)| (tree, index as u32))
    });
    let mut level: Vec<(usize, u32)> = roots.collect();
    let mut found = Heaviest::default();
    while !level.is_empty() {
        // Steps have no name here.
        let mut groups: BTreeMap<Option<Symbol>, Group> = BTreeMap::new();
        for (tree, index) in level {
            let Some(down) = trees.get(tree) else { continue };
            let Some(node) = down.nodes.get(index as usize) else { continue };
            let kind = file.kinds.get(node.kind.index()).filter(|kind| !kind.is(Kind::STEP));
            let group = groups.entry(kind.map(|kind| kind.name)).or_default();
            group.idle_nanos =
                group.idle_nanos.saturating_add(down.below.get(index as usize).copied().unwrap_or(0));
            group.is_module = kind.is_some_and(|kind| kind.is(Kind::MODULE));
            group.nodes.push((tree, index));
        }
        let heaviest = groups.into_iter().rev().max_by_key(|(_, group)| group.idle_nanos);
        let Some((name, group)) = heaviest.filter(|(_, group)| group.idle_nanos >= least.max(1)) else {
            break;
        };
        if let Some(name) = name {
            found.operation = Some((name, group.idle_nanos));
            if group.is_module {
                found.module = Some((name, group.idle_nanos));
            }
        }
        let children = |&(tree, index): &(usize, u32)| {
            trees
                .get(tree)
                .into_iter()
                .flat_map(move |down| down.children(index).map(move |child| (tree, child)))
        };
        level = group.nodes.iter().flat_map(children).collect();
    }
    found
}
