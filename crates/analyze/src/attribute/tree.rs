//! The call tree of one lane, with counts and times. The category of an event follows from
//! its node in the tree.

use crate::attribute::scopes::Scopes;
use crate::collect::id::{CategoryId, KindId, NodeId, ScopeId};
use crate::collect::kind::Kind;
use std::collections::{BTreeMap, HashMap};
use std::hash::{BuildHasherDefault, Hasher};

/// Beyond this many nodes in one tree, new ones are gathered by kind under the outermost event; memory stays bounded.
const MAX_NODES: usize = 300_000;
/// Deeper nodes are gathered by kind at this depth, far below any real stack: looking up the stack stays cheap.
const MAX_DEPTH: u32 = 512;

/// Events of one kind inside the same stack of other events.
#[derive(Debug, Clone)]
pub(crate) struct Node {
    pub(crate) parent: Option<NodeId>,
    pub(crate) kind: KindId,
    pub(crate) category: CategoryId,
    /// The phase around and including it.
    pub(crate) phase: Option<CategoryId>,
    pub(crate) events: u64,
    pub(crate) self_nanos: i64,
    /// Of its self time in steps (or all, without steps), that in which the device is idle.
    pub(crate) idle_nanos: i64,
    pub(crate) total_nanos: i64,
    /// No ancestor has the same name, so its total is not inside another one's.
    pub(crate) outermost: bool,
    /// The innermost Python frame at or above it.
    pub(crate) python: Option<NodeId>,
    /// The innermost module or annotation at or above it.
    pub(crate) scope: Option<ScopeId>,
    /// True inside a function of autograd, until a module or annotation opens inside it.
    pub(crate) in_function: bool,
    /// It is inside a step on its own lane.
    pub(crate) in_step: bool,
    /// The child seen last: usually the next one too.
    recent: Option<(KindId, NodeId)>,
    /// Nodes above it.
    depth: u32,
    /// The outermost node above it, or itself.
    root: NodeId,
}

/// All nodes of one lane.
#[derive(Debug, Default)]
pub(crate) struct Tree {
    pub(crate) nodes: Vec<Node>,
    pub(crate) scopes: Scopes,
    /// Nodes of time in which another node waits for other threads, by the category of what these do.
    waiting: BTreeMap<(NodeId, CategoryId), NodeId>,
    children: HashMap<u64, NodeId, BuildHasherDefault<Mix>>,
    pub(crate) cut: bool,
}

/// Returns the key of a kind inside a node.
#[inline]
fn key_of(parent: Option<NodeId>, kind: KindId) -> u64 {
    let parent = parent.map_or(u64::from(u32::MAX), |parent| parent.index() as u64);
    parent << 32 | kind.index() as u64
}

impl Tree {
    /// The node of a kind inside `parent`, made if new.
    #[inline]
    pub(crate) fn child(&mut self, parent: Option<NodeId>, kind: KindId, kinds: &[Kind]) -> NodeId {
        if let Some(node) = parent.and_then(|p| self.nodes.get(p.index()))
            && let Some((recent, id)) = node.recent
            && recent == kind
        {
            return id;
        }
        let key = key_of(parent, kind);
        let id = match self.children.get(&key) {
            Some(&id) => id,
            None => self.grow(parent, kind, key, kinds),
        };
        if let Some(node) = parent.and_then(|p| self.nodes.get_mut(p.index())) {
            node.recent = Some((kind, id));
        }
        id
    }

    #[cold]
    fn grow(&mut self, parent: Option<NodeId>, kind: KindId, key: u64, kinds: &[Kind]) -> NodeId {
        let mut parent = parent;
        let mut key = key;
        let above = parent.and_then(|p| self.nodes.get(p.index()));
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
            key = key_of(parent, kind);
            if let Some(&id) = self.children.get(&key) {
                return id;
            }
        }
        let id = NodeId::from_index(self.nodes.len());
        let node = self.new_node(parent, kind, id, kinds);
        self.nodes.push(node);
        self.children.insert(key, id);
        id
    }

    fn new_node(&mut self, parent: Option<NodeId>, kind: KindId, id: NodeId, kinds: &[Kind]) -> Node {
        let above = parent.and_then(|p| self.nodes.get(p.index()));
        let outer_phase = above.and_then(|node| node.phase);
        let mut node = Node {
            parent,
            kind,
            category: CategoryId::from_index(0),
            phase: outer_phase,
            events: 0,
            self_nanos: 0,
            idle_nanos: 0,
            total_nanos: 0,
            outermost: true,
            python: above.and_then(|node| node.python),
            scope: above.and_then(|node| node.scope),
            in_function: above.is_some_and(|node| node.in_function),
            in_step: above.is_some_and(|node| node.in_step),
            recent: None,
            depth: above.map_or(0, |node| node.depth + 1),
            root: above.map_or(id, |node| node.root),
        };
        let Some(facts) = kinds.get(kind.index()) else { return node };
        let opens = facts
            .categories
            .phases
            .iter()
            .find(|(_, not_inside)| outer_phase.is_none_or(|outer| !not_inside.contains(&outer)));
        if let Some((phase, _)) = opens {
            node.phase = Some(*phase);
        }
        node.category = facts.categories.itself.or(node.phase).unwrap_or(facts.categories.otherwise);
        if facts.is(Kind::PYTHON) {
            node.python = Some(id);
        }
        node.in_step |= facts.is(Kind::STEP);
        node.in_function |= facts.is(Kind::ENGINE);
        let mut up = above;
        while let Some(ancestor) = up {
            if kinds.get(ancestor.kind.index()).is_some_and(|other| other.name == facts.name) {
                node.outermost = false;
                break;
            }
            up = ancestor.parent.and_then(|p| self.nodes.get(p.index()));
        }
        if facts.is(Kind::SCOPE) {
            node.scope = self.scopes.child(node.scope, kind);
            node.in_function = false;
        }
        node
    }

    /// The node of time in which the event of `id` waits for other threads, made if new. It has the same kind, and is inside of it.
    pub(crate) fn waiting(&mut self, id: NodeId, category: CategoryId) -> NodeId {
        if let Some(&waiting) = self.waiting.get(&(id, category)) {
            return waiting;
        }
        let Some(node) = self.nodes.get(id.index()) else { return id };
        let waiting = NodeId::from_index(self.nodes.len());
        self.waiting.insert((id, category), waiting);
        self.nodes.push(Node {
            parent: Some(id),
            category,
            phase: Some(category),
            events: 0,
            self_nanos: 0,
            idle_nanos: 0,
            total_nanos: 0,
            outermost: false,
            recent: None,
            depth: node.depth + 1,
            ..node.clone()
        });
        waiting
    }

    /// Frees the tables that are only used to build the tree.
    pub(crate) fn freeze(&mut self) {
        self.children = HashMap::default();
        self.waiting = BTreeMap::new();
        self.nodes.shrink_to_fit();
    }
}

/// A hasher for keys that are numbers already: one multiplication. Its maps are never iterated.
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
