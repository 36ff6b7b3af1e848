//! A dataset at a glance: everything `data show` prints, as values.

use crate::cell::{Annotations, Cell, Features, Network, Reach};
use crate::screen::{
    Bounds, Dataset, Division, LabelStats, Part, Repeats, Scheme, Split, SplitSpec, Synthetic,
};
use serde::Serialize;
use std::collections::{BTreeMap, BTreeSet};

/// Summary of a dataset.
#[derive(Debug, Clone, Serialize)]
pub struct DatasetSummary {
    /// Name of the dataset.
    pub name: String,
    /// Its format version.
    pub format: u32,
    /// How to make it again.
    pub command: String,
    /// Content hash of all data files.
    pub data_hash: String,
    /// Genes in the table.
    pub genes: usize,
    /// Genes that also have a standard name.
    pub genes_with_standard_name: usize,
    /// Hash of the gene table.
    pub gene_table_hash: String,
    /// Size and degrees of every network.
    pub networks: Vec<NetworkSummary>,
    /// Metabolism; zeros where there is none.
    pub metabolism: MetabolismSummary,
    /// Content features of the genes, where there are any.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub features: Option<FeatureSummary>,
    /// The sets of annotations, by name.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub annotations: Vec<AnnotationSummary>,
    /// Counts and scores of the screen.
    pub samples: SamplesSummary,
    /// Genes within 1, 2 and 3 hops of a sample's deleted genes along edge direction: the mean over some samples.
    pub reach: Vec<f64>,
    /// Part sizes of every scheme that applies, for one seed.
    pub splits: Vec<SplitSummary>,
    /// Ground truth of the generator, for synthetic data.
    pub synthetic: Option<Synthetic>,
    /// How well repeated measurements of the same gene sets agree.
    pub repeats: Vec<Repeats>,
    /// Networks, features and annotations that derive from genetic interactions.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub from_interactions: Vec<String>,
    /// Samples whose score is a mean over different alleles of the same genes.
    pub samples_of_several_alleles: usize,
    /// Bounds of the accuracy of any model.
    #[serde(flatten)]
    pub bounds: Bounds,
}

/// Minimum, quartiles and maximum.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
pub struct Quartiles {
    /// Smallest value.
    pub min: usize,
    /// First quartile.
    pub q25: usize,
    /// Median.
    pub median: usize,
    /// Third quartile.
    pub q75: usize,
    /// Largest value.
    pub max: usize,
}

/// A network at a glance.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct NetworkSummary {
    /// Name of the network.
    pub name: String,
    /// Genes with at least one edge.
    pub nodes: usize,
    /// Directed edges, as stored.
    pub edges: usize,
    /// Edges that repeat an earlier one.
    pub repeated: usize,
    /// Edges over ordered pairs of nodes.
    pub density: f64,
    /// Distinct neighbours of the nodes: an edge that is stored in both directions counts once.
    pub degree: Quartiles,
}

/// Metabolism at a glance.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
pub struct MetabolismSummary {
    /// Reaction nodes.
    pub reactions: usize,
    /// Number of metabolites.
    pub metabolites: usize,
    /// Gene-reaction entries.
    pub gpr: usize,
    /// Reaction-metabolite entries.
    pub stoichiometry: usize,
    /// Genes that some reaction needs.
    pub genes: usize,
}

/// Content features at a glance.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct FeatureSummary {
    /// Number of columns.
    pub columns: usize,
    /// Names of the first few.
    pub first: Vec<String>,
    /// Genes of which some feature is known.
    pub genes: usize,
}

/// A set of annotations at a glance.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct AnnotationSummary {
    /// Name of the set.
    pub name: String,
    /// Number of terms.
    pub terms: usize,
    /// Genes that have a term.
    pub genes: usize,
    /// Pairs of a gene and a term that it has.
    pub pairs: usize,
}

/// The alleles at a glance.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
pub struct AlleleSummary {
    /// Distinct alleles.
    pub count: usize,
    /// Gene sets with several samples, of different alleles or kinds of perturbation.
    pub repeated_sets: usize,
}

/// The samples at a glance.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct SamplesSummary {
    /// Alleles that are stored, and gene sets with several samples; `None` where no alleles are.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub alleles: Option<AlleleSummary>,
    /// Number there are in all.
    pub count: usize,
    /// How many delete 1, 2, 3, … genes.
    pub orders: BTreeMap<usize, usize>,
    /// How many there are of each kind.
    pub kinds: BTreeMap<String, usize>,
    /// How many there are from each source.
    pub sources: BTreeMap<String, usize>,
    /// Distinct deleted genes.
    pub genes: usize,
    /// Distinct queries.
    pub queries: usize,
    /// The scores; `None` without samples.
    pub score: Option<ScoreSummary>,
}

/// The scores at a glance.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct ScoreSummary {
    /// Mean score.
    pub mean: f64,
    /// Population standard deviation.
    pub sd: f64,
    /// Smallest score.
    pub min: f64,
    /// Largest score.
    pub max: f64,
    /// How they are distributed.
    pub histogram: Histogram,
}

/// Counts in bins of equal width; the outer bins also hold what lies beyond them.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Histogram {
    /// Lower edge of the first bin.
    pub low: f64,
    /// Width of a bin.
    pub width: f64,
    /// How many scores fell into each.
    pub counts: Vec<usize>,
}

/// The part sizes of a scheme.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct SplitSummary {
    /// Name of the scheme.
    pub scheme: &'static str,
    /// Seed of the split.
    pub seed: u64,
    /// Samples that train.
    pub train: usize,
    /// Samples that validate.
    pub val: usize,
    /// Samples that test.
    pub test: usize,
    /// Test samples with a gene that no training sample has.
    pub test_with_unseen_gene: usize,
    /// Test samples whose query occurs in training.
    pub test_with_seen_query: usize,
}

impl DatasetSummary {
    /// Summarises a dataset; `seed` is that of the splits.
    pub fn of(dataset: &Dataset, seed: u64) -> Self {
        let Dataset { manifest, cell, samples } = dataset;
        let genes = cell.genes();
        Self {
            name: manifest.name.clone(),
            format: manifest.format,
            command: manifest.provenance.command.clone(),
            data_hash: manifest.data_hash(),
            genes: genes.len(),
            genes_with_standard_name: genes.genes().iter().filter(|gene| gene.standard.is_some()).count(),
            gene_table_hash: genes.hash().to_hex().to_string(),
            networks: cell.networks().iter().map(network_summary).collect(),
            metabolism: metabolism_summary(cell),
            features: cell.features().map(feature_summary),
            annotations: cell.annotations().iter().map(annotation_summary).collect(),
            samples: SamplesSummary::of(dataset),
            reach: mean_reach(dataset, 200),
            splits: Scheme::ALL
                .into_iter()
                .filter_map(|scheme| {
                    let spec = SplitSpec {
                        scheme,
                        division: Division::default(),
                        seed,
                        subset: None,
                        train_subset: None,
                    };
                    // A scheme that does not apply (no query pairs, too few samples) has no sizes to show.
                    Split::new(samples, genes, spec).ok().map(|split| SplitSummary::of(dataset, &split))
                })
                .collect(),
            synthetic: manifest.synthetic.clone(),
            from_interactions: cell.inputs_from_interactions(),
            repeats: manifest.repeats.clone(),
            samples_of_several_alleles: manifest.samples_of_several_alleles,
            bounds: manifest.bounds(),
        }
    }
}

impl Quartiles {
    /// Of some numbers; zeros when there are none.
    pub fn of(mut values: Vec<usize>) -> Self {
        values.sort_unstable();
        let at =
            |share: usize| values.get((values.len().saturating_sub(1)) * share / 4).copied().unwrap_or(0);
        Self { min: at(0), q25: at(1), median: at(2), q75: at(3), max: at(4) }
    }
}

fn network_summary(network: &Network) -> NetworkSummary {
    let linked: Vec<usize> = (0..network.gene_count()).filter(|&gene| network.degree(gene) > 0).collect();
    let degrees = linked.iter().map(|&gene| network.neighbour_count(gene)).collect();
    let nodes = linked.len();
    NetworkSummary {
        name: network.name().to_owned(),
        nodes,
        edges: network.edge_count(),
        repeated: network.repeated_edge_count(),
        density: network.edge_count() as f64 / (nodes * nodes.saturating_sub(1)).max(1) as f64,
        degree: Quartiles::of(degrees),
    }
}

fn metabolism_summary(cell: &Cell) -> MetabolismSummary {
    let metabolism = cell.metabolism();
    MetabolismSummary {
        reactions: metabolism.map_or(0, |m| m.reactions().len()),
        metabolites: metabolism.map_or(0, |m| m.metabolites().len()),
        gpr: metabolism.map_or(0, |m| m.requirements().len()),
        stoichiometry: metabolism.map_or(0, |m| m.coefficients().len()),
        genes: metabolism
            .map_or(0, |m| m.requirements().iter().map(|entry| entry.gene).collect::<BTreeSet<_>>().len()),
    }
}

fn feature_summary(features: &Features) -> FeatureSummary {
    const FEW: usize = 8;
    let names = features.names();
    FeatureSummary {
        columns: names.len(),
        first: names.iter().take(FEW).cloned().collect(),
        genes: features.known_genes(),
    }
}

fn annotation_summary(annotations: &Annotations) -> AnnotationSummary {
    AnnotationSummary {
        name: annotations.name().to_owned(),
        terms: annotations.terms().len(),
        genes: annotations.annotated_genes(),
        pairs: annotations.pair_count(),
    }
}

/// Over evenly spaced samples: the mean hardly moves with more.
fn mean_reach(dataset: &Dataset, most: usize) -> Vec<f64> {
    let count = dataset.samples.len().min(most);
    let mut reach = Reach::new(&dataset.cell);
    let mut sums = [0_usize; 3];
    for i in 0..count {
        let row = i * dataset.samples.len() / count;
        let reached = reach.within::<3>(&dataset.samples.deletion(row));
        sums.iter_mut().zip(reached).for_each(|(sum, reached)| *sum += reached);
    }
    sums.iter().map(|&sum| sum as f64 / count.max(1) as f64).collect()
}

impl SamplesSummary {
    fn of(dataset: &Dataset) -> Self {
        let samples = &dataset.samples;
        let mut orders = BTreeMap::new();
        let mut kinds = BTreeMap::new();
        let mut sources = BTreeMap::new();
        let mut queries = BTreeSet::new();
        for sample in samples.iter() {
            *orders.entry(sample.genes.len()).or_insert(0) += 1;
            count(&mut kinds, sample.kind);
            count(&mut sources, sample.source);
            if !sample.query.is_empty() {
                queries.insert(sample.query);
            }
        }
        Self {
            alleles: samples.has_alleles().then(|| AlleleSummary {
                count: samples.allele_table().alleles().len(),
                repeated_sets: samples.repeated_sets(0..samples.len() as u32),
            }),
            count: samples.len(),
            orders,
            kinds,
            sources,
            genes: samples.gene_sets().genes().iter().collect::<BTreeSet<_>>().len(),
            queries: queries.len(),
            score: ScoreSummary::of(samples.scores()),
        }
    }
}

/// Counts a word without making a new text for each.
fn count(counts: &mut BTreeMap<String, usize>, word: &str) {
    match counts.get_mut(word) {
        Some(count) => *count += 1,
        None => {
            counts.insert(word.to_owned(), 1);
        }
    }
}

impl ScoreSummary {
    fn of(scores: &[f64]) -> Option<Self> {
        let stats = LabelStats::fit(scores.iter().copied())?;
        let mut sorted = scores.to_vec();
        sorted.sort_unstable_by(f64::total_cmp);
        Some(Self {
            mean: stats.mean,
            sd: stats.sd,
            min: sorted[0],
            max: sorted[sorted.len() - 1],
            histogram: Histogram::of(&sorted, 15),
        })
    }
}

impl Histogram {
    /// Between the half-percent and the 99.5-percent point, so that a few outliers do not flatten the rest.
    fn of(sorted: &[f64], bins: usize) -> Self {
        let at = |permille: usize| sorted[(sorted.len() - 1) * permille / 1000];
        let (low, high) = (at(5), at(995));
        let width = if high > low { (high - low) / bins as f64 } else { 1.0 };
        let mut counts = vec![0; bins];
        for &score in sorted {
            let bin = ((score - low) / width).floor().clamp(0.0, (bins - 1) as f64);
            counts[bin as usize] += 1;
        }
        Self { low, width, counts }
    }
}

impl SplitSummary {
    /// Sizes of a split, and what of its test part training has seen.
    pub fn of(dataset: &Dataset, split: &Split) -> Self {
        let samples = &dataset.samples;
        let mut is_seen = vec![false; dataset.cell.genes().len()];
        let mut seen_queries = BTreeSet::new();
        for &row in split.rows(Part::Train) {
            samples.genes(row as usize).iter().for_each(|&gene| is_seen[gene as usize] = true);
            seen_queries.insert(samples.query(row as usize));
        }
        let has_unseen = |row: u32| samples.genes(row as usize).iter().any(|&gene| !is_seen[gene as usize]);
        let has_seen_query = |row: u32| {
            let query = samples.query(row as usize);
            !query.is_empty() && seen_queries.contains(query)
        };
        let test = split.rows(Part::Test);
        Self {
            scheme: split.spec().scheme.name(),
            seed: split.spec().seed,
            train: split.rows(Part::Train).len(),
            val: split.rows(Part::Val).len(),
            test: test.len(),
            test_with_unseen_gene: test.iter().filter(|&&row| has_unseen(row)).count(),
            test_with_seen_query: test.iter().filter(|&&row| has_seen_query(row)).count(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn quartiles_of_few_and_of_none() {
        let quartiles = Quartiles::of(vec![5, 1, 3, 2, 4]);
        assert_eq!(quartiles, Quartiles { min: 1, q25: 2, median: 3, q75: 4, max: 5 });
        assert_eq!(Quartiles::of(Vec::new()).max, 0);
    }

    #[test]
    fn a_histogram_counts_everything_once() {
        let sorted: Vec<f64> = (0..1_000).map(f64::from).chain([1e9]).collect();
        let histogram = Histogram::of(&sorted, 10);
        assert_eq!(histogram.counts.iter().sum::<usize>(), 1_001);
        assert!(histogram.counts.iter().all(|&count| (90..120).contains(&count)), "{histogram:?}");
        assert_eq!(Histogram::of(&[2.0, 2.0], 4).counts, [2, 0, 0, 0]);
    }
}
