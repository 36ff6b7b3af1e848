//! Sources of datasets: importers of public files ([`import`]), the synthetic yeast ([`synth`]) and
//! lists of genes that users write ([`lists`]).
//!
//! Both return a [`Dataset`](knockout_data::screen::Dataset); neither knows batches, models or the command line.

pub mod import;
pub mod lists;
pub mod synth;
