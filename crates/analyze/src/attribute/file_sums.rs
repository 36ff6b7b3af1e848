//! The result of the second stage: the sums of one file, from its lanes, its launches and its device events.

use crate::attribute::autograd::{Collectives, Functions};
use crate::attribute::device_state::DeviceStates;
use crate::attribute::gpu::{DeviceSpan, Join, Joined, SweepInput, Swept};
use crate::attribute::hta::Hta;
use crate::attribute::lane::{FileContext, LaneResult, Scratch, sweep_lane};
use crate::attribute::modules::ScopedLanes;
use crate::attribute::steps::{ProfilerStep, StepTable};
use crate::attribute::workers::map_in_order;
use crate::collect::collectives::CollectiveEvents;
use crate::collect::id::{CategoryId, KindId};
use crate::collect::kind::Kind;
use crate::collect::memory::Memory;
use crate::collect::record::{Side, Span};
use crate::collect::rules::{EventOrigin, Role, Rules};
use crate::collect::shapes::Shape;
use crate::collect::waits::Waits;
use crate::collect::{Collector, StepEvent, Stream, Totals};
use crate::sort::{Segment, SortRecord as _, merge};
use knockout_base::error::Result;
use knockout_trace::{LaneId, ReadOutcome, Symbol};
use std::cmp::Reverse;
use std::collections::BTreeMap;
use std::sync::Arc;

/// Intervals of all timelines together, and of one at most.
const ALL_BINS: usize = 1 << 16;
const LANE_BINS: usize = 1 << 13;
/// Device events kept for the critical path.
const MAX_DEVICE_SPANS: usize = 1 << 20;

/// The sums of one file, in nanoseconds.
pub(crate) struct FileSums<'a> {
    pub(crate) outcome: &'a ReadOutcome,
    pub(crate) rules: Rules,
    pub(crate) kinds: Arc<[Kind]>,
    pub(crate) streams: Vec<Stream>,
    pub(crate) totals: Totals,
    pub(crate) hta: Arc<Hta>,
    pub(crate) hta_rows_kept: u64,
    pub(crate) steps: StepTable,
    pub(crate) steps_gpu: Vec<ProfilerStep>,
    pub(crate) lanes: Vec<LaneResult>,
    /// State of the device at every instant.
    pub(crate) states: Arc<DeviceStates>,
    pub(crate) lane_names: BTreeMap<LaneId, Symbol>,
    /// Labels and names of processes, by a lane of theirs.
    pub(crate) process_labels: BTreeMap<LaneId, Symbol>,
    pub(crate) joined: Joined,
    pub(crate) device: Swept,
    /// Device events of the step whose critical path is wanted.
    pub(crate) device_spans: Vec<DeviceSpan>,
    /// Waits that the profiler recorded.
    pub(crate) waits: Waits,
    pub(crate) collectives: CollectiveEvents,
    /// Operators with the shapes of their inputs.
    pub(crate) shapes: Arc<[Shape]>,
    pub(crate) memory: Memory,
    /// Begin and end events without a partner.
    pub(crate) unmatched: u64,
    pub(crate) spilled_bytes: u64,
    /// Intervals of a timeline.
    pub(crate) bins: usize,
}

/// Groups segments by their lane.
pub(crate) fn by_lane(
    segments: impl IntoIterator<Item = Segment<Span>>,
) -> BTreeMap<LaneId, Vec<Segment<Span>>> {
    let mut lanes: BTreeMap<LaneId, Vec<Segment<Span>>> = BTreeMap::new();
    for segment in segments {
        lanes.entry(segment.first.lane).or_default().push(segment);
    }
    lanes
}

impl<'a> FileSums<'a> {
    /// Sweeps the lanes, joins device events with their launch calls and sweeps the device.
    pub(crate) fn of(mut collector: Collector, outcome: &'a ReadOutcome) -> Result<Self> {
        if let Some(failure) = collector.failure.take() {
            return Err(failure);
        }
        let unmatched = pair_begin_end(&mut collector, outcome)?;
        collector.waits.freeze();
        let Collector { options, store, kinds, spans, links, streams, steps: step_events, totals, .. } =
            collector;
        let (rules, kinds) = kinds.finish();
        let kinds: Arc<[Kind]> = kinds.into();
        let name = |kind: &Kind| outcome.symbols.text(kind.name).to_owned();
        let hta = Arc::new(Hta::new(outcome.fractional_starts, &step_events, &kinds, name));
        let steps: Arc<[ProfilerStep]> = steps_of(&step_events, &kinds, Side::Host).into();
        // Both before the sweeps, which need the memory of their buffers.
        let mut lanes = by_lane(spans.finish()?);
        let mut rows = links.finish()?;
        let critical = steps.iter().max_by_key(|step| (step.end - step.start, Reverse(step.start)));
        let category = |role| category_of(&rules, role);
        let mut shared = FileContext {
            store: Arc::clone(&store),
            kinds: Arc::clone(&kinds),
            steps: Arc::clone(&steps),
            categories: rules.categories().len(),
            hta: Arc::clone(&hta),
            window: totals.work_window.unwrap_or((0, 0)),
            bins: (ALL_BINS / lanes.len().max(1)).clamp(64, LANE_BINS),
            critical: critical.map(|step| (step.start, step.end)),
            unattributed: category(Role::Unattributed),
            roles: rules.categories().iter().map(|category| category.role).collect(),
            engine_lanes: totals.engine_lanes.clone(),
            functions: Functions::default(),
            backward: category(Role::Backward),
            collectives: host_collectives(&collector.collectives, &kinds),
            communication: category(Role::Communication),
            device: Arc::default(),
            shapes: std::mem::take(&mut collector.shapes.list).into(),
        };
        let is_device = |lane: LaneId| totals.device_lanes.contains(lane);
        let side = |lane: LaneId| if is_device(lane) { Side::Device } else { Side::Host };
        // The device first: its state decides the parts of host time.
        let is_first = |lane: &LaneId, _: &mut Vec<Segment<Span>>| {
            is_device(*lane) || totals.overhead_lanes.contains(*lane)
        };
        let device_lanes: BTreeMap<LaneId, Vec<Segment<Span>>> = lanes.extract_if(.., is_first).collect();
        let (mut first, mut steps) = sweep_lanes(&shared, device_lanes, side, options.threads)?;
        let busy = first.iter_mut().map(|lane| std::mem::take(&mut lane.busy));
        shared.device = Arc::new(DeviceStates::of(busy));
        // Then autograd's own threads: a thread that waits for them does so while they work.
        let has_steps = |lane: LaneId| steps.steps.iter().any(|step| step.lane == lane);
        let is_engine = |lane: &LaneId, _: &mut Vec<Segment<Span>>| {
            totals.engine_lanes.contains(*lane) && !has_steps(*lane)
        };
        let engine_lanes: BTreeMap<LaneId, Vec<Segment<Span>>> = lanes.extract_if(.., is_engine).collect();
        let (mut engines, more) = sweep_lanes(&shared, engine_lanes, side, options.threads)?;
        steps.absorb(&more);
        shared.functions = Functions::of(engines.iter().map(|lane| &lane.engine));
        let (mut lanes, more) = sweep_lanes(&shared, lanes, side, options.threads)?;
        steps.absorb(&more);
        lanes.append(&mut engines);
        lanes.append(&mut first);
        lanes.sort_by_key(|lane| lane.lane);
        let (mut hta_rows_kept, mut uncorrelated_host_rows) = (0, 0);
        for lane in &mut lanes {
            rows.append(&mut lane.links);
            hta_rows_kept += lane.hta_rows_kept;
            uncorrelated_host_rows += lane.hta_uncorrelated_rows;
        }
        let scoped = ScopedLanes::of(&lanes);
        let join = Join { shared: &shared, streams: &streams, scoped: &scoped, uncorrelated_host_rows };
        let mut joined = join.run(rows, options.threads, &mut steps)?;
        let mut device_spans: Vec<DeviceSpan> = Vec::new();
        let points = merge(&store, std::mem::take(&mut joined.points))?;
        let sweep = SweepInput { kinds: &kinds, streams: &streams, hta: &hta };
        let device = sweep.run(points, options.threads, |span| {
            let in_step = shared.critical.is_some_and(|(start, end)| span.start < end && span.end > start);
            if in_step && device_spans.len() < MAX_DEVICE_SPANS {
                device_spans.push(*span);
            }
        })?;
        Ok(Self {
            outcome,
            hta_rows_kept: hta_rows_kept + joined.kept_rows,
            steps_gpu: steps_of(&step_events, &kinds, Side::Device),
            lane_names: collector.lane_names,
            process_labels: collector.process_labels,
            memory: collector.memory,
            waits: collector.waits,
            collectives: collector.collectives,
            shapes: shared.shapes,
            spilled_bytes: store.spilled_bytes(),
            bins: shared.bins,
            rules,
            kinds,
            streams,
            totals,
            hta,
            steps,
            lanes,
            states: shared.device,
            joined,
            device,
            device_spans,
            unmatched,
        })
    }

    pub(crate) fn text(&self, symbol: Symbol) -> &str {
        self.outcome.symbols.text(symbol)
    }

    pub(crate) fn kind_name(&self, kind: KindId) -> &str {
        self.kinds.get(kind.index()).map_or("", |kind| self.text(kind.name))
    }

    pub(crate) fn category_name(&self, category: CategoryId) -> &str {
        self.rules.categories().get(category.index()).map_or("", |category| category.name.as_str())
    }

    /// Whether a category of this name is communication.
    pub(crate) fn is_communication(&self, name: &str) -> bool {
        let mut categories = self.rules.categories().iter();
        categories.any(|category| category.role == Role::Communication && category.name == name)
    }

    /// Whether there are device events.
    pub(crate) fn has_device(&self) -> bool {
        self.device.exact.by_type.iter().any(|(events, _)| *events > 0)
    }

    /// Returns the first instant of the trace.
    pub(crate) fn origin(&self) -> i64 {
        self.totals.window.map_or(0, |(start, _)| start)
    }
}

/// Returns the first category of a role, if possible one of the host.
fn category_of(rules: &Rules, role: Role) -> Option<CategoryId> {
    let all = rules.categories();
    let host = all.iter().position(|category| category.role == role && !category.device);
    host.or_else(|| all.iter().position(|category| category.role == role)).map(CategoryId::from_index)
}

/// Collectives on threads of their own on the host.
fn host_collectives(found: &CollectiveEvents, kinds: &[Kind]) -> Collectives {
    let is_host = |kind: KindId| kinds.get(kind.index()).is_some_and(|kind| kind.is_host_collective);
    let own = found.events.iter().filter(|event| is_host(event.kind));
    Collectives::of(own.map(|event| (event.start, event.end)))
}

/// Begin/end pairs become spans like any other; returns the number of events without a partner.
pub(crate) fn pair_begin_end(collector: &mut Collector, outcome: &ReadOutcome) -> Result<u64> {
    let (pairs, unmatched) = std::mem::take(&mut collector.begin_end).pairs();
    for pair in pairs {
        let duration = pair.end.saturating_sub(pair.start);
        if duration <= 0 {
            continue;
        }
        let kind = collector.kinds.id(pair.name, pair.category, EventOrigin::Other, &outcome.symbols);
        collector.count_span(kind, pair.start, duration);
        collector.spans.push(Span {
            lane: pair.lane,
            start: pair.start,
            duration,
            kind,
            order: pair.order,
            flags: Span::COMPLETE,
            ..Span::ZERO
        })?;
    }
    Ok(unmatched)
}

/// Profiler steps by start: those of the host, or those drawn on the device.
pub(crate) fn steps_of(events: &[StepEvent], kinds: &[Kind], side: Side) -> Vec<ProfilerStep> {
    let mut steps: Vec<(i64, u64, ProfilerStep)> = events
        .iter()
        .filter(|event| event.complete && event.duration > 0)
        .filter(|event| {
            kinds.get(event.kind.index()).is_some_and(|kind| {
                kind.is(Kind::STEP) && kind.is(Kind::GPU_ANNOTATION) == (side == Side::Device)
            })
        })
        .map(|event| {
            let end = event.start.saturating_add(event.duration);
            let step = ProfilerStep { kind: event.kind, lane: event.lane, start: event.start, end };
            (event.start, event.order, step)
        })
        .collect();
    steps.sort_by_key(|&(start, order, _)| (start, order));
    steps.into_iter().map(|(_, _, step)| step).collect()
}

/// Sweeps all lanes, the longest first, on so many threads; results come in the order of the lanes.
fn sweep_lanes(
    shared: &FileContext,
    lanes: BTreeMap<LaneId, Vec<Segment<Span>>>,
    side: impl Fn(LaneId) -> Side + Sync,
    threads: usize,
) -> Result<(Vec<LaneResult>, StepTable)> {
    let mut work: Vec<(LaneId, Vec<Segment<Span>>)> = lanes.into_iter().collect();
    work.sort_by_key(|(lane, segments)| {
        (Reverse(segments.iter().map(|segment| segment.records).sum::<u64>()), *lane)
    });
    let (mut all, scratches) = map_in_order(
        work,
        threads,
        || Scratch::new(shared),
        |scratch, (lane, segments)| sweep_lane(shared, scratch, lane, side(lane), segments),
    )?;
    all.sort_by_key(|result| result.lane);
    let mut table = shared.step_table();
    for scratch in &scratches {
        table.absorb(&scratch.steps);
    }
    Ok((all, table))
}
