//! The call tree of one lane: what ran inside what, how often and how long. The category of an event follows from
//! its node in the tree.

use crate::collect::kind::Kind;
use crate::collect::rules::CategoryId;
use std::collections::HashMap;
use std::hash::{BuildHasherDefault, Hasher};

/// Beyond this many nodes in one tree, new ones are gathered by kind under the outermost event; memory stays bounded.
const MAX_NODES: usize = 300_000;
/// Deeper nodes are gathered by kind at this depth, far below any real stack: looking up the stack stays cheap.
const MAX_DEPTH: u32 = 512;

/// Events of one kind inside the same stack of other events.
#[derive(Debug, Clone)]
pub(crate) struct Node {
    pub(crate) parent: Option<u32>,
    pub(crate) kind: u32,
    pub(crate) category: CategoryId,
    /// The phase around and including it.
    pub(crate) phase: Option<CategoryId>,
    pub(crate) events: u64,
    pub(crate) self_nanos: i64,
    pub(crate) total_nanos: i64,
    /// No ancestor has the same name, so its total is not inside another one's.
    pub(crate) outermost: bool,
    /// The innermost Python frame at or above it.
    pub(crate) python: Option<u32>,
    /// The child seen last: usually the next one too.
    recent: (u32, u32),
    /// Nodes above it.
    depth: u32,
    /// The outermost node above it, or itself.
    root: u32,
}

/// All nodes of one lane.
#[derive(Debug, Default)]
pub(crate) struct Tree {
    pub(crate) nodes: Vec<Node>,
    children: HashMap<u64, u32, BuildHasherDefault<Mix>>,
    pub(crate) cut: bool,
}

const NONE: u32 = u32::MAX;

impl Tree {
    /// The node of a kind inside `parent`, made if new.
    #[inline]
    pub(crate) fn child(&mut self, parent: Option<u32>, kind: u32, kinds: &[Kind]) -> u32 {
        if let Some(node) = parent.and_then(|p| self.nodes.get(p as usize))
            && node.recent.0 == kind
        {
            return node.recent.1;
        }
        let key = u64::from(parent.unwrap_or(NONE)) << 32 | u64::from(kind);
        let number = match self.children.get(&key) {
            Some(&number) => number,
            None => self.grow(parent, kind, key, kinds),
        };
        if let Some(node) = parent.and_then(|p| self.nodes.get_mut(p as usize)) {
            node.recent = (kind, number);
        }
        number
    }

    #[cold]
    fn grow(&mut self, parent: Option<u32>, kind: u32, key: u64, kinds: &[Kind]) -> u32 {
        let mut parent = parent;
        let mut key = key;
        let above = parent.and_then(|p| self.nodes.get(p as usize));
        let instead = match above {
            // Hang it under the outermost event: the phase stays right, the depth is lost.
            Some(node) if self.nodes.len() >= MAX_NODES => Some(Some(node.root)),
            Some(node) if node.depth >= MAX_DEPTH => Some(node.parent),
            None if self.nodes.len() >= MAX_NODES => Some(None),
            _ => None,
        };
        if let Some(instead) = instead {
            self.cut = true;
            parent = instead;
            key = u64::from(parent.unwrap_or(NONE)) << 32 | u64::from(kind);
            if let Some(&number) = self.children.get(&key) {
                return number;
            }
        }
        let number = self.nodes.len() as u32;
        let node = self.new_node(parent, kind, number, kinds);
        self.nodes.push(node);
        self.children.insert(key, number);
        number
    }

    fn new_node(&self, parent: Option<u32>, kind: u32, number: u32, kinds: &[Kind]) -> Node {
        let above = parent.and_then(|p| self.nodes.get(p as usize));
        let outer_phase = above.and_then(|node| node.phase);
        let mut node = Node {
            parent,
            kind,
            category: 0,
            phase: outer_phase,
            events: 0,
            self_nanos: 0,
            total_nanos: 0,
            outermost: true,
            python: above.and_then(|node| node.python),
            recent: (NONE, NONE),
            depth: above.map_or(0, |node| node.depth + 1),
            root: above.map_or(number, |node| node.root),
        };
        let Some(facts) = kinds.get(kind as usize) else { return node };
        let opens = facts
            .claim
            .phases
            .iter()
            .find(|(_, not_inside)| outer_phase.is_none_or(|outer| !not_inside.contains(&outer)));
        if let Some((phase, _)) = opens {
            node.phase = Some(*phase);
        }
        node.category = facts.claim.itself.or(node.phase).unwrap_or(facts.claim.otherwise);
        if facts.is(Kind::PYTHON) {
            node.python = Some(number);
        }
        let mut up = above;
        while let Some(ancestor) = up {
            if kinds.get(ancestor.kind as usize).is_some_and(|other| other.name == facts.name) {
                node.outermost = false;
                break;
            }
            up = ancestor.parent.and_then(|p| self.nodes.get(p as usize));
        }
        node
    }

    /// Frees what only building needs.
    pub(crate) fn freeze(&mut self) {
        self.children = HashMap::default();
        self.nodes.shrink_to_fit();
    }
}

/// A hasher for keys that are numbers already: one multiplication. Never iterated, so its order is nobody's concern.
#[derive(Debug, Default)]
pub(crate) struct Mix(u64);

impl Hasher for Mix {
    fn finish(&self) -> u64 {
        self.0
    }

    fn write(&mut self, bytes: &[u8]) {
        for &byte in bytes {
            self.write_u64(u64::from(byte));
        }
    }

    #[inline]
    fn write_u64(&mut self, value: u64) {
        let mixed = (self.0 ^ value).wrapping_mul(0x9E37_79B9_7F4A_7C15);
        self.0 = mixed ^ (mixed >> 29);
    }

    #[inline]
    fn write_u32(&mut self, value: u32) {
        self.write_u64(u64::from(value));
    }
}
