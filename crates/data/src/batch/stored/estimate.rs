//! The size of a store before it is written.

use super::filesystem;
use super::header::{Origin, StoredForm};
use super::value::CHECKSUM;
use crate::batch::mask::MaskLayout;
use crate::batch::removal::removed;
use crate::cell::{Cell, Deletion, GeneId};
use knockout_base::error::{Error, Result};
use knockout_base::memory;
use std::path::Path;

/// LMDB's page, its header, and the largest node that is kept inside a page.
const PAGE: u64 = 4096;
const PAGE_HEADER: u64 = 16;
const LARGEST_NODE: u64 = 2038;
/// A node's header with its pointer in the page, and our keys.
const NODE: u64 = 10;
const KEY: u64 = 4;

/// How large a store will be.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct StoreEstimate {
    /// Bytes on disk: exact for masks, a little too many for indices (an edge between two deleted genes counts twice).
    pub bytes: u64,
    /// Number of samples to store.
    pub samples: usize,
}

impl StoreEstimate {
    /// Counts pages; nothing is written.
    pub fn of(origin: Origin<'_>, form: StoredForm, rows: &[u32]) -> Self {
        let layout = MaskLayout::of(origin.cell);
        let (mut inside, mut beside) = (0, 0);
        let mut add = |payload: usize, times: u64| {
            let value = (CHECKSUM + payload) as u64;
            if NODE + KEY + value > LARGEST_NODE {
                // The value has pages of its own; the node holds their number.
                beside += times * (PAGE_HEADER + value).next_multiple_of(PAGE);
                inside += times * (NODE + KEY + 8);
            } else {
                inside += times * (NODE + KEY + value).next_multiple_of(2);
            }
        };
        match form {
            StoredForm::Bits => add(8 * layout.word_count(), rows.len() as u64),
            StoredForm::Bytes => add(layout.bit_count(), rows.len() as u64),
            StoredForm::Indices => {
                let by_gene = positions_by_gene(origin.cell);
                for &row in rows {
                    let genes = origin.samples.genes(row as usize);
                    add(4 * genes.iter().map(|&gene| by_gene[gene as usize]).sum::<usize>(), 1);
                }
            }
        }
        // Nodes do not fill a page to its last byte; pages above the leaves, the head and what the last transaction
        // replaced come on top.
        let leaves = inside.div_ceil((PAGE - PAGE_HEADER) * 9 / 10);
        Self { bytes: beside + PAGE * (leaves + leaves / 100 + 16), samples: rows.len() }
    }

    /// Refuses when the disk of the folder has no room for what is still to be stored after `done` samples.
    pub fn check_room(&self, folder: &Path, done: usize) -> Result<()> {
        let free = filesystem::free_bytes(folder)?;
        let done = done.min(self.samples);
        let per_sample = self.bytes / self.samples.max(1) as u64;
        let needed = per_sample * (self.samples - done) as u64;
        if needed > free {
            let fit = done + usize::try_from(free / per_sample.max(1)).unwrap_or(usize::MAX);
            let (needed, free) = (memory::text(needed), memory::text(free));
            return Err(Error::request(format!(
                "it needs {needed} more and the disk has {free} free; store fewer with --samples (about {fit} fit) or choose \
                 a folder on another disk with --out"
            ))
            .in_file(folder));
        }
        Ok(())
    }
}

/// How many positions each gene's deletion removes.
fn positions_by_gene(cell: &Cell) -> Vec<usize> {
    let count_of = |gene: usize| {
        let mut count = 0;
        if let Ok(deletion) = Deletion::new(&[GeneId(gene as u32)]) {
            removed(cell, &deletion, |_, _| count += 1);
        }
        count
    };
    (0..cell.genes().len()).map(count_of).collect()
}
