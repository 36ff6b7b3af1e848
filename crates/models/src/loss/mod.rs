//! Loss functions on slices that return a value and write its gradient.
//!
//! Every function writes the gradient with respect to the predictions (or embeddings) into a slice of the caller and
//! returns the value. Inputs and gradients are `f32` or `f64`; in between everything is computed in `f64`, because a
//! loss is a negligible part of a step and differences may be huge. A row whose target is NaN has no target: it is ignored,
//! and its gradient is 0. Sums run in row order, so results do not depend on threads.
//!
//! The module knows neither models nor the loop: epochs and steps are numbers it is given.

mod buffer;
mod composite;
mod exponential;
mod log_cosh;
mod mle_wass_supcr;
mod options;
mod point_dist;
mod schedule;
mod sinkhorn;
mod supcr;
mod wasserstein;
mod weighted_mse;

pub use buffer::{BufferError, BufferState, CircularBuffer, WriteOrder, rows_taken};
pub use composite::{BatchRows, BufferOptions, BufferedLoss, Gradients, LossValue, Part, Phase, Restored};
pub use log_cosh::{Reduction, log_cosh, log_cosh_each};
pub use mle_wass_supcr::{MleWassSupCr, MleWassSupCrOptions};
pub use options::LossError;
pub use point_dist::{PointDist, PointDistOptions, PointLoss};
pub use schedule::{AlphaSchedule, BufferWeight, Temperature};
pub use sinkhorn::sinkhorn;
pub use supcr::supcr;
pub use wasserstein::{Transport, exact_transport, wasserstein};
pub use weighted_mse::weighted_mse;
