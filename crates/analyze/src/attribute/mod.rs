//! Second stage: every instant of a lane is given to one event, its category and its step; device work to the call that
//! launched it.

pub(crate) mod autograd;
pub(crate) mod device_state;
mod file_sums;
pub(crate) mod gpu;
pub(crate) mod hta;
pub(crate) mod interval;
pub(crate) mod lane;
pub(crate) mod modules;
pub(crate) mod parts;
pub(crate) mod scopes;
pub(crate) mod self_time;
pub(crate) mod shapes;
pub(crate) mod steps;
pub(crate) mod timeline;
pub(crate) mod tree;
pub(crate) mod workers;

pub(crate) use file_sums::{FileSums, by_lane, pair_begin_end, steps_of};
