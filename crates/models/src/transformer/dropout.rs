//! Where the transformer drops values in training, and the keys of the rows there.
//!
//! A mask depends on what a row stands for (a token, a gene, a set of genes), never on its index in a batch: how a batch is cut does not
//! change a sample's masks.

use crate::LossPosition;
use crate::layer::Dropout;
use knockout_data::cell::GeneSetsRef;
use std::sync::Arc;

/// The dropout of one training pass.
#[derive(Debug, Clone, Copy)]
pub(super) struct TransformerDropout {
    rate: f64,
    seed: u64,
}

/// The parts of the model with dropout; each has up to [`SITES`] sites.
#[derive(Debug, Clone, Copy)]
pub(super) enum TransformerSite {
    Readout,
    Transform,
    Encoder(usize),
}

/// Sites of a part: after the attention, inside and after the feed-forward network, on attention weights.
const SITES: u64 = 4;

impl TransformerDropout {
    pub(super) fn new(rate: f64, seed: u64, at: LossPosition) -> Self {
        Self { rate, seed: seed ^ at.step.rotate_left(32) }
    }

    pub(super) fn at(self, site: TransformerSite, keys: &Arc<Vec<u32>>) -> Dropout {
        let part = match site {
            TransformerSite::Readout => 0,
            TransformerSite::Transform => 1,
            TransformerSite::Encoder(layer) => 2 + layer as u64,
        };
        Dropout { rate: self.rate, seed: self.seed, site: part * SITES, keys: Arc::clone(keys) }
    }

    /// Keys of the tokens of a cell.
    pub(super) fn tokens(count: usize) -> Arc<Vec<u32>> {
        Arc::new((0..count as u32).collect())
    }

    /// Keys of the members of sets: a gene and the set that it is deleted with.
    pub(super) fn members(sets: GeneSetsRef<'_>) -> Arc<Vec<u32>> {
        let keys = sets.ranges().flat_map(|set| {
            let genes = &sets.genes()[set];
            let of_set = set_key(genes);
            genes.iter().map(move |&gene| step(of_set, gene))
        });
        Arc::new(keys.collect())
    }

    /// Keys of the sets.
    pub(super) fn sets(sets: GeneSetsRef<'_>) -> Arc<Vec<u32>> {
        Arc::new(sets.ranges().map(|set| set_key(&sets.genes()[set])).collect())
    }
}

fn set_key(genes: &[u32]) -> u32 {
    genes.iter().fold(0x811c_9dc5, |key, &gene| step(key, gene))
}

/// One step of FNV-1a, over whole numbers: the mask hashes it again.
fn step(key: u32, value: u32) -> u32 {
    (key ^ value).wrapping_mul(0x0100_0193)
}
