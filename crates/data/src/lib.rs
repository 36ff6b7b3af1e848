//! Datasets: the cell graph, the samples of a screen, their splits and files, and the representations of a deletion.
//!
//! | module | content |
//! |---|---|
//! | [`cell`] | genes, networks, metabolism, annotations, and the effect of a deletion on them |
//! | [`table`] | Parquet files: columns to bytes and back |
//! | [`lmdb`] | LMDB environments: a reader without LMDB, a writer with it |
//! | [`screen`] | samples, splits and the dataset folder |
//! | [`batch`] | representations of a deletion, collation, stores of precomputed batches |
//!
//! Each module depends only on those above it. The crate depends neither on source formats (see `knockout-sources`) nor on models.
//!
//! ```
//! use knockout_data::cell::{Cell, Deletion, Edge, GeneTable, Network, SelfLoops};
//!
//! let genes = GeneTable::from_systematic(["YAL001C", "YAL002W", "YAL003W"])?;
//! let edges = vec![Edge::new(0, 1), Edge::new(1, 2), Edge::new(0, 2)];
//! let (physical, _) = Network::from_edges("physical", genes.len(), edges, SelfLoops::Refuse)?;
//! let cell = Cell::new(genes, vec![physical], None)?;
//! let deletion = Deletion::new(&[cell.genes().find("YAL002W").unwrap()])?;
//! assert_eq!(deletion.removed_edges(&cell.networks()[0]), [0, 2]);
//! # Ok::<(), knockout_base::error::Error>(())
//! ```

pub mod batch;
pub mod cell;
pub mod lmdb;
pub mod screen;
pub mod table;
