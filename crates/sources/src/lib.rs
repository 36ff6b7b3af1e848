//! Sources of datasets: importers of public files ([`import`]) and the synthetic yeast ([`synth`]).
//!
//! Both return a [`Dataset`](knockout_data::screen::Dataset); neither knows batches, models or the command line.

pub mod import;
pub mod synth;
