//! Modules and annotations of the program, with the device time and the backward pass of each.
//!
//! Host events belong to the innermost scope around them, device events to that of their launch call. A function that autograd evaluates
//! carries the sequence number of the forward operator that created it: it is the backward pass of that operator's scope, whichever
//! thread evaluates it.

use crate::attribute::lane::LaneResult;
use crate::collect::id::ScopeId;
use crate::collect::record::{Link, Span};
use knockout_trace::LaneId;
use std::collections::BTreeMap;

/// Nanoseconds of one scope without those of inner ones; negative where time of an inner scope is subtracted, so that a sum over a
/// subtree counts it once.
#[derive(Debug, Default, Clone, Copy)]
pub(crate) struct ScopeNanos {
    /// Device events launched in it.
    pub(crate) device: i64,
    /// Functions of its operators, evaluated outside of it.
    pub(crate) backward_host: i64,
    /// Device events launched by these.
    pub(crate) backward_device: i64,
    /// Device events of either sort, launched in steps.
    pub(crate) device_in_steps: i64,
}

impl ScopeNanos {
    /// Adds other sums.
    pub(crate) fn absorb(&mut self, other: Self) {
        self.device = self.device.saturating_add(other.device);
        self.backward_host = self.backward_host.saturating_add(other.backward_host);
        self.backward_device = self.backward_device.saturating_add(other.backward_device);
        self.device_in_steps = self.device_in_steps.saturating_add(other.device_in_steps);
    }
}

/// Sums by lane and scope.
pub(crate) type ScopeSums = BTreeMap<(LaneId, ScopeId), ScopeNanos>;

/// The lanes of a file that have scopes or functions.
#[derive(Debug)]
pub(crate) struct ScopedLanes<'a> {
    lanes: BTreeMap<LaneId, &'a LaneResult>,
    /// Those with forward operators in scopes.
    forward: Vec<&'a LaneResult>,
    /// The lane that waits for autograd's threads; `None` if there are several.
    waiting: Option<&'a LaneResult>,
}

impl<'a> ScopedLanes<'a> {
    pub(crate) fn of(lanes: &'a [LaneResult]) -> Self {
        let has_forward = |lane: &&LaneResult| lane.autograd.has_operators();
        let mut waiting = lanes.iter().filter(|lane| !lane.autograd.waits.is_empty());
        Self {
            waiting: waiting.next().filter(|_| waiting.next().is_none()),
            lanes: lanes.iter().map(|lane| (lane.lane, lane)).collect(),
            forward: lanes.iter().filter(has_forward).collect(),
        }
    }

    /// Returns the scope of the operator that created a function; `None` where operators of several threads have its number.
    fn forward_scope(&self, sequence: u32) -> Option<(LaneId, ScopeId)> {
        let mut found =
            self.forward.iter().filter_map(|lane| Some((lane.lane, lane.autograd.scope_of(sequence)?)));
        found.next().filter(|_| found.next().is_none())
    }

    /// Returns the scope in which a thread waits for autograd's threads at a time.
    fn waiting_scope(&self, time: i64) -> Option<(LaneId, ScopeId)> {
        let lane = self.waiting?;
        let after = lane.autograd.waits.partition_point(|wait| wait.0 <= time);
        let &(_, to, scope) = lane.autograd.waits.get(after.checked_sub(1)?)?;
        (time < to).then_some((lane.lane, scope))
    }

    /// The innermost scope around both.
    fn common(&self, a: (LaneId, ScopeId), b: (LaneId, ScopeId)) -> Option<(LaneId, ScopeId)> {
        let lane = self.lanes.get(&a.0).filter(|_| a.0 == b.0)?;
        Some((a.0, lane.tree.scopes.common(a.1, b.1)?))
    }

    /// Adds time of a function, once for each scope that evaluated it or whose backward pass it is.
    fn add(
        &self,
        sums: &mut ScopeSums,
        inside: Option<(LaneId, ScopeId)>,
        sequence: u32,
        add: impl Fn(&mut ScopeNanos, i64),
    ) {
        let Some(forward) = self.forward_scope(sequence) else { return };
        add(sums.entry(forward).or_default(), 1);
        if let Some(both) = inside.and_then(|inside| self.common(inside, forward)) {
            add(sums.entry(both).or_default(), -1);
        }
    }

    /// Adds a device event to the scopes of its launch call.
    #[inline]
    pub(crate) fn add_device(&self, sums: &mut ScopeSums, call: &Link, nanos: i64) {
        let in_steps = if call.step.is_some() { nanos } else { 0 };
        let mut inside = call.scope.map(|scope| (call.lane, scope));
        if call.flags & Link::FUNCTION != 0 && inside.is_none() {
            inside = self.waiting_scope(call.start);
        }
        if let Some(inside) = inside {
            let sum = sums.entry(inside).or_default();
            sum.device = sum.device.saturating_add(nanos);
            sum.device_in_steps = sum.device_in_steps.saturating_add(in_steps);
        }
        if call.flags & Span::SEQUENCED != 0 {
            self.add(sums, inside, call.sequence, |sum, sign| {
                sum.backward_device = sum.backward_device.saturating_add(sign * nanos);
                sum.device_in_steps = sum.device_in_steps.saturating_add(sign * in_steps);
            });
        }
    }

    /// Adds the host time of all functions.
    pub(crate) fn add_functions(&self, sums: &mut ScopeSums) {
        for (&id, lane) in &self.lanes {
            for function in &lane.autograd.functions {
                let inside = function.scope.map(|scope| (id, scope));
                self.add(sums, inside, function.sequence, |sum, sign| {
                    sum.backward_host = sum.backward_host.saturating_add(sign * function.nanos);
                });
            }
        }
    }
}
