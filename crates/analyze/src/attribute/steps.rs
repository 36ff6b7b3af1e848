//! Sums by training step: time by category and by operation, and the rows of the first one.

use crate::attribute::tree::Mix;
use crate::collect::id::{CategoryId, KindId, StepId};
use crate::collect::kind::Kind;
use knockout_trace::LaneId;
use std::collections::{BTreeMap, HashMap};
use std::hash::BuildHasherDefault;
use std::sync::Arc;

/// Beyond this many (step, operation) pairs, operations are no longer counted by step.
const MAX_PAIRS: usize = 1 << 20;

/// One profiler step.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct ProfilerStep {
    pub(crate) kind: KindId,
    pub(crate) lane: LaneId,
    pub(crate) start: i64,
    pub(crate) end: i64,
}

/// Sums by step; those of several lanes are summed.
#[derive(Debug, Clone)]
pub(crate) struct StepTable {
    pub(crate) steps: Arc<[ProfilerStep]>,
    kinds: Arc<[Kind]>,
    categories: usize,
    /// Nanoseconds by step and category of host time.
    pub(crate) host: Vec<i64>,
    /// Nanoseconds by step and category of device time; the step is the one that launched it.
    pub(crate) device: Vec<i64>,
    /// Self time and number by step and kind.
    pairs: HashMap<u64, (i64, u64), BuildHasherDefault<Mix>>,
    pub(crate) pairs_full: bool,
    pub(crate) first: BTreeMap<KindId, FirstStep>,
}

/// One kind's rows in the first step, by HTA's clock.
#[derive(Debug, Default, Clone, Copy, PartialEq, Eq)]
pub(crate) struct FirstStep {
    pub(crate) host_rows: u64,
    pub(crate) host_nanos: i64,
    pub(crate) device_rows: u64,
    pub(crate) device_nanos: i64,
}

impl StepTable {
    pub(crate) fn new(steps: Arc<[ProfilerStep]>, kinds: Arc<[Kind]>, categories: usize) -> Self {
        let cells = steps.len() * categories;
        Self {
            steps,
            kinds,
            categories,
            host: vec![0; cells],
            device: vec![0; cells],
            pairs: HashMap::default(),
            pairs_full: false,
            first: BTreeMap::new(),
        }
    }

    /// The step in which an instant lies.
    pub(crate) fn at(&self, time: i64) -> Option<StepId> {
        let after = self.steps.partition_point(|step| step.start <= time);
        let index = after.checked_sub(1)?;
        self.steps.get(index).filter(|step| time < step.end).map(|_| StepId::from_index(index))
    }

    /// Host time in a step.
    pub(crate) fn host(&mut self, step: StepId, category: CategoryId, nanos: i64) {
        let cell = step.index() * self.categories + category.index();
        if let Some(sum) = self.host.get_mut(cell) {
            *sum += nanos;
        }
    }

    /// A device event launched in a step.
    pub(crate) fn device(&mut self, step: StepId, kind: KindId, nanos: i64) {
        let Some(categories) = self.kinds.get(kind.index()).map(|kind| &kind.categories) else { return };
        let category = categories.itself.unwrap_or(categories.otherwise);
        let cell = step.index() * self.categories + category.index();
        if let Some(sum) = self.device.get_mut(cell) {
            *sum = sum.saturating_add(nanos);
        }
        self.pair(step, kind, nanos, 1);
    }

    /// Self time of a kind in a step.
    pub(crate) fn pair(&mut self, step: StepId, kind: KindId, nanos: i64, events: u64) {
        self.add_pair((step.index() as u64) << 32 | kind.index() as u64, nanos, events);
    }

    fn add_pair(&mut self, key: u64, nanos: i64, events: u64) {
        if self.pairs.len() >= MAX_PAIRS && !self.pairs.contains_key(&key) {
            self.pairs_full = true;
            return;
        }
        let entry = self.pairs.entry(key).or_default();
        entry.0 = entry.0.saturating_add(nanos);
        entry.1 += events;
    }

    pub(crate) fn first_step_host(&mut self, kind: KindId, nanos: i64) {
        let entry = self.first.entry(kind).or_default();
        entry.host_rows += 1;
        entry.host_nanos = entry.host_nanos.saturating_add(nanos);
    }

    pub(crate) fn first_step_device(&mut self, kind: KindId, nanos: i64) {
        let entry = self.first.entry(kind).or_default();
        entry.device_rows += 1;
        entry.device_nanos = entry.device_nanos.saturating_add(nanos);
    }

    /// Adds another lane's sums.
    pub(crate) fn absorb(&mut self, other: &Self) {
        let add = |own: &mut Vec<i64>, theirs: &[i64]| {
            own.iter_mut().zip(theirs).for_each(|(own, theirs)| *own = own.saturating_add(*theirs));
        };
        add(&mut self.host, &other.host);
        add(&mut self.device, &other.device);
        self.pairs_full |= other.pairs_full;
        #[expect(clippy::iter_over_hash_type, reason = "adding integers: the order does not show")]
        for (key, (nanos, events)) in &other.pairs {
            self.add_pair(*key, *nanos, *events);
        }
        for (kind, rows) in &other.first {
            let entry = self.first.entry(*kind).or_default();
            entry.host_rows += rows.host_rows;
            entry.host_nanos = entry.host_nanos.saturating_add(rows.host_nanos);
            entry.device_rows += rows.device_rows;
            entry.device_nanos = entry.device_nanos.saturating_add(rows.device_nanos);
        }
    }

    /// Returns the self time of every step and kind, in no order.
    pub(crate) fn pairs(&self) -> impl Iterator<Item = (StepId, KindId, i64)> {
        self.pairs.iter().map(|(&key, &(nanos, _))| {
            (StepId::from_index((key >> 32) as usize), KindId::from_index(key as u32 as usize), nanos)
        })
    }
}
