//! Reference values and resources of tests; a dev-dependency only.
//!
//! [`golden`] reads the numbers computed with PyTorch, a few of which are in the repository. Everything else that a checkout does not
//! contain is a [`Resource`]: tests that need one are written with [`tests!`](crate::tests), which counts them as ignored where it is
//! missing. [`faults`] lets calls of the operating system fail. The crate depends on none of the tested crates.

pub mod faults;
pub mod golden;
mod harness;
mod resource;

pub use harness::run;
pub use resource::Resource;
