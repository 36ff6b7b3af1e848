//! Losses: what every network minimises, by name.
//!
//! [`LOSSES`] lists the losses of scores. A configuration chooses one with `model.loss` ([`LossConfig`]), and a network records it
//! on its tape ([`ScoreLoss`]). A loss has options ([`LossOptions`]) and an implementation ([`Loss`]) that computes a value, named
//! parts and gradients on slices.
//!
//! ```
//! use knockout_models::loss::{LOSSES, LossConfig};
//!
//! let loss = LossConfig::read("mse".into(), LOSSES)?;
//! assert_eq!(loss.name(), "mse");
//! # Ok::<(), knockout_base::error::Error>(())
//! ```
//!
//! Inputs and gradients are `f32` or `f64`; values between them are computed in `f64`, because a loss is a negligible part of a step
//! and differences may be huge. A row whose target is NaN is ignored, and its gradient is 0. Sums run in row order, so results do not
//! depend on threads. The module depends on neither models nor the training loop.

mod buffer;
mod composite;
mod exponential;
mod log_cosh;
mod loss_trait;
mod mle_wass_supcr;
mod options;
mod point_dist;
mod pointwise;
mod registry;
mod schedule;
mod score;
mod sinkhorn;
mod supcr;
mod tape;
mod wasserstein;
mod weighted_mse;

pub use buffer::{BufferState, CircularBuffer, WriteOrder, rows_taken};
pub use composite::BufferOptions;
pub use log_cosh::{Reduction, log_cosh, log_cosh_each};
pub use loss_trait::{BatchRows, Loss, LossGradients, LossPart, LossPhase, LossValue, Restored, Terms};
pub use mle_wass_supcr::{MleWassSupCr, MleWassSupCrOptions, SupCrOptions, WassersteinOptions};
pub use options::{LossOptions, LossShape};
pub use point_dist::{PointDist, PointDistOptions, PointLoss};
pub use pointwise::{LogCosh, MeanSquaredError};
pub use registry::{LOSSES, LossConfig, LossEntry, LossPrecision};
pub use schedule::{AlphaSchedule, BufferWeight, Temperature};
pub use score::{LossPosition, Penalty, RecordedLoss, ScoreLoss, ScoredRows, ShardAt};
pub use sinkhorn::sinkhorn;
pub use supcr::supcr;
pub use tape::{interaction_loss, mean_squared_error};
pub use wasserstein::{Transport, exact_transport, wasserstein};
pub use weighted_mse::weighted_mse;
