//! Models and losses.
//!
//! The crate knows layers, DANGO and what they minimise; it knows neither files nor the loop that trains.

mod dango;
mod init;
pub mod layer;
pub mod loss;

pub use dango::{Dango, DangoForward, DangoLoss, DangoNetwork};
pub use init::Init;
