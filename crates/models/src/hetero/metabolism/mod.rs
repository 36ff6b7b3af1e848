//! Metabolism as one more contribution to a layer: messages gene -> reaction -> metabolite -> reaction -> gene.
//!
//! Reactions and metabolites have no rows in the plan. A cell computes those that differ from the wild type's: reactions
//! of changed genes, metabolites of reactions that stopped or changed, and reactions that receive something else from
//! them. The others are read from the wild type, in the backward pass too. The normalisation keeps sums within bounds
//! although water is in a thousand reactions and coefficients span five orders of magnitude.

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
