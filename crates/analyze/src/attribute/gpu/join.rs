//! Finds the launch call of every device event: rows of one correlation come together, in file order.

use crate::attribute::lane::FileContext;
use crate::attribute::modules::{ScopeSums, ScopedLanes};
use crate::attribute::shapes::ShapeKernels;
use crate::attribute::steps::StepTable;
use crate::attribute::workers::map_in_order;
use crate::collect::Stream;
use crate::collect::id::{CategoryId, StepId};
use crate::collect::kind::{Kind, LaunchKind};
use crate::collect::record::{Device, Link, NO_CORRELATION, StreamPoint, What};
use crate::sort::{Helper, Segment, Writer, merge};
use knockout_base::error::Result;
use std::collections::BTreeMap;

/// Longer groups are joined in parts: memory stays bounded. A graph launch has thousands of kernels, not more.
const MAX_GROUP: usize = 1 << 16;
/// Calls of one correlation that are considered; drivers make one or two, and hostile files must not make us count
/// every pair.
const MAX_CALLS: usize = 16;

/// The input of joining.
pub(crate) struct Join<'a> {
    pub(crate) shared: &'a FileContext,
    pub(crate) streams: &'a [Stream],
    pub(crate) scoped: &'a ScopedLanes<'a>,
    /// Kept host rows without a correlation or a stream.
    pub(crate) uncorrelated_host_rows: u64,
}

/// The result of joining.
#[derive(Debug)]
pub(crate) struct Joined {
    pub(crate) points: Vec<Segment<StreamPoint>>,
    pub(crate) launch: LaunchSums,
    pub(crate) launch_hta: LaunchSums,
    pub(crate) without_call: u64,
    /// Rows HTA keeps, of those that carry a correlation or a stream.
    pub(crate) kept_rows: u64,
    /// Sum of device time by phase of the call, the last for unknown.
    pub(crate) by_phase: Vec<i64>,
    /// Sums by module and annotation.
    pub(crate) by_scope: ScopeSums,
    /// Sums by operator and kernel.
    pub(crate) by_shape: ShapeKernels,
}

/// The sums of one thread; they do not depend on which correlations it joined.
struct JoinSums<'a> {
    join: &'a Join<'a>,
    points: Writer<StreamPoint>,
    whole: LaunchSums,
    hta: LaunchSums,
    without_call: u64,
    kept_rows: u64,
    by_phase: Vec<i64>,
    by_scope: ScopeSums,
    by_shape: ShapeKernels,
    steps: StepTable,
}

/// Pairs of a launch call and a device event, in nanoseconds.
#[derive(Debug, Default)]
pub(crate) struct LaunchSums {
    pub(crate) rows: u64,
    /// Durations of the calls.
    pub(crate) cpu: i128,
    /// Durations of the device events.
    pub(crate) gpu: i128,
    /// Times from the end of a call to the start on the device.
    pub(crate) delay: i128,
}

impl LaunchSums {
    fn add(&mut self, times: u64, call: (i64, i64), device: (i64, i64)) {
        self.rows += times;
        self.cpu += i128::from(times) * i128::from(call.1 - call.0);
        self.gpu += i128::from(times) * i128::from(device.1 - device.0);
        self.delay += i128::from(times) * i128::from((device.0 - call.1).max(0));
    }

    fn absorb(&mut self, other: &Self) {
        self.rows += other.rows;
        self.cpu += other.cpu;
        self.gpu += other.gpu;
        self.delay += other.delay;
    }
}

impl<'a> Join<'a> {
    /// Joins all rows on so many threads; device time by step goes into `steps`.
    pub(crate) fn run(
        &self,
        rows: Vec<Segment<Link>>,
        threads: usize,
        steps: &mut StepTable,
    ) -> Result<Joined> {
        let mut groups: BTreeMap<u32, Vec<Segment<Link>>> = BTreeMap::new();
        for segment in rows {
            groups.entry(segment.group).or_default().push(segment);
        }
        let groups: Vec<Vec<Segment<Link>>> = groups.into_values().collect();
        let (_, states) = map_in_order(groups, threads, || JoinSums::new(self), JoinSums::join_rows)?;
        let mut joined = Joined {
            points: Vec::new(),
            launch: LaunchSums::default(),
            launch_hta: LaunchSums::default(),
            without_call: 0,
            kept_rows: 0,
            by_phase: vec![0; self.shared.categories + 1],
            by_scope: ScopeSums::new(),
            by_shape: ShapeKernels::new(),
        };
        self.scoped.add_functions(&mut joined.by_scope);
        for state in states {
            joined.points.append(&mut state.points.finish()?);
            joined.launch.absorb(&state.whole);
            joined.launch_hta.absorb(&state.hta);
            joined.without_call += state.without_call;
            joined.kept_rows += state.kept_rows;
            for (sum, more) in joined.by_phase.iter_mut().zip(&state.by_phase) {
                *sum = sum.saturating_add(*more);
            }
            for (scope, more) in state.by_scope {
                joined.by_scope.entry(scope).or_default().absorb(more);
            }
            for (key, (events, nanos)) in state.by_shape {
                let sum = joined.by_shape.entry(key).or_default();
                *sum = (sum.0 + events, sum.1.saturating_add(nanos));
            }
            steps.absorb(&state.steps);
        }
        Ok(joined)
    }

    fn kind(&self, row: &Link) -> Option<&'a Kind> {
        self.shared.kinds.get(row.kind.index())
    }

    fn is(&self, row: &Link, flag: u16) -> bool {
        self.kind(row).is_some_and(|kind| kind.is(flag))
    }

    fn launch(&self, row: &Link) -> LaunchKind {
        self.kind(row).map_or(LaunchKind::No, |kind| kind.launch)
    }

    /// The stream's number as HTA reads it.
    fn stream_number(&self, row: &Link) -> i64 {
        row.stream.and_then(|id| self.streams.get(id.index())).map_or(-1, |s| s.number)
    }

    fn is_device_row(&self, row: &Link) -> bool {
        (self.stream_number(row) >= 0 && row.correlation >= 0) || self.is(row, Kind::SYNC_ROW)
    }

    fn hta_span(&self, row: &Link) -> (i64, i64) {
        (self.shared.hta.start(row.start), self.shared.hta.end(row.start, row.duration))
    }
}

impl<'a> JoinSums<'a> {
    fn new(join: &'a Join<'a>) -> Self {
        Self {
            join,
            points: Writer::new(&join.shared.store, Helper::None),
            whole: LaunchSums::default(),
            hta: LaunchSums::default(),
            without_call: 0,
            kept_rows: 0,
            by_phase: vec![0; join.shared.categories + 1],
            by_scope: ScopeSums::new(),
            by_shape: ShapeKernels::new(),
            steps: join.shared.step_table(),
        }
    }

    /// Joins the rows of some correlations.
    fn join_rows(&mut self, rows: Vec<Segment<Link>>) -> Result<()> {
        let mut rows = merge(&self.join.shared.store, rows)?;
        let mut group: Vec<Link> = Vec::new();
        while let Some(row) = rows.next()? {
            let full = group.len() >= MAX_GROUP || row.correlation == NO_CORRELATION;
            if full || group.first().is_some_and(|first| first.correlation != row.correlation) {
                self.group(&group)?;
                group.clear();
            }
            group.push(row);
        }
        self.group(&group)
    }

    /// All rows of one correlation, or one row without.
    fn group(&mut self, rows: &[Link]) -> Result<()> {
        let join = self.join;
        if rows.is_empty() {
            return Ok(());
        }
        let exact = |row: &Link| row.is_complete() && row.duration >= 0;
        let call = rows.iter().find(|row| {
            exact(row) && row.correlation >= 0 && !join.is(row, Kind::DEVICE) && !join.is(row, Kind::NO_CALL)
        });
        let hta = HtaGroup::of(join, rows);
        self.kept_rows += hta.kept_rows;
        self.compare(rows);
        let host = Few::of(rows.iter().filter(|row| join.stream_number(row) == -1));
        let launches = Few::of(rows.iter().filter(|row| {
            join.launch(row) != LaunchKind::No || call.is_some_and(|call| call.order == row.order)
        }));
        for row in rows {
            let whole = exact(row) && join.is(row, Kind::DEVICE);
            let kept = hta.kept(join, row);
            let number = join.stream_number(row);
            let kept = if number == -1 { 0 } else { kept };
            if !whole && kept == 0 {
                continue;
            }
            let launched = whole && call.is_some_and(|call| join.launch(call) != LaunchKind::No);
            if whole {
                self.device(row, call);
            }
            if kept > 0 && hta.wants_stats {
                for call in host.iter() {
                    let times = u64::from(hta.kept(join, call)) * u64::from(kept);
                    self.hta.add(times, join.hta_span(call), join.hta_span(row));
                }
            }
            let queued_hta = kept > 0 && hta.queues;
            for other in launches.iter() {
                let by_whole = launched && call.is_some_and(|call| call.order == other.order);
                let by_hta = queued_hta && join.launch(other) != LaunchKind::No;
                let counts = if by_hta { hta.kept(join, other).saturating_mul(kept) } else { 0 };
                if by_whole || counts > 0 {
                    self.points.push(StreamPoint {
                        time: other.start,
                        stream: row.stream,
                        order: row.order,
                        what: What::Calls { whole: u32::from(by_whole), hta: counts },
                    })?;
                }
            }
            let mut flags = if whole { Device::WHOLE } else { 0 };
            flags |= if launched { Device::QUEUED } else { 0 };
            let device = Device {
                duration: row.duration,
                kind: row.kind,
                flags,
                kept,
                call: call.filter(|_| whole).map(|call| call.start),
                call_hta: hta.last_call,
                starts_hta: if queued_hta { kept } else { 0 },
            };
            let what = What::Device(device);
            self.points.push(StreamPoint { time: row.start, stream: row.stream, order: row.order, what })?;
        }
        Ok(())
    }

    /// One device event for the exact figures.
    fn device(&mut self, row: &Link, call: Option<&Link>) {
        let Some(call) = call else {
            self.without_call += 1;
            return self.attribute(row, None, None);
        };
        if self.join.launch(call) != LaunchKind::No {
            self.whole.add(1, (call.start, call.end()), (row.start, row.end()));
        }
        self.join.scoped.add_device(&mut self.by_scope, call, row.duration);
        if let Some(shape) = call.shape {
            let sum = self.by_shape.entry((shape, row.kind)).or_default();
            *sum = (sum.0 + 1, sum.1.saturating_add(row.duration));
        }
        self.attribute(row, call.phase, call.step);
    }

    fn attribute(&mut self, row: &Link, phase: Option<CategoryId>, step: Option<StepId>) {
        let unknown = self.by_phase.len().saturating_sub(1);
        let slot = phase.map_or(unknown, CategoryId::index);
        if let Some(sum) = self.by_phase.get_mut(slot) {
            *sum = sum.saturating_add(row.duration);
        }
        if let Some(step) = step {
            self.steps.device(step, row.kind, row.duration);
        }
    }

    /// Rows that begin in the first step, by the rule of `expected/compare_*.json`.
    fn compare(&mut self, rows: &[Link]) {
        let join = self.join;
        let with_category = |row: &&Link| join.is(row, Kind::HAS_CATEGORY);
        let call = rows.iter().filter(with_category).rfind(|row| {
            join.stream_number(row) < 0 && row.correlation != NO_CORRELATION && !join.is(row, Kind::SYNC_ROW)
        });
        let launched_in_first = call.is_some_and(|call| join.shared.hta.in_first_step(call.start));
        for row in rows.iter().filter(with_category) {
            let (start, end) = join.hta_span(row);
            let number = join.stream_number(row);
            // Host rows without a stream were counted when their lane was swept.
            if number < 0 && row.stream.is_some() && join.shared.hta.in_first_step(row.start) {
                self.steps.first_step_host(row.kind, end - start);
            } else if number > 0 && launched_in_first {
                self.steps.first_step_device(row.kind, end - start);
            }
        }
    }
}

/// The first [`MAX_CALLS`] of some rows, without an allocation: there is a group for every launch.
struct Few<'a>([Option<&'a Link>; MAX_CALLS]);

impl<'a> Few<'a> {
    fn of(rows: impl Iterator<Item = &'a Link>) -> Self {
        let mut few = [None; MAX_CALLS];
        few.iter_mut().zip(rows).for_each(|(slot, row)| *slot = Some(row));
        Self(few)
    }

    fn iter(&self) -> impl Iterator<Item = &'a Link> {
        self.0.iter().map_while(|row| *row)
    }
}

/// One correlation by HTA's rule.
struct HtaGroup {
    /// How often device rows are kept.
    copies: u32,
    kept_rows: u64,
    /// Start of the last call, if that call is kept.
    last_call: Option<i64>,
    wants_stats: bool,
    queues: bool,
}

impl HtaGroup {
    fn of(join: &Join<'_>, rows: &[Link]) -> Self {
        let is_uncorrelated = rows.first().is_some_and(|first| first.correlation == NO_CORRELATION);
        let mut host_kept: u64 = if is_uncorrelated { join.uncorrelated_host_rows } else { 0 };
        let mut group = Self { copies: 1, kept_rows: 0, last_call: None, wants_stats: false, queues: false };
        let mut devices = 0_u64;
        let mut last_device = 0_u64;
        let (mut stats, mut launches) = (false, false);
        for row in rows.iter().filter(|row| join.is(row, Kind::HAS_CATEGORY)) {
            if join.is_device_row(row) {
                devices += 1;
                last_device = row.order;
                continue;
            }
            let kept = join.shared.hta.keeps_host_row(row.start);
            if !is_uncorrelated {
                group.last_call = kept.then_some(row.start);
            }
            if kept {
                host_kept += 1;
                group.kept_rows += 1;
                let launch = join.launch(row);
                stats |= launch == LaunchKind::Stats;
                launches |= launch != LaunchKind::No;
            }
        }
        if join.shared.hta.trimmed {
            group.copies = u32::try_from(host_kept).unwrap_or(u32::MAX);
        }
        group.kept_rows += devices * u64::from(group.copies);
        group.wants_stats = stats && !is_uncorrelated;
        group.queues = launches && !is_uncorrelated && devices > 0 && last_device > 0;
        group
    }

    /// How often a row is kept.
    fn kept(&self, join: &Join<'_>, row: &Link) -> u32 {
        if !join.is(row, Kind::HAS_CATEGORY) {
            0
        } else if join.is_device_row(row) {
            self.copies
        } else {
            u32::from(join.shared.hta.keeps_host_row(row.start))
        }
    }
}
