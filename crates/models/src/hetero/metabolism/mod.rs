//! Metabolism as one more contribution to a layer: messages gene -> reaction -> metabolite -> reaction -> gene.

mod cell_pass;
mod changes;
mod graph;
mod layer;

pub use graph::MetabolicGraph;
pub(super) use layer::{Metabolic, MetabolicCells, TABLE_DEVIATION};

use serde::{Deserialize, Serialize};

/// Whether the model reads the metabolism.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum MetabolismSwitch {
    /// It does not.
    #[default]
    Off,
    /// Reactions and metabolites are nodes, and a deletion stops reactions.
    On,
}
