//! Every event of a trace as rows of tables, for queries of the user's own.
//!
//! Nothing else depends on this module. Spans are walked lane by lane as for findings, so self time, category and phase are the same;
//! a row is handed on when its event ends, and memory grows with the nesting alone.

use crate::assemble::collective_table;
use crate::attribute::self_time::{SpanPart, Visitor, sweep};
use crate::attribute::steps::ProfilerStep;
use crate::attribute::tree::Tree;
use crate::attribute::{by_lane, pair_begin_end, steps_of};
use crate::collect::id::{KindId, NodeId, ScopeId};
use crate::collect::kind::{DeviceWork, Kind};
use crate::collect::record::{Link, NO_CORRELATION, Side, Span};
use crate::collect::rules::Rules;
use crate::collect::shapes::Shape;
use crate::collect::{ArgValueKey, Collector, Stream};
use crate::findings::CollectiveRow;
use crate::sort::{Segment, merge};
use knockout_base::error::Result;
use knockout_trace::ReadOutcome;
use std::collections::BTreeMap;

/// Receives the rows. Times are nanoseconds on the clock of the trace.
pub trait Tables {
    /// Takes a span of a host thread.
    fn span(&mut self, row: &SpanRow<'_>) -> Result<()>;
    /// Takes an event of a device.
    fn kernel(&mut self, row: &DeviceRow<'_>) -> Result<()>;
    /// Takes a communication event of a device.
    fn collective(&mut self, row: &CollectiveRow) -> Result<()>;
}

/// A span of a host thread, or the part of it in one step.
#[derive(Debug, Clone)]
pub struct SpanRow<'a> {
    /// Index of the event in the file.
    pub event: u64,
    /// Index of the event around it.
    pub parent: Option<u64>,
    /// Number of events around it.
    pub depth: u32,
    /// Whether an earlier part of the span has a row of its own.
    pub is_continued: bool,
    /// Name.
    pub name: &'a str,
    /// Value of the `cat` field.
    pub cat: &'a str,
    /// Category by the rules.
    pub category: &'a str,
    /// Phase by the rules.
    pub phase: Option<&'a str>,
    /// Innermost module or annotation at or above it.
    pub module: Option<&'a str>,
    /// `ProfilerStep` in which it begins.
    pub step: Option<&'a str>,
    /// `pid` of its thread.
    pub pid: String,
    /// `tid` of its thread.
    pub tid: String,
    /// Start.
    pub start_nanos: i64,
    /// Length.
    pub duration_nanos: i64,
    /// Time in which nothing inside it ran.
    pub self_nanos: i64,
    /// Joins launch calls with the device events that they launch.
    pub correlation: Option<i64>,
    /// Sizes of the inputs, as the profiler writes them.
    pub input_dims: Option<&'a str>,
    /// Types of the inputs, as the profiler writes them.
    pub input_types: Option<&'a str>,
    /// Floating-point operations, where they are known.
    pub flop: Option<f64>,
    /// Bytes of inputs and outputs, where they are known.
    pub bytes: Option<f64>,
}

/// An event of a device.
#[derive(Debug, Clone)]
pub struct DeviceRow<'a> {
    /// Index of the event in the file.
    pub event: u64,
    /// Name.
    pub name: &'a str,
    /// Value of the `cat` field.
    pub cat: &'a str,
    /// Category by the rules.
    pub category: &'a str,
    /// `computation`, `communication`, `memory` or `other`.
    pub work: &'static str,
    /// Device, as the trace spells it.
    pub device: Option<String>,
    /// Stream, as the trace spells it.
    pub stream: Option<String>,
    /// Start.
    pub start_nanos: i64,
    /// Length.
    pub duration_nanos: i64,
    /// Joins it with the call that launched it.
    pub correlation: Option<i64>,
}

impl Collector {
    /// Hands all rows of the file that was read to `tables`.
    pub fn export(mut self, outcome: &ReadOutcome, tables: &mut dyn Tables) -> Result<()> {
        if let Some(failure) = self.failure.take() {
            return Err(failure);
        }
        pair_begin_end(&mut self, outcome)?;
        let Self { store, kinds, spans, links, streams, steps, shapes, totals, collectives, .. } = self;
        let (rules, kinds) = kinds.finish();
        let file = File { outcome, rules: &rules, kinds: &kinds, shapes: &shapes.list };
        for row in collective_table(&collectives, &kinds, &outcome.symbols).rows {
            tables.collective(&row)?;
        }
        let mut groups: BTreeMap<u32, Vec<Segment<Link>>> = BTreeMap::new();
        for segment in links.finish()? {
            groups.entry(segment.group).or_default().push(segment);
        }
        for group in groups.into_values() {
            let mut rows = merge(&store, group)?;
            while let Some(link) = rows.next()? {
                if let Some(row) = file.device_row(&link, &streams) {
                    tables.kernel(&row)?;
                }
            }
        }
        let steps = steps_of(&steps, &kinds, Side::Host);
        for (lane, segments) in by_lane(spans.finish()?) {
            if totals.device_lanes.contains(lane) {
                continue;
            }
            let mut spans = merge(&store, segments)?;
            let mut walk = Walk {
                file: &file,
                steps: &steps,
                tables,
                tree: Tree::default(),
                open: Vec::new(),
                free: Vec::new(),
                stack: Vec::new(),
                failure: Ok(()),
            };
            sweep(
                |_| {
                    while let Some(span) = spans.next()? {
                        if span.is(Span::COMPLETE) && span.duration > 0 {
                            return Ok(Some(span));
                        }
                    }
                    Ok(None)
                },
                &mut walk,
            )?;
            walk.close_until(i64::MAX);
            walk.failure?;
        }
        Ok(())
    }
}

/// Tables that the rows of one file refer to.
struct File<'a> {
    outcome: &'a ReadOutcome,
    rules: &'a Rules,
    kinds: &'a [Kind],
    shapes: &'a [Shape],
}

impl<'a> File<'a> {
    fn kind(&self, id: KindId) -> Option<&'a Kind> {
        self.kinds.get(id.index())
    }

    fn name(&self, id: KindId) -> &'a str {
        self.kind(id).map_or("", |kind| self.outcome.symbols.text(kind.name))
    }

    fn cat(&self, id: KindId) -> &'a str {
        self.kind(id).map_or("", |kind| self.outcome.symbols.text(kind.cat))
    }

    fn category(&self, id: crate::collect::id::CategoryId) -> &'a str {
        self.rules.categories().get(id.index()).map_or("", |category| category.name.as_str())
    }

    fn device_row(&self, link: &Link, streams: &[Stream]) -> Option<DeviceRow<'a>> {
        let kind = self.kind(link.kind)?;
        if !kind.is(Kind::DEVICE) || !link.is_complete() || link.duration <= 0 {
            return None;
        }
        let stream = link.stream.and_then(|id| streams.get(id.index()));
        let text = |value: Option<ArgValueKey>| value.map(|value| value.spelt(&self.outcome.symbols));
        Some(DeviceRow {
            event: link.order,
            name: self.name(link.kind),
            cat: self.cat(link.kind),
            category: self.category(kind.categories.alone()),
            work: match kind.work {
                DeviceWork::Computation => "computation",
                DeviceWork::Communication => "communication",
                DeviceWork::Memory => "memory",
                DeviceWork::Other => "other",
            },
            device: text(stream.and_then(|stream| stream.device)),
            stream: text(stream.and_then(|stream| stream.spelt)),
            start_nanos: link.start,
            duration_nanos: link.duration,
            correlation: (link.correlation != NO_CORRELATION).then_some(link.correlation),
        })
    }
}

/// A span that has not ended.
#[derive(Clone, Copy)]
struct Open {
    span: Span,
    part: SpanPart,
    parent: Option<u64>,
    depth: u32,
    /// Its node in the call tree.
    node: NodeId,
    self_nanos: i64,
}

/// The walk over one lane.
struct Walk<'w, 'a> {
    file: &'w File<'a>,
    steps: &'w [ProfilerStep],
    tables: &'w mut dyn Tables,
    tree: Tree,
    /// Spans by the number that the sweep has for them; numbers are used again.
    open: Vec<Option<Open>>,
    free: Vec<usize>,
    /// Numbers of the spans around the present instant, outermost first.
    stack: Vec<usize>,
    failure: Result<()>,
}

impl Walk<'_, '_> {
    /// Hands on the spans that end until a time.
    fn close_until(&mut self, time: i64) {
        while let Some(&number) = self.stack.last() {
            let ends = self.open.get(number).and_then(|open| *open).is_none_or(|open| open.part.to <= time);
            if !ends {
                break;
            }
            self.stack.pop();
            self.close(number);
        }
    }

    fn close(&mut self, number: usize) {
        let Some(open) = self.open.get_mut(number).and_then(Option::take) else { return };
        self.free.push(number);
        if self.failure.is_ok() {
            self.failure = self.hand_on(&open);
        }
    }

    fn hand_on(&mut self, open: &Open) -> Result<()> {
        let file = self.file;
        let Open { span, part, parent, depth, node, self_nanos } = *open;
        let Some(node) = self.tree.nodes.get(node.index()) else { return Ok(()) };
        let scope = |id: ScopeId| self.tree.scopes.list.get(id.index()).map(|scope| file.name(scope.kind));
        let after = self.steps.partition_point(|step| step.start <= part.from);
        let step = after.checked_sub(1).and_then(|index| self.steps.get(index));
        let shape = span.shape.and_then(|id| file.shapes.get(id.index()));
        let lane = file.outcome.lanes.get(span.lane);
        let id = |of: fn(knockout_trace::Lane) -> knockout_trace::Id| {
            lane.map(|lane| of(lane).display(&file.outcome.symbols).to_string()).unwrap_or_default()
        };
        let text = |symbol| file.outcome.symbols.text(symbol);
        self.tables.span(&SpanRow {
            event: span.order,
            parent,
            depth,
            is_continued: part.is_continued,
            name: file.name(span.kind),
            cat: file.cat(span.kind),
            category: file.category(node.category),
            phase: node.phase.map(|phase| file.category(phase)),
            module: node.scope.and_then(scope),
            step: step.filter(|step| part.from < step.end).map(|step| file.name(step.kind)),
            pid: id(|lane| lane.pid),
            tid: id(|lane| lane.tid),
            start_nanos: part.from,
            duration_nanos: part.to - part.from,
            self_nanos,
            correlation: (span.correlation != NO_CORRELATION).then_some(span.correlation),
            input_dims: shape.map(|shape| text(shape.dims)),
            input_types: shape.map(|shape| text(shape.types)),
            flop: shape.and_then(|shape| shape.cost).map(|cost| cost.flop),
            bytes: shape.and_then(|shape| shape.cost).map(|cost| cost.bytes),
        })
    }
}

impl Visitor for Walk<'_, '_> {
    fn opened(&mut self, parent: Option<NodeId>, span: &Span, part: SpanPart) -> NodeId {
        self.close_until(part.from);
        let outer = parent.and_then(|parent| *self.open.get(parent.index())?);
        let node = self.tree.child(outer.map(|outer| outer.node), span.kind, self.file.kinds);
        let open = Open {
            span: *span,
            part,
            parent: outer.map(|outer| outer.span.order),
            depth: outer.map_or(0, |outer| outer.depth + 1),
            node,
            self_nanos: 0,
        };
        let number = self.free.pop().unwrap_or_else(|| {
            self.open.push(None);
            self.open.len() - 1
        });
        if let Some(slot) = self.open.get_mut(number) {
            *slot = Some(open);
        }
        self.stack.push(number);
        NodeId::from_index(number)
    }

    fn innermost(&mut self, node: NodeId, from: i64, to: i64) {
        if let Some(Some(open)) = self.open.get_mut(node.index()) {
            open.self_nanos += to - from;
        }
    }

    fn shortened(&mut self, node: NodeId, nanos: i64) {
        if let Some(Some(open)) = self.open.get_mut(node.index()) {
            open.part.to -= nanos;
        }
    }

    fn is_step(&self, span: &Span) -> bool {
        self.file.kind(span.kind).is_some_and(|kind| kind.is(Kind::STEP))
    }

    fn is_annotation(&self, span: &Span) -> bool {
        self.file.kind(span.kind).is_some_and(|kind| kind.is(Kind::SCOPE))
    }
}
