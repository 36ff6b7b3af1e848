//! Batches: the ways to represent a deletion, and how samples are put together.
//!
//! A deletion is a handful of gene indices, and [`ProcessorKind::Perturbation`] hands on nothing else. The other
//! representations hold the same at greater length (masks, rebuilt graphs); they exist so that the cost of each can be
//! measured beside the others, and so that models can be checked against them. All of them remove exactly the same edges
//! and reactions.
//!
//! The module does not depend on models.

mod bench;
mod collate;
mod kind;
mod mask;
mod neighborhood;
mod prepare;
mod processor;
mod removal;
mod stored;
mod subgraph;

pub use bench::{BenchPlan, PhaseTimes, PrepareTimes, batch_panicked, bench};
pub use collate::{Batch, Collation, EdgeLists};
pub use kind::ProcessorKind;
pub use mask::{MaskLayout, MaskMethod, MaskSet, ResidentMasks};
pub use neighborhood::{EdgeList, Neighborhood};
pub use prepare::{PhaseObserver, PreparePhase, Prepared};
pub use processor::{Graphs, Processor};
pub use removal::MaskSection;
pub use stored::{Origin, Probe, Store, StoreEstimate, StoreHeader, StoreWriter, StoredForm, free_bytes};
pub use subgraph::{LocalGene, RebuiltNetwork, Relabelling, Subgraph};
