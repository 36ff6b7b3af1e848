//! One interface over all representations.

use crate::batch::mask::{MaskLayout, MaskMethod, MaskSet, ResidentMasks};
use crate::batch::removal::unknown_gene;
use crate::batch::{Neighborhood, ProcessorKind, Store, Subgraph};
use crate::cell::{Cell, Deletion};
use knockout_base::error::{Error, Result};
use std::sync::Arc;

/// The graphs of one batch, as the processor made them.
#[derive(Debug)]
pub enum Graphs<'a> {
    /// Nothing: the gene indices are enough.
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
    state: ProcessorState,
}

#[derive(Debug)]
enum ProcessorState {
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
            ProcessorKind::Perturbation => ProcessorState::Perturbation,
            ProcessorKind::Mask => {
                let layout = MaskLayout::of(cell);
                ProcessorState::Mask { masks: vec![MaskSet::all_kept(&layout); batch_size], layout }
            }
            ProcessorKind::ResidentMask => {
                let layout = MaskLayout::of(cell);
                ProcessorState::Resident { masks: ResidentMasks::new(&layout, batch_size), layout }
            }
            ProcessorKind::SavedIndices | ProcessorKind::SavedMasks => {
                let layout = MaskLayout::of(cell);
                ProcessorState::Stored {
                    masks: vec![MaskSet::all_kept(&layout); batch_size],
                    layout,
                    store: None,
                }
            }
            ProcessorKind::Subgraph => ProcessorState::Subgraph(vec![Subgraph::empty(cell); batch_size]),
            ProcessorKind::Neighborhood { hops } => {
                ProcessorState::Neighborhood { hops, graphs: vec![Neighborhood::empty(cell); batch_size] }
            }
        };
        Self { cell: Arc::clone(cell), kind, state }
    }

    /// Sets the store that is read. Ignores a store of another kind.
    #[must_use]
    pub fn with_store(mut self, found: Option<&Arc<Store>>) -> Self {
        if let ProcessorState::Stored { store, .. } = &mut self.state {
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
    pub fn process(&mut self, slot: usize, row: u32, deletion: &Deletion) -> Result<()> {
        let cell = &*self.cell;
        if let Some(gene) = unknown_gene(cell, deletion) {
            let (gene, count) = (gene.0, cell.genes().len());
            return Err(Error::damage(format!(
                "sample {slot} of the batch deletes gene {gene}, but the cell has {count}"
            )));
        }
        match &mut self.state {
            ProcessorState::Perturbation => {}
            ProcessorState::Mask { layout, masks } => {
                masks[slot].assign(layout, cell, deletion, MaskMethod::ByIncidence);
            }
            ProcessorState::Resident { layout, masks } => masks.assign(layout, cell, slot, deletion),
            ProcessorState::Stored { layout, masks, store } => {
                let Some(store) = store else {
                    let (kind, flag) = (self.kind.name(), self.kind.store_flag().unwrap_or_default());
                    return Err(Error::request(format!(
                        "{kind} needs a store; make one with `knockout data precompute DIR {flag}`"
                    )));
                };
                store.read(row, layout, &mut masks[slot])?;
            }
            ProcessorState::Subgraph(graphs) => graphs[slot].assign(cell, deletion),
            ProcessorState::Neighborhood { hops, graphs } => graphs[slot].assign(cell, deletion, *hops),
        }
        Ok(())
    }

    /// The graphs of the first `count` slots.
    pub fn graphs(&self, count: usize) -> Graphs<'_> {
        match &self.state {
            ProcessorState::Perturbation => Graphs::None,
            ProcessorState::Mask { layout, masks } | ProcessorState::Stored { layout, masks, .. } => {
                Graphs::Masks(layout, &masks[..count])
            }
            ProcessorState::Resident { layout, masks } => Graphs::Masks(layout, masks.masks(count)),
            ProcessorState::Subgraph(graphs) => Graphs::Subgraphs(&graphs[..count]),
            ProcessorState::Neighborhood { graphs, .. } => Graphs::Neighborhoods(&graphs[..count]),
        }
    }
}
