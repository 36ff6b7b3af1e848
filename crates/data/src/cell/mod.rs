//! The cell: genes, the networks between them, metabolism, and what deleting genes does to all of it.
//!
//! Everything here is a value in memory whose invariants are checked when it is built. The module does not depend on files,
//! screens, batches or models.
//!
//! ```
//! use knockout_data::cell::{Cell, Deletion, Edge, GeneTable, Network, SelfLoops};
//!
//! let genes = GeneTable::from_systematic(["YAL001C", "YAL002W", "YAL003W"])?;
//! let (ppi, _) = Network::from_edges(
//!     "physical",
//!     genes.len(),
//!     vec![Edge::new(0, 1), Edge::new(1, 2), Edge::new(0, 2)],
//!     SelfLoops::Refuse,
//! )?;
//! let cell = Cell::new(genes, vec![ppi], None)?;
//! let gone = Deletion::new(&[cell.genes().find("YAL002W").unwrap()])?;
//! // Both edges that touch YAL002W go, and nothing else.
//! assert_eq!(gone.removed_edges(&cell.networks()[0]), [0, 2]);
//! # Ok::<(), knockout_base::error::Error>(())
//! ```

mod annotations;
mod deletion;
mod error;
mod expansion;
mod features;
mod gene;
mod gene_sets;
mod hash;
mod metabolism;
mod network;
mod positions;
mod rule;
mod whole;

pub use annotations::Annotations;
pub use deletion::{Deletion, Reach};
pub use expansion::{RawReaction, expand};
pub use features::Features;
pub use gene::{Gene, GeneId, GeneTable};
pub use gene_sets::{GeneSets, GeneSetsRef};
pub use metabolism::{Coefficient, Direction, Metabolism, Metabolite, Reaction, Requirement};
pub use network::{AdjacencyLists, Edge, Entries, Network, SelfLoops};
pub use positions::{GenePosition, GenePositions, Separation};
pub use rule::Rule;
pub use whole::Cell;
