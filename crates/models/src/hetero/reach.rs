//! The genes that deleting one gene reaches, layer by layer and network by network, for all deleted genes of a batch at once.
//!
//! A row depends on a deletion if the deleted gene is the row's own or reaches it along edges in as many layers as have passed.
//! What several deletions reach follows by operations on bit sets. The module depends on graphs and genes, and on neither rows
//! nor samples.

use knockout_engine::kernel::Graph;
use rayon::prelude::*;

/// Bits in a word.
const WORD: usize = 64;

/// Bit sets over all genes: what each deleted gene reaches.
#[derive(Debug)]
pub(super) struct DeletionReach {
    /// The deleted genes, ascending.
    deleted: Vec<u32>,
    /// `[deleted, layers, networks + 1, words]`; the last of the networks is any of them.
    bits: Vec<u64>,
    layers: usize,
    networks: usize,
    words: usize,
}

impl DeletionReach {
    /// Follows the edges of all layers from each of `deleted`, which are ascending and distinct.
    pub(super) fn new(graphs: &[impl MessageGraph], genes: usize, deleted: Vec<u32>, layers: usize) -> Self {
        let (networks, words) = (graphs.len(), genes.div_ceil(WORD));
        let of_one = layers * (networks + 1) * words;
        let mut bits = vec![0; deleted.len() * of_one];
        // 64 deletions walk the edges together: a gene has a word with one bit for each.
        bits.par_chunks_mut((WORD * of_one).max(1)).zip(deleted.par_chunks(WORD)).for_each(
            |(bits, deleted)| {
                let mut before = vec![0_u64; genes];
                deleted.iter().enumerate().for_each(|(at, &gene)| before[gene as usize] |= 1 << at);
                for layer in 0..layers {
                    let after: Vec<Vec<u64>> = graphs.par_iter().map(|graph| graph.pass(&before)).collect();
                    for after in &after {
                        before.iter_mut().zip(after).for_each(|(any, reached)| *any |= reached);
                    }
                    for (at, of_one) in bits.chunks_exact_mut(of_one).enumerate() {
                        let of_layer = &mut of_one[layer * (networks + 1) * words..];
                        for (set, reached) in
                            of_layer.chunks_exact_mut(words).zip(after.iter().chain([&before]))
                        {
                            pack(set, reached, at);
                        }
                    }
                }
            },
        );
        Self { deleted, bits, layers, networks, words }
    }

    /// Words of a bit set.
    pub(super) fn words(&self) -> usize {
        self.words
    }

    /// The index of a deleted gene among all.
    ///
    /// # Panics
    ///
    /// If it is none of them.
    pub(super) fn index(&self, gene: u32) -> usize {
        self.deleted.binary_search(&gene).expect("one of the deleted genes")
    }

    /// Returns the genes that the deleted gene at an index reaches after a layer in a network; `networks` stands for any network.
    pub(super) fn of(&self, index: usize, layer: usize, network: usize) -> &[u64] {
        let at = ((index * self.layers + layer) * (self.networks + 1) + network) * self.words;
        &self.bits[at..at + self.words]
    }
}

/// A graph that a layer passes messages over.
pub(super) trait MessageGraph: Sync {
    /// One layer: what a gene and its sources had before.
    fn pass(&self, before: &[u64]) -> Vec<u64>;
}

impl MessageGraph for Graph {
    fn pass(&self, before: &[u64]) -> Vec<u64> {
        let of_gene = |(gene, &own): (usize, &u64)| {
            self.incoming.row(gene).fold(own, |reached, source| reached | before[source])
        };
        before.iter().enumerate().map(of_gene).collect()
    }
}

impl<S: MessageGraph + ?Sized> MessageGraph for &S {
    fn pass(&self, before: &[u64]) -> Vec<u64> {
        (**self).pass(before)
    }
}

/// Collects bit `at` of every gene's word.
fn pack(set: &mut [u64], reached: &[u64], at: usize) {
    for (word, reached) in set.iter_mut().zip(reached.chunks(WORD)) {
        let bits = reached.iter().enumerate().map(|(index, reached)| (reached >> at & 1) << index);
        *word = bits.sum();
    }
}

/// The members of a bit set, ascending.
pub(super) fn members(set: &[u64]) -> impl Iterator<Item = u32> + '_ {
    set.iter().enumerate().flat_map(|(at, &word)| {
        let next = |word: &u64| Some(word & (word - 1)).filter(|&rest| rest != 0);
        std::iter::successors(Some(word).filter(|&word| word != 0), next)
            .map(move |word| (at * WORD) as u32 + word.trailing_zeros())
    })
}
