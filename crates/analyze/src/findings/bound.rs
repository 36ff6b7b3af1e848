//! The bound of a step: the cause that limits its speed, from the parts of the steps. Values only.

use super::finding::FindingSource;
use knockout_base::stats::share;
use serde::Serialize;

/// The device is the limit only if it computes for at least this share of the steps.
const DEVICE: f64 = 0.50;
/// A device that computes for this share leaves no doubt.
const DEVICE_CLEAR: f64 = 0.80;
/// Any other cause with more than this share is the answer rather than a busy device: it can be removed.
const REMOVABLE: f64 = 0.25;
/// An answer is clear with at least this share and with this many times the share of the next cause; likely with the smaller factor.
const CLEAR: f64 = 0.50;
const CLEAR_FACTOR: f64 = 2.0;
const LIKELY_FACTOR: f64 = 1.5;
/// Communication of which this share is waiting for the last rank is caused by that rank.
const MOSTLY_WAITING: f64 = 0.5;

/// The cause that takes most of a step.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Limit {
    /// The device computes most of the time.
    Device,
    /// The device copies or fills memory and computes nothing meanwhile.
    Copies,
    /// Ranks exchange data, and no computation hides it.
    Communication,
    /// Other ranks wait for one that arrives last; found only by comparing ranks.
    Straggler,
    /// The device waits for batches.
    Data,
    /// The device waits for a host that waited for the device.
    Synchronisation,
    /// The device waits for launches, in many short gaps.
    Launch,
    /// The device waits for other work of the host.
    Host,
    /// There is no device: the host's own operations.
    Operations,
    /// The device waits while the profiler works on its buffers.
    Profiler,
    /// The launching thread has no event, and the device neither.
    Unrecorded,
    /// The trace has no time in it.
    Nothing,
}

impl Limit {
    /// Whether the cause is a rank that arrives last in collectives: at least half of the communication is waiting for it.
    pub(crate) fn is_straggler(self, parts: &TimeParts, wait_us: f64) -> bool {
        self == Self::Communication && wait_us >= MOSTLY_WAITING * parts.communication_us
    }
}

/// Confidence of a bound.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Confidence {
    /// No other cause has a similar share.
    Clear,
    /// Another cause has up to two thirds of its share.
    Likely,
    /// Several causes have similar shares.
    Mixed,
    /// The file is damaged or ends early, so that events are missing.
    Incomplete,
}

/// Parts of the time of one step or of all steps, or of the whole trace where it has no steps. They sum to that time.
#[derive(Debug, Clone, Copy, Default, PartialEq, Serialize)]
pub struct TimeParts {
    /// The device computes.
    pub compute_us: f64,
    /// The device communicates and computes nothing, or the host communicates while the device is idle.
    pub communication_us: f64,
    /// Only copies or fills run on the device.
    pub copies_us: f64,
    /// The device is idle, and the thread with the step loads data.
    pub data_loading_us: f64,
    /// The device is idle, and that thread waits for it or had to wait just before.
    pub synchronisation_us: f64,
    /// The device is idle in a gap of less than half a millisecond.
    pub launch_us: f64,
    /// The device is idle, and that thread does anything else.
    pub host_us: f64,
    /// The device is idle, and the profiler works on its buffers.
    pub profiler_us: f64,
    /// Neither the device nor that thread has an event.
    pub unrecorded_us: f64,
}

impl TimeParts {
    /// Returns the sum of all parts.
    pub fn total_us(&self) -> f64 {
        self.causes().iter().map(|(_, us)| us).sum::<f64>() + self.compute_us + self.unrecorded_us
    }

    /// Causes other than computation, each with its time. Launches are the host's.
    fn causes(&self) -> [(Limit, f64); 6] {
        let host_us = self.host_us + self.launch_us;
        let is_launch = self.launch_us >= 0.5 * host_us && host_us > 0.0;
        [
            (Limit::Communication, self.communication_us),
            (Limit::Data, self.data_loading_us),
            (Limit::Synchronisation, self.synchronisation_us),
            (if is_launch { Limit::Launch } else { Limit::Host }, host_us),
            (Limit::Copies, self.copies_us),
            (Limit::Profiler, self.profiler_us),
        ]
    }

    /// Returns the cause that takes most of the time, its share, and how sure that is.
    pub fn limit(&self, has_device: bool) -> (Limit, f64, Confidence) {
        let total_us = self.total_us();
        if total_us <= 0.0 {
            return (Limit::Nothing, 0.0, Confidence::Clear);
        }
        let mut causes = self.causes().map(|(limit, us)| (limit, share(us, total_us)));
        // Of equal ones the first.
        causes.sort_by(|a, b| b.1.total_cmp(&a.1));
        let [(limit, most), (_, next), ..] = causes;
        let (compute, unrecorded) = (share(self.compute_us, total_us), share(self.unrecorded_us, total_us));
        if compute >= DEVICE && most <= REMOVABLE {
            let confidence = match compute {
                _ if compute >= DEVICE_CLEAR => Confidence::Clear,
                _ if compute >= CLEAR_FACTOR * most.max(unrecorded) => Confidence::Likely,
                _ => Confidence::Mixed,
            };
            return (Limit::Device, compute, confidence);
        }
        if unrecorded > most {
            // A smaller cause than time without events limits nothing.
            return if compute >= unrecorded {
                (Limit::Device, compute, Confidence::Mixed)
            } else {
                (Limit::Unrecorded, unrecorded, Confidence::Mixed)
            };
        }
        let next = next.max(unrecorded);
        let confidence = match most {
            _ if most >= CLEAR && most >= CLEAR_FACTOR * next => Confidence::Clear,
            _ if most >= LIKELY_FACTOR * next => Confidence::Likely,
            _ => Confidence::Mixed,
        };
        let limit = if has_device || limit != Limit::Host { limit } else { Limit::Operations };
        (limit, most, confidence)
    }
}

/// The bound of a trace, and the figures behind it. Shares are of the steps, or of the trace where it has no steps.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Bound {
    /// The cause that takes most of a step.
    pub limit: Limit,
    /// Share of that cause.
    pub share: f64,
    /// Confidence of that cause.
    pub confidence: Confidence,
    /// The most by which a step (or the trace) could get shorter if the cause were removed, in microseconds.
    pub gain_us: f64,
    /// Share in which the device has an event; `None` without a device.
    pub device_busy: Option<f64>,
    /// Share of the whole trace in which the device has an event.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub device_busy_of_trace: Option<f64>,
    /// The category of the cause, or the phase with most of its time.
    pub largest: Option<(String, f64)>,
    /// The innermost module that contains half of the cause's time.
    pub module: Option<(String, f64)>,
    /// The innermost function or operation that contains half of the cause's time, else its largest one. Never one below 5 %.
    pub operation: Option<(String, f64)>,
    /// The rank that this one waits for in collectives, where that is the cause.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub waits_for: Option<FindingSource>,
    /// The parts of the time.
    pub parts: TimeParts,
}

impl Bound {
    /// Returns the time in which the device is idle; `None` without a device.
    pub fn device_idle_us(&self) -> Option<f64> {
        Some((1.0 - self.device_busy?) * self.parts.total_us())
    }

    /// Replaces communication as the cause if at least half of it is waiting for another rank to arrive: `wait_us` over `steps` steps.
    pub(crate) fn wait_for(&mut self, source: &FindingSource, wait_us: f64, steps: usize) {
        let wait_us = wait_us.min(self.parts.communication_us);
        if !self.limit.is_straggler(&self.parts, wait_us) {
            return;
        }
        self.limit = Limit::Straggler;
        self.waits_for = Some(source.clone());
        self.share = share(wait_us, self.parts.total_us());
        self.gain_us = wait_us / steps.max(1) as f64;
        (self.largest, self.module, self.operation) = (None, None, None);
    }
}
