//! The synthetic yeast: the size and structure of the real one, with known ground truth.
//!
//! The same configuration and seed give the same bytes on any machine and with any number of threads. The module `networks`
//! defines the networks, `mechanism` the scores; `docs/synthetic.md` has both for users. The
//! crate knows neither files nor the command line: it returns a [`Dataset`].

mod config;
mod mechanism;
mod metabolism;
mod names;
mod networks;
mod pairs;
mod screen;
mod weighted;

pub use config::{MetabolismConfig, NetworkConfig, PRESETS, ScreenConfig, SynthConfig};

use knockout_base::error::{Error, Result};
use knockout_data::cell::{Cell, GeneTable};
use knockout_data::screen::{
    Counts, Dataset, FORMAT_VERSION, Manifest, Provenance, Sample, SamplesBuilder, Synthetic,
};
use std::collections::BTreeMap;
use std::sync::Arc;

impl SynthConfig {
    /// Rows that [`synthesise`] reports progress over.
    pub fn row_count(&self) -> usize {
        // Before the numbers are checked.
        let edges = self.networks.values().map(|network| network.edges).fold(0, usize::saturating_add);
        edges.saturating_add(self.screen.samples)
    }

    /// The command that makes the dataset again, for its manifest.
    pub fn command(&self, preset: &str, seed: u64, overrides: &[String]) -> String {
        let samples = self.screen.samples;
        let start = format!("knockout data synth OUT --preset {preset} --samples {samples} --seed {seed}");
        overrides.iter().fold(start, |command, text| format!("{command} {text}"))
    }
}

/// Makes the dataset. `preset` is recorded, with the `command` that makes it again; `on_rows` receives the number of rows made.
pub fn synthesise(
    config: &SynthConfig,
    seed: u64,
    preset: &str,
    command: &str,
    on_rows: &(dyn Fn(usize) + Sync),
) -> Result<Dataset> {
    check(config)?;
    let genes = GeneTable::new(names::genes(config.genes, seed)).map_err(bug)?;
    let modules = networks::ModuleStructure::new(config, seed);
    let design = GeneSetDesign::new(&config.screen, config.genes, seed)?;
    let networks = networks::networks(config, &modules, seed, on_rows).map_err(bug)?;
    let gene_names: Vec<String> = genes.genes().iter().map(|gene| gene.systematic.clone()).collect();
    let metabolism = metabolism::metabolism(&config.metabolism, &gene_names, seed).map_err(bug)?;
    let causes = mechanism::Causes { modules: &modules, networks: &networks, metabolism: &metabolism };
    let scores = design.scores(&config.screen, &causes, seed);
    let samples = samples(&design, &scores, config.genes, seed).map_err(bug)?;
    on_rows(samples.len());
    Ok(Dataset {
        manifest: Manifest {
            format: FORMAT_VERSION,
            name: format!("synthetic {preset}"),
            provenance: Provenance {
                tool: concat!("knockout ", env!("CARGO_PKG_VERSION")).to_owned(),
                command: command.to_owned(),
                sources: Vec::new(),
            },
            counts: Counts::default(),
            networks: Vec::new(),
            synthetic: Some(Synthetic {
                preset: preset.to_owned(),
                seed,
                attainable_pearson: scores.attainable_pearson,
                variance: scores.variance,
            }),
            repeats: Vec::new(),
            standard_errors: None,
            samples_of_several_alleles: 0,
            from_interactions: None,
            checksums: BTreeMap::new(),
        },
        cell: Arc::new(Cell::new(genes, networks, Some(metabolism)).map_err(bug)?),
        samples,
    })
}

/// A generated part that breaks an invariant of datasets.
fn bug(error: Error) -> Error {
    Error::failure("the generated dataset is impossible; this is a bug").caused_by(error)
}

/// The gene sets of a screen.
enum GeneSetDesign {
    Triples(screen::ScreenDesign),
    Pairs(Vec<[u32; 2]>),
}

impl GeneSetDesign {
    fn new(config: &ScreenConfig, gene_count: usize, seed: u64) -> Result<Self> {
        Ok(match config.set_size {
            2 => Self::Pairs(pairs::design(config, gene_count, seed)?),
            _ => Self::Triples(screen::design(config, gene_count, seed)?),
        })
    }

    fn scores(
        &self,
        config: &ScreenConfig,
        causes: &mechanism::Causes<'_>,
        seed: u64,
    ) -> mechanism::SyntheticScores {
        match self {
            Self::Triples(design) => mechanism::scores(config, design, causes, seed),
            Self::Pairs(pairs) => pairs::scores(config, pairs, causes.modules, causes.networks, seed),
        }
    }

    /// Calls `each` with the genes of every sample and how many of them are the query.
    fn for_each(&self, mut each: impl FnMut(&[u32], usize) -> Result<()>) -> Result<()> {
        match self {
            Self::Triples(design) => design.triples.iter().try_for_each(|triple| {
                let [a, b] = design.pairs[triple.pair as usize];
                each(&[a, b, triple.array], 2)
            }),
            Self::Pairs(pairs) => pairs.iter().try_for_each(|pair| each(pair, 1)),
        }
    }
}

/// Rows with fitness and p-values that go with the scores.
fn samples(
    design: &GeneSetDesign,
    scores: &mechanism::SyntheticScores,
    gene_count: usize,
    seed: u64,
) -> Result<knockout_data::screen::Samples> {
    let mut rng = knockout_base::random::Rng::new(seed, "fitness");
    let fitness: Vec<f64> = (0..gene_count).map(|_| (1.0 - 0.12 * rng.normal().abs()).max(0.2)).collect();
    let mut builder = SamplesBuilder::new(gene_count);
    let mut values = scores.values.iter().enumerate();
    design.for_each(|genes, queries| {
        let (row, score) = values.next().map(|(row, &score)| (row, score)).unwrap_or_default();
        let expected: f64 = genes.iter().map(|&gene| fitness[gene as usize]).product();
        let deviation = score.abs() / (scores.noise_sd_of(row).max(1e-9) * std::f64::consts::SQRT_2);
        let rounded = |value: f64| (value * 1e4).round() / 1e4;
        builder.push(Sample {
            genes,
            score,
            p_value: Some(libm::erfc(deviation).clamp(0.0, 1.0)),
            query: &genes[..queries],
            kind: "deletion",
            fitness: Some(rounded((expected + score).max(0.0))),
            fitness_sd: Some(rounded(0.02 + 0.05 * rng.unit())),
            source: "synthetic",
            duplicates: 1,
            alleles: &[],
        })
    })?;
    Ok(builder.finish())
}

/// Reactions, metabolites, query pairs and the like: far more than any cell has, and few enough for every product of two.
const MOST: usize = 1_000_000;
/// Samples of a screen.
const MOST_SAMPLES: usize = 50_000_000;

fn must(is_good: bool, key: &str, value: &dyn std::fmt::Display, expected: &str) -> Result<()> {
    if is_good {
        return Ok(());
    }
    Err(Error::request(format!("{key} is {value}; {expected}")))
}

/// Refuses recipes that cannot be followed, before any work.
fn check(config: &SynthConfig) -> Result<()> {
    must(
        (10..=30_000).contains(&config.genes),
        "genes",
        &config.genes,
        "a synthetic cell has 10 to 30000 genes",
    )?;
    must(
        (1..=config.genes).contains(&config.communities),
        "communities",
        &config.communities,
        &format!("there are 1 to {} (one for each gene) here", config.genes),
    )?;
    for (name, network) in &config.networks {
        let key = |field| format!("networks.{name}.{field}");
        must(
            (2..=config.genes).contains(&network.nodes),
            &key("nodes"),
            &network.nodes,
            &format!("a network has 2 to {} nodes here", config.genes),
        )?;
        must(
            network.regulators <= network.nodes,
            &key("regulators"),
            &network.regulators,
            &format!("there are only {} nodes", network.nodes),
        )?;
        // Filling a network to the brim by drawing at random takes for ever; three quarters is far beyond real ones.
        let sources = if network.regulators > 0 { network.regulators } else { network.nodes };
        let most = sources * (network.nodes - 1) * 3 / 8;
        must(
            (network.nodes..=most).contains(&network.edges),
            &key("edges"),
            &network.edges,
            &format!("between {} (one per node) and {most} fit", network.nodes),
        )?;
        must(
            (0.0..=3.0).contains(&network.tail),
            &key("tail"),
            &network.tail,
            "the exponent lies between 0 and 3",
        )?;
        must(
            (0.0..=1.0).contains(&network.within),
            &key("within"),
            &network.within,
            "a share lies between 0 and 1",
        )?;
    }
    let metabolism = &config.metabolism;
    for (key, value) in [
        ("metabolism.reactions", metabolism.reactions),
        ("metabolism.metabolites", metabolism.metabolites),
        ("metabolism.genes", metabolism.genes),
        ("screen.query_pairs", config.screen.query_pairs),
        ("screen.query_genes", config.screen.query_genes),
        ("screen.array_genes", config.screen.array_genes),
    ] {
        must(value <= MOST, key, &value, &format!("at most {MOST} can be made"))?;
    }
    must(
        metabolism.reactions == 0 || metabolism.metabolites >= 2,
        "metabolism.metabolites",
        &metabolism.metabolites,
        "reactions need at least 2",
    )?;
    must(
        config.screen.share_metabolism == 0.0 || metabolism.reactions.min(metabolism.genes) > 0,
        "screen.share_metabolism",
        &config.screen.share_metabolism,
        "an interaction by metabolism needs metabolism.reactions and metabolism.genes",
    )?;
    check_screen(&config.screen)
}

fn check_screen(screen: &config::ScreenConfig) -> Result<()> {
    must(
        (1..=MOST_SAMPLES).contains(&screen.samples),
        "screen.samples",
        &screen.samples,
        &format!("a screen has 1 to {MOST_SAMPLES} samples"),
    )?;
    must(screen.query_genes >= 2, "screen.query_genes", &screen.query_genes, "a pair needs two")?;
    must(screen.query_pairs >= 1, "screen.query_pairs", &screen.query_pairs, "there must be at least one")?;
    must(
        screen.score_sd.is_finite() && screen.score_sd > 0.0,
        "screen.score_sd",
        &screen.score_sd,
        "a standard deviation is positive",
    )?;
    must(screen.score_mean.is_finite(), "screen.score_mean", &screen.score_mean, "a mean is a number")?;
    must(
        (2..=3).contains(&screen.set_size),
        "screen.set_size",
        &screen.set_size,
        "2 makes pairs, 3 triples",
    )?;
    must(
        (0.0..=1.0).contains(&screen.noise_spread),
        "screen.noise_spread",
        &screen.noise_spread,
        "it lies between 0 and 1",
    )?;
    // Pairs have no query pairs or arrays and no part of the metabolism or of traits, and triples no vectors that networks do not know.
    let absent = match screen.set_size {
        2 => vec![
            ("screen.share_pair", screen.share_pair),
            ("screen.share_metabolism", screen.share_metabolism),
            ("screen.share_arrays", screen.share_arrays),
            ("screen.share_traits", screen.share_traits),
            ("screen.noise_spread", screen.noise_spread),
        ],
        _ => vec![("screen.share_low_rank", screen.share_low_rank)],
    };
    for (key, value) in absent {
        must(value == 0.0, key, &value, &format!("samples of {} genes have no such part", screen.set_size))?;
    }
    let shares = [
        screen.share_genes,
        screen.share_pair,
        screen.share_networks,
        screen.share_metabolism,
        screen.share_low_rank,
        screen.share_arrays,
        screen.share_traits,
    ];
    must(
        shares.iter().all(|share| (0.0..=1.0).contains(share)) && shares.iter().sum::<f64>() <= 1.0,
        "screen.share_*",
        &format!("{shares:?}"),
        "shares lie between 0 and 1 and leave the rest to noise",
    )
}

#[cfg(test)]
mod tests {
    use super::*;
    use knockout_data::cell::Entries;
    use knockout_data::cell::Reach;

    fn make(preset: &str, seed: u64) -> Dataset {
        synthesise(&SynthConfig::preset(preset).unwrap(), seed, preset, "test", &|_| {}).unwrap()
    }

    fn mean_reach(dataset: &Dataset, count: usize) -> [f64; 3] {
        let mut reach = Reach::new(&dataset.cell);
        let mut sums = [0.0; 3];
        for i in 0..count {
            let reached = reach.within::<3>(&dataset.samples.deletion(i * dataset.samples.len() / count));
            sums.iter_mut().zip(reached).for_each(|(sum, reached)| *sum += reached as f64 / count as f64);
        }
        sums
    }

    #[test]
    fn yeast_has_the_real_counts_and_the_real_reach() {
        let dataset = make("yeast", 1);
        let counts: Vec<(&str, usize, usize)> = dataset
            .cell
            .networks()
            .iter()
            .map(|network| (network.name(), network.node_count(), network.edge_count()))
            .collect();
        assert_eq!(
            counts,
            [
                ("physical", 5_721, 139_463),
                ("regulatory", 3_632, 9_753),
                ("string12_0_coexpression", 6_503, 1_002_538),
                ("string12_0_cooccurence", 2_615, 11_115),
                ("string12_0_database", 4_044, 73_818),
                ("string12_0_experimental", 6_036, 825_101),
                ("string12_0_fusion", 3_095, 11_810),
                ("string12_0_neighborhood", 2_204, 147_874),
                ("tflink", 5_092, 201_898),
            ]
        );
        assert_eq!(counts.iter().map(|(_, _, edges)| edges).sum::<usize>(), 2_423_370);
        assert_eq!(dataset.cell.genes().len(), 6_607);
        assert_eq!(dataset.samples.len(), 332_313);
        for (reached, real) in mean_reach(&dataset, 200).into_iter().zip([697.0, 3_759.0, 4_508.0]) {
            assert!((reached / real - 1.0).abs() < 0.15, "reaches {reached}, the real cell {real}");
        }
        let metabolism = dataset.cell.metabolism().unwrap();
        for (found, real) in [
            (metabolism.reactions().len(), 7_100.0),
            (metabolism.metabolites().len(), 2_800.0),
            (metabolism.requirements().len(), 5_450.0),
            (metabolism.coefficients().len(), 26_300.0),
        ] {
            assert!((found as f64 / real - 1.0).abs() < 0.05, "{found}, the real one {real}");
        }
    }

    #[test]
    fn edges_run_along_the_gene_order_and_leave_only_regulators() {
        for network in make("small", 3).cell.networks() {
            assert!(network.sources().iter().zip(network.targets()).all(|(source, target)| source < target));
            let leaving =
                (0..network.gene_count()).filter(|&gene| !network.outgoing().range(gene).is_empty()).count();
            match network.name() {
                "regulatory" => assert!(leaving <= 60, "{leaving}"),
                "tflink" => assert!(leaving <= 75, "{leaving}"),
                _ => assert!(leaving > 300, "{leaving}"),
            }
        }
    }

    #[test]
    fn two_entries_are_both_directions_of_what_has_none() {
        let one = make("tiny", 3);
        let config = SynthConfig { entries: Entries::Two, ..SynthConfig::preset("tiny").unwrap() };
        let two = synthesise(&config, 3, "tiny", "test", &|_| {}).unwrap();
        for (one, two) in one.cell.networks().iter().zip(two.cell.networks()) {
            if one.name() == "regulatory" {
                assert_eq!(two.edge_count(), one.edge_count());
                continue;
            }
            assert_eq!(two.edge_count(), 2 * one.edge_count());
            for gene in 0..two.gene_count() {
                assert_eq!(two.outgoing().row(gene), two.incoming().row(gene), "{}", two.name());
            }
        }
    }

    #[test]
    fn the_known_truth_is_the_truth() {
        let dataset = make("small", 4);
        let truth = dataset.manifest.synthetic.unwrap();
        // The noise share was 0.4: about the square root of 0.6 remains attainable.
        assert!((truth.attainable_pearson - 0.775).abs() < 0.03, "{truth:?}");
        assert!((truth.variance.values().sum::<f64>() - 1.0).abs() < 0.1, "{truth:?}");
        let scores = dataset.samples.scores();
        let mean = scores.iter().sum::<f64>() / scores.len() as f64;
        let sd =
            (scores.iter().map(|score| (score - mean).powi(2)).sum::<f64>() / scores.len() as f64).sqrt();
        assert!((mean + 0.008).abs() < 0.002 && (sd - 0.0633).abs() < 0.003, "{mean} {sd}");
    }

    #[test]
    fn triples_have_the_published_tails_and_means_of_query_pairs() {
        let dataset = make("triples", 1);
        let scores = dataset.samples.scores();
        let mut sorted = scores.to_vec();
        sorted.sort_unstable_by(f64::total_cmp);
        let quartile = |share: usize| sorted[sorted.len() * share / 4];
        let (low, high) = (quartile(1), quartile(3));
        let reach = 1.5 * (high - low);
        let outliers = scores.iter().filter(|&&score| score < low - reach || score > high + reach).count();
        // Published: 5.1 % outliers between -1.08 and 1.13.
        let share = outliers as f64 / scores.len() as f64;
        assert!((0.045..0.057).contains(&share), "{share}");
        assert!((0.7..1.6).contains(&sorted[scores.len() - 1]) && (0.7..1.6).contains(&-sorted[0]));
        // The means of query pairs over all triples correlate with the scores as those of a training part do, 0.390.
        let mut sums: BTreeMap<&[u32], (f64, f64)> = BTreeMap::new();
        for (row, score) in scores.iter().enumerate() {
            let sum = sums.entry(dataset.samples.query(row)).or_default();
            *sum = (sum.0 + score, sum.1 + 1.0);
        }
        let means: Vec<f64> = (0..scores.len())
            .map(|row| sums[dataset.samples.query(row)])
            .map(|(sum, count)| sum / count)
            .collect();
        let pearson = mechanism::pearson(&means, scores);
        assert!((pearson - 0.39).abs() < 0.015, "{pearson}");
    }

    #[test]
    fn the_seed_decides_everything() {
        let (one, same, other) = (make("tiny", 1), make("tiny", 1), make("tiny", 2));
        assert_eq!(one.samples, same.samples);
        assert_eq!(one.cell.hash(), same.cell.hash());
        assert_ne!(one.cell.hash(), other.cell.hash());
    }

    #[test]
    fn the_metabolism_matters_where_it_is_asked_to() {
        let mut config = SynthConfig::preset("tiny").unwrap();
        config.screen.share_metabolism = 0.2;
        config.metabolism.genes = 150;
        let dataset = synthesise(&config, 3, "tiny", "test", &|_| {}).unwrap();
        let share = |dataset: &Dataset| {
            dataset.manifest.synthetic.as_ref().and_then(|it| it.variance.get("metabolism").copied())
        };
        assert!((share(&dataset).unwrap() - 0.2).abs() < 0.02);
        assert_eq!(share(&make("tiny", 3)), None);
        // Same seed: the same networks and triples, with other scores.
        let plain = make("tiny", 3);
        assert_eq!(dataset.cell.network_hashes(), plain.cell.network_hashes());
        assert_eq!(dataset.samples.deletion(7), plain.samples.deletion(7));
    }

    #[test]
    fn impossible_recipes_are_refused_by_key() {
        let refused = |change: fn(&mut SynthConfig)| {
            let mut config = SynthConfig::preset("tiny").unwrap();
            change(&mut config);
            synthesise(&config, 0, "tiny", "test", &|_| {}).unwrap_err().to_string()
        };
        assert!(refused(|c| c.genes = 3).starts_with("genes is 3; "));
        assert!(refused(|c| c.communities = 0).starts_with("communities is 0; "));
        assert!(refused(|c| c.screen.samples = 0).starts_with("screen.samples is 0; "));
        assert!(
            refused(|c| c.screen.share_pair = 0.9)
                .starts_with("screen.share_* is [0.15, 0.9, 0.25, 0.0, 0.0, 0.0, 0.0]; ")
        );
        let without = |c: &mut SynthConfig| {
            c.screen.share_metabolism = 0.1;
            c.metabolism.genes = 0;
        };
        assert!(refused(without).starts_with("screen.share_metabolism is 0.1; "));
        assert!(refused(|c| c.screen.score_sd = f64::NAN).starts_with("screen.score_sd is NaN; "));
        assert!(
            refused(|c| c.networks.get_mut("physical").unwrap().edges = 1)
                .starts_with("networks.physical.edges is 1; between 170")
        );
        assert!(refused(|c| c.networks.get_mut("physical").unwrap().nodes = 999).contains("2 to 200 nodes"));
        assert!(refused(|c| c.screen.samples = 999_999).contains("lower screen.samples"));
    }
}
