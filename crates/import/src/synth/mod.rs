//! The synthetic yeast.

mod rng;
