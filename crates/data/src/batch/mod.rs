//! Batches: the ways to represent a deletion, and how samples are put together.
//!
//! A deletion is a handful of gene indices, and [`ProcessorKind::Perturbation`] hands on nothing else. The other
//! representations say the same at greater length (masks, rebuilt graphs); they exist so that the cost of each can be
//! measured beside the others, and so that models can be checked against them. All of them remove exactly the same edges
//! and reactions.
//!
//! The crate knows nothing of models.

mod bench;
mod collate;
mod mask;
mod neighborhood;
mod prepare;
mod processor;
mod removal;
mod stored;
mod subgraph;

pub use bench::{BenchPlan, BenchRow, PhaseTimes, bench};
pub use collate::{Batch, Collation, EdgeLists};
pub use mask::{MaskLayout, MaskMethod, MaskSet, ResidentMasks, Section};
pub use neighborhood::{EdgeList, Neighborhood};
pub use prepare::{PhaseObserver, PreparePhase, Prepared};
pub use processor::{BatchError, Graphs, Processor, ProcessorKind};
pub use stored::{
    Estimate, Origin, Probe, Store, StoreError, StoreErrorKind, StoreHeader, StoreWriter, StoredForm,
    free_bytes,
};
pub use subgraph::{LocalGene, RebuiltNetwork, Relabelling, Subgraph};
