//! Networks with exact node and edge counts, unequal degrees and communities.
//!
//! Every edge runs from the earlier gene of the table to the later one: the Python system stored each undirected
//! edge once, in insertion order, which made its cell graph nearly acyclic. How far a deletion reaches depends on it; two
//! entries for each edge without a direction show how much.

use crate::synth::config::{NetworkConfig, SynthConfig};
use crate::synth::weighted::Weighted;
use knockout_base::error::Result;
use knockout_base::random::Rng;
use knockout_data::cell::Entries;
use knockout_data::cell::{Edge, Network, SelfLoops};
use rayon::prelude::*;

/// The best connected gene is this many doublings above the least: real networks have a long fringe of hardly
/// connected genes, and how far a deletion reaches in two hops depends on it.
const FADE: f64 = 9.0;

/// Community structure that all networks of a cell share.
pub(crate) struct ModuleStructure {
    /// The community of each gene.
    pub(crate) community: Vec<u32>,
    /// How well connected each gene is everywhere; 0 is best.
    popularity: Vec<usize>,
}

impl ModuleStructure {
    pub(crate) fn new(config: &SynthConfig, seed: u64) -> Self {
        // The purpose is part of the dataset's bytes.
        let mut rng = Rng::new(seed, "society");
        // Quadratic in a uniform number: a few large communities, many small ones, none empty by design of `max`.
        let communities = config.communities.max(1);
        let community = (0..config.genes)
            .map(|_| {
                let share = rng.unit();
                ((share * share * communities as f64) as usize).min(communities - 1) as u32
            })
            .collect();
        let mut popularity: Vec<usize> = (0..config.genes).collect();
        rng.shuffle(&mut popularity);
        Self { community, popularity }
    }
}

/// All networks, in the order of their names.
pub(crate) fn networks(
    config: &SynthConfig,
    modules: &ModuleStructure,
    seed: u64,
    on_rows: &(dyn Fn(usize) + Sync),
) -> Result<Vec<Network>> {
    let rows: Vec<(&String, &NetworkConfig)> = config.networks.iter().collect();
    // Each has a random stream of its own, so the thread count does not matter.
    rows.par_iter()
        .map(|(name, recipe)| {
            let mut rng = Rng::new(seed, &format!("network {name}"));
            let mut edges = Builder::new(config.genes, recipe, modules, &mut rng).edges(&mut rng, on_rows);
            if config.entries == Entries::Two && recipe.regulators == 0 {
                let back =
                    edges.iter().map(|edge| Edge { source: edge.target, target: edge.source, ..*edge });
                edges.extend(back.collect::<Vec<Edge>>());
            }
            Ok(Network::from_edges(name.as_str(), config.genes, edges, SelfLoops::Refuse)?.0)
        })
        .collect()
}

/// The nodes that edges may leave.
struct Regulators {
    /// Their indices among the nodes.
    indices: Vec<usize>,
    weights: Weighted,
    /// Whether each node is one.
    is_regulator: Vec<bool>,
}

struct Builder<'a> {
    recipe: &'a NetworkConfig,
    /// The genes with edges, grouped by community.
    nodes: Vec<u32>,
    /// Where each node's community starts and ends among the nodes.
    community_of_node: Vec<(usize, usize)>,
    weights: Weighted,
    /// Where edges may leave, when that is not everywhere.
    regulators: Option<Regulators>,
    gene_count: usize,
    taken: Vec<u64>,
    edges: Vec<Edge>,
}

impl<'a> Builder<'a> {
    fn new(gene_count: usize, recipe: &'a NetworkConfig, modules: &ModuleStructure, rng: &mut Rng) -> Self {
        // Popular genes are studied first: they are in every network, the others in few.
        let mut order: Vec<(usize, u32)> = (0..gene_count)
            .map(|gene| (modules.popularity[gene] + rng.below(gene_count), gene as u32))
            .collect();
        order.sort_unstable();
        order.truncate(recipe.nodes);
        // Their rank in this network decides their weight; then they are grouped by community.
        let mut ranked: Vec<(u32, u32, usize)> = order
            .iter()
            .enumerate()
            .map(|(rank, &(_, gene))| (modules.community[gene as usize], gene, rank))
            .collect();
        ranked.sort_unstable();
        let nodes: Vec<u32> = ranked.iter().map(|&(_, gene, _)| gene).collect();
        let ranks: Vec<usize> = ranked.iter().map(|&(_, _, rank)| rank).collect();
        let mut community_of_node = Vec::with_capacity(nodes.len());
        for group in ranked.chunk_by(|a, b| a.0 == b.0) {
            let start = community_of_node.len();
            community_of_node.extend(group.iter().map(|_| (start, start + group.len())));
        }
        let regulators = (recipe.regulators > 0).then(|| Regulators::choose(recipe, &nodes, rng));
        Self {
            recipe,
            weights: Weighted::by_rank(&ranks, recipe.tail, FADE),
            nodes,
            community_of_node,
            regulators,
            gene_count,
            taken: vec![0; (gene_count * gene_count).div_ceil(64)],
            edges: Vec::with_capacity(recipe.edges),
        }
    }

    fn edges(mut self, rng: &mut Rng, on_rows: &(dyn Fn(usize) + Sync)) -> Vec<Edge> {
        const REPORT_EVERY: usize = 1 << 14;
        let mut is_covered = vec![false; self.nodes.len()];
        // Every node first gets an edge, then the rest is drawn freely; nodes already touched are passed over.
        for node in 0..self.nodes.len() {
            while !is_covered[node] && self.edges.len() < self.recipe.edges {
                let other = self.partner_of(node, rng);
                if self.add(node, other, rng) {
                    is_covered[node] = true;
                    is_covered[other] = true;
                }
            }
        }
        while self.edges.len() < self.recipe.edges {
            let (node, other) = self.pair(rng);
            if self.add(node, other, rng) && self.edges.len().is_multiple_of(REPORT_EVERY) {
                on_rows(REPORT_EVERY);
            }
        }
        on_rows(self.edges.len() % REPORT_EVERY);
        self.edges
    }

    /// A partner for a given node: a regulator for a target, anything for the rest.
    fn partner_of(&self, node: usize, rng: &mut Rng) -> usize {
        match &self.regulators {
            Some(regulators) if !regulators.is_regulator[node] => regulators.draw(rng),
            _ => self.weights.choose(rng, 0..self.nodes.len()),
        }
    }

    fn pair(&self, rng: &mut Rng) -> (usize, usize) {
        let node = match &self.regulators {
            Some(regulators) => regulators.draw(rng),
            None => self.weights.choose(rng, 0..self.nodes.len()),
        };
        let is_within = rng.unit() < self.recipe.within;
        let (start, end) = if is_within { self.community_of_node[node] } else { (0, self.nodes.len()) };
        (node, self.weights.choose(rng, start..end))
    }

    /// Adds the edge from the earlier gene to the later, unless it is there, a self-loop, or leaves no regulator.
    fn add(&mut self, node: usize, other: usize, rng: &mut Rng) -> bool {
        let (from, to) = if self.nodes[node] < self.nodes[other] { (node, other) } else { (other, node) };
        if from == to || self.regulators.as_ref().is_some_and(|regulators| !regulators.is_regulator[from]) {
            return false;
        }
        let (source, target) = (self.nodes[from], self.nodes[to]);
        let bit = source as usize * self.gene_count + target as usize;
        let word = &mut self.taken[bit / 64];
        if *word >> (bit % 64) & 1 == 1 {
            return false;
        }
        *word |= 1 << (bit % 64);
        // Confidences as STRING prints them: thousandths, low ones common.
        let doubt = rng.unit();
        let weight = (150.0 + 849.0 * doubt * doubt).floor() / 1000.0;
        self.edges.push(Edge::weighted(source, target, weight as f32));
        true
    }
}

impl Regulators {
    /// Regulators stand early in the gene order, because their edges must run along it; the first node is always one,
    /// so that every other can have an edge.
    fn choose(recipe: &NetworkConfig, nodes: &[u32], rng: &mut Rng) -> Self {
        let first = nodes.iter().min().copied();
        let mut keyed: Vec<(usize, usize)> = nodes
            .iter()
            .enumerate()
            .map(|(index, &gene)| (gene as usize + rng.below(nodes.len()), index))
            .map(|(key, index)| if Some(nodes[index]) == first { (0, index) } else { (key + 1, index) })
            .collect();
        keyed.sort_unstable();
        let mut indices: Vec<usize> =
            keyed.into_iter().take(recipe.regulators).map(|(_, index)| index).collect();
        rng.shuffle(&mut indices);
        let mut is_regulator = vec![false; nodes.len()];
        for &index in &indices {
            is_regulator[index] = true;
        }
        let ranks: Vec<usize> = (0..indices.len()).collect();
        Self { weights: Weighted::by_rank(&ranks, recipe.tail, FADE), indices, is_regulator }
    }

    fn draw(&self, rng: &mut Rng) -> usize {
        self.indices[self.weights.choose(rng, 0..self.indices.len())]
    }
}
