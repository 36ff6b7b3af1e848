//! Models and losses.
//!
//! The crate knows layers, DANGO and what they minimise; it knows neither files nor the loop that trains.

pub mod loss;
