//! The screen's triples: recurring query pairs, each combined with many array genes.

use crate::synth::config::ScreenConfig;
use knockout_base::error::{Error, Result};
use knockout_base::random::Rng;
use std::collections::BTreeSet;

/// A triple: which query pair, and the gene it is combined with.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Triple {
    pub(crate) pair: u32,
    pub(crate) array: u32,
}

/// The design of a screen.
pub(crate) struct ScreenDesign {
    /// The query pairs, each with its smaller gene first.
    pub(crate) pairs: Vec<[u32; 2]>,
    /// The triples, pair by pair; no gene set occurs twice, and each holds exactly one query pair.
    pub(crate) triples: Vec<Triple>,
}

pub(crate) fn design(config: &ScreenConfig, gene_count: usize, seed: u64) -> Result<ScreenDesign> {
    let mut rng = Rng::new(seed, "screen");
    let query_count = config.query_genes.min(gene_count);
    // Half of the query genes are also on the array, as in the real screens.
    let array_start = query_count / 2;
    let array_end = (array_start + config.array_genes).min(gene_count);
    let genes = screened_genes(array_end.max(query_count), gene_count, &mut rng);
    let queries = &genes[..query_count];
    let mut array = genes[array_start..array_end].to_vec();
    array.sort_unstable();

    let pairs = query_pairs(queries, config.query_pairs, &mut rng);
    let is_pair: BTreeSet<[u32; 2]> = pairs.iter().copied().collect();
    // A third gene must not complete another query pair: each triple holds exactly one.
    let candidates: Vec<Vec<u32>> = pairs
        .iter()
        .map(|pair| {
            let completes = |gene: u32| pair.iter().any(|&query| is_pair.contains(&ordered(query, gene)));
            array.iter().copied().filter(|&gene| !pair.contains(&gene) && !completes(gene)).collect()
        })
        .collect();
    let sizes = sizes(config.samples, &candidates, &mut rng).ok_or_else(|| {
        let (wanted, pairs, array) = (config.samples, pairs.len(), array.len());
        let possible: usize = candidates.iter().map(Vec::len).sum();
        Error::request(format!(
            "a screen of {wanted} triples was requested, but {pairs} query pairs with {array} array genes allow only \
             {possible}; lower screen.samples or raise screen.query_pairs or screen.array_genes"
        ))
    })?;
    let mut triples = Vec::with_capacity(config.samples);
    for (pair, (mut candidates, size)) in candidates.into_iter().zip(sizes).enumerate() {
        rng.shuffle(&mut candidates);
        candidates.truncate(size);
        candidates.sort_unstable();
        triples.extend(candidates.into_iter().map(|array| Triple { pair: pair as u32, array }));
    }
    Ok(ScreenDesign { pairs, triples })
}

/// The genes on the plates. Late genes of the table are taken somewhat more often: edges run towards them, and this
/// makes the screen's triples reach as many genes as the real ones do.
pub(crate) fn screened_genes(count: usize, gene_count: usize, rng: &mut Rng) -> Vec<u32> {
    let mut keyed: Vec<(usize, u32)> =
        (0..gene_count).map(|gene| (rng.below(2 * gene_count) + gene_count - gene, gene as u32)).collect();
    keyed.sort_unstable();
    let mut genes: Vec<u32> = keyed.into_iter().take(count).map(|(_, gene)| gene).collect();
    rng.shuffle(&mut genes);
    genes
}

fn ordered(a: u32, b: u32) -> [u32; 2] {
    [a.min(b), a.max(b)]
}

fn query_pairs(queries: &[u32], count: usize, rng: &mut Rng) -> Vec<[u32; 2]> {
    let possible = queries.len() * queries.len().saturating_sub(1) / 2;
    let mut seen = BTreeSet::new();
    let mut pairs = Vec::new();
    while pairs.len() < count.min(possible) {
        // The first passes use every query gene once, so that all of them occur.
        let first = pairs.len() % queries.len();
        let (a, b) = (queries[first], queries[rng.below(queries.len())]);
        if a != b && seen.insert(ordered(a, b)) {
            pairs.push(ordered(a, b));
        } else if seen.iter().filter(|pair| pair.contains(&a)).count() + 1 == queries.len() {
            // This gene is paired with all others already; take any pair that is left.
            let (a, b) = (queries[rng.below(queries.len())], queries[rng.below(queries.len())]);
            if a != b && seen.insert(ordered(a, b)) {
                pairs.push(ordered(a, b));
            }
        }
    }
    pairs
}

/// How many triples each pair gets: unequal, as in the real screens, and exactly `total` together.
fn sizes(total: usize, candidates: &[Vec<u32>], rng: &mut Rng) -> Option<Vec<usize>> {
    let capacity: usize = candidates.iter().map(Vec::len).sum();
    if total > capacity {
        return None;
    }
    // Most screens are of like size; one in eight was done with a larger array.
    let weights: Vec<u64> = candidates
        .iter()
        .map(|genes| {
            let scale = if rng.below(8) == 0 { 4 } else { 1 };
            (scale * (500 + rng.below(1_000)) * genes.len()) as u64
        })
        .collect();
    let weight_sum: u128 = weights.iter().map(|&weight| u128::from(weight)).sum();
    let mut sizes: Vec<usize> = weights
        .iter()
        .zip(candidates)
        .map(|(&weight, genes)| {
            let share = u128::from(weight) * total as u128 / weight_sum.max(1);
            (share as usize).min(genes.len())
        })
        .collect();
    // What rounding and full pairs left over goes to pairs with room, in turn.
    let mut left = total - sizes.iter().sum::<usize>();
    while left > 0 {
        for (size, genes) in sizes.iter_mut().zip(candidates) {
            if left > 0 && *size < genes.len() {
                *size += 1;
                left -= 1;
            }
        }
    }
    Some(sizes)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::synth::config::SynthConfig;

    #[test]
    fn each_triple_holds_exactly_one_query_pair() {
        let config = SynthConfig::preset("tiny").unwrap();
        let design = design(&config.screen, config.genes, 5).unwrap();
        assert_eq!(design.triples.len(), 2_000);
        assert_eq!(design.pairs.len(), 20);
        let is_pair: BTreeSet<[u32; 2]> = design.pairs.iter().copied().collect();
        let mut sets = BTreeSet::new();
        for triple in &design.triples {
            let [a, b] = design.pairs[triple.pair as usize];
            let c = triple.array;
            let held = [ordered(a, b), ordered(a, c), ordered(b, c)];
            assert_eq!(held.iter().filter(|pair| is_pair.contains(*pair)).count(), 1);
            let mut set = [a, b, c];
            set.sort_unstable();
            assert!(sets.insert(set), "{set:?} twice");
        }
    }

    #[test]
    fn a_screen_larger_than_its_design_is_refused() {
        let config = SynthConfig::preset("tiny").unwrap();
        let screen = ScreenConfig { samples: 1_000_000, ..config.screen };
        let message = design(&screen, config.genes, 5).err().unwrap().to_string();
        assert!(message.contains("1000000 triples") && message.contains("20 query pairs"), "{message}");
    }
}
