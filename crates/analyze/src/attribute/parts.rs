//! Parts of a step's time: at every instant, the work of the device or, while it is idle, the activity of the thread with the step.

use crate::attribute::device_state::{DeviceState, DeviceStates, StateCursor};
use crate::collect::rules::Role;

/// A gap between device events that is shorter is the time the host takes to launch the next one.
pub(crate) const SHORT_GAP_NANOS: i64 = 500_000;
/// A driver call that runs for longer until the device is done was waiting for it.
const BLOCKING_NANOS: i64 = 50_000;

/// A part of a step. The first four are states of the device; in the others it is idle.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum StepPart {
    Compute,
    Communication,
    Copies,
    Profiler,
    /// The thread loads data.
    Data,
    /// The thread exchanges data with other ranks.
    HostCommunication,
    /// The thread waits for the device, or the gap is short and began with such a wait.
    Synchronisation,
    /// The gap is short, so launches come too slowly; or the thread waits for work that it has launched and that has not begun.
    Launch,
    /// The thread does something else.
    Host,
    /// The thread is in a span that no rule names, such as the step's own.
    Unnamed,
    /// The thread has no event.
    Unrecorded,
}

/// Nanoseconds by [`StepPart`].
pub(crate) type PartNanos = [i64; StepPart::Unrecorded as usize + 1];

/// Activity of a thread, as far as it decides the part of a step.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Activity {
    Loading,
    Communicating,
    Waiting,
    /// In a call into the driver.
    Calling,
    Unnamed,
    Other,
}

impl Activity {
    /// Returns the activity of an event by the roles of its phase and its category.
    pub(crate) fn of(phase: Option<Role>, category: Role, is_call: bool) -> Self {
        match (phase, category) {
            (Some(Role::DataLoading), _) => Self::Loading,
            (_, Role::DeviceWait) => Self::Waiting,
            (Some(Role::Communication), _) => Self::Communicating,
            (_, Role::Unattributed) => Self::Unnamed,
            _ if is_call => Self::Calling,
            _ => Self::Other,
        }
    }
}

/// Divides the time of one thread into parts.
#[derive(Debug)]
pub(crate) struct Divider<'a> {
    cursor: StateCursor<'a>,
    /// Start of the last gap that began while the thread waited for the device.
    after_wait: Option<i64>,
    /// By step, or one for the whole lane; empty where only idle time is wanted.
    pub(crate) sums: Vec<PartNanos>,
}

impl<'a> Divider<'a> {
    pub(crate) fn new(states: &'a DeviceStates, sums: usize) -> Self {
        Self { cursor: states.cursor(), after_wait: None, sums: vec![PartNanos::default(); sums] }
    }

    /// Adds a piece of time that began at `began` and of which `from` to `to` counts; returns the nanoseconds in which the device is idle.
    #[inline]
    pub(crate) fn add(&mut self, index: usize, activity: Activity, began: i64, from: i64, to: i64) -> i64 {
        let (mut from, mut idle) = (from, 0);
        while from < to {
            self.cursor.move_to(from);
            let end = to.min(self.cursor.to);
            let part = self.part(activity, began);
            if part as usize > StepPart::Profiler as usize {
                idle += end - from;
            }
            if let Some(sum) = self.sums.get_mut(index).and_then(|sums| sums.get_mut(part as usize)) {
                *sum += end - from;
            }
            from = end;
        }
        idle
    }

    fn part(&mut self, activity: Activity, began: i64) -> StepPart {
        let gap = match self.cursor.state {
            DeviceState::Computing => return StepPart::Compute,
            DeviceState::Communicating => return StepPart::Communication,
            DeviceState::Copying => return StepPart::Copies,
            DeviceState::Profiling => return StepPart::Profiler,
            DeviceState::Idle => self.cursor.from,
        };
        let waited = match activity {
            Activity::Waiting => began < gap,
            Activity::Calling => gap.saturating_sub(began) >= BLOCKING_NANOS,
            _ => false,
        };
        if waited {
            self.after_wait = Some(gap);
        }
        let is_short = self.cursor.to.saturating_sub(gap) < SHORT_GAP_NANOS;
        match activity {
            Activity::Loading => StepPart::Data,
            Activity::Waiting if !waited => StepPart::Launch,
            Activity::Waiting => StepPart::Synchronisation,
            _ if is_short && self.after_wait == Some(gap) => StepPart::Synchronisation,
            _ if is_short => StepPart::Launch,
            Activity::Communicating => StepPart::HostCommunication,
            Activity::Unnamed => StepPart::Unnamed,
            Activity::Calling | Activity::Other => StepPart::Host,
        }
    }
}
