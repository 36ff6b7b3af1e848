//! Which rows of a pass lose which values.

use super::plan::Listed;
use crate::layer::Dropped;
use serde::{Deserialize, Serialize};
use std::sync::Arc;

/// Whether the rows of a gene lose the same values in every cell.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum NoiseKind {
    /// In the wild type and all samples of a batch: what differs between two cells is what was deleted, and rows that no deletion reached
    /// stay the wild type's.
    #[default]
    Shared,
    /// In every cell others, from the first layer on: every row differs, so all are computed.
    Independent,
}

/// What one pass drops.
#[derive(Debug, Clone, Copy)]
pub(super) struct Pass {
    pub(super) rate: f64,
    pub(super) kind: NoiseKind,
    pub(super) seed: u64,
    pub(super) genes: usize,
}

/// The parts of the model that drop something.
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

impl Pass {
    /// In the rows of the wild type, then of those that are listed.
    pub(super) fn of_rows(&self, site: Site, listed: Option<&Listed>) -> Dropped {
        let mut rows: Vec<u32> = (0..self.genes as u32).collect();
        if let Some(listed) = listed {
            match self.kind {
                NoiseKind::Shared => rows.extend(&listed.genes),
                NoiseKind::Independent => {
                    for sample in 0..listed.offsets.len() - 1 {
                        let first = ((sample + 1) * self.genes) as u32;
                        rows.extend(listed.sample(sample).iter().map(|gene| first + gene));
                    }
                }
            }
        }
        self.dropped(site, rows)
    }

    /// In so many rows that belong to no gene of the wild type: each by itself.
    pub(super) fn of_each(&self, site: Site, count: usize) -> Dropped {
        self.dropped(site, (0..count as u32).collect())
    }

    fn dropped(&self, site: Site, rows: Vec<u32>) -> Dropped {
        Dropped { rate: self.rate, seed: self.seed, site: site.number(), rows: Arc::new(rows) }
    }
}
