//! Configuration of a synthetic yeast: presets, every number of which can be overridden.

use knockout_data::cell::Entries;
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;

/// A synthetic yeast's recipe.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct SynthConfig {
    /// Genes in the table.
    pub genes: usize,
    /// Groups of genes that work together; networks are denser inside them.
    pub communities: usize,
    /// Entries that an edge without a direction becomes; of networks with regulators every edge has one.
    pub entries: Entries,
    /// The networks by name.
    pub networks: BTreeMap<String, NetworkConfig>,
    /// Sizes of the metabolism.
    pub metabolism: MetabolismConfig,
    /// Design and scores of the screen.
    pub screen: ScreenConfig,
}

/// One network's recipe.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct NetworkConfig {
    /// Genes with at least one edge, exactly.
    pub nodes: usize,
    /// Edges, exactly.
    pub edges: usize,
    /// How many genes edges may leave; 0 means any. Regulation has few regulators.
    pub regulators: usize,
    /// How unequal the degrees are: a gene's weight falls with its rank to this power.
    pub tail: f64,
    /// Share of the edges drawn inside a community.
    pub within: f64,
}

/// Metabolism's recipe.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct MetabolismConfig {
    /// Reactions before they are expanded into alternatives and directions.
    pub reactions: usize,
    /// Number of metabolites.
    pub metabolites: usize,
    /// Genes that catalyse something.
    pub genes: usize,
}

/// The screen's recipe.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ScreenConfig {
    /// Genes of a sample: 3 for triples of a query pair and an array gene, 2 for pairs of array genes.
    pub set_size: usize,
    /// Number of samples.
    pub samples: usize,
    /// Query pairs; each triple holds exactly one.
    pub query_pairs: usize,
    /// Genes the query pairs are drawn from.
    pub query_genes: usize,
    /// Genes a query pair is combined with.
    pub array_genes: usize,
    /// Mean of the scores.
    pub score_mean: f64,
    /// Standard deviation of the scores.
    pub score_sd: f64,
    /// Share of the variance that is the sum of one effect per gene.
    pub share_genes: f64,
    /// Share of the variance of triples that is one effect per array gene, which it does not have as a query gene.
    pub share_arrays: f64,
    /// Share of the variance that is one offset per query pair.
    pub share_pair: f64,
    /// Share of the variance that is an interaction read off the networks.
    pub share_networks: f64,
    /// Share of the variance that is an interaction read off the metabolism.
    pub share_metabolism: f64,
    /// Share of the variance of pairs that is an interaction of vectors that no network knows; the rest of all shares is noise.
    pub share_low_rank: f64,
    /// Share of the variance of triples that is a smooth function of the sum of the genes' traits.
    pub share_traits: f64,
    /// Inequality of the noise of triples: standard deviation of its logarithm over query pairs, over array genes, and half of that
    /// over records. 0 gives all records the same noise.
    pub noise_spread: f64,
}

/// The presets' names.
pub const PRESETS: [&str; 5] = ["tiny", "small", "yeast", "pairs", "triples"];

impl SynthConfig {
    /// A preset by name.
    pub fn preset(name: &str) -> Option<Self> {
        match name {
            "tiny" => Some(tiny()),
            "small" => Some(small()),
            "yeast" => Some(yeast()),
            "pairs" => Some(pairs()),
            "triples" => Some(triples()),
            _ => None,
        }
    }
}

fn screen(samples: usize, query_pairs: usize, query_genes: usize, array_genes: usize) -> ScreenConfig {
    ScreenConfig {
        set_size: 3,
        samples,
        query_pairs,
        query_genes,
        array_genes,
        score_mean: -0.008,
        score_sd: 0.0633,
        share_genes: 0.15,
        share_arrays: 0.0,
        share_pair: 0.2,
        share_networks: 0.25,
        share_metabolism: 0.0,
        share_low_rank: 0.0,
        share_traits: 0.0,
        noise_spread: 0.0,
    }
}

fn networks(rows: &[(&str, usize, usize, usize, f64, f64)]) -> BTreeMap<String, NetworkConfig> {
    rows.iter()
        .map(|&(name, nodes, edges, regulators, tail, within)| {
            (name.to_owned(), NetworkConfig { nodes, edges, regulators, tail, within })
        })
        .collect()
}

fn tiny() -> SynthConfig {
    SynthConfig {
        genes: 200,
        communities: 8,
        entries: Entries::One,
        networks: networks(&[
            ("physical", 170, 900, 0, 0.4, 0.6),
            ("regulatory", 120, 300, 12, 0.4, 0.3),
            ("string12_0_coexpression", 195, 1_500, 0, 0.2, 0.6),
        ]),
        metabolism: MetabolismConfig { reactions: 125, metabolites: 85, genes: 35 },
        screen: screen(2_000, 20, 30, 150),
    }
}

fn small() -> SynthConfig {
    SynthConfig {
        genes: 1_500,
        communities: 30,
        entries: Entries::One,
        networks: networks(&[
            ("physical", 1_300, 6_000, 0, 0.4, 0.6),
            ("regulatory", 820, 1_100, 60, 0.4, 0.3),
            ("string12_0_coexpression", 1_475, 41_000, 0, 0.2, 0.6),
            ("string12_0_cooccurence", 590, 900, 0, 0.4, 0.6),
            ("string12_0_database", 920, 3_200, 0, 0.3, 0.6),
            ("string12_0_experimental", 1_370, 34_000, 0, 0.2, 0.6),
            ("string12_0_fusion", 700, 1_000, 0, 0.4, 0.6),
            ("string12_0_neighborhood", 500, 6_000, 0, 0.2, 0.6),
            ("tflink", 1_155, 7_000, 75, 0.4, 0.3),
        ]),
        metabolism: MetabolismConfig { reactions: 940, metabolites: 640, genes: 265 },
        screen: screen(20_000, 90, 110, 900),
    }
}

/// The nine networks' nodes and edges are those of the real cell graph, to the last edge.
fn yeast() -> SynthConfig {
    SynthConfig {
        genes: 6_607,
        communities: 120,
        entries: Entries::One,
        networks: networks(&[
            ("physical", 5_721, 139_463, 0, 0.4, 0.6),
            ("regulatory", 3_632, 9_753, 180, 0.4, 0.3),
            ("string12_0_coexpression", 6_503, 1_002_538, 0, 0.2, 0.6),
            ("string12_0_cooccurence", 2_615, 11_115, 0, 0.4, 0.6),
            ("string12_0_database", 4_044, 73_818, 0, 0.3, 0.6),
            ("string12_0_experimental", 6_036, 825_101, 0, 0.2, 0.6),
            ("string12_0_fusion", 3_095, 11_810, 0, 0.4, 0.6),
            ("string12_0_neighborhood", 2_204, 147_874, 0, 0.2, 0.6),
            ("tflink", 5_092, 201_898, 333, 0.4, 0.3),
        ]),
        metabolism: MetabolismConfig { reactions: 4_131, metabolites: 2_806, genes: 1_161 },
        screen: screen(332_313, 420, 480, 3_900),
    }
}

/// The yeast's networks under a screen of Costanzo 2016's size: nearly every pair of 6,500 genes.
fn pairs() -> SynthConfig {
    let screen = ScreenConfig {
        set_size: 2,
        share_genes: 0.1,
        share_pair: 0.0,
        share_networks: 0.15,
        share_low_rank: 0.25,
        ..screen(20_000_000, 1, 2, 6_500)
    };
    SynthConfig { screen, ..yeast() }
}

/// The small cell under as many triples as both published screens of query pairs and arrays have together. The shares and the spread of the noise give simple
/// models about the accuracy that was published for these screens, and scores the published tails.
fn triples() -> SynthConfig {
    let screen = ScreenConfig {
        share_genes: 0.0,
        share_arrays: 0.035,
        share_pair: 0.1535,
        share_networks: 0.0,
        share_traits: 0.053,
        noise_spread: 0.33,
        ..screen(376_732, 420, 480, 1_180)
    };
    SynthConfig { screen, ..small() }
}
