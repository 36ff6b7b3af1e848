//! Takes the events of one file as they are read and keeps what the analysis needs, packed.
//!
//! Runs inside the reader, so it only counts, numbers and appends.

use crate::collect::arg_value::ArgValueKey;
use crate::collect::begin_end::BeginEnd;
use crate::collect::collectives::CollectiveEvents;
use crate::collect::counts::EventCounts;
use crate::collect::id::{KindId, StreamId};
use crate::collect::kind::{DeviceWork, Kind, Kinds};
use crate::collect::memory::{Memory, MemoryEvent};
use crate::collect::record::{Link, NO_CORRELATION, Span};
use crate::collect::rules::{EventOrigin, LaneKind, Rules};
use crate::collect::shapes::Shapes;
use crate::collect::waits::{Wait, Waiter, Waits};
use crate::sort::{Helper, SegmentStore, SortRecord as _, Writer};
use knockout_base::error::Error;
use knockout_trace::{
    ArgKey, ArgSet, ArgValue, EventType, Id, LaneId, ReadOutcome, Sink, Symbol, TraceEvent,
};
use std::collections::{BTreeMap, HashMap};
use std::path::PathBuf;
use std::sync::Arc;

/// Times further from zero than this (73 years in nanoseconds) are taken for errors: sums of them could overflow.
const MAX_TIME: i64 = 1 << 61;

/// Options of an analysis.
#[derive(Debug, Clone)]
pub struct Options {
    /// Threads to use; findings do not depend on it.
    pub threads: usize,
    /// Bytes of packed events held in memory; more go to a temporary file.
    pub memory_budget_bytes: usize,
    /// Folder of that file.
    pub temporary_folder: PathBuf,
}

impl Default for Options {
    fn default() -> Self {
        Self { threads: 1, memory_budget_bytes: 96 << 20, temporary_folder: std::env::temp_dir() }
    }
}

/// A stream of a device, as the events spell it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(crate) struct Stream {
    pub(crate) device: Option<ArgValueKey>,
    pub(crate) spelt: Option<ArgValueKey>,
    /// As a number by HTA's reading; -1 when it is none.
    pub(crate) number: i64,
}

/// A `ProfilerStep` event.
#[derive(Debug, Clone, Copy)]
pub(crate) struct StepEvent {
    pub(crate) kind: KindId,
    pub(crate) lane: LaneId,
    pub(crate) start: i64,
    pub(crate) duration: i64,
    pub(crate) order: u64,
    /// HTA takes it for a device row, which does not count when the last step is looked for.
    pub(crate) device_row: bool,
    pub(crate) complete: bool,
}

/// A set of lanes.
#[derive(Debug, Default, Clone)]
pub(crate) struct LaneSet(Vec<bool>);

impl LaneSet {
    fn insert(&mut self, lane: LaneId) {
        if self.0.len() <= lane.index() {
            self.0.resize(lane.index() + 1, false);
        }
        if let Some(mark) = self.0.get_mut(lane.index()) {
            *mark = true;
        }
    }

    pub(crate) fn contains(&self, lane: LaneId) -> bool {
        self.0.get(lane.index()).copied().unwrap_or(false)
    }
}

/// Plain counts of one file.
#[derive(Debug, Default, Clone)]
pub(crate) struct Totals {
    pub(crate) counts: EventCounts,
    /// Spans of positive duration, pairs of begin and end among them.
    pub(crate) positive: u64,
    pub(crate) extreme_times: u64,
    pub(crate) naive_nanos: i128,
    /// First start and last end.
    pub(crate) window: Option<(i64, i64)>,
    /// First start and last end without the profiler's own spans.
    pub(crate) work_window: Option<(i64, i64)>,
    pub(crate) any_stream: bool,
    pub(crate) hta_rows: u64,
    /// Lanes that hold device work.
    pub(crate) device_lanes: LaneSet,
    /// Lanes that hold the profiler's work on its own buffers.
    pub(crate) overhead_lanes: LaneSet,
    /// Lanes that hold functions of autograd's engine.
    pub(crate) engine_lanes: LaneSet,
}

/// The sink to read a file into; see the crate's example.
#[derive(Debug)]
pub struct Collector {
    pub(crate) options: Options,
    pub(crate) store: Arc<SegmentStore>,
    pub(crate) kinds: Kinds,
    pub(crate) spans: Writer<Span>,
    pub(crate) links: Writer<Link>,
    pub(crate) streams: Vec<Stream>,
    stream_ids: HashMap<Stream, StreamId>,
    recent_stream: Option<(Stream, StreamId)>,
    pub(crate) steps: Vec<StepEvent>,
    pub(crate) waits: Waits,
    pub(crate) collectives: CollectiveEvents,
    pub(crate) shapes: Shapes,
    pub(crate) totals: Totals,
    pub(crate) memory: Memory,
    memory_name: Option<Symbol>,
    memory_device: Option<((i64, i64), String)>,
    pub(crate) begin_end: BeginEnd,
    pub(crate) lane_names: BTreeMap<LaneId, Symbol>,
    /// Labels and names of processes, by a lane of theirs.
    pub(crate) process_labels: BTreeMap<LaneId, Symbol>,
    /// Names of processes, by their `pid` as text: rocprof writes some as numbers and some as strings.
    process_names: HashMap<String, Symbol>,
    /// Kinds of the lanes whose events have no `cat`, as far as they have been looked up.
    lane_kinds: Vec<Option<EventOrigin>>,
    /// The first failure; reported at the end, since a sink cannot fail.
    pub(crate) failure: Option<Error>,
}

impl Collector {
    /// An empty collector.
    pub fn new(rules: &Rules, options: &Options) -> Self {
        let store =
            Arc::new(SegmentStore::new(options.memory_budget_bytes, options.temporary_folder.clone()));
        let helper = if options.threads > 1 { Helper::Thread } else { Helper::None };
        Self {
            kinds: Kinds::new(rules),
            spans: Writer::new(&store, helper),
            links: Writer::new(&store, Helper::None),
            store,
            options: options.clone(),
            streams: Vec::new(),
            stream_ids: HashMap::new(),
            recent_stream: None,
            steps: Vec::new(),
            waits: Waits::default(),
            collectives: CollectiveEvents::default(),
            shapes: Shapes::default(),
            totals: Totals::default(),
            memory: Memory::default(),
            memory_name: None,
            memory_device: None,
            begin_end: BeginEnd::default(),
            lane_names: BTreeMap::new(),
            process_labels: BTreeMap::new(),
            process_names: HashMap::new(),
            lane_kinds: Vec::new(),
            failure: None,
        }
    }

    #[inline]
    fn timed(&mut self, event: &TraceEvent<'_>, start: i64, duration: i64) {
        if start.unsigned_abs() > MAX_TIME as u64 || duration.unsigned_abs() > MAX_TIME as u64 {
            self.totals.extreme_times += 1;
            return;
        }
        let complete = event.event_type == EventType::COMPLETE;
        let origin = match event.args.get(ArgKey::SequenceNumber) {
            Some(_) => EventOrigin::Autograd,
            None if event.category == Symbol::EMPTY && !self.process_names.is_empty() => {
                self.lane_origin(event)
            }
            None => EventOrigin::Other,
        };
        let kind = self.kinds.id(event.name, event.category, origin, event.symbols);
        let Some(facts) = self.kinds.get_mut(kind) else { return };
        let (flags, is_host_collective) = (facts.flags, facts.is_host_collective);
        if complete && duration > 0 {
            self.count_span(kind, start, duration);
        }
        if flags & Kind::TRACE != 0 {
            return;
        }
        if is_host_collective && complete && duration > 0 {
            self.collectives.push(event, kind, start, duration);
        }
        self.store_row(event, &StoredEvent { start, duration, kind, flags, complete });
    }

    /// Returns the origin of an event without `cat`. Producers without it name processes and threads first.
    fn lane_origin(&mut self, event: &TraceEvent<'_>) -> EventOrigin {
        let at = event.lane.index();
        if let Some(Some(origin)) = self.lane_kinds.get(at) {
            return *origin;
        }
        let pid = event.lanes.get(event.lane).map_or(Id::Missing, |lane| lane.pid);
        let process = self.process_names.get(&pid.display(event.symbols).to_string());
        let thread = self.lane_names.get(&event.lane).map_or("", |name| event.symbols.text(*name));
        let kind = process.and_then(|name| LaneKind::of(event.symbols.text(*name), thread));
        let origin = kind.map_or(EventOrigin::Other, EventOrigin::Lane);
        if self.lane_kinds.len() <= at {
            self.lane_kinds.resize(at + 1, None);
        }
        if let Some(slot) = self.lane_kinds.get_mut(at) {
            *slot = Some(origin);
        }
        origin
    }

    /// Counts a span of positive duration.
    #[inline]
    pub(crate) fn count_span(&mut self, kind: KindId, start: i64, duration: i64) {
        let Some(facts) = self.kinds.get_mut(kind) else { return };
        facts.events += 1;
        facts.sum_nanos += i128::from(duration);
        let is_work = !facts.is(Kind::TRACE);
        self.totals.positive += 1;
        self.totals.naive_nanos += i128::from(duration);
        let end = start.saturating_add(duration);
        widen(&mut self.totals.window, start, end);
        if is_work {
            widen(&mut self.totals.work_window, start, end);
        }
    }

    #[inline]
    fn store_row(&mut self, event: &TraceEvent<'_>, row: &StoredEvent) {
        let &StoredEvent { start, duration, kind, flags, complete } = row;
        let correlation = event.args.number(ArgKey::Correlation, event.symbols).unwrap_or(NO_CORRELATION);
        let stream_value = event.args.get(ArgKey::Stream);
        // A host call that spells its stream as an address (HIP does) is a host call for HTA's rule too: only its lane knows
        // the phase and the step it was made in.
        let is_numbered = || event.args.number(ArgKey::Stream, event.symbols).is_some();
        let on_device = flags & (Kind::DEVICE | Kind::SYNC_ROW | Kind::NO_CALL) != 0;
        let on_stream = flags & (Kind::DEVICE | Kind::SYNC_ROW) != 0
            || (stream_value.is_some() && (on_device || is_numbered()));
        let stream = on_stream.then(|| self.stream(event, stream_value));
        self.totals.any_stream |= stream_value.is_some();
        self.totals.hta_rows += u64::from(flags & Kind::HAS_CATEGORY != 0);
        if flags & (Kind::STEP | Kind::HTA_STEP) != 0 {
            let number = stream.and_then(|id| self.streams.get(id.index())).map_or(-1, |s| s.number);
            let device_row = (number >= 0 && correlation >= 0) || flags & Kind::SYNC_ROW != 0;
            self.steps.push(StepEvent {
                kind,
                lane: event.lane,
                start,
                duration,
                order: event.index,
                device_row,
                complete,
            });
        }
        if flags & (Kind::DEVICE | Kind::OVERHEAD | Kind::ENGINE) != 0 {
            self.mark_lane(event.lane, flags);
        }
        if flags & Kind::DEVICE != 0 && complete && duration > 0 {
            let is_communication =
                self.kinds.get_mut(kind).is_some_and(|kind| kind.work == DeviceWork::Communication);
            if is_communication {
                self.collectives.push(event, kind, start, duration);
            }
        }
        if flags & (Kind::NO_CALL | Kind::GPU_ANNOTATION) == Kind::NO_CALL
            && let Some(stream) = stream
        {
            self.recorded_wait(event, start, stream);
        }
        if flags & Kind::EVENT_RECORD != 0 && correlation != NO_CORRELATION {
            self.waits.push_record(correlation, start);
        }
        let mark = if complete { Span::COMPLETE } else { 0 };
        let sequence = event.args.number(ArgKey::SequenceNumber, event.symbols);
        let sequenced = if sequence.is_some() { Span::SEQUENCED } else { 0 };
        let shape = if on_stream { None } else { self.shapes.id(event, kind) };
        let span = Span {
            lane: event.lane,
            start,
            duration,
            kind,
            order: event.index,
            correlation,
            sequence: sequence.unwrap_or(0) as u32,
            shape,
            flags: mark | sequenced | if on_stream { Span::ON_STREAM } else { 0 },
        };
        let mut pushed = self.spans.push(span);
        if on_stream && pushed.is_ok() {
            pushed = self.links.push(Link {
                correlation,
                order: event.index,
                start,
                duration,
                kind,
                stream,
                flags: mark,
                ..Link::ZERO
            });
        }
        if let Err(failure) = pushed {
            self.failure.get_or_insert(failure);
        }
    }

    /// Keeps a `cuda_sync` event that names a stream.
    #[cold]
    fn recorded_wait(&mut self, event: &TraceEvent<'_>, start: i64, stream: StreamId) {
        let number = |key| event.args.number(key, event.symbols);
        let waiter = match event.symbols.text(event.name) {
            "Stream Wait Event" => Waiter::Stream,
            "Stream Sync" | "Event Sync" => Waiter::Host,
            _ => return,
        };
        self.waits.push(Wait {
            waiter,
            start,
            stream,
            on_stream: number(ArgKey::WaitOnStream),
            recorded_by: number(ArgKey::WaitOnEventCorrelation),
        });
    }

    fn mark_lane(&mut self, lane: LaneId, flags: u16) {
        let totals = &mut self.totals;
        for (flag, lanes) in [
            (Kind::DEVICE, &mut totals.device_lanes),
            (Kind::OVERHEAD, &mut totals.overhead_lanes),
            (Kind::ENGINE, &mut totals.engine_lanes),
        ] {
            if flags & flag != 0 {
                lanes.insert(lane);
            }
        }
    }

    /// Returns the event's stream.
    fn stream(&mut self, event: &TraceEvent<'_>, value: Option<ArgValue>) -> StreamId {
        // Producers without `cat` have a lane for each stream, in a process for each device.
        let lane = event.lanes.get(event.lane).filter(|_| value.is_none() && event.category == Symbol::EMPTY);
        let of_lane = |id: fn(knockout_trace::Lane) -> Id| {
            let text = lane.map(|lane| id(lane).display(event.symbols).to_string())?;
            text.parse().ok().map(|number| ArgValueKey::from(ArgValue::Number(number)))
        };
        let device = event.args.get(ArgKey::Device).map(ArgValueKey::from);
        let key = Stream {
            device: device.or_else(|| of_lane(|lane| lane.pid)),
            spelt: value.map(ArgValueKey::from).or_else(|| of_lane(|lane| lane.tid)),
            number: event.args.number(ArgKey::Stream, event.symbols).unwrap_or(-1),
        };
        if let Some((recent, id)) = self.recent_stream
            && recent == key
        {
            return id;
        }
        let next = StreamId::from_index(self.streams.len());
        let id = *self.stream_ids.entry(key).or_insert(next);
        if id == next {
            self.streams.push(key);
        }
        self.recent_stream = Some((key, id));
        id
    }

    fn instant(&mut self, event: &TraceEvent<'_>) {
        if self.memory_name.is_none() && event.symbols.text(event.name) == "[memory]" {
            self.memory_name = Some(event.name);
        }
        if self.memory_name != Some(event.name) || event.name == Symbol::EMPTY {
            return;
        }
        let number = |key| event.args.number(key, event.symbols);
        let (kind, id) = (number(ArgKey::DeviceType), number(ArgKey::DeviceId));
        let change = MemoryEvent {
            at: event.start_nanos.filter(|at| at.unsigned_abs() <= MAX_TIME as u64),
            bytes: number(ArgKey::Bytes).unwrap_or(0),
            allocated: number(ArgKey::TotalAllocated),
            reserved: number(ArgKey::TotalReserved),
        };
        let key = (kind.unwrap_or(i64::MIN), id.unwrap_or(i64::MIN));
        if self.memory_device.as_ref().is_none_or(|(have, _)| *have != key) {
            let text = |value: Option<i64>| value.map_or_else(|| "None".to_owned(), |v| v.to_string());
            self.memory_device = Some((key, format!("{}:{}", text(kind), text(id))));
        }
        if let Some((_, device)) = &self.memory_device {
            self.memory.add(device, change);
        }
    }

    fn metadata(&mut self, event: &TraceEvent<'_>) {
        match event.symbols.text(event.name) {
            "thread_name" => {
                if let Some(name) = event.args.text(ArgKey::Name) {
                    self.lane_names.insert(event.lane, name);
                }
            }
            "process_name" => {
                if let (Some(name), Some(lane)) = (event.args.text(ArgKey::Name), event.lanes.get(event.lane))
                {
                    self.process_names.insert(lane.pid.display(event.symbols).to_string(), name);
                }
            }
            "process_labels" => {
                if let Some(label) = event.args.text(ArgKey::Labels) {
                    self.process_labels.insert(event.lane, label);
                }
            }
            _ => {}
        }
    }
}

/// An event with a start and a duration, to be stored as a [`Span`] and, where it names a stream, as a [`Link`].
struct StoredEvent {
    start: i64,
    duration: i64,
    kind: KindId,
    flags: u16,
    complete: bool,
}

impl Sink for Collector {
    fn wants(&self) -> ArgSet {
        ArgSet::of(&[
            ArgKey::Stream,
            ArgKey::Correlation,
            ArgKey::Device,
            ArgKey::SequenceNumber,
            ArgKey::Bytes,
            ArgKey::TotalAllocated,
            ArgKey::TotalReserved,
            ArgKey::DeviceType,
            ArgKey::DeviceId,
            ArgKey::Name,
            ArgKey::Labels,
            ArgKey::WaitOnStream,
            ArgKey::WaitOnEventCorrelation,
            ArgKey::CollectiveName,
            ArgKey::ProcessGroupName,
            ArgKey::CollectiveSequence,
            ArgKey::GroupSize,
            ArgKey::InMsgNelems,
            ArgKey::OutMsgNelems,
            ArgKey::Dtype,
            ArgKey::InputDims,
            ArgKey::InputTypes,
            ArgKey::ConcreteInputs,
        ])
    }

    fn event(&mut self, event: &TraceEvent<'_>) {
        self.totals.counts.event(event);
        match event.event_type {
            EventType::INSTANT => self.instant(event),
            EventType::METADATA => self.metadata(event),
            EventType::BEGIN | EventType::END => self.begin_end.add(event),
            _ => {
                if let (Some(start), Some(duration)) = (event.start_nanos, event.duration_nanos) {
                    self.timed(event, start, duration);
                }
            }
        }
    }
}

fn widen(window: &mut Option<(i64, i64)>, start: i64, end: i64) {
    *window = Some(window.map_or((start, end), |(first, last)| (first.min(start), last.max(end))));
}

/// Whether two lanes belong to one process.
pub(crate) fn same_process(outcome: &ReadOutcome, a: LaneId, b: LaneId) -> bool {
    let pid = |lane| outcome.lanes.get(lane).map_or(Id::Missing, |lane| lane.pid);
    pid(a) == pid(b)
}
