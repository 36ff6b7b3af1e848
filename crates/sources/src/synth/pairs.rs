//! A screen of gene pairs: which pairs, and where their scores come from.
//!
//! ```text
//! score(i, j) = mean + sd * ( sqrt(share_genes)    * z[ e_i + e_j ]
//!                           + sqrt(share_low_rank) * z[ <u_i, u_j> ]'
//!                           + sqrt(share_networks) * z[ <t_i, t_j> ]'
//!                           + sqrt(rest)           * noise )
//! ```
//!
//! `e`, `t` and the noise are those of triples (`mechanism`). `u_g` is a vector of the gene's own that no network knows: a model that learns genes
//! from their measured partners recovers it; for a new gene it is unknown. The prime takes out what genes explain by themselves.

use crate::synth::config::ScreenConfig;
use crate::synth::mechanism::{
    DIMENSIONS, SyntheticScores, Vector, gene_effects, pearson, round, standardise, variance, vectors,
};
use crate::synth::networks::ModuleStructure;
use crate::synth::screen::screened_genes;
use knockout_base::error::{Error, Result};
use knockout_base::random::Rng;
use knockout_data::cell::Network;
use std::collections::BTreeMap;

/// The pairs of a screen, each with its smaller gene first, in ascending order.
pub(crate) fn design(config: &ScreenConfig, gene_count: usize, seed: u64) -> Result<Vec<[u32; 2]>> {
    let mut rng = Rng::new(seed, "screen of pairs");
    let count = config.array_genes.min(gene_count);
    let mut genes = screened_genes(count, gene_count, &mut rng);
    genes.sort_unstable();
    let possible = count * count.saturating_sub(1) / 2;
    let wanted = config.samples;
    if wanted > possible {
        return Err(Error::request(format!(
            "a screen of {wanted} pairs was requested, but {count} array genes have only {possible}; lower screen.samples \
             or raise screen.array_genes"
        )));
    }
    // Each pair in turn is taken with the share that is still wanted of those that are left: exactly `wanted` in the end.
    let (mut pairs, mut left) = (Vec::with_capacity(wanted), possible);
    for (at, &first) in genes.iter().enumerate() {
        for &second in &genes[at + 1..] {
            if rng.below(left) < wanted - pairs.len() {
                pairs.push([first, second]);
            }
            left -= 1;
        }
    }
    Ok(pairs)
}

/// The scores of the pairs.
pub(crate) fn scores(
    config: &ScreenConfig,
    pairs: &[[u32; 2]],
    modules: &ModuleStructure,
    networks: &[Network],
    seed: u64,
) -> SyntheticScores {
    let gene_count = modules.community.len();
    let mut rng = Rng::new(seed, "mechanism");
    let effects = gene_effects(networks, gene_count, &mut rng);
    let read = vectors(modules, networks, &mut rng);
    let own: Vec<Vector> =
        (0..gene_count).map(|_| std::array::from_fn::<f64, DIMENSIONS, _>(|_| rng.normal())).collect();
    let product = |vectors: &[Vector], [a, b]: [u32; 2]| -> f64 {
        vectors[a as usize].iter().zip(&vectors[b as usize]).map(|(x, y)| x * y).sum()
    };
    let additive = |[a, b]: [u32; 2]| effects[a as usize] + effects[b as usize];

    let mut signal = vec![0.0; pairs.len()];
    let mut shares = BTreeMap::new();
    let mut add = |name: &str, share: f64, mut part: Vec<f64>| {
        standardise(&mut part);
        let scale = config.score_sd * share.sqrt();
        signal.iter_mut().zip(&part).for_each(|(sum, value)| *sum += scale * value);
        shares.insert(name.to_owned(), scale * scale);
    };
    add("genes", config.share_genes, pairs.iter().map(|&pair| additive(pair)).collect());
    for (name, share, vectors) in
        [("low-rank", config.share_low_rank, &own), ("networks", config.share_networks, &read)]
    {
        let mut part: Vec<f64> = pairs.iter().map(|&pair| product(vectors, pair)).collect();
        remove_gene_means(&mut part, pairs, gene_count);
        add(name, share, part);
    }
    let rest = (1.0 - config.share_genes - config.share_low_rank - config.share_networks).max(0.0);
    let noise_sd = config.score_sd * rest.sqrt();
    let scores: Vec<f64> = signal
        .iter()
        .map(|signal| ((config.score_mean + signal + noise_sd * rng.normal()) * 1e6).round() / 1e6)
        .collect();
    let total = variance(&scores);
    shares.insert("noise".to_owned(), noise_sd * noise_sd);
    for share in shares.values_mut() {
        *share = round(*share / total.max(f64::MIN_POSITIVE));
    }
    SyntheticScores {
        attainable_pearson: round(pearson(&signal, &scores)),
        values: scores,
        noise_sd,
        noise_factors: Vec::new(),
        variance: shares,
    }
}

/// Takes out what one offset per gene explains, by turns until little is left of it.
fn remove_gene_means(values: &mut [f64], pairs: &[[u32; 2]], gene_count: usize) {
    for _ in 0..10 {
        let mut sums = vec![(0.0, 0_usize); gene_count];
        for (value, pair) in values.iter().zip(pairs) {
            for &gene in pair {
                let sum = &mut sums[gene as usize];
                *sum = (sum.0 + value, sum.1 + 1);
            }
        }
        // The mean over all pairs is half one gene's and half the other's.
        let mean = values.iter().sum::<f64>() / values.len().max(1) as f64;
        let offset = |&(sum, count): &(f64, usize)| sum / count.max(1) as f64 - mean / 2.0;
        let offsets: Vec<f64> = sums.iter().map(offset).collect();
        for (value, [a, b]) in values.iter_mut().zip(pairs) {
            *value -= offsets[*a as usize] + offsets[*b as usize];
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::synth::{SynthConfig, synthesise};
    use std::collections::BTreeSet;

    fn config(samples: usize) -> SynthConfig {
        let mut config = SynthConfig::preset("tiny").unwrap();
        config.screen =
            ScreenConfig { samples, array_genes: 150, ..SynthConfig::preset("pairs").unwrap().screen };
        config
    }

    #[test]
    fn pairs_are_as_many_as_asked_for_and_none_twice() {
        for samples in [1, 5_000, 150 * 149 / 2] {
            let config = config(samples);
            let pairs = design(&config.screen, config.genes, 3).unwrap();
            assert_eq!(pairs.len(), samples);
            assert_eq!(pairs.iter().collect::<BTreeSet<_>>().len(), samples);
            assert!(pairs.iter().all(|[a, b]| a < b));
        }
        let refused = design(&config(11_176).screen, 200, 3).unwrap_err().to_string();
        assert!(refused.contains("11176 pairs") && refused.contains("have only 11175"), "{refused}");
    }

    #[test]
    fn the_known_truth_is_the_truth() {
        let dataset = synthesise(&config(8_000), 4, "pairs", "test", &|_| {}).unwrap();
        let truth = dataset.manifest.synthetic.unwrap();
        // The noise share is one half.
        assert!((truth.attainable_pearson - 0.707).abs() < 0.02, "{truth:?}");
        for (name, share) in [("genes", 0.1), ("low-rank", 0.25), ("networks", 0.15), ("noise", 0.5)] {
            assert!((truth.variance[name] - share).abs() < 0.03, "{name}: {truth:?}");
        }
        assert!(dataset.samples.gene_sets().iter().all(|genes| genes.len() == 2));
    }

    #[test]
    fn genes_explain_nothing_of_the_interactions() {
        let config = config(4_000);
        let pairs = design(&config.screen, config.genes, 5).unwrap();
        let mut values: Vec<f64> = pairs.iter().map(|[a, b]| f64::from(a % 7 + b % 5)).collect();
        remove_gene_means(&mut values, &pairs, config.genes);
        let mut sums = vec![0.0; config.genes];
        for (value, pair) in values.iter().zip(&pairs) {
            for &gene in pair {
                sums[gene as usize] += value;
            }
        }
        assert!(sums.iter().all(|sum| sum.abs() < 1e-6 * pairs.len() as f64), "{sums:?}");
    }
}
