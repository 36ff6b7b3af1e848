//! One interface over all representations.

use crate::batch::mask::{MaskLayout, MaskMethod, MaskSet, ResidentMasks};
use crate::batch::removal::unknown_gene;
use crate::batch::{Neighborhood, Store, StoreError, Subgraph};
use crate::cell::{Cell, Deletion};
use knockout_base::error::{Class, Classified};
use serde::{Deserialize, Serialize};
use std::sync::Arc;

/// The ways to represent a deletion; by their names in configurations and on the command line.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(try_from = "String", into = "&'static str")]
pub enum ProcessorKind {
    /// The gene indices and nothing else: the default for every model.
    Perturbation,
    /// Bit masks over genes, edges, reactions and metabolic entries, made anew for every sample.
    Mask,
    /// The same masks, kept allocated: cleared, used, restored.
    ResidentMask,
    /// The positions that go, computed beforehand and read from disk, as masks.
    SavedIndices,
    /// Masks computed beforehand and read from disk.
    SavedMasks,
    /// Every network rebuilt without the genes, relabelled.
    Subgraph,
    /// Only the genes within some hops, relabelled.
    Neighborhood {
        /// How many hops.
        hops: usize,
    },
}

impl ProcessorKind {
    /// Every way, neighbourhoods with two hops as the Python system had them.
    pub const ALL: [Self; 7] = [
        Self::Perturbation,
        Self::Mask,
        Self::ResidentMask,
        Self::SavedIndices,
        Self::SavedMasks,
        Self::Subgraph,
        Self::Neighborhood { hops: 2 },
    ];

    /// The name used on the command line and in reports.
    pub fn name(self) -> &'static str {
        match self {
            Self::Perturbation => "perturbation",
            Self::Mask => "mask",
            Self::ResidentMask => "resident-mask",
            Self::SavedIndices => "saved-indices",
            Self::SavedMasks => "saved-masks",
            Self::Subgraph => "subgraph",
            Self::Neighborhood { .. } => "neighborhood",
        }
    }

    fn no_store(self) -> BatchError {
        BatchError::NoStore { kind: self.name(), flag: self.store_flag().unwrap_or_default() }
    }

    /// The option of `knockout data precompute` that makes what it reads; `None` where it reads nothing.
    pub fn store_flag(self) -> Option<&'static str> {
        match self {
            Self::SavedIndices => Some("--indices"),
            Self::SavedMasks => Some("--masks"),
            _ => None,
        }
    }

    /// Whether it reads a [`Store`].
    pub fn is_stored(self) -> bool {
        self.store_flag().is_some()
    }
}

impl From<ProcessorKind> for &'static str {
    fn from(kind: ProcessorKind) -> Self {
        kind.name()
    }
}

/// A name that no representation has.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("there is no processor {name:?}; choose from {}", ProcessorKind::ALL.map(ProcessorKind::name).join(", "))]
pub struct UnknownProcessor {
    name: String,
}

impl TryFrom<String> for ProcessorKind {
    type Error = UnknownProcessor;

    /// Neighbourhoods have two hops.
    fn try_from(name: String) -> Result<Self, UnknownProcessor> {
        Self::ALL.into_iter().find(|kind| kind.name() == name).ok_or(UnknownProcessor { name })
    }
}

/// Why a sample could not be processed.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum BatchError {
    /// A gene beyond the cell's table.
    #[error("sample {slot} of the batch deletes gene {gene}, but the cell has {count}")]
    UnknownGene {
        /// Index of the sample in the batch.
        slot: usize,
        /// Row of the gene table that it names.
        gene: u32,
        /// Genes in the cell.
        count: usize,
    },
    /// A stored representation without its store.
    #[error("{kind} needs a store; make one with `knockout data precompute DIR {flag}`")]
    NoStore {
        /// Name of the representation in configurations.
        kind: &'static str,
        /// The option that makes it.
        flag: &'static str,
    },
    /// The store cannot be read.
    #[error(transparent)]
    Store(#[from] StoreError),
    /// A bug in a background thread.
    #[error("making batch {index} failed inside the program; please report it")]
    Panicked {
        /// Index of the batch in its epoch.
        index: usize,
    },
}

impl Classified for BatchError {
    fn class(&self) -> Class {
        match self {
            Self::NoStore { .. } => Class::Request,
            Self::UnknownGene { .. } => Class::Damage,
            Self::Store(error) => error.class(),
            Self::Panicked { .. } => Class::Failure,
        }
    }
}

/// The graphs of one batch, as the processor made them.
#[derive(Debug)]
pub enum Graphs<'a> {
    /// Nothing: the gene indices say it all.
    None,
    /// A mask per sample.
    Masks(&'a MaskLayout, &'a [MaskSet]),
    /// A rebuilt cell per sample.
    Subgraphs(&'a [Subgraph]),
    /// A neighbourhood per sample.
    Neighborhoods(&'a [Neighborhood]),
}

/// Makes the graphs of a batch. It belongs to the cell it was made for and keeps its memory from batch to batch.
#[derive(Debug)]
pub struct Processor {
    cell: Arc<Cell>,
    kind: ProcessorKind,
    state: State,
}

#[derive(Debug)]
enum State {
    Perturbation,
    Mask { layout: MaskLayout, masks: Vec<MaskSet> },
    Resident { layout: MaskLayout, masks: ResidentMasks },
    Stored { layout: MaskLayout, masks: Vec<MaskSet>, store: Option<Arc<Store>> },
    Subgraph(Vec<Subgraph>),
    Neighborhood { hops: usize, graphs: Vec<Neighborhood> },
}

impl Processor {
    /// Prepares for batches of up to `batch_size` samples. A stored representation needs [`Processor::with_store`].
    pub fn new(cell: &Arc<Cell>, kind: ProcessorKind, batch_size: usize) -> Self {
        let state = match kind {
            ProcessorKind::Perturbation => State::Perturbation,
            ProcessorKind::Mask => {
                let layout = MaskLayout::of(cell);
                State::Mask { masks: vec![MaskSet::all_kept(&layout); batch_size], layout }
            }
            ProcessorKind::ResidentMask => {
                let layout = MaskLayout::of(cell);
                State::Resident { masks: ResidentMasks::new(&layout, batch_size), layout }
            }
            ProcessorKind::SavedIndices | ProcessorKind::SavedMasks => {
                let layout = MaskLayout::of(cell);
                State::Stored { masks: vec![MaskSet::all_kept(&layout); batch_size], layout, store: None }
            }
            ProcessorKind::Subgraph => State::Subgraph(vec![Subgraph::empty(cell); batch_size]),
            ProcessorKind::Neighborhood { hops } => {
                State::Neighborhood { hops, graphs: vec![Neighborhood::empty(cell); batch_size] }
            }
        };
        Self { cell: Arc::clone(cell), kind, state }
    }

    /// Gives it the store it reads from. One that holds something else is as good as none.
    #[must_use]
    pub fn with_store(mut self, found: Option<&Arc<Store>>) -> Self {
        if let State::Stored { store, .. } = &mut self.state {
            *store = found.filter(|store| store.form().kind() == self.kind).cloned();
        }
        self
    }

    /// The kind.
    pub fn kind(&self) -> ProcessorKind {
        self.kind
    }

    /// The cell this processor belongs to.
    pub fn cell(&self) -> &Cell {
        &self.cell
    }

    /// Makes the graph of the sample in a slot of the batch: row `row` of the dataset, which deletes `deletion`.
    pub fn process(&mut self, slot: usize, row: u32, deletion: &Deletion) -> Result<(), BatchError> {
        let cell = &*self.cell;
        if let Some(gene) = unknown_gene(cell, deletion) {
            return Err(BatchError::UnknownGene { slot, gene: gene.0, count: cell.genes().len() });
        }
        match &mut self.state {
            State::Perturbation => {}
            State::Mask { layout, masks } => {
                masks[slot].assign(layout, cell, deletion, MaskMethod::ByIncidence);
            }
            State::Resident { layout, masks } => masks.assign(layout, cell, slot, deletion),
            State::Stored { layout, masks, store } => match store {
                Some(store) => store.read(row, layout, &mut masks[slot])?,
                None => return Err(self.kind.no_store()),
            },
            State::Subgraph(graphs) => graphs[slot].assign(cell, deletion),
            State::Neighborhood { hops, graphs } => graphs[slot].assign(cell, deletion, *hops),
        }
        Ok(())
    }

    /// The graphs of the first `count` slots.
    pub fn graphs(&self, count: usize) -> Graphs<'_> {
        match &self.state {
            State::Perturbation => Graphs::None,
            State::Mask { layout, masks } | State::Stored { layout, masks, .. } => {
                Graphs::Masks(layout, &masks[..count])
            }
            State::Resident { layout, masks } => Graphs::Masks(layout, masks.masks(count)),
            State::Subgraph(graphs) => Graphs::Subgraphs(&graphs[..count]),
            State::Neighborhood { graphs, .. } => Graphs::Neighborhoods(&graphs[..count]),
        }
    }
}
