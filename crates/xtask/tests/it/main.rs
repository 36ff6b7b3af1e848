//! Checks of the whole repository: its architecture and its language.
#![expect(clippy::unwrap_used, reason = "a test may panic")]

mod architecture;
mod links;
mod words;
