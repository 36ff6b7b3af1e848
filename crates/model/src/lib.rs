//! Models and losses.
//!
//! The crate knows layers, DANGO and what they minimise; it knows neither files nor the loop that trains.

mod dango;
mod init;
pub mod layer;
pub mod loss;
mod model;

pub use dango::{Dango, DangoForward, DangoLoss, DangoNetwork, SelfLoops};
pub use init::Init;
pub use model::{Forward, Loss, Model};
