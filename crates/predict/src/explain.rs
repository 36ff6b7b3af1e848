//! Decomposition of one prediction: contributions of genes and pairs, the networks and neighbours it depends on, and how far the
//! measurements near it support it.
//!
//! The model predicts again without a network, a neighbour or a gene. A solved model names the parts of its sum and the profiles
//! instead. The module does not depend on the kind of model.

use crate::candidates::repeated_gene;
use crate::{HitNotes, Linkage, MeasuredSample, MeasuredSet, OpenRun, RegimeAccuracy, Scores, TrainedGenes};
use hashbrown::HashMap;
use knockout_base::error::{Error, Result};
use knockout_base::stats::mean;
use knockout_data::cell::{Cell, Edge, GeneSets, Network, SelfLoops};
use knockout_data::screen::{Dataset, Part, Regime, Split};
use knockout_solve::{Records, SimilarProfile, SumTerm};
use knockout_train::config::Config;
use knockout_train::metrics::Metrics;
use serde::Serialize;
use std::collections::{BTreeMap, BTreeSet};

/// A gene by its names.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct GeneName {
    /// Row of the gene table.
    pub index: u32,
    /// Systematic name.
    pub systematic: String,
    /// Standard name, or the systematic one where there is none.
    pub name: String,
}

/// A prediction and what it is made of.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Explanation {
    /// Version of this document: 1.
    pub schema: u32,
    /// The set, ascending by row.
    pub genes: Vec<GeneName>,
    /// In the scores' units.
    pub prediction: f64,
    /// Standard deviation; `None` if the model has none, or none for sets of this size.
    pub sd: Option<f64>,
    /// The measured score, where the dataset has one, and its part; the mean of several samples, weighted by their measurements.
    pub measured: Option<MeasuredScore>,
    /// The samples of the set; empty for a single one whose alleles are not stored.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub samples: Vec<MeasuredSample>,
    /// Names of the essential genes; `None` if the dataset has no annotations of them.
    pub essential: Option<Vec<String>>,
    /// Linkage of the genes.
    pub linkage: Linkage,
    /// Bases between the closest two genes on one chromosome.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub distance: Option<u32>,
    /// Whether training has seen the genes.
    pub regime: Regime,
    /// Accuracy of predictions of this regime and size; `None` where the caller does not know it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub accuracy: Option<RegimeAccuracy>,
    /// Terms that add up to the prediction.
    pub parts: Vec<Term>,
    /// Parts of the model that add up to the prediction, up to rounding; empty for models without parts.
    pub sum: Vec<SumTerm>,
    /// Networks in the similarity of the network kernel, the heaviest first; empty for models without one.
    pub kernel_networks: Vec<KernelNetwork>,
    /// Profiles that the prediction uses, the most similar first; empty for models without profiles.
    pub similar: Vec<Similar>,
    /// Reason for leaving out no networks and neighbours, if so.
    pub not_left_out: Option<NotLeftOut>,
    /// The model's networks, those that matter most first.
    pub networks: Vec<NetworkAblation>,
    /// Neighbours of the set, those that matter most first.
    pub neighbours: Vec<Neighbour>,
    /// Measured samples that share most with the set.
    pub nearest: Vec<Nearby>,
    /// Accuracy on test samples of the same size that share a gene with the set.
    pub nearby: Reliability,
    /// Accuracy on all test samples of the same size.
    pub overall: Reliability,
    /// Edges among the genes and neighbours above, for a drawing.
    pub edges: Vec<DrawnEdge>,
}

/// Why the networks of a prediction cannot be left out one at a time.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum NotLeftOut {
    /// The model is solved: it predicts from weights alone and reads no network any more.
    Solved,
    /// The dataset has none.
    NoNetworks,
}

/// A measured score.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
pub struct MeasuredScore {
    /// The score.
    pub score: f64,
    /// The part of the split that its sample is in.
    pub part: Option<&'static str>,
}

/// The contribution of some genes to a prediction beyond that of fewer of them.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Term {
    /// Names of the genes; none for the mean of the training scores.
    pub genes: Vec<String>,
    /// The prediction for these genes alone.
    pub predicted: f64,
    /// Their contribution: all terms add up to the prediction.
    pub contribution: f64,
}

/// A prediction without a network.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct NetworkAblation {
    /// The network.
    pub network: String,
    /// The prediction without its edges.
    pub without: f64,
    /// How much its edges raise the prediction.
    pub effect: f64,
    /// Its edges at genes of the set.
    pub edges: usize,
}

/// A prediction without the edges between the set and another gene.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Neighbour {
    /// The neighbour.
    #[serde(flatten)]
    pub gene: GeneName,
    /// Networks in which it is next to a gene of the set.
    pub networks: Vec<String>,
    /// The prediction without these edges.
    pub without: f64,
    /// How much these edges raise the prediction.
    pub effect: f64,
}

/// A measured sample beside its prediction.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Nearby {
    /// Names of its genes.
    pub genes: Vec<String>,
    /// Genes it shares with the set.
    pub shared: usize,
    /// Similarity of the neighbours of the other genes (Jaccard index).
    pub similarity: f64,
    /// The measured score.
    pub score: f64,
    /// The prediction.
    pub prediction: f64,
    /// Its part of the split.
    pub part: Option<&'static str>,
}

/// A network in the similarity of the network kernel.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct KernelNetwork {
    /// The network, or annotations.
    pub network: String,
    /// Its share of the similarity.
    pub weight: f64,
    /// Its edges between genes of the set; 0 for annotations.
    pub edges: usize,
    /// Genes next to two genes of the set, or terms that two of them share.
    pub shared: usize,
}

/// A measured profile that resembles one of the set.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Similar {
    /// Gene or query pair of the set.
    pub like: Vec<GeneName>,
    /// Gene or query pair of the profile.
    pub genes: Vec<GeneName>,
    /// Names of the measured set, in which `genes` replace `like`.
    pub set: Vec<String>,
    /// Correlation of the profiles around the additive part, shrunk if they share few partners.
    pub similarity: f64,
    /// Mean training score of the measured set.
    pub score: f64,
    /// Contribution of the profile to the part of profile neighbours, before its weight.
    pub effect: f64,
}

/// Accuracy of predictions for some test samples.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Reliability {
    /// Metrics over them.
    #[serde(flatten)]
    pub metrics: Metrics,
    /// Share of them whose prediction lies on the same side of the training mean as the measured score.
    pub same_side: Option<f64>,
}

/// An edge of a drawing.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct DrawnEdge {
    /// Row of the gene table.
    pub source: u32,
    /// Row of the gene table.
    pub target: u32,
    /// Networks that have it, in either direction.
    pub networks: usize,
}

/// How much is looked at.
#[derive(Debug, Clone, Copy)]
pub struct Detail {
    /// Neighbours that are left out in turn; each costs a prediction with a model of its own.
    pub neighbours: usize,
    /// Nearest samples that are listed.
    pub nearest: usize,
}

/// Beginning of the names of the weights of networks among the numbers of a checkpoint.
const KERNEL_WEIGHT: &str = "network_kernel.weight.";
/// Beginning of the names of annotations among these networks.
const KERNEL_ANNOTATIONS: &str = "annotations.";

impl Explanation {
    /// Adds the accuracy of the regime, found among those of a run.
    #[must_use]
    pub fn with_accuracy(mut self, accuracy: &[RegimeAccuracy]) -> Self {
        let is_own = |found: &&RegimeAccuracy| found.genes == self.genes.len() && found.regime == self.regime;
        self.accuracy = accuracy.iter().find(is_own).cloned();
        self
    }
}

impl OpenRun {
    /// Decomposes the prediction for a set. `advance` is called after every prediction: one for each network and neighbour.
    pub fn explain(
        &self,
        genes: &[u32],
        dataset: &Dataset,
        split: &Split,
        detail: Detail,
        advance: &dyn Fn(),
    ) -> Result<Explanation> {
        let cell = &dataset.cell;
        let mut set = genes.to_vec();
        set.sort_unstable();
        if let Some(pair) = set.windows(2).find(|pair| pair[0] == pair[1]) {
            let name = name_of(cell, pair[0]).systematic;
            return Err(repeated_gene("the set", &name));
        }
        let prediction = self.predict_one(&set)?;
        let not_left_out = if cell.networks().is_empty() {
            Some(NotLeftOut::NoNetworks)
        } else {
            self.description().config.model.solver().map(|_| NotLeftOut::Solved)
        };
        let used = if not_left_out.is_some() { Vec::new() } else { self.networks(cell) };
        let networks = self.ablations(&set, prediction, cell, &used, advance)?;
        let neighbours = self.neighbours(&set, prediction, cell, &used, detail.neighbours, advance)?;
        let drawn: BTreeSet<u32> =
            set.iter().copied().chain(neighbours.iter().map(|neighbour| neighbour.gene.index)).collect();
        let of_set = dataset.samples.rows_of_set(&set);
        let measured = MeasuredSet::of(&dataset.samples, &of_set, Some(split));
        let note = HitNotes::new(dataset, None, []).note(&set);
        let name = |gene: u32| name_of(cell, gene).name;
        Ok(Explanation {
            schema: 1,
            genes: set.iter().map(|&gene| name_of(cell, gene)).collect(),
            prediction,
            sd: self.deviation(&set)?,
            measured: measured
                .as_ref()
                .map(|measured| MeasuredScore { score: measured.score, part: measured.part.map(Part::name) }),
            samples: measured.map_or_else(Vec::new, |measured| measured.samples),
            essential: note.essential.map(|genes| genes.into_iter().map(name).collect()),
            linkage: note.linkage,
            distance: note.distance,
            regime: TrainedGenes::of(&dataset.samples, cell.genes().len(), split).regime(&set),
            accuracy: None,
            parts: self.terms(&set, prediction, cell)?,
            sum: self.predictor().terms(&set)?.unwrap_or_default(),
            kernel_networks: self.kernel_networks(&set, cell),
            similar: self.similar(&set, dataset, split, detail.neighbours),
            not_left_out,
            networks,
            neighbours,
            nearest: self.nearest(&set, dataset, split, detail.nearest)?,
            nearby: self
                .reliability(dataset, split, &set, |genes| genes.iter().any(|gene| set.contains(gene)))?,
            overall: self.reliability(dataset, split, &set, |_| true)?,
            edges: drawn_edges(cell, &used, &drawn),
        })
    }

    /// Returns the networks of the kernel and what connects the set in them.
    fn kernel_networks(&self, set: &[u32], cell: &Cell) -> Vec<KernelNetwork> {
        let weights = self.weights().state.numbers.iter();
        let weights =
            weights.filter_map(|(name, weight)| Some((name.strip_prefix(KERNEL_WEIGHT)?, weight.0)));
        let of_network = |(name, weight): (&str, f64)| {
            let network = cell.network(name);
            let terms = name.strip_prefix(KERNEL_ANNOTATIONS).and_then(|name| cell.annotation(name));
            let around = |gene: u32| match (network, terms) {
                (Some(network), _) => neighbours_in([network], gene),
                (None, Some(terms)) => terms.terms_of(gene).to_vec(),
                (None, None) => Vec::new(),
            };
            let mut all: Vec<u32> = set.iter().flat_map(|&gene| around(gene)).collect();
            all.sort_unstable();
            let shared = all.chunk_by(|a, b| a == b).filter(|same| same.len() > 1).count();
            let has_edge =
                |a: u32, b: u32| network.is_some_and(|network| neighbours_in([network], a).contains(&b));
            let pairs =
                set.iter().enumerate().flat_map(|(index, &a)| set[..index].iter().map(move |&b| (a, b)));
            let edges = pairs.filter(|&(a, b)| has_edge(a, b)).count();
            KernelNetwork { network: name.to_owned(), weight, edges, shared }
        };
        let mut found: Vec<KernelNetwork> =
            weights.filter(|(_, weight)| *weight > 0.0).map(of_network).collect();
        found.sort_by(|a, b| b.weight.total_cmp(&a.weight).then_with(|| a.network.cmp(&b.network)));
        found
    }

    /// Returns the most similar profiles and their measured scores.
    fn similar(&self, set: &[u32], dataset: &Dataset, split: &Split, count: usize) -> Vec<Similar> {
        if count == 0 {
            return Vec::new();
        }
        let (samples, cell) = (&dataset.samples, &dataset.cell);
        let train = Records::of_sets(samples, split.rows(Part::Train));
        let mut profiles = self.predictor().similar_profiles(set, &train);
        profiles.truncate(count);
        let wanted: BTreeSet<&[u32]> = profiles.iter().map(|profile| &profile.set[..]).collect();
        let mut scores: BTreeMap<&[u32], Vec<f64>> = BTreeMap::new();
        for (measured, &score) in train.sets.view().iter().zip(&train.scores) {
            if wanted.contains(measured) {
                scores.entry(measured).or_default().push(score);
            }
        }
        let names =
            |genes: &[u32]| -> Vec<GeneName> { genes.iter().map(|&gene| name_of(cell, gene)).collect() };
        let similar = |profile: &SimilarProfile| {
            let score = mean(scores.get(&profile.set[..])?);
            Some(Similar {
                like: names(&profile.like),
                genes: names(&profile.genes),
                set: names(&profile.set).into_iter().map(|gene| gene.name).collect(),
                similarity: profile.similarity,
                score,
                effect: profile.effect,
            })
        };
        profiles.iter().filter_map(similar).collect()
    }

    fn predict_one(&self, set: &[u32]) -> Result<f64> {
        Ok(self.predictor().predict([set].into_iter().collect::<GeneSets>().view())?[0])
    }

    /// Returns the standard deviation of the prediction, if it is known.
    fn deviation(&self, set: &[u32]) -> Result<Option<f64>> {
        let mut scores = Scores::default();
        self.scorer().score([set].into_iter().collect::<GeneSets>().view(), &mut scores)?;
        Ok(scores.sd.map(|sd| sd[0]).filter(|sd| sd.is_finite()))
    }

    /// Networks of the cell that the model's configuration names; all where it names none.
    fn networks(&self, cell: &Cell) -> Vec<String> {
        let config = self.description().config.to_toml().unwrap_or_default();
        let named = |network: &&Network| config.contains(&format!("\"{}\"", network.name()));
        let used: Vec<String> =
            cell.networks().iter().filter(named).map(|network| network.name().to_owned()).collect();
        if used.is_empty() {
            cell.networks().iter().map(|network| network.name().to_owned()).collect()
        } else {
            used
        }
    }

    /// The prediction of the same weights in a cell with fewer edges: those that `keep` leaves of each network.
    fn predict_without(
        &self,
        set: &[u32],
        cell: &Cell,
        keep: &dyn Fn(&str, u32, u32) -> bool,
    ) -> Result<f64> {
        let networks = cell.networks().iter().map(|network| {
            let ends = network.sources().iter().zip(network.targets()).zip(network.weights());
            let edges: Vec<Edge> = ends
                .filter(|((source, target), _)| keep(network.name(), **source, **target))
                .map(|((&source, &target), &weight)| Edge { source, target, weight })
                .collect();
            if edges.len() == network.edge_count() {
                return Ok(network.clone());
            }
            Network::from_edges(network.name(), network.gene_count(), edges, SelfLoops::Keep)
                .map(|(network, _)| network)
        });
        let networks = networks.collect::<Result<Vec<_>, _>>().map_err(unchanged)?;
        let less =
            Cell::new(cell.genes().clone(), networks, cell.metabolism().cloned()).map_err(unchanged)?;
        let config: &Config = &self.description().config;
        let predictor =
            knockout_train::predictor::Predictor::with_labels(self.weights(), config, self.labels(), &less)?;
        let sets = [set].into_iter().collect::<GeneSets>();
        let without = predictor.predict(sets.view())?[0];
        // The predictions of other runs cancel: only this model loses the edges.
        let alone = self.predictor().predict_alone(sets.view())?[0];
        let whole = self.predictor().predict(sets.view())?[0];
        Ok(whole + self.predictor().own_weight() * (without - alone))
    }

    /// Inclusion and exclusion over the subsets of the set, from the mean of the training scores up.
    fn terms(&self, set: &[u32], prediction: f64, cell: &Cell) -> Result<Vec<Term>> {
        let base = self.labels().mean;
        let subset = |mask: usize| -> Vec<u32> {
            set.iter()
                .enumerate()
                .filter(|(index, _)| mask >> index & 1 == 1)
                .map(|(_, &gene)| gene)
                .collect()
        };
        let whole = (1_usize << set.len()) - 1;
        let mut masks: Vec<usize> = (1..whole).collect();
        masks.sort_by_key(|mask| (mask.count_ones(), *mask));
        let sets: Vec<Vec<u32>> = masks.iter().map(|&mask| subset(mask)).collect();
        let sets: GeneSets = sets.iter().map(Vec::as_slice).collect();
        let predicted = self.predictor().predict(sets.view())?;
        let mut contributions = BTreeMap::from([(0, base)]);
        let mut terms = vec![Term { genes: Vec::new(), predicted: base, contribution: base }];
        for (&mask, &predicted) in masks.iter().zip(&predicted).chain([(&whole, &prediction)]) {
            let below: f64 = contributions
                .iter()
                .filter(|(other, _)| **other & mask == **other)
                .map(|(_, value)| value)
                .sum();
            contributions.insert(mask, predicted - below);
            let genes = subset(mask).iter().map(|&gene| name_of(cell, gene).name).collect();
            terms.push(Term { genes, predicted, contribution: predicted - below });
        }
        Ok(terms)
    }

    fn ablations(
        &self,
        set: &[u32],
        prediction: f64,
        cell: &Cell,
        used: &[String],
        advance: &dyn Fn(),
    ) -> Result<Vec<NetworkAblation>> {
        let mut found = Vec::new();
        for name in used {
            let without = self.predict_without(set, cell, &|network, _, _| network != name)?;
            let edges = cell
                .network(name)
                .map_or(0, |network| set.iter().map(|&gene| network.degree(gene as usize)).sum());
            found.push(NetworkAblation {
                network: name.clone(),
                without,
                effect: prediction - without,
                edges,
            });
            advance();
        }
        found.sort_by(|a, b| {
            b.effect.abs().total_cmp(&a.effect.abs()).then_with(|| a.network.cmp(&b.network))
        });
        Ok(found)
    }

    /// Candidates are those next to the set in most networks.
    fn neighbours(
        &self,
        set: &[u32],
        prediction: f64,
        cell: &Cell,
        used: &[String],
        count: usize,
        advance: &dyn Fn(),
    ) -> Result<Vec<Neighbour>> {
        let mut networks: BTreeMap<u32, BTreeSet<&str>> = BTreeMap::new();
        for network in cell.networks().iter().filter(|network| used.iter().any(|name| name == network.name()))
        {
            for &gene in set {
                let [out, into] =
                    [network.outgoing(), network.incoming()].map(|edges| edges.row(gene as usize));
                for &other in out.iter().chain(into).filter(|other| !set.contains(other)) {
                    networks.entry(other).or_default().insert(network.name());
                }
            }
        }
        let mut candidates: Vec<(u32, BTreeSet<&str>)> = networks.into_iter().collect();
        candidates.sort_by_key(|(gene, networks)| (std::cmp::Reverse(networks.len()), *gene));
        let mut found = Vec::new();
        for (gene, networks) in candidates.into_iter().take(count) {
            let joins = |source: u32, target: u32| {
                (source == gene && set.contains(&target)) || (target == gene && set.contains(&source))
            };
            let without = self.predict_without(set, cell, &|_, source, target| !joins(source, target))?;
            found.push(Neighbour {
                gene: name_of(cell, gene),
                networks: networks.into_iter().map(str::to_owned).collect(),
                without,
                effect: prediction - without,
            });
            advance();
        }
        found.sort_by(|a, b| b.effect.abs().total_cmp(&a.effect.abs()).then(a.gene.index.cmp(&b.gene.index)));
        Ok(found)
    }

    fn nearest(&self, set: &[u32], dataset: &Dataset, split: &Split, count: usize) -> Result<Vec<Nearby>> {
        let (samples, cell) = (&dataset.samples, &dataset.cell);
        let mut shared: Vec<(usize, usize)> = samples
            .gene_sets()
            .iter()
            .enumerate()
            .map(|(row, genes)| (genes.iter().filter(|gene| set.contains(gene)).count(), row))
            .filter(|&(shared, row)| shared > 0 && samples.genes(row) != set)
            .collect();
        shared.sort_by_key(|&(shared, row)| (std::cmp::Reverse(shared), row));
        // Similarity is worth its cost only among those that may be listed.
        let least = shared.get(count.saturating_sub(1)).map_or(1, |(shared, _)| *shared);
        shared.retain(|(shared, _)| *shared >= least);
        shared.truncate(5_000);
        let mut around = Neighbourhoods::new(cell);
        let mut found: Vec<(usize, f64, usize)> = shared
            .into_iter()
            .map(|(shared, row)| (shared, around.similarity(set, samples.genes(row)), row))
            .collect();
        found.sort_by(|a, b| b.0.cmp(&a.0).then(b.1.total_cmp(&a.1)).then(a.2.cmp(&b.2)));
        found.truncate(count);
        let sets: GeneSets = found.iter().map(|&(.., row)| samples.genes(row)).collect();
        let predictions = self.predictor().predict(sets.view())?;
        let nearby = |(&(shared, similarity, row), prediction): (&(usize, f64, usize), f64)| Nearby {
            genes: samples.genes(row).iter().map(|&gene| name_of(cell, gene).name).collect(),
            shared,
            similarity,
            score: samples.scores()[row],
            prediction,
            part: split.part_of(row as u32).map(Part::name),
        };
        Ok(found.iter().zip(predictions).map(nearby).collect())
    }

    /// Measures predictions of the test samples that have as many genes as the set and are wanted.
    fn reliability(
        &self,
        dataset: &Dataset,
        split: &Split,
        set: &[u32],
        is_wanted: impl Fn(&[u32]) -> bool,
    ) -> Result<Reliability> {
        let samples = &dataset.samples;
        let test = self.test_predictions(dataset, split, set.len())?;
        let is_near = |(row, _): &&(u32, f64)| is_wanted(samples.genes(*row as usize));
        let near = || test.iter().filter(is_near);
        let predicted: Vec<f64> = near().map(|&(_, prediction)| prediction).collect();
        let measured: Vec<f64> = near().map(|&(row, _)| samples.scores()[row as usize]).collect();
        let mean = self.labels().mean;
        let same = predicted.iter().zip(&measured).filter(|(a, b)| (**a > mean) == (**b > mean)).count();
        let same_side = (!measured.is_empty()).then(|| same as f64 / measured.len() as f64);
        Ok(Reliability { metrics: Metrics::of(&predicted, &measured), same_side })
    }
}

/// Similarity of the neighbours of genes in all networks. Genes are marked, because thousands of neighbourhoods are compared.
struct Neighbourhoods<'a> {
    cell: &'a Cell,
    /// Neighbours of the genes that a set has beyond another, and their number.
    of_set: HashMap<Vec<u32>, (Vec<bool>, usize)>,
    /// Number of the comparison that met a gene last.
    met: Vec<u32>,
    comparison: u32,
}

impl<'a> Neighbourhoods<'a> {
    fn new(cell: &'a Cell) -> Self {
        Self { cell, of_set: HashMap::new(), met: vec![0; cell.genes().len()], comparison: 0 }
    }

    /// Returns the Jaccard index of the neighbours of the genes that a set and a sample do not share.
    fn similarity(&mut self, set: &[u32], sample: &[u32]) -> f64 {
        let cell = self.cell;
        let own: Vec<u32> = set.iter().copied().filter(|gene| !sample.contains(gene)).collect();
        let (is_ours, ours) = self.of_set.entry(own).or_insert_with_key(|own| {
            let mut is_ours = vec![false; cell.genes().len()];
            let all: Vec<u32> = own.iter().flat_map(|&gene| neighbours_in(cell.networks(), gene)).collect();
            for &gene in &all {
                is_ours[gene as usize] = true;
            }
            let count = distinct(all).len();
            (is_ours, count)
        });
        self.comparison += 1;
        let (mut theirs, mut both) = (0, 0);
        for &gene in sample.iter().filter(|gene| !set.contains(gene)) {
            for neighbour in edges_of(cell.networks(), gene).flatten().map(|&neighbour| neighbour as usize) {
                if self.met[neighbour] != self.comparison {
                    self.met[neighbour] = self.comparison;
                    theirs += 1;
                    both += usize::from(is_ours[neighbour]);
                }
            }
        }
        let either = *ours + theirs - both;
        if either > 0 { both as f64 / either as f64 } else { 0.0 }
    }
}

/// Returns the neighbours of a gene in some networks, ascending.
fn neighbours_in<'a>(networks: impl IntoIterator<Item = &'a Network>, gene: u32) -> Vec<u32> {
    distinct(edges_of(networks, gene).flatten().copied().collect())
}

/// Returns the other ends of the edges of a gene, network by network and in both directions.
fn edges_of<'a>(
    networks: impl IntoIterator<Item = &'a Network>,
    gene: u32,
) -> impl Iterator<Item = &'a [u32]> {
    let rows = move |network: &'a Network| {
        [network.outgoing(), network.incoming()].map(|edges| edges.row(gene as usize))
    };
    networks.into_iter().flat_map(rows)
}

fn distinct(mut genes: Vec<u32>) -> Vec<u32> {
    genes.sort_unstable();
    genes.dedup();
    genes
}

fn name_of(cell: &Cell, gene: u32) -> GeneName {
    let names = &cell.genes().genes()[gene as usize];
    let name = names.name().to_owned();
    GeneName { index: gene, systematic: names.systematic.clone(), name }
}

fn drawn_edges(cell: &Cell, used: &[String], genes: &BTreeSet<u32>) -> Vec<DrawnEdge> {
    let mut edges: BTreeMap<(u32, u32), BTreeSet<&str>> = BTreeMap::new();
    for network in cell.networks().iter().filter(|network| used.iter().any(|name| name == network.name())) {
        for &source in genes {
            for &target in
                network.outgoing().row(source as usize).iter().filter(|target| genes.contains(target))
            {
                let ends = (source.min(target), source.max(target));
                edges.entry(ends).or_default().insert(network.name());
            }
        }
    }
    let drawn = |((source, target), networks): ((u32, u32), BTreeSet<&str>)| DrawnEdge {
        source,
        target,
        networks: networks.len(),
    };
    edges.into_iter().map(drawn).collect()
}

fn unchanged(error: impl std::error::Error + Send + Sync + 'static) -> Error {
    Error::failure("the cell could not be changed").caused_by(error)
}

#[cfg(test)]
mod tests {
    use super::*;
    use knockout_base::random::Rng;
    use knockout_data::cell::GeneTable;

    #[test]
    fn the_similarity_of_neighbourhoods_is_their_jaccard_index() {
        const GENES: u32 = 30;
        let mut rng = Rng::new(0, "neighbourhoods");
        let networks = ["one", "two"].map(|name| {
            let edges = (0..60)
                .map(|_| Edge::new(rng.below(GENES as usize) as u32, rng.below(GENES as usize) as u32));
            Network::from_edges(name, GENES as usize, edges.collect::<Vec<_>>(), SelfLoops::Keep).unwrap().0
        });
        let genes = GeneTable::from_systematic((0..GENES).map(|gene| format!("G{gene:02}"))).unwrap();
        let cell = Cell::new(genes, networks.to_vec(), None).unwrap();
        let around = |genes: &[u32], without: &[u32]| -> BTreeSet<u32> {
            let own = genes.iter().filter(|gene| !without.contains(gene));
            own.flat_map(|&gene| neighbours_in(cell.networks(), gene)).collect()
        };
        let mut neighbourhoods = Neighbourhoods::new(&cell);
        for _ in 0..200 {
            let [set, sample] =
                [0, 1].map(|_| (0..3).map(|_| rng.below(GENES as usize) as u32).collect::<Vec<u32>>());
            let (ours, theirs) = (around(&set, &sample), around(&sample, &set));
            let either = ours.union(&theirs).count();
            let expected =
                if either > 0 { ours.intersection(&theirs).count() as f64 / either as f64 } else { 0.0 };
            assert_eq!(neighbourhoods.similarity(&set, &sample), expected, "{set:?} {sample:?}");
        }
    }
}
