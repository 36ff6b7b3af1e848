//! First stage: while the reader runs, events are counted, numbered by kind and written to sorted segments.

mod arg_value;
pub(crate) mod begin_end;
pub(crate) mod collectives;
mod collector;
pub(crate) mod cost;
pub(crate) mod counts;
pub(crate) mod id;
pub(crate) mod kind;
pub(crate) mod memory;
pub(crate) mod record;
pub(crate) mod rules;
pub(crate) mod shapes;
pub(crate) mod waits;

pub(crate) use arg_value::ArgValueKey;
pub use collector::{Collector, Options};
pub(crate) use collector::{LaneSet, StepEvent, Stream, Totals, same_process};
