//! Kinds of events: one per (name, category, origin), with everything that follows from those alone.
//!
//! Decided once per kind, so that text is not compared per event.

use crate::collect::id::KindId;
use crate::collect::rules::{EventOrigin, KindCategories, Role, Rules};
use knockout_trace::{FOREGROUND, Symbol, Symbols};
use std::collections::HashMap;

/// Calls whose device work is in HTA's launch statistics.
const LAUNCH_STATS: [&str; 5] = [
    "cudaLaunchKernel",
    "cudaLaunchKernelExC",
    "cudaMemcpyAsync",
    "cudaMemsetAsync",
    "runFunction - job_prep_and_submit_for_execution",
];
/// Further calls that put work into a stream's queue.
const LAUNCH_QUEUE: [&str; 9] = [
    "cuLaunchKernel",
    "hipLaunchKernel",
    "hipExtModuleLaunchKernel",
    "hipMemsetAsync",
    "hipMemcpyAsync",
    "hipMemcpyWithStream",
    "urEnqueueKernelLaunch",
    "urEnqueueUSMMemcpy",
    "zeCommandListAppendLaunchKernel",
];
const DEVICE_CATS: [&str; 6] = ["kernel", "gpu_memcpy", "gpu_memset", "memcpy", "memset", "mtia_ccp_events"];
/// HTA compares these as they are written.
const HTA_IDLE_CATS: [&str; 7] =
    ["kernel", "Kernel", "gpu_memset", "Memset", "gpu_memcpy", "Memcpy", "mtia_ccp_events"];

/// Calls into the driver of a device.
const CALL_CATS: [&str; 8] = [
    "cuda_runtime",
    "cuda_driver",
    "runtime",
    "driver",
    "privateuse1_runtime",
    "mtia_runtime",
    "hip_runtime",
    "xpu_runtime",
];

/// How traces name the calls of a module.
const MODULES: [&str; 2] = ["nn.Module: ", "[pl][module]"];

/// Work of a device event.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum DeviceWork {
    Computation,
    Communication,
    Memory,
    Other,
}

/// Kind of a launch call.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum LaunchKind {
    No,
    /// Known to the exact rule and to HTA's queue.
    Queue,
    /// Also to HTA's launch statistics.
    Stats,
}

/// One kind and its sums over complete events of positive duration.
#[derive(Debug, Clone)]
pub(crate) struct Kind {
    pub(crate) name: Symbol,
    pub(crate) cat: Symbol,
    pub(crate) categories: KindCategories,
    /// Work of a device event: communication is what the rules call so, everything else follows from the name.
    pub(crate) work: DeviceWork,
    /// Work of a device event by HTA's expressions.
    pub(crate) work_hta: DeviceWork,
    pub(crate) launch: LaunchKind,
    pub(crate) flags: u16,
    /// A collective on a thread of its own on the host.
    pub(crate) is_host_collective: bool,
    pub(crate) events: u64,
    pub(crate) sum_nanos: i128,
}

impl Kind {
    /// The `cat` marks work on the device.
    pub(crate) const DEVICE: u16 = 1;
    /// The profiler's own span.
    pub(crate) const TRACE: u16 = 2;
    /// A `cuda_sync` or `gpu_user_annotation` span: never a launch call.
    pub(crate) const NO_CALL: u16 = 4;
    /// Drawn over device work.
    pub(crate) const GPU_ANNOTATION: u16 = 8;
    /// HTA looks for idle gaps between these.
    pub(crate) const HTA_IDLE: u16 = 16;
    /// `Event Sync` or `Context Sync`, which HTA takes for device rows.
    pub(crate) const SYNC_ROW: u16 = 32;
    /// The name begins with `ProfilerStep`.
    pub(crate) const STEP: u16 = 64;
    /// The name contains `ProfilerStep`, which is HTA's condition.
    pub(crate) const HTA_STEP: u16 = 128;
    /// A Python frame.
    pub(crate) const PYTHON: u16 = 256;
    /// The event has a `cat`.
    pub(crate) const HAS_CATEGORY: u16 = 512;
    /// A function that autograd's engine evaluates.
    pub(crate) const ENGINE: u16 = 1024;
    /// A call into the driver of a device.
    pub(crate) const CALL: u16 = 2048;
    /// Work of the profiler on its own buffers.
    pub(crate) const OVERHEAD: u16 = 4096;
    /// A call that records an event on a stream.
    pub(crate) const EVENT_RECORD: u16 = 8192;
    /// A call of a module.
    pub(crate) const MODULE: u16 = 16384;
    /// A call of a module, or an annotation of the program other than a step, such as every span of this program's own recorder.
    pub(crate) const SCOPE: u16 = 32768;

    #[inline]
    pub(crate) fn is(&self, flag: u16) -> bool {
        self.flags & flag != 0
    }

    fn new(
        name: Symbol,
        category: Symbol,
        origin: EventOrigin,
        symbols: &Symbols,
        rules: &mut Rules,
    ) -> Self {
        let text = symbols.text(name);
        let cat = match origin {
            EventOrigin::Lane(lane) => lane.cat(text),
            EventOrigin::Autograd | EventOrigin::Other => symbols.text(category),
        };
        let lower = cat.to_lowercase();
        let mut flags = 0;
        let mut set = |flag: u16, holds: bool| flags |= if holds { flag } else { 0 };
        set(Self::DEVICE, DEVICE_CATS.contains(&lower.as_str()));
        set(Self::TRACE, cat == "Trace");
        set(Self::NO_CALL, lower == "cuda_sync" || lower == "gpu_user_annotation");
        set(Self::GPU_ANNOTATION, lower == "gpu_user_annotation");
        set(Self::HTA_IDLE, HTA_IDLE_CATS.contains(&cat));
        set(Self::SYNC_ROW, text == "Event Sync" || text == "Context Sync");
        set(Self::STEP, text.starts_with("ProfilerStep"));
        set(Self::HTA_STEP, text.contains("ProfilerStep"));
        set(Self::PYTHON, lower == "python_function");
        set(Self::HAS_CATEGORY, category != Symbol::EMPTY);
        // Traces of 2021 have the function alone.
        let is_function =
            || lower == "operator" && text.trim_end_matches(char::is_numeric).ends_with("Backward");
        set(Self::ENGINE, text.starts_with("autograd::engine::evaluate_function") || is_function());
        set(Self::CALL, CALL_CATS.contains(&lower.as_str()));
        set(Self::OVERHEAD, lower == "overhead");
        let is_call = CALL_CATS.contains(&lower.as_str());
        set(Self::EVENT_RECORD, is_call && text.contains("EventRecord"));
        let is_module = MODULES.iter().any(|start| text.starts_with(start));
        set(Self::MODULE, is_module);
        let is_annotation = cat == FOREGROUND || lower == "user_annotation";
        set(Self::SCOPE, is_module || (is_annotation && !text.starts_with("ProfilerStep")));
        let launch = if LAUNCH_STATS.contains(&text) {
            LaunchKind::Stats
        } else if LAUNCH_QUEUE.contains(&text) {
            LaunchKind::Queue
        } else {
            LaunchKind::No
        };
        // Also spans on a device's lanes that are not work.
        let categories = if flags & (Self::DEVICE | Self::NO_CALL) != 0 {
            rules.device_categories_of(text, cat, origin)
        } else {
            rules.categories_of(text, cat, origin)
        };
        let work_hta = hta_work(text);
        let work = match (rules.role(categories.alone()), work_hta) {
            (Role::Communication, _) => DeviceWork::Communication,
            (_, DeviceWork::Communication) => DeviceWork::Computation,
            (_, other) => other,
        };
        let is_host_collective = flags & Self::DEVICE == 0 && text.starts_with("gloo:");
        Self {
            name,
            cat: category,
            categories,
            work,
            work_hta,
            launch,
            flags,
            is_host_collective,
            events: 0,
            sum_nanos: 0,
        }
    }
}

/// The type of a device event by HTA's expressions, in full.
fn hta_work(name: &str) -> DeviceWork {
    let first_line = name.split('\n').next().unwrap_or(name);
    if first_line.strip_prefix("nccl").is_some_and(|rest| rest.contains("Kernel")) {
        DeviceWork::Communication
    } else if ["Memcpy", "Memset", "dma"].iter().any(|start| name.starts_with(start)) {
        DeviceWork::Memory
    } else if first_line.contains("Memcpy") || first_line.contains("Sync") {
        DeviceWork::Other
    } else {
        DeviceWork::Computation
    }
}

/// All kinds of one file, in order of appearance.
#[derive(Debug)]
pub(crate) struct Kinds {
    rules: Rules,
    list: Vec<Kind>,
    /// The kind a name had last: nearly always the right one.
    recent: Vec<Option<(Symbol, EventOrigin, KindId)>>,
    ids: HashMap<(Symbol, Symbol, EventOrigin), KindId>,
}

impl Kinds {
    pub(crate) fn new(rules: &Rules) -> Self {
        Self { rules: rules.clone(), list: Vec::new(), recent: Vec::new(), ids: HashMap::new() }
    }

    /// Returns the identifier of a kind.
    #[inline]
    pub(crate) fn id(
        &mut self,
        name: Symbol,
        category: Symbol,
        origin: EventOrigin,
        symbols: &Symbols,
    ) -> KindId {
        if let Some(Some((cat, of, id))) = self.recent.get(name.index())
            && *cat == category
            && *of == origin
        {
            return *id;
        }
        self.look_up(name, category, origin, symbols)
    }

    #[cold]
    fn look_up(&mut self, name: Symbol, category: Symbol, origin: EventOrigin, symbols: &Symbols) -> KindId {
        let next = KindId::from_index(self.list.len());
        let id = *self.ids.entry((name, category, origin)).or_insert(next);
        if id == next {
            self.list.push(Kind::new(name, category, origin, symbols, &mut self.rules));
        }
        if self.recent.len() <= name.index() {
            self.recent.resize(name.index() + 1, None);
        }
        if let Some(slot) = self.recent.get_mut(name.index()) {
            *slot = Some((category, origin, id));
        }
        id
    }

    #[inline]
    pub(crate) fn get_mut(&mut self, id: KindId) -> Option<&mut Kind> {
        self.list.get_mut(id.index())
    }

    pub(crate) fn finish(self) -> (Rules, Vec<Kind>) {
        (self.rules, self.list)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn device_work_follows_from_the_name() {
        assert_eq!(hta_work("ncclDevKernel_AllReduce"), DeviceWork::Communication);
        assert_eq!(hta_work("ncclFoo"), DeviceWork::Computation);
        assert_eq!(hta_work("Memcpy HtoD"), DeviceWork::Memory);
        assert_eq!(hta_work("my Memcpy"), DeviceWork::Other);
        assert_eq!(hta_work("Event Sync"), DeviceWork::Other);
        assert_eq!(hta_work("gemm Memset"), DeviceWork::Computation);
    }
}
