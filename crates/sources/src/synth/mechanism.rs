//! Where the synthetic scores come from.
//!
//! ```text
//! score(i, j, k) = mean + sd * ( sqrt(share_genes)    * z[ e_i + e_j + e_k ]
//!                              + sqrt(share_arrays)   * z[ a_k ]
//!                              + sqrt(share_pair)     * z[ o_pair ]
//!                              + sqrt(share_networks) * z[ <t_i, t_j> + <t_i, t_k> + <t_j, t_k> ]'
//!                              + sqrt(share_metabolism) * z[ <q_i, q_j> + <q_i, q_k> + <q_j, q_k> ]'
//!                              + sqrt(share_traits)   * z[ f(x_i + x_j + x_k) ]'
//!                              + sqrt(rest)           * z[ s_ijk * noise ] )
//! ```
//!
//! `z` standardises over the screen. `e_g`, a gene's effect, is in part its degree. `a_g` is an effect that a gene has on the array alone. `t_g` is a vector per gene: the mean
//! over all its neighbours in all networks of their community's vector, so one averaging message pass recovers it, and
//! genes with like neighbourhoods buffer each other. `q_g` is a vector, too: the sum over the
//! metabolites that the gene's reactions turn over of the metabolite's vector; genes that turn over like metabolites buffer each other,
//! and independent of the networks (no preset has this part). `x_g` is a vector of two traits. Most of their variance is that of `t_g`;
//! the rest belongs to the gene alone. `f` is a smooth random function of all three genes' traits together: a sum of cosines of
//! long wavelengths. The standard deviation `s` of the noise differs between pairs, arrays and records where `noise_spread` is not 0. The prime means that what pairs and genes explain by themselves is
//! taken out of the interaction, so that no additive model profits from it. The noise is independent, so no model can
//! expect a correlation above the one between the score and its noise-free part.

use crate::synth::config::ScreenConfig;
use crate::synth::networks::ModuleStructure;
use crate::synth::screen::{ScreenDesign, Triple};
use knockout_base::random::Rng;
use knockout_data::cell::{GeneId, Metabolism, Network};
use std::collections::BTreeMap;

/// Dimensions of the vectors the interaction is made of.
pub(crate) const DIMENSIONS: usize = 8;
/// Dimensions of a gene's traits.
const TRAITS: usize = 2;
/// Share of the variance of a gene's traits that no network knows.
const OWN_TRAITS: f64 = 0.2;
/// Waves that a smooth function is the sum of, and the standard deviation of their frequencies: few of them oscillate over the genes.
const WAVES: usize = 64;
const FREQUENCY: f64 = 0.4;
/// Share of the variance of a gene's effect that is its degree.
const DEGREE_SHARE: f64 = 0.3;

pub(crate) type Vector = [f64; DIMENSIONS];

/// Scores and what is known about them.
pub(crate) struct SyntheticScores {
    pub(crate) values: Vec<f64>,
    /// Standard deviation of the noise over all scores, in score units.
    pub(crate) noise_sd: f64,
    /// Factor of this deviation for each score; empty if it is 1 for all.
    pub(crate) noise_factors: Vec<f64>,
    /// Correlation between the noise-free part and the scores.
    pub(crate) attainable_pearson: f64,
    /// Share of the scores' variance by cause, as realised.
    pub(crate) variance: BTreeMap<String, f64>,
}

impl SyntheticScores {
    /// Returns the standard deviation of the noise of a score.
    pub(crate) fn noise_sd_of(&self, row: usize) -> f64 {
        self.noise_sd * self.noise_factors.get(row).copied().unwrap_or(1.0)
    }
}

/// Causes of interactions.
pub(crate) struct Causes<'c> {
    pub(crate) modules: &'c ModuleStructure,
    pub(crate) networks: &'c [Network],
    pub(crate) metabolism: &'c Metabolism,
}

pub(crate) fn scores(
    config: &ScreenConfig,
    design: &ScreenDesign,
    causes: &Causes<'_>,
    seed: u64,
) -> SyntheticScores {
    let Causes { modules, networks, metabolism } = *causes;
    let gene_count = modules.community.len();
    let mut rng = Rng::new(seed, "mechanism");
    let effects = gene_effects(networks, gene_count, &mut rng);
    let offsets: Vec<f64> = design.pairs.iter().map(|_| rng.normal()).collect();
    let vectors = vectors(modules, networks, &mut rng);

    let like = |a: u32, b: u32| dot(&vectors[a as usize], &vectors[b as usize]);
    let each = |value: &dyn Fn([u32; 3], usize) -> f64| -> Vec<f64> {
        let genes = |triple: &Triple| {
            let [a, b] = design.pairs[triple.pair as usize];
            ([a, b, triple.array], triple.pair as usize)
        };
        design.triples.iter().map(genes).map(|(genes, pair)| value(genes, pair)).collect()
    };
    let by_gene = each(&|genes, _| genes.iter().map(|&gene| effects[gene as usize]).sum());
    let by_pair = each(&|_, pair| offsets[pair]);
    let mut by_networks = each(&|[a, b, c], _| like(a, b) + like(a, c) + like(b, c));
    remove_additive_part(&mut by_networks, design, gene_count);
    let by_metabolism = (config.share_metabolism > 0.0).then(|| {
        let vectors = turnover_vectors(metabolism, &mut Rng::new(seed, "mechanism of metabolism"));
        let dot = |a: u32, b: u32| dot(&vectors[a as usize], &vectors[b as usize]);
        let mut values = each(&|[a, b, c], _| dot(a, b) + dot(a, c) + dot(b, c));
        remove_additive_part(&mut values, design, gene_count);
        ("metabolism", config.share_metabolism, values)
    });
    let by_array = (config.share_arrays > 0.0).then(|| {
        let mut rng = Rng::new(seed, "effects of arrays");
        let effects: Vec<f64> = (0..gene_count).map(|_| rng.normal()).collect();
        ("arrays", config.share_arrays, each(&|[_, _, array], _| effects[array as usize]))
    });
    let by_traits = (config.share_traits > 0.0).then(|| {
        let surface = TraitSurface::new(&vectors, &mut Rng::new(seed, "mechanism of traits"));
        let mut values = each(&|genes, _| surface.height(genes));
        remove_additive_part(&mut values, design, gene_count);
        ("traits", config.share_traits, values)
    });
    let mut noise: Vec<f64> = design.triples.iter().map(|_| rng.normal()).collect();
    let noise_factors = noise_factors(config.noise_spread, design, gene_count, seed);
    noise.iter_mut().zip(&noise_factors).for_each(|(noise, factor)| *noise *= factor);

    let explained = [
        config.share_genes,
        config.share_pair,
        config.share_networks,
        config.share_metabolism,
        config.share_arrays,
        config.share_traits,
    ];
    let rest = explained.iter().fold(1.0, |rest, share| rest - share).max(0.0);
    let mut signal = vec![0.0; noise.len()];
    let mut parts = BTreeMap::new();
    for (name, share, mut part) in [
        ("genes", config.share_genes, by_gene),
        ("pair", config.share_pair, by_pair),
        ("networks", config.share_networks, by_networks),
    ]
    .into_iter()
    .chain(by_metabolism)
    .chain(by_array)
    .chain(by_traits)
    {
        standardise(&mut part);
        let scale = config.score_sd * share.sqrt();
        for (sum, value) in signal.iter_mut().zip(&part) {
            *sum += scale * value;
        }
        parts.insert(name.to_owned(), scale * scale);
    }
    let noise_sd = config.score_sd * rest.sqrt();
    let scores: Vec<f64> = signal
        .iter()
        .zip(&noise)
        // Six decimals, as published tables have.
        .map(|(signal, noise)| ((config.score_mean + signal + noise_sd * noise) * 1e6).round() / 1e6)
        .collect();
    let total = variance(&scores);
    parts.insert("noise".to_owned(), noise_sd * noise_sd * variance(&noise));
    for part in parts.values_mut() {
        *part = round(*part / total.max(f64::MIN_POSITIVE));
    }
    SyntheticScores {
        attainable_pearson: round(pearson(&signal, &scores)),
        values: scores,
        noise_sd,
        noise_factors,
        variance: parts,
    }
}

/// The factor of each triple's noise, 1 in the mean square; empty without a spread.
fn noise_factors(spread: f64, design: &ScreenDesign, gene_count: usize, seed: u64) -> Vec<f64> {
    if spread == 0.0 {
        return Vec::new();
    }
    let mut rng = Rng::new(seed, "spread of the noise");
    let of_pair: Vec<f64> = design.pairs.iter().map(|_| rng.normal()).collect();
    let of_array: Vec<f64> = (0..gene_count).map(|_| rng.normal()).collect();
    // Uniform with the standard deviation 2: a normal distribution would give single records far more noise than published scores show.
    let mut of_record = || 2.0 * 12.0_f64.sqrt() * (rng.unit() - 0.5);
    let sum = |triple: &Triple| of_pair[triple.pair as usize] + of_array[triple.array as usize];
    let logarithms = design.triples.iter().map(|triple| spread * (sum(triple) + of_record()));
    let mut factors: Vec<f64> = logarithms.map(libm::exp).collect();
    let square = factors.iter().map(|factor| factor * factor).sum::<f64>() / factors.len().max(1) as f64;
    for factor in &mut factors {
        *factor /= square.sqrt();
    }
    factors
}

/// A smooth random function of the traits of gene sets.
struct TraitSurface {
    /// By gene, the phase that it adds to each wave.
    phases: Vec<[f64; WAVES]>,
    starts: [f64; WAVES],
    amplitudes: [f64; WAVES],
}

impl TraitSurface {
    /// Draws the function and the part of the traits that is not that of the networks' `vectors`.
    fn new(vectors: &[Vector], rng: &mut Rng) -> Self {
        let frequencies: Vec<[f64; TRAITS]> =
            (0..WAVES).map(|_| std::array::from_fn(|_| FREQUENCY * rng.normal())).collect();
        let starts = std::array::from_fn(|_| std::f64::consts::TAU * rng.unit());
        let amplitudes = std::array::from_fn(|_| rng.normal());
        let mut phases = |vector: &Vector| {
            let traits: [f64; TRAITS] = std::array::from_fn(|dimension| {
                (1.0 - OWN_TRAITS).sqrt() * vector[dimension] + OWN_TRAITS.sqrt() * rng.normal()
            });
            let phase = |wave: &[f64; TRAITS]| wave.iter().zip(&traits).map(|(w, x)| w * x).sum();
            std::array::from_fn(|wave| phase(&frequencies[wave]))
        };
        Self { phases: vectors.iter().map(&mut phases).collect(), starts, amplitudes }
    }

    /// Returns the value of the function for a set.
    fn height(&self, genes: [u32; 3]) -> f64 {
        let phase = |wave: usize| genes.iter().map(|&gene| self.phases[gene as usize][wave]).sum::<f64>();
        (0..WAVES).map(|wave| self.amplitudes[wave] * libm::cos(self.starts[wave] + phase(wave))).sum()
    }
}

/// Four decimals: these are printed and read by people.
pub(crate) fn round(value: f64) -> f64 {
    (value * 1e4).round() / 1e4
}

pub(crate) fn gene_effects(networks: &[Network], gene_count: usize, rng: &mut Rng) -> Vec<f64> {
    let degree = |gene| networks.iter().map(|network| network.degree(gene)).sum::<usize>();
    let mut by_degree: Vec<f64> = (0..gene_count).map(|gene| libm::log1p(degree(gene) as f64)).collect();
    standardise(&mut by_degree);
    by_degree
        .iter()
        .map(|value| DEGREE_SHARE.sqrt() * value + (1.0 - DEGREE_SHARE).sqrt() * rng.normal())
        .collect()
}

pub(crate) fn vectors(modules: &ModuleStructure, networks: &[Network], rng: &mut Rng) -> Vec<Vector> {
    let community_count = modules.community.iter().max().map_or(0, |&last| last as usize + 1);
    let base: Vec<Vector> = (0..community_count).map(|_| std::array::from_fn(|_| rng.normal())).collect();
    let mut vectors: Vec<Vector> = (0..modules.community.len())
        .map(|gene| {
            let mut sum = Vector::default();
            let mut count = 0_usize;
            for network in networks {
                for rows in [network.outgoing(), network.incoming()] {
                    for &neighbour in rows.row(gene) {
                        let vector = &base[modules.community[neighbour as usize] as usize];
                        sum.iter_mut().zip(vector).for_each(|(sum, value)| *sum += value);
                    }
                    count += rows.row(gene).len();
                }
            }
            sum.map(|value| value / count.max(1) as f64)
        })
        .collect();
    standardise_each(&mut vectors);
    vectors
}

/// Standardises each dimension.
fn standardise_each(vectors: &mut [Vector]) {
    for dimension in 0..DIMENSIONS {
        let mut column: Vec<f64> = vectors.iter().map(|vector| vector[dimension]).collect();
        standardise(&mut column);
        vectors.iter_mut().zip(column).for_each(|(vector, value)| vector[dimension] = value);
    }
}

fn dot(a: &Vector, b: &Vector) -> f64 {
    a.iter().zip(b).map(|(x, y)| x * y).sum()
}

/// By gene, the sum of the vectors of the metabolites that its reactions turn over, each by its amount divided by the roots of what its
/// reaction and what it has in all; in each dimension with mean 0 and deviation 1 over the genes that have reactions, 0 for the others.
fn turnover_vectors(metabolism: &Metabolism, rng: &mut Rng) -> Vec<Vector> {
    let base: Vec<Vector> =
        metabolism.metabolites().iter().map(|_| std::array::from_fn(|_| rng.normal())).collect();
    let mut by_reaction = vec![0.0; metabolism.reactions().len()];
    let mut by_metabolite = vec![0.0; metabolism.metabolites().len()];
    for entry in metabolism.coefficients() {
        by_reaction[entry.reaction as usize] += entry.value.abs();
        by_metabolite[entry.metabolite as usize] += entry.value.abs();
    }
    let has_reactions = |gene: usize| !metabolism.reactions_of(GeneId(gene as u32)).is_empty();
    let genes: Vec<usize> = (0..metabolism.gene_count()).filter(|&gene| has_reactions(gene)).collect();
    let mut vectors = vec![Vector::default(); metabolism.gene_count()];
    for &gene in &genes {
        for &reaction in metabolism.reactions_of(GeneId(gene as u32)) {
            for entry in &metabolism.coefficients()[metabolism.coefficients_of(reaction)] {
                let scale = by_reaction[reaction as usize] * by_metabolite[entry.metabolite as usize];
                let amount = entry.value.abs() / scale.sqrt();
                let base = &base[entry.metabolite as usize];
                vectors[gene].iter_mut().zip(base).for_each(|(sum, value)| *sum += amount * value);
            }
        }
    }
    let mut chosen: Vec<Vector> = genes.iter().map(|&gene| vectors[gene]).collect();
    standardise_each(&mut chosen);
    for (&gene, vector) in genes.iter().zip(chosen) {
        vectors[gene] = vector;
    }
    vectors
}

/// Takes out what an offset per pair and one per array gene explain, by turns until little is left of it.
fn remove_additive_part(values: &mut [f64], design: &ScreenDesign, gene_count: usize) {
    let pair_of = |row: usize| design.triples[row].pair as usize;
    let array_of = |row: usize| design.triples[row].array as usize;
    for _ in 0..10 {
        remove_means(values, &pair_of, design.pairs.len());
        remove_means(values, &array_of, gene_count);
    }
}

fn remove_means(values: &mut [f64], group_of: &dyn Fn(usize) -> usize, group_count: usize) {
    let mut sums = vec![(0.0, 0_usize); group_count];
    for (row, value) in values.iter().enumerate() {
        let sum = &mut sums[group_of(row)];
        *sum = (sum.0 + value, sum.1 + 1);
    }
    for (row, value) in values.iter_mut().enumerate() {
        let (sum, count) = sums[group_of(row)];
        *value -= sum / count as f64;
    }
}

fn mean(values: &[f64]) -> f64 {
    values.iter().sum::<f64>() / values.len().max(1) as f64
}

pub(crate) fn variance(values: &[f64]) -> f64 {
    let mean = mean(values);
    values.iter().map(|value| (value - mean) * (value - mean)).sum::<f64>() / values.len().max(1) as f64
}

pub(crate) fn standardise(values: &mut [f64]) {
    let (mean, sd) = (mean(values), variance(values).sqrt());
    let scale = if sd > 0.0 { 1.0 / sd } else { 0.0 };
    for value in values {
        *value = (*value - mean) * scale;
    }
}

pub(crate) fn pearson(a: &[f64], b: &[f64]) -> f64 {
    let (mean_a, mean_b) = (mean(a), mean(b));
    let covariance: f64 = a.iter().zip(b).map(|(x, y)| (x - mean_a) * (y - mean_b)).sum();
    covariance / (a.len() as f64 * (variance(a) * variance(b)).sqrt()).max(f64::MIN_POSITIVE)
}
