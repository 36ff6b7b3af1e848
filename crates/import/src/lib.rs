//! Where datasets come from.
//!
//! [`synth`] makes a yeast that never lived, with the size and structure of the real one and a known truth. The crate
//! turns descriptions and text into a [`knockout_screen::Dataset`]; it knows nothing of batches, models or the
//! command line.

pub mod synth;
