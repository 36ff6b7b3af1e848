//! The bound of a file: the parts of its steps, and the phase, module and operation that have most of the cause's time.

use super::heaviest::{Heaviest, heaviest_path};
use crate::attribute::FileSums;
use crate::attribute::device_state::DeviceState;
use crate::attribute::lane::LaneResult;
use crate::attribute::parts::{PartNanos, StepPart};
use crate::attribute::tree::Node;
use crate::collect::id::CategoryId;
use crate::collect::kind::{DeviceWork, Kind};
use crate::collect::record::Side;
use crate::collect::rules::{Role, words};
use crate::findings::{Bound, Confidence, Limit, TimeParts};
use knockout_base::stats::{share, us};
use knockout_trace::Symbol;
use std::collections::BTreeMap;

/// A part of a step that is smaller is not named.
const NAMED: f64 = 0.05;
/// Factor between sums of nanoseconds and shares of the same time.
const ROUNDING: f64 = 1.01;

/// The parts of the time of a file.
pub(crate) struct FileTimes<'a> {
    /// Of each step.
    pub(crate) steps: Vec<TimeParts>,
    /// Of all steps together, or of the whole trace without steps.
    all: TimeParts,
    nanos: PartNanos,
    /// The threads with the steps; without steps the one that launches most.
    main: Vec<&'a LaneResult>,
}

/// Returns the parts of the time of a file.
pub(crate) fn times<'a>(file: &'a FileSums<'_>) -> FileTimes<'a> {
    let steps = &file.steps.steps;
    let lane_of = |lane| file.lanes.iter().find(|own| own.lane == lane && own.parts.len() == steps.len());
    let threads = communicating_threads(file);
    let mut main: Vec<&LaneResult> = Vec::new();
    let mut by_step: Vec<PartNanos> = Vec::new();
    for (index, step) in steps.iter().enumerate() {
        let lane = main.iter().find(|own| own.lane == step.lane).copied().or_else(|| lane_of(step.lane));
        let nanos = lane.and_then(|lane| lane.parts.get(index)).copied().unwrap_or_default();
        by_step.push(with_other_threads(file, index, threads, nanos));
        if let Some(lane) = lane.filter(|lane| main.iter().all(|own| own.lane != lane.lane)) {
            main.push(lane);
        }
    }
    let mut nanos = PartNanos::default();
    if main.is_empty() {
        main.extend(launching_lane(file));
        nanos = whole(file, main.first().copied());
    }
    for (sum, own) in by_step.iter().flat_map(|own| own.iter().enumerate()) {
        if let Some(total) = nanos.get_mut(sum) {
            *total = total.saturating_add(*own);
        }
    }
    FileTimes { steps: by_step.iter().map(time_parts).collect(), all: time_parts(&nanos), nanos, main }
}

/// Returns the lane that launches most, else the one that works most, among those of the host.
fn launching_lane<'a>(file: &'a FileSums<'_>) -> Option<&'a LaneResult> {
    let works = |lane: &LaneResult| -> i64 {
        let awake = lane.tree.nodes.iter().filter(|node| !file.rules.role(node.category).is_asleep());
        awake.map(|node| node.self_nanos).sum()
    };
    let is_host = |lane: &&LaneResult| {
        lane.side == Side::Host && lane.time.spans > 0 && !file.totals.overhead_lanes.contains(lane.lane)
    };
    // Of equal ones the first. A thread of autograd's works for another one.
    file.lanes
        .iter()
        .filter(is_host)
        .rev()
        .max_by_key(|lane| (lane.engine.is_empty(), lane.launches, works(lane)))
}

/// The parts of a whole trace, with the idle time of one lane.
fn whole(file: &FileSums<'_>, lane: Option<&LaneResult>) -> PartNanos {
    let mut nanos = lane.and_then(|lane| lane.parts.first()).copied().unwrap_or_default();
    for (part, state) in [
        (StepPart::Compute, DeviceState::Computing),
        (StepPart::Communication, DeviceState::Communicating),
        (StepPart::Copies, DeviceState::Copying),
        (StepPart::Profiler, DeviceState::Profiling),
    ] {
        nanos[part as usize] = file.states.nanos(state);
    }
    let window = file.totals.work_window.map_or(0, |(start, end)| end - start);
    nanos[StepPart::Unrecorded as usize] = (window - nanos.iter().sum::<i64>()).max(0);
    nanos
}

/// Counts the threads that communicate, beside those with steps; none where there is a device.
fn communicating_threads(file: &FileSums<'_>) -> i64 {
    let communicates = |lane: &&LaneResult| {
        let mut nodes = lane.tree.nodes.iter();
        lane.parts.is_empty() && nodes.any(|node| file.rules.role(node.category) == Role::Communication)
    };
    if file.has_device() { 0 } else { file.lanes.iter().filter(communicates).count() as i64 }
}

/// Without a device, a thread that has nothing but the step's span waits for the `threads` that communicate meanwhile.
fn with_other_threads(file: &FileSums<'_>, step: usize, threads: i64, mut nanos: PartNanos) -> PartNanos {
    if threads == 0 {
        return nanos;
    }
    let categories = file.rules.categories();
    let of_step = file.steps.host.iter().skip(step * categories.len()).take(categories.len());
    let is_communication = |row: &(usize, &i64)| {
        categories.get(row.0).is_some_and(|category| category.role == Role::Communication)
    };
    let all: i64 = of_step.enumerate().filter(is_communication).map(|(_, nanos)| nanos).sum();
    // Threads that communicate at once are waited for once: the mean of them is the least it can be. The own wait is part of it.
    let own = nanos[StepPart::HostCommunication as usize];
    let others = ((all - own) / threads - own).max(0);
    let moved = others.min(nanos[StepPart::Unnamed as usize]);
    nanos[StepPart::Unnamed as usize] -= moved;
    nanos[StepPart::HostCommunication as usize] += moved;
    nanos
}

fn time_parts(nanos: &PartNanos) -> TimeParts {
    let of = |part: StepPart| us(nanos[part as usize]);
    TimeParts {
        compute_us: of(StepPart::Compute),
        communication_us: of(StepPart::Communication) + of(StepPart::HostCommunication),
        copies_us: of(StepPart::Copies),
        data_loading_us: of(StepPart::Data),
        synchronisation_us: of(StepPart::Synchronisation),
        launch_us: of(StepPart::Launch),
        host_us: of(StepPart::Host) + of(StepPart::Unnamed),
        profiler_us: of(StepPart::Profiler),
        unrecorded_us: of(StepPart::Unrecorded),
    }
}

/// Returns the bound of a file.
pub(crate) fn bound(file: &FileSums<'_>, times: &FileTimes<'_>) -> Bound {
    let has_device = file.has_device();
    let total_us = times.all.total_us();
    let (mut limit, mut cause, mut confidence) = times.all.limit(has_device);
    if file.outcome.damage.is_some() || file.outcome.skipped.is_some() {
        confidence = Confidence::Incomplete;
    }
    let busy = [StepPart::Compute, StepPart::Communication, StepPart::Copies]
        .map(|part| us(times.nanos[part as usize]));
    let window_us = us(file.totals.work_window.map_or(0, |(start, end)| end - start));
    let mut names = Naming { file, times, total_us, cause }.names(limit);
    // Without a device all time is the host's, so the cause is its largest phase. Communication is a cause of its own.
    if let (Limit::Operations, Some((name, phase))) = (limit, &names.largest) {
        cause = *phase;
        if file.is_communication(name) {
            (limit, cause) = (Limit::Communication, share(times.all.communication_us, total_us));
            names = Naming { file, times, total_us, cause }.names(limit);
        }
    }
    let CauseNames { largest, module, operation } = names;
    Bound {
        limit,
        share: cause,
        confidence,
        gain_us: cause * total_us / times.steps.len().max(1) as f64,
        device_busy: has_device.then(|| share(busy.iter().sum(), total_us)),
        device_busy_of_trace: has_device.then(|| share(us(file.device.exact.busy.all.nanos), window_us)),
        largest,
        module,
        operation,
        waits_for: None,
        parts: times.all,
    }
}

/// Whether device work only waits, by its name.
fn is_wait(name: &str) -> bool {
    words(name).iter().any(|word| matches!(word.as_str(), "wait" | "synchronize" | "sync"))
}

type NamedTime = Option<(String, f64)>;

/// The names of a cause.
#[derive(Default)]
struct CauseNames {
    largest: NamedTime,
    module: NamedTime,
    operation: NamedTime,
}

/// Finds the names of a cause.
struct Naming<'a> {
    file: &'a FileSums<'a>,
    times: &'a FileTimes<'a>,
    total_us: f64,
    /// Share of the cause.
    cause: f64,
}

impl Naming<'_> {
    fn names(&self, limit: Limit) -> CauseNames {
        let of_device = |is: &dyn Fn(&Kind) -> bool| CauseNames {
            operation: self.device_operation(is),
            ..CauseNames::default()
        };
        match limit {
            Limit::Device => of_device(&|kind| kind.work == DeviceWork::Computation),
            Limit::Copies => of_device(&|kind| matches!(kind.work, DeviceWork::Memory | DeviceWork::Other)),
            Limit::Profiler => of_device(&|kind| kind.is(Kind::OVERHEAD)),
            Limit::Communication => self.communication(),
            Limit::Data | Limit::Launch | Limit::Host | Limit::Operations => self.host(limit),
            Limit::Synchronisation => CauseNames { operation: self.wait(), ..CauseNames::default() },
            Limit::Straggler | Limit::Unrecorded | Limit::Nothing => CauseNames::default(),
        }
    }

    fn named(&self, name: &str, nanos: i64) -> NamedTime {
        let share = share(us(nanos), self.total_us);
        (share >= NAMED).then(|| (name.to_owned(), share))
    }

    fn role_of(&self, category: CategoryId) -> Role {
        self.file.rules.role(category)
    }

    /// Returns the largest operation of the device (or of the profiler) launched in steps. Where it takes longer than the cause, several
    /// streams or computation hide some of it: it is named only if the others cannot be half of the cause.
    fn device_operation(&self, is: &dyn Fn(&Kind) -> bool) -> NamedTime {
        let file = self.file;
        let matches = |kind: &&Kind| (kind.is(Kind::DEVICE) || kind.is(Kind::OVERHEAD)) && is(kind);
        let mut sums: BTreeMap<Symbol, i64> = BTreeMap::new();
        let mut add = |name: Symbol, nanos: i64| {
            let sum = sums.entry(name).or_default();
            *sum = sum.saturating_add(nanos);
        };
        if file.steps.steps.is_empty() || file.steps.pairs_full {
            let kinds = file.kinds.iter().filter(matches);
            kinds.for_each(|kind| add(kind.name, i64::try_from(kind.sum_nanos).unwrap_or(i64::MAX)));
        } else {
            for (_, kind, nanos) in file.steps.pairs() {
                if let Some(kind) = file.kinds.get(kind.index()).filter(matches) {
                    add(kind.name, nanos);
                }
            }
        }
        sums.retain(|name, _| !is_wait(file.text(*name)));
        let all_nanos: i64 = sums.values().sum();
        let (name, nanos) = sums.into_iter().rev().max_by_key(|&(_, nanos)| nanos)?;
        let (name, own) = self.named(file.text(name), nanos)?;
        let others = share(us(all_nanos - nanos), self.total_us);
        (own <= ROUNDING * self.cause || others < 0.5 * self.cause).then(|| (name, own.min(self.cause)))
    }

    fn communication(&self) -> CauseNames {
        let categories = self.file.rules.categories();
        let name = categories.iter().find(|category| category.role == Role::Communication);
        let largest = name.map(|category| (category.name.clone(), self.cause));
        let on_device = self.times.nanos[StepPart::Communication as usize];
        let operation = if on_device >= self.times.nanos[StepPart::HostCommunication as usize] {
            self.device_operation(&|kind| kind.work == DeviceWork::Communication)
        } else {
            None
        };
        CauseNames { largest, module: None, operation }
    }

    /// The operation in which a thread with steps waits for the device most.
    fn wait(&self) -> NamedTime {
        let file = self.file;
        let mut sums: BTreeMap<Symbol, i64> = BTreeMap::new();
        for lane in &self.times.main {
            for node in &lane.tree.nodes {
                let Some(kind) = file.kinds.get(node.kind.index()) else { continue };
                let is_copy = kind.is(Kind::CALL) && file.text(kind.name).contains("Memcpy");
                if is_copy || self.role_of(node.category) == Role::DeviceWait {
                    *sums.entry(self.operator_around(lane, node).unwrap_or(kind.name)).or_default() +=
                        node.self_nanos;
                }
            }
        }
        let (name, nanos) = sums.into_iter().rev().max_by_key(|&(_, nanos)| nanos)?;
        self.named(file.text(name), nanos)
    }

    /// The outermost operator around a node.
    fn operator_around(&self, lane: &LaneResult, node: &Node) -> Option<Symbol> {
        let mut found = None;
        let mut up = node.parent;
        while let Some(above) = up.and_then(|id| lane.tree.nodes.get(id.index())) {
            let kind = self.file.kinds.get(above.kind.index())?;
            let is_operator = matches!(self.file.text(kind.cat), "cpu_op" | "Operator");
            if is_operator && !kind.is(Kind::STEP) {
                found = Some(kind.name);
            }
            up = above.parent;
        }
        found
    }

    /// The phase, module and operation of the host while the device is idle: of data loading, or of everything else. Without a device,
    /// module and operation are those of the largest phase, which is the cause.
    fn host(&self, limit: Limit) -> CauseNames {
        let file = self.file;
        let counts = |node: &Node| {
            let phase = node.phase.map(|phase| self.role_of(phase));
            match limit {
                Limit::Data => phase == Some(Role::DataLoading),
                _ => phase != Some(Role::DataLoading) && self.role_of(node.category) != Role::DeviceWait,
            }
        };
        let main = &self.times.main;
        let engines: Vec<&LaneResult> = file
            .lanes
            .iter()
            .filter(|lane| !lane.engine.is_empty() && main.iter().all(|own| own.lane != lane.lane))
            .collect();
        let phase_of = |node: &Node| node.phase.unwrap_or(node.category);
        let mut phases: BTreeMap<CategoryId, i64> = BTreeMap::new();
        for node in main.iter().flat_map(|lane| &lane.tree.nodes).filter(|node| counts(node)) {
            *phases.entry(phase_of(node)).or_default() += node.idle_nanos;
        }
        // Time that no span names, while autograd's threads work, is the backward pass.
        let idle = |lanes: &[&LaneResult]| -> i64 {
            let nodes = lanes.iter().flat_map(|lane| &lane.tree.nodes);
            nodes.filter(|node| counts(node)).map(|node| node.idle_nanos).sum()
        };
        let find = |role| file.rules.categories().iter().position(|category| category.role == role);
        if let (Some(unnamed), Some(backward)) = (find(Role::Unattributed), find(Role::Backward)) {
            let [unnamed, backward] = [unnamed, backward].map(CategoryId::from_index);
            let of = |phase| phases.get(&phase).copied().unwrap_or(0);
            let moved = (idle(&engines) - of(backward)).clamp(0, of(unnamed));
            *phases.entry(unnamed).or_default() -= moved;
            *phases.entry(backward).or_default() += moved;
        }
        let phase = phases.iter().rev().max_by_key(|(_, nanos)| **nanos);
        let Some((&phase, &nanos)) = phase else { return CauseNames::default() };
        let largest = self.named(file.category_name(phase), nanos);
        let is_of_cause =
            |node: &Node| counts(node) && (limit != Limit::Operations || phase_of(node) == phase);
        let half = match limit {
            Limit::Operations => nanos / 2,
            _ => (self.cause * self.total_us * 500.0) as i64,
        };
        let Heaviest { mut module, mut operation } = heaviest_path(file, main, &is_of_cause, half);
        let deeper = heaviest_path(file, &engines, &is_of_cause, half);
        (module, operation) = (deeper.module.or(module), deeper.operation.or(operation));
        // A phase's own span repeats its name.
        let repeats = |name: Symbol| words(file.text(name)) == words(file.category_name(phase));
        if operation.is_none_or(|(name, _)| repeats(name)) {
            let lanes = main.iter().chain(&engines);
            let in_phase = lanes
                .flat_map(|lane| &lane.tree.nodes)
                .filter(|node| counts(node) && phase_of(node) == phase);
            let mut sums: BTreeMap<Symbol, i64> = BTreeMap::new();
            for node in in_phase {
                if let Some(kind) = file.kinds.get(node.kind.index()).filter(|kind| !kind.is(Kind::STEP)) {
                    *sums.entry(kind.name).or_default() += node.idle_nanos;
                }
            }
            sums.retain(|name, _| !repeats(*name));
            operation = sums.into_iter().rev().max_by_key(|&(_, nanos)| nanos);
        }
        let named =
            |found: Option<(Symbol, i64)>| found.and_then(|(name, nanos)| self.named(file.text(name), nanos));
        CauseNames { largest, module: named(module), operation: named(operation) }
    }
}
