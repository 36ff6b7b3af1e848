//! Tests of the application through its server.
#![allow(clippy::unwrap_used, reason = "a test may panic")]

#[path = "../support/mod.rs"]
mod support;

mod received;
mod requests;
mod views;
