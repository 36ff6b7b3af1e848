//! Dropout sites of the model, and the keys of the rows at each.

use super::own_rows::OwnRows;
use crate::ShardAt;
use crate::layer::Dropout;
use serde::{Deserialize, Serialize};
use std::sync::Arc;

/// Whether the rows of a gene share a dropout mask in all cells of a batch.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum NoiseKind {
    /// One mask for the wild type and all samples: cells differ only by what was deleted, and rows that no deletion reached stay the wild
    /// type's.
    #[default]
    Shared,
    /// A mask per cell, from the first layer on: every row differs, so all are computed.
    Independent,
}

/// The dropout of one training pass.
#[derive(Debug, Clone, Copy)]
pub(super) struct DropoutPass {
    pub(super) rate: f64,
    pub(super) kind: NoiseKind,
    pub(super) seed: u64,
    pub(super) genes: usize,
    pub(super) shard: ShardAt,
}

/// The parts of the model with dropout.
#[derive(Debug, Clone, Copy)]
pub(super) enum Site {
    Pre(usize),
    Network { layer: usize, network: usize },
    Aggregate { layer: usize },
    PoolGate,
    PoolValue,
    Global,
    Local,
}

impl Site {
    fn number(self) -> u64 {
        let (part, at, inner) = match self {
            Self::Pre(at) => (0, at, 0),
            Self::Network { layer, network } => (1, layer, network),
            Self::Aggregate { layer } => (2, layer, 0),
            Self::PoolGate => (3, 0, 0),
            Self::PoolValue => (4, 0, 0),
            Self::Global => (5, 0, 0),
            Self::Local => (6, 0, 0),
        };
        part << 40 | (at as u64) << 20 | inner as u64
    }
}

impl DropoutPass {
    /// The dropout of the wild type's rows, then of the samples'.
    pub(super) fn of_rows(&self, site: Site, own_rows: Option<&OwnRows>) -> Dropout {
        let mut rows: Vec<u32> = (0..self.genes as u32).collect();
        if let Some(own_rows) = own_rows {
            match self.kind {
                NoiseKind::Shared => rows.extend(&own_rows.genes),
                NoiseKind::Independent => {
                    for sample in 0..own_rows.offsets.len() - 1 {
                        let index = self.shard.first_sample + sample as u32;
                        let first = (index + 1).wrapping_mul(self.genes as u32);
                        rows.extend(own_rows.of(sample).iter().map(|gene| first.wrapping_add(*gene)));
                    }
                }
            }
        }
        self.at(site, rows)
    }

    /// The dropout of `count` rows of samples: one mask for each index in the batch.
    pub(super) fn of_samples(&self, site: Site, count: usize) -> Dropout {
        self.of_each(site, self.shard.first_sample, count)
    }

    /// Returns the masks of rows of the samples' deleted genes.
    pub(super) fn of_members(&self, site: Site, count: usize) -> Dropout {
        self.of_each(site, self.shard.first_member, count)
    }

    fn of_each(&self, site: Site, first: u32, count: usize) -> Dropout {
        self.at(site, (first..first + count as u32).collect())
    }

    fn at(&self, site: Site, keys: Vec<u32>) -> Dropout {
        Dropout { rate: self.rate, seed: self.seed, site: site.number(), keys: Arc::new(keys) }
    }
}
