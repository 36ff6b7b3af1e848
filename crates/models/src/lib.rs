//! Models and losses.
//!
//! The crate knows layers, DANGO, the hetero model, the transformer and what they minimise; it knows neither files nor the loop that trains.

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

pub use dango::{Dango, DangoForward, DangoLoss, DangoNetwork, DangoOptions, NetworkChoice};
pub use hetero::{
    Aggregation, AggregationWeights, ChangedRows, Combination, Difference, Hetero, HeteroForward,
    HeteroNetwork, HeteroOptions, HeteroParts, MetabolicGraph, MetabolismSwitch, NoiseKind, NormKind,
    ReadoutVars, Route, StartKind,
};
pub use init::Init;
pub use loss::{LossAt, RecordedLoss, ShardAt};
pub use model::{FixedScorer, Forward, Input, Model};
pub use network::{SelfLoops, StringChannels, string_lambda};
pub(crate) use network::{graph_of, merged_graph};
pub use options::{ModelOptions, SizeEstimate};
pub use registry::{MODELS, ModelConfig, ModelEntry, Solver};
pub use sharing::sharing_order;
pub use transformer::{
    Transformer, TransformerForward, TransformerLoss, TransformerOptions, TransformerSizes,
};
