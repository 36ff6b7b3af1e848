//! The order of gene sets in which batches share most deleted genes, for models that compute once what sets share.

use knockout_data::cell::GeneSetsRef;
use std::cmp::Reverse;
use std::collections::BTreeMap;

/// Returns the indices of the sets in an order in which batches of `batch` sets share genes. Sets that agree in all but their
/// two rarest genes are adjacent, and a batch has few distinct genes in either of these positions: a square of pairs instead of
/// a line, where there are enough.
///
/// The order depends on the sets alone. Memory is one number per set.
pub fn sharing_order(sets: GeneSetsRef<'_>, batch: usize) -> Vec<usize> {
    let side = batch.isqrt().max(1);
    let mut counts: BTreeMap<u32, usize> = BTreeMap::new();
    sets.genes().iter().for_each(|&gene| *counts.entry(gene).or_default() += 1);
    // Frequent genes first: most sets can share them.
    let mut by_count: Vec<(Reverse<usize>, u32)> =
        counts.into_iter().map(|(gene, count)| (Reverse(count), gene)).collect();
    by_count.sort_unstable();
    let ranks: BTreeMap<u32, usize> =
        by_count.iter().enumerate().map(|(rank, &(_, gene))| (gene, rank)).collect();
    let ranked: Vec<Vec<usize>> = sets
        .iter()
        .map(|set| {
            let mut set: Vec<usize> = set.iter().map(|gene| ranks[gene]).collect();
            set.sort_unstable();
            set
        })
        .collect();
    // The index of a gene among those that are a set's rarest, and among those that are its second rarest.
    let [rarest, second] = [1, 2].map(|from_end| {
        let mut genes: Vec<usize> =
            ranked.iter().filter_map(|set| set.len().checked_sub(from_end).map(|at| set[at])).collect();
        genes.sort_unstable();
        genes.dedup();
        genes
    });
    let square = |genes: &[usize], rank: Option<&usize>| {
        rank.map(|rank| genes.partition_point(|gene| gene < rank) / side)
    };
    let mut order: Vec<usize> = (0..sets.len()).collect();
    order.sort_by_cached_key(|&index| {
        let set = &ranked[index];
        let (common, rare) = set.split_at(set.len().saturating_sub(2));
        let squares = (square(&second, rare.iter().rev().nth(1)), square(&rarest, rare.last()));
        (common.to_vec(), squares, rare.to_vec())
    });
    order
}

#[cfg(test)]
mod tests {
    use super::*;
    use knockout_data::cell::GeneSets;

    fn ordered(sets: &GeneSets, batch: usize) -> Vec<Vec<u32>> {
        sharing_order(sets.view(), batch).into_iter().map(|index| sets.get(index).to_vec()).collect()
    }

    /// Distinct genes of every batch.
    fn genes(sets: &[Vec<u32>], batch: usize) -> Vec<usize> {
        let distinct = |batch: &[Vec<u32>]| {
            let mut genes = batch.concat();
            genes.sort_unstable();
            genes.dedup();
            genes.len()
        };
        sets.chunks(batch).map(distinct).collect()
    }

    #[test]
    fn a_batch_of_triples_is_a_square_around_one_gene() {
        let sets: GeneSets = (10..26_u32)
            .flat_map(|b| (50..66).map(move |c| [3, b, c]))
            .collect::<Vec<_>>()
            .iter()
            .map(|set| &set[..])
            .collect();
        let found = ordered(&sets, 64);
        assert_eq!(genes(&found, 64), [1 + 8 + 8; 4]);
        let mut all = found.clone();
        all.sort_unstable();
        assert!(all.iter().map(|set| &set[..]).eq(sets.view().iter()), "a permutation");
    }

    #[test]
    fn sets_of_a_query_stand_together_wherever_its_genes_are_in_the_table() {
        let sets: GeneSets = [&[1, 50, 90][..], &[7, 8, 9], &[50, 60, 90], &[2, 50, 90], &[8, 9, 10], &[5]]
            .into_iter()
            .collect();
        let found = ordered(&sets, 4);
        assert_eq!(genes(&found[1..4], 3), [2 + 3], "{found:?}");
        assert_eq!(genes(&found[4..], 2), [2 + 2], "{found:?}");
        assert_eq!(sharing_order(GeneSets::default().view(), 4), [0; 0]);
    }
}
