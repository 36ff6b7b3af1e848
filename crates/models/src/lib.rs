//! Models and losses.
//!
//! [`MODELS`] lists the models by name. A configuration holds one of them as a [`ModelConfig`], which builds a [`Model`] for a cell:
//! DANGO, the hetero model or the transformer, made of the operations in [`layer`]. A model records a forward pass on a tape
//! ([`Forward`]) and the loss of it ([`RecordedLoss`]); the loss of the scores is one of [`loss::LOSSES`]. Models that are solved
//! instead of trained are in the same registry, behind [`Solver`].
//!
//! ```
//! use knockout_models::{MODELS, ModelEntry};
//!
//! let dango = ModelEntry::find("dango", MODELS)?;
//! assert!(dango.has_epochs());
//! assert!(ModelEntry::find("dnago", MODELS).is_err());
//! # Ok::<(), knockout_base::error::Error>(())
//! ```
//!
//! The crate depends on neither files nor the training loop.

mod dango;
mod hetero;
mod init;
pub mod layer;
pub mod limits;
pub mod loss;
mod model;
mod network;
mod options;
mod registry;
mod sharing;
#[cfg(test)]
mod testing;
mod transformer;

pub use dango::{Dango, DangoForward, DangoNetwork, DangoOptions, NetworkChoice};
pub use hetero::{
    Aggregation, AggregationWeights, ChangedRows, DifferenceScale, Hetero, HeteroForward, HeteroNetwork,
    HeteroOptions, HeteroParts, MetabolicGraph, MetabolismSwitch, NoiseKind, NormKind, ReadoutVars, Route,
    ScoreCombination, StartKind,
};
pub use init::Init;
pub use loss::{LossPosition, RecordedLoss, ShardAt};
pub use model::{FixedScorer, Forward, Input, Model};
pub use network::{SelfLoopChoice, StringChannels, string_lambda};
pub(crate) use network::{graph_of, merged_graph};
pub use options::{ModelOptions, SizeEstimate};
pub use registry::{MODELS, ModelConfig, ModelEntry, Solver};
pub use sharing::sharing_order;
pub use transformer::{
    Transformer, TransformerForward, TransformerLoss, TransformerOptions, TransformerSizes,
};
