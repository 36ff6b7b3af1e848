//! One lane swept in time order: self times, sums by step, timeline bins and launch links from one pass over its spans.

use crate::attribute::autograd::{Collectives, FunctionCursor, Functions, Stretches};
use crate::attribute::device_state::{BusyTime, DeviceState, DeviceStates};
use crate::attribute::hta::Hta;
use crate::attribute::interval::Union;
use crate::attribute::parts::{Activity, Divider, PartNanos};
use crate::attribute::scopes::Autograd;
use crate::attribute::self_time::{LaneTime, SpanPart, Visitor, sweep};
use crate::attribute::shapes::ShapeSums;
use crate::attribute::steps::{ProfilerStep, StepTable};
use crate::attribute::timeline::{Bin, Bins};
use crate::attribute::tree::{Node, Tree};
use crate::collect::LaneSet;
use crate::collect::id::{CategoryId, KindId, NodeId, StepId};
use crate::collect::kind::{Kind, LaunchKind};
use crate::collect::record::{Link, NO_CORRELATION, Side, Span};
use crate::collect::rules::Role;
use crate::collect::shapes::Shape;
use crate::sort::{Helper, Segment, SegmentStore, SortRecord as _, Writer, merge};
use knockout_base::error::{Error, Result};
use knockout_trace::LaneId;
use std::sync::Arc;

/// A step whose pieces are kept for the critical path has at most this many of them per lane.
const MAX_PIECES: usize = 1 << 20;

/// The values that all lanes of a file share.
#[derive(Debug, Clone)]
pub(crate) struct FileContext {
    pub(crate) store: Arc<SegmentStore>,
    pub(crate) kinds: Arc<[Kind]>,
    pub(crate) steps: Arc<[ProfilerStep]>,
    pub(crate) categories: usize,
    pub(crate) hta: Arc<Hta>,
    pub(crate) window: (i64, i64),
    pub(crate) bins: usize,
    /// The step whose critical path is wanted.
    pub(crate) critical: Option<(i64, i64)>,
    /// The category of time that nothing names, if the rules have one.
    pub(crate) unattributed: Option<CategoryId>,
    /// Roles by category.
    pub(crate) roles: Vec<Role>,
    /// Lanes that hold functions of autograd's engine.
    pub(crate) engine_lanes: LaneSet,
    /// Functions of autograd's own threads; nothing while these are swept.
    pub(crate) functions: Functions,
    /// The category of the backward pass, if the rules have one.
    pub(crate) backward: Option<CategoryId>,
    /// Collectives on threads of their own on the host.
    pub(crate) collectives: Collectives,
    /// The category of communication, if the rules have one.
    pub(crate) communication: Option<CategoryId>,
    /// State of the device; nothing while the device's own lanes are swept.
    pub(crate) device: Arc<DeviceStates>,
    /// Shapes of operators.
    pub(crate) shapes: Arc<[Shape]>,
}

impl FileContext {
    /// Room for sums by step.
    pub(crate) fn step_table(&self) -> StepTable {
        StepTable::new(Arc::clone(&self.steps), Arc::clone(&self.kinds), self.categories)
    }
}

/// The sums of one lane.
#[derive(Debug)]
pub(crate) struct LaneResult {
    pub(crate) lane: LaneId,
    pub(crate) side: Side,
    pub(crate) time: LaneTime,
    pub(crate) naive_nanos: i128,
    pub(crate) device_work_nanos: i64,
    pub(crate) tree: Tree,
    pub(crate) bins: Vec<Bin>,
    pub(crate) bin_nanos: i64,
    pub(crate) links: Vec<Segment<Link>>,
    pub(crate) hta_rows_kept: u64,
    pub(crate) hta_uncorrelated_rows: u64,
    pub(crate) pieces: Vec<Piece>,
    /// Autograd functions at the top level of this lane, as on autograd's own threads.
    pub(crate) engine: Stretches,
    /// Of a lane with steps, time that nothing names.
    pub(crate) unnamed: Stretches,
    /// Of a lane of the device or of the profiler: when it is busy.
    pub(crate) busy: BusyTime,
    /// Parts of each step, for a lane with steps; without any steps, parts of the lane's time.
    pub(crate) parts: Vec<PartNanos>,
    /// Calls that launch device work.
    pub(crate) launches: u64,
    pub(crate) autograd: Autograd,
    pub(crate) shapes: ShapeSums,
}

/// A stretch of time on a host lane in which one event was innermost.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Piece {
    pub(crate) from: i64,
    pub(crate) to: i64,
    pub(crate) kind: KindId,
    pub(crate) category: CategoryId,
}

/// The state that a thread keeps between the lanes it sweeps: sums by step, and room to count in.
#[derive(Debug)]
pub(crate) struct Scratch {
    pub(crate) steps: StepTable,
    /// Self time and number by kind within the step that time is in.
    own: Vec<(i64, u64)>,
    touched: Vec<KindId>,
}

impl Scratch {
    pub(crate) fn new(shared: &FileContext) -> Self {
        Self { steps: shared.step_table(), own: vec![(0, 0); shared.kinds.len()], touched: Vec::new() }
    }

    fn own(&mut self, kind: KindId, nanos: i64, events: u64) {
        if let Some(own) = self.own.get_mut(kind.index()) {
            if *own == (0, 0) {
                self.touched.push(kind);
            }
            own.0 += nanos;
            own.1 += events;
        }
    }

    /// Adds the counts since the last call to the sums of `step`, and clears them.
    fn add_to_step(&mut self, step: StepId) {
        for kind in self.touched.drain(..) {
            if let Some(own) = self.own.get_mut(kind.index()) {
                let (nanos, events) = std::mem::take(own);
                self.steps.pair(step, kind, nanos, events);
            }
        }
    }
}

/// The state of sweeping one lane.
struct LaneSweep<'a> {
    shared: &'a FileContext,
    scratch: &'a mut Scratch,
    side: Side,
    tree: Tree,
    bins: Bins,
    links: Writer<Link>,
    failure: Option<Error>,
    naive_nanos: i128,
    device_work: Union,
    hta_rows_kept: u64,
    hta_uncorrelated_rows: u64,
    /// The step in which time is now, and when that changes.
    step: Option<StepId>,
    step_until: i64,
    pieces: Vec<Piece>,
    engine: Stretches,
    unnamed: Stretches,
    has_steps: bool,
    busy: BusyTime,
    divider: Option<Divider<'a>>,
    launches: u64,
    lane: LaneId,
    autograd: Autograd,
    shapes: ShapeSums,
    /// The next functions that autograd's own threads evaluate; `None` for a lane that does not wait for these.
    functions: Option<FunctionCursor<'a>>,
}

/// Sweeps one lane.
pub(crate) fn sweep_lane(
    shared: &FileContext,
    scratch: &mut Scratch,
    lane: LaneId,
    side: Side,
    segments: Vec<Segment<Span>>,
) -> Result<LaneResult> {
    let mut spans = merge(&shared.store, segments)?;
    let has_steps = side == Side::Host && shared.steps.iter().any(|step| step.lane == lane);
    // Without steps the main lane is not known yet.
    let divided = match (has_steps, shared.steps.len()) {
        _ if side == Side::Device => None,
        (_, 0) => Some(1),
        (true, steps) => Some(steps),
        (false, _) => shared.engine_lanes.contains(lane).then_some(0),
    };
    // Where several threads have steps, any of them can be the one that waits.
    let is_only_one = shared.steps.iter().all(|step| step.lane == lane);
    let waits = side == Side::Host && is_only_one && !shared.functions.is_empty();
    let mut state = LaneSweep {
        shared,
        scratch,
        side,
        tree: Tree::default(),
        bins: Bins::new(shared.window, shared.bins, shared.categories),
        links: Writer::new(&shared.store, Helper::None),
        failure: None,
        naive_nanos: 0,
        device_work: Union::default(),
        hta_rows_kept: 0,
        hta_uncorrelated_rows: 0,
        step: None,
        step_until: i64::MIN,
        pieces: Vec::new(),
        engine: Stretches::default(),
        unnamed: Stretches::default(),
        has_steps,
        busy: BusyTime::default(),
        divider: divided.map(|sums| Divider::new(&shared.device, sums)),
        launches: 0,
        lane,
        autograd: Autograd::default(),
        shapes: ShapeSums::default(),
        functions: waits.then(|| shared.functions.cursor()),
    };
    let next = |state: &mut LaneSweep<'_>| {
        while let Some(span) = spans.next()? {
            state.row(&span);
            if span.is(Span::COMPLETE) && span.duration > 0 {
                return Ok(Some(span));
            }
        }
        Ok(None)
    };
    let time = sweep(next, &mut state)?;
    state.leave_step();
    if let Some(failure) = state.failure {
        return Err(failure);
    }
    state.tree.freeze();
    Ok(LaneResult {
        lane,
        side,
        time,
        naive_nanos: state.naive_nanos,
        device_work_nanos: state.device_work.nanos,
        tree: state.tree,
        bin_nanos: state.bins.width(),
        bins: state.bins.finish(),
        links: state.links.finish()?,
        hta_rows_kept: state.hta_rows_kept,
        hta_uncorrelated_rows: state.hta_uncorrelated_rows,
        pieces: state.pieces,
        engine: state.engine.finish(),
        unnamed: state.unnamed.finish(),
        busy: state.busy,
        parts: state.divider.map(|divider| divider.sums).unwrap_or_default(),
        launches: state.launches,
        autograd: state.autograd.finish(),
        shapes: state.shapes,
    })
}

impl LaneSweep<'_> {
    /// Every event with a duration, also those that are in no sum.
    fn row(&mut self, span: &Span) {
        let Some(kind) = self.shared.kinds.get(span.kind.index()) else { return };
        let counts = span.is(Span::COMPLETE) && span.duration > 0;
        if counts {
            self.naive_nanos += i128::from(span.duration);
            if self.side == Side::Device && kind.is(Kind::DEVICE) {
                self.device_work.add(span.start, span.end());
            }
            if let Some(state) = DeviceState::of(kind) {
                self.busy.add(state, span.start, span.end());
            }
        }
        if span.is(Span::ON_STREAM) {
            return;
        }
        if kind.is(Kind::HAS_CATEGORY) {
            let hta = &self.shared.hta;
            if span.correlation == NO_CORRELATION && hta.keeps_host_row(span.start) {
                self.hta_rows_kept += 1;
                self.hta_uncorrelated_rows += 1;
            }
            if hta.in_first_step(span.start) {
                let nanos = hta.end(span.start, span.duration) - hta.start(span.start);
                self.scratch.steps.first_step_host(span.kind, nanos);
            }
        }
        if !counts && span.correlation != NO_CORRELATION {
            self.link(span, None);
        }
    }

    fn link(&mut self, span: &Span, node: Option<NodeId>) {
        let node = node.and_then(|id| self.tree.nodes.get(id.index()));
        let scope = node.and_then(|node| node.scope);
        let sequence =
            node.filter(|node| node.in_function).and_then(|_| self.autograd.sequence_at(span.start));
        let scoped = if scope.is_some() { Link::SCOPED } else { 0 };
        let sequenced = if sequence.is_some() { Span::SEQUENCED } else { 0 };
        let function = if node.is_some_and(|node| node.in_function) { Link::FUNCTION } else { 0 };
        let pushed = self.links.push(Link {
            correlation: span.correlation,
            order: span.order,
            start: span.start,
            duration: span.duration,
            kind: span.kind,
            stream: None,
            phase: node.and_then(|node| node.phase),
            step: self.scratch.steps.at(span.start),
            lane: if scope.is_some() { self.lane } else { Link::ZERO.lane },
            scope,
            sequence: sequence.unwrap_or(0),
            shape: node.and_then(|_| self.shapes.at(span.start)),
            flags: span.flags & Span::COMPLETE | scoped | sequenced | function,
        });
        if let Err(failure) = pushed {
            self.failure.get_or_insert(failure);
        }
    }

    fn leave_step(&mut self) {
        if let Some(step) = self.step.take() {
            self.scratch.add_to_step(step);
        }
    }

    /// Finds the step of `time`, which never goes back.
    fn enter_step(&mut self, time: i64) {
        self.leave_step();
        self.step = self.scratch.steps.at(time);
        let inside = self.step.and_then(|step| self.scratch.steps.steps.get(step.index()));
        let end = inside.map_or(i64::MAX, |step| step.end);
        // A step that begins before this one ends takes over.
        let next = self.scratch.steps.steps.partition_point(|step| step.start <= time);
        self.step_until = self.scratch.steps.steps.get(next).map_or(end, |step| step.start.min(end));
    }

    /// Adds a piece of time to the sums of its step; returns the nanoseconds of it in which the device is idle.
    fn in_steps(&mut self, piece: &Piece, activity: Activity) -> i64 {
        let &Piece { from: began, to, kind, category } = piece;
        let (mut from, mut idle) = (began, 0);
        while from < to {
            if from >= self.step_until {
                self.enter_step(from);
            }
            let end = to.min(self.step_until);
            if let Some(step) = self.step {
                self.scratch.steps.host(step, category, end - from);
                self.scratch.own(kind, end - from, 0);
                idle += self.divide(step.index(), activity, began, (from, end));
            }
            from = end;
        }
        idle
    }

    fn divide(&mut self, index: usize, activity: Activity, began: i64, (from, to): (i64, i64)) -> i64 {
        self.divider.as_mut().map_or(0, |divider| divider.add(index, activity, began, from, to))
    }

    fn role(&self, category: CategoryId) -> Role {
        self.shared.roles.get(category.index()).copied().unwrap_or_default()
    }

    fn keep_piece(&mut self, piece: &Piece) {
        let Some((start, end)) = self.shared.critical else { return };
        let (from, to) = (piece.from.max(start), piece.to.min(end));
        if from < to && self.pieces.len() < MAX_PIECES {
            self.pieces.push(Piece { from, to, ..*piece });
        }
    }
}

impl Visitor for LaneSweep<'_> {
    fn opened(&mut self, parent: Option<NodeId>, span: &Span, part: SpanPart) -> NodeId {
        let SpanPart { from, to, is_continued } = part;
        let id = self.tree.child(parent, span.kind, &self.shared.kinds);
        let Some(node) = self.tree.nodes.get_mut(id.index()) else { return id };
        node.total_nanos = node.total_nanos.saturating_add(to - from);
        let &mut Node { scope, in_function, .. } = node;
        let is_engine = self.shared.kinds.get(span.kind.index()).is_some_and(|kind| kind.is(Kind::ENGINE));
        if is_engine && self.side == Side::Host {
            self.autograd.enter(span, (from, to), scope);
            if parent.is_none() {
                self.engine.add(from, to);
            }
        }
        if is_continued {
            return id;
        }
        node.events += 1;
        if self.side == Side::Host {
            if let Some(shape) = span.shape {
                self.shapes.enter(shape, &self.shared.shapes, from, to);
            }
            if let Some(kind) = self.shared.kinds.get(span.kind.index()) {
                let has_scopes = !self.tree.scopes.list.is_empty();
                if span.is(Span::SEQUENCED) && !is_engine && !in_function && has_scopes {
                    self.autograd.operator(span.sequence, scope);
                }
                self.launches += u64::from(kind.launch != LaunchKind::No);
            }
            if from >= self.step_until {
                self.enter_step(from);
            }
            if self.step.is_some() {
                self.scratch.own(span.kind, 0, 1);
            }
        }
        if span.correlation != NO_CORRELATION && !span.is(Span::ON_STREAM) {
            self.link(span, Some(id));
        }
        id
    }

    fn innermost(&mut self, id: NodeId, from: i64, to: i64) {
        if let Some((category, began, ended)) = self.wait_for_collectives(id, from, to) {
            let waiting = self.tree.waiting(id, category);
            for (node, from, to) in [(id, from, began), (waiting, began, ended), (id, ended, to)] {
                if from < to {
                    self.add(node, from, to);
                }
            }
            return;
        }
        let Some((began, ended)) = self.wait(id, from, to) else { return self.add(id, from, to) };
        let Some(node) = self.tree.nodes.get(id.index()) else { return };
        if let Some(scope) = node.scope {
            self.autograd.wait(began, ended, scope);
        }
        // What no span names is counted apart.
        let role = node.phase.map(|phase| self.role(phase));
        let backward = self.shared.backward.filter(|_| matches!(role, Some(Role::Forward | Role::Loss)));
        let waiting = backward.map_or(id, |backward| self.tree.waiting(id, backward));
        for (node, from, to) in [(id, from, began), (waiting, began, ended), (id, ended, to)] {
            if from < to {
                self.add(node, from, to);
            }
        }
    }

    fn shortened(&mut self, node: NodeId, nanos: i64) {
        if let Some(node) = self.tree.nodes.get_mut(node.index()) {
            node.total_nanos = node.total_nanos.saturating_sub(nanos);
        }
    }

    fn is_step(&self, span: &Span) -> bool {
        self.shared.kinds.get(span.kind.index()).is_some_and(|kind| kind.is(Kind::STEP))
    }

    fn is_annotation(&self, span: &Span) -> bool {
        self.shared.kinds.get(span.kind.index()).is_some_and(|kind| kind.is(Kind::SCOPE))
    }
}

impl LaneSweep<'_> {
    /// Returns from when to when a thread waits for autograd's threads, where it has nothing but an event that does no work itself.
    #[inline]
    fn wait(&mut self, id: NodeId, from: i64, to: i64) -> Option<(i64, i64)> {
        let functions = self.functions.as_mut()?;
        let node = self.tree.nodes.get(id.index())?;
        let kind = self.shared.kinds.get(node.kind.index())?;
        let is_idle = kind.is(Kind::SCOPE) || kind.is(Kind::PYTHON);
        if is_idle { functions.wait(from, to) } else { None }
    }

    /// Returns from when to when the thread with steps waits for collectives on other threads of the host.
    #[inline]
    fn wait_for_collectives(&self, id: NodeId, from: i64, to: i64) -> Option<(CategoryId, i64, i64)> {
        let category = self.shared.communication.filter(|_| self.has_steps)?;
        let node = self.tree.nodes.get(id.index()).filter(|node| node.category != category)?;
        let kind = self.shared.kinds.get(node.kind.index())?;
        let is_idle = kind.is(Kind::STEP) || kind.is(Kind::SCOPE) || kind.is(Kind::PYTHON);
        let (began, ended) = self.shared.collectives.wait(from, to).filter(|_| is_idle)?;
        Some((category, began, ended))
    }

    /// Adds time in which `id` is innermost.
    fn add(&mut self, id: NodeId, from: i64, to: i64) {
        let Some(node) = self.tree.nodes.get_mut(id.index()) else { return };
        node.self_nanos += to - from;
        let (kind, category, phase) = (node.kind, node.category, node.phase);
        if node.in_function {
            self.autograd.run(from, to);
        }
        self.shapes.run(from, to);
        self.bins.add(category, from, to);
        if self.side == Side::Device {
            return;
        }
        let piece = Piece { from, to, kind, category };
        let is_call = self.shared.kinds.get(kind.index()).is_some_and(|kind| kind.is(Kind::CALL));
        let activity = Activity::of(phase.map(|phase| self.role(phase)), self.role(category), is_call);
        let mut idle = self.in_steps(&piece, activity);
        if self.shared.steps.is_empty() {
            idle += self.divide(0, activity, from, (from, to));
        }
        if let Some(node) = self.tree.nodes.get_mut(id.index()).filter(|_| idle > 0) {
            node.idle_nanos += idle;
        }
        self.keep_piece(&piece);
        if self.has_steps && self.shared.unattributed == Some(category) {
            self.unnamed.add(from, to);
        }
    }
}
