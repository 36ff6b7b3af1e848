//! The gene table and the names that lead to it.

pub mod aliases;
pub mod list;
mod named;
pub mod sgd;

pub use named::NameKinds;
pub(crate) use named::NamedGenes;

use knockout_data::cell::{Gene, GenePosition};

/// A gene as a source lists it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ListedGene {
    /// Its systematic and standard name.
    pub gene: Gene,
    /// Other names.
    pub aliases: Vec<String>,
    /// Its position, where the source has it.
    pub position: Option<GenePosition>,
}
