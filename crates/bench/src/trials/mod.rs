//! Many runs in one folder: every model on every split, and sweeps over settings.
//!
//! The crate decides which runs are trained, in which order and within which budget of CPU time, keeps what they gave beside them,
//! and goes on where it was interrupted. What came out are values; it never prints.

pub mod benchmark;
mod error;
mod kept;
pub mod sweep;
mod trial;

pub use error::TrialError;
pub use trial::{Report, Stop, Trained, TrialEnd};
