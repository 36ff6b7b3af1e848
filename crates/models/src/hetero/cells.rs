//! The cells whose rows a batch computes: bases, then samples.
//!
//! A row of a sample depends on those of its deleted genes alone that reach it, and is the same in every cell that lacks just
//! these. So gene sets that several samples contain are *bases*: cells of their own whose rows are computed once and read by
//! all samples that contain them. Samples of one query pair have the cell without the pair as a base; samples that share one
//! gene, the cell without it. The wild type is the base of all and has no index here.

use super::own_rows::OwnRows;
use knockout_data::cell::GeneSetsRef;
use std::collections::BTreeMap;

/// Largest set whose subsets may be bases: a set has 2^n of them, and screens delete two or three genes.
const MAX_SHARED: usize = 4;

/// The cells of a batch.
#[derive(Debug)]
pub(super) struct BatchCells {
    /// Genes that each cell lacks.
    pub(super) deleted: OwnRows,
    /// Number of bases, which precede the samples.
    pub(super) bases: usize,
    /// For each cell, the bases that it contains, from small to large; itself excluded.
    contained: Vec<Vec<u32>>,
    /// For each sample, the subsets that are bases: bits of the sample's genes, and the base.
    subsets: Vec<Vec<(usize, u32)>>,
}

/// Whether samples share bases.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Sharing {
    /// They do.
    Bases,
    /// All rows of every sample are its own.
    None,
}

impl BatchCells {
    /// The samples of a batch and the bases that they share.
    pub(super) fn new(sets: GeneSetsRef<'_>, sharing: Sharing) -> Self {
        let samples: Vec<Vec<u32>> = sets
            .iter()
            .map(|set| {
                let mut set = set.to_vec();
                set.sort_unstable();
                set.dedup();
                set
            })
            .collect();
        let shares = |set: &[u32]| sharing == Sharing::Bases && set.len() <= MAX_SHARED;
        // Ordered by size and genes, whatever the order of the samples: a base precedes those that contain it.
        let mut counts: BTreeMap<(usize, Vec<u32>), usize> = BTreeMap::new();
        for set in samples.iter().filter(|set| shares(set)) {
            for mask in 1..1_usize << set.len() {
                let subset = subset(set, mask);
                *counts.entry((subset.len(), subset)).or_default() += 1;
            }
        }
        counts.retain(|_, count| *count > 1);
        let bases: Vec<Vec<u32>> = counts.into_keys().map(|(_, genes)| genes).collect();
        let base = |genes: &[u32]| {
            let index = bases.binary_search_by(|base| (base.len(), &base[..]).cmp(&(genes.len(), genes)));
            index.ok().map(|index| index as u32)
        };
        let subsets = |set: &Vec<u32>| {
            let masks = if shares(set) { 1..1 << set.len() } else { 0..0 };
            let mut found: Vec<(usize, u32)> =
                masks.filter_map(|mask| base(&subset(set, mask)).map(|base| (mask, base))).collect();
            found.sort_unstable_by_key(|&(_, base)| base);
            found
        };
        let all: Vec<Vec<(usize, u32)>> = bases.iter().chain(&samples).map(subsets).collect();
        let contained = all.iter().enumerate().map(|(cell, subsets)| {
            subsets.iter().map(|&(_, base)| base).filter(|&base| base as usize != cell).collect()
        });
        Self {
            contained: contained.collect(),
            subsets: all[bases.len()..].to_vec(),
            bases: bases.len(),
            deleted: OwnRows::of_cells(bases.into_iter().chain(samples)),
        }
    }

    /// Number of cells.
    pub(super) fn count(&self) -> usize {
        self.contained.len()
    }

    /// Number of samples.
    pub(super) fn samples(&self) -> usize {
        self.count() - self.bases
    }

    /// Genes that a sample lacks.
    pub(super) fn sample(&self, sample: usize) -> &[u32] {
        self.deleted.of(self.bases + sample)
    }

    /// For a sample, the subsets of its genes that are bases: bits of its genes, and the base.
    pub(super) fn subsets(&self, sample: usize) -> &[(usize, u32)] {
        &self.subsets[sample]
    }

    /// The row of every gene in a cell: its own, else that of the largest base that has one, else the wild type's.
    pub(super) fn fill_rows(&self, own_rows: &OwnRows, cell: usize, rows: &mut [u32]) {
        for (gene, row) in rows.iter_mut().enumerate() {
            *row = gene as u32;
        }
        let genes = rows.len();
        for cell in self.contained[cell].iter().map(|&base| base as usize).chain([cell]) {
            for (row, &gene) in (own_rows.offsets[cell]..).zip(own_rows.of(cell)) {
                rows[gene as usize] = (genes + row) as u32;
            }
        }
    }
}

/// The genes of a set whose bits are in `mask`.
fn subset(set: &[u32], mask: usize) -> Vec<u32> {
    set.iter().enumerate().filter(|(at, _)| mask >> at & 1 == 1).map(|(_, &gene)| gene).collect()
}
