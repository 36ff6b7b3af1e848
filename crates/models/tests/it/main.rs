//! Integration tests of the crate, one module per subject.
#![allow(clippy::unwrap_used, reason = "a test may panic")]

mod features;
mod golden_losses;
mod loss_gradients;
mod networks;
mod routes;
mod score_losses;
