//! Measures the code base itself: [`source`] reads one Rust file, [`package`] finds the targets of a package, [`modules`] finds
//! cycles among the modules of a target, and [`figures`] counts crates, types, lines and tests of the workspace.
//!
//! `cargo run -p xtask -- figures` prints the figures; `tests/architecture.rs` refuses new cycles.

pub mod figures;
pub mod modules;
pub mod package;
pub mod source;
