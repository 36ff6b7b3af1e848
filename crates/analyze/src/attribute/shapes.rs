//! Operators of one lane by the shapes of their inputs.
//!
//! Time and launches belong to one operator: to the outermost one around them whose work is known, else to the innermost one with shapes.
//! So `aten::linear` has what `aten::addmm` inside it launches, and no kernel counts twice.

use crate::collect::id::{KindId, ShapeId};
use crate::collect::shapes::Shape;
use std::collections::BTreeMap;

/// Sums of one shape on the host.
#[derive(Debug, Default, Clone, Copy)]
pub(crate) struct ShapeTime {
    pub(crate) calls: u64,
    pub(crate) nanos: i64,
    /// An operator inside with the same work in another precision, as under autocast.
    pub(crate) computed_as: Option<ShapeId>,
}

/// Device events by the operator that launched them, and by kernel: number and nanoseconds.
pub(crate) type ShapeKernels = BTreeMap<(ShapeId, KindId), (u64, i64)>;

/// An operator that runs.
#[derive(Debug, Clone, Copy)]
struct Open {
    end: i64,
    /// The operator that time and launches belong to.
    shape: ShapeId,
}

/// Operators with shapes on one lane.
#[derive(Debug, Default)]
pub(crate) struct ShapeSums {
    open: Vec<Open>,
    pub(crate) times: BTreeMap<ShapeId, ShapeTime>,
}

impl ShapeSums {
    /// Notes an operator that begins.
    pub(crate) fn enter(&mut self, shape: ShapeId, shapes: &[Shape], from: i64, to: i64) {
        self.leave_until(from);
        let is_known = |id: ShapeId| shapes.get(id.index()).is_some_and(|shape| shape.cost.is_some());
        let outer = self.open.last().map(|open| open.shape).filter(|outer| is_known(*outer));
        if let Some(outer) = outer {
            let cost = |id: ShapeId| shapes.get(id.index()).and_then(|shape| shape.cost);
            if let (Some(own), Some(inner)) = (cost(outer), cost(shape))
                && own.flop == inner.flop
                && own.precision != inner.precision
            {
                self.times.entry(outer).or_default().computed_as = Some(shape);
            }
        } else {
            self.times.entry(shape).or_default().calls += 1;
        }
        self.open.push(Open { end: to, shape: outer.unwrap_or(shape) });
    }

    fn leave_until(&mut self, time: i64) {
        while self.open.pop_if(|open| open.end <= time).is_some() {}
    }

    /// Returns the operator that an instant belongs to.
    #[inline]
    pub(crate) fn at(&mut self, time: i64) -> Option<ShapeId> {
        self.leave_until(time);
        self.open.last().map(|open| open.shape)
    }

    /// Adds time in which one event is innermost.
    #[inline]
    pub(crate) fn run(&mut self, from: i64, to: i64) {
        if let Some(shape) = self.at(from) {
            self.times.entry(shape).or_default().nanos += to - from;
        }
    }
}
