//! Sampled neighbourhoods: a training step that reads few of a gene's incoming edges.
//!
//! GraphSAGE draws other neighbours for every node that it computes. Here all cells of a batch and all layers share one draw, so a deletion still
//! changes few rows. Sums over neighbours are multiplied by (incoming edges) / (drawn edges): their expectation is the whole sum.

use super::HeteroNetwork;
use super::reach::MessageGraph;
use knockout_base::random::Rng;
use knockout_engine::kernel::{Csr, Graph};
use rayon::prelude::*;
use std::sync::Arc;

/// The edges of a network that are drawn for a training step.
#[derive(Debug)]
pub(super) struct SampledGraph {
    graph: Graph,
    /// Incoming edges over drawn edges, by gene; 1 where all are drawn.
    factors: Vec<f64>,
}

impl SampledGraph {
    /// Draws at most `fanout` incoming edges of each gene, without replacement.
    pub(super) fn draw(whole: &Graph, fanout: usize, rng: &mut Rng) -> Self {
        let genes = whole.row_count();
        let (mut offsets, mut columns, mut factors) = (vec![0], Vec::new(), Vec::with_capacity(genes));
        for gene in 0..genes {
            let mut sources: Vec<u32> = whole.incoming.row(gene).map(|source| source as u32).collect();
            let (all, drawn) = (sources.len(), sources.len().min(fanout));
            if drawn < all {
                for at in 0..drawn {
                    let other = at + rng.below(all - at);
                    sources.swap(at, other);
                }
                sources.truncate(drawn);
                sources.sort_unstable();
            }
            columns.extend(sources);
            offsets.push(columns.len() as u32);
            factors.push(if drawn < all { all as f64 / drawn as f64 } else { 1.0 });
        }
        let incoming = Csr::new(&offsets, &columns, genes).expect("a part of a graph is well formed");
        Self { graph: Graph::from_outgoing(incoming.transposed()), factors }
    }
}

/// The edges that a pass reads of a graph.
#[derive(Debug, Clone)]
pub(super) enum Edges<'a> {
    All(&'a Graph),
    Sampled(Arc<SampledGraph>),
}

impl<'a> Edges<'a> {
    /// Returns the edges of each network by channel: all of them, or those drawn for a step.
    pub(super) fn of(networks: &'a [HeteroNetwork], draw: Option<Draw>) -> Vec<Vec<Self>> {
        let of_network = |(index, network): (usize, &'a HeteroNetwork)| {
            let of_graph = |graph| match draw {
                None => Self::All(graph),
                Some(Draw { fanout, seed }) => {
                    let mut rng = Rng::new(seed, &format!("edges of network {index}"));
                    Self::Sampled(Arc::new(SampledGraph::draw(graph, fanout, &mut rng)))
                }
            };
            network.graphs().iter().map(of_graph).collect()
        };
        networks.par_iter().enumerate().map(of_network).collect()
    }

    pub(super) fn graph(&self) -> &Graph {
        match self {
            Self::All(graph) => graph,
            Self::Sampled(sampled) => &sampled.graph,
        }
    }

    /// Factors of the sums over neighbours, by gene.
    pub(super) fn factors(&self) -> Option<&[f64]> {
        match self {
            Self::All(_) => None,
            Self::Sampled(sampled) => Some(&sampled.factors),
        }
    }
}

impl MessageGraph for Edges<'_> {
    fn pass(&self, before: &[u64]) -> Vec<u64> {
        self.graph().pass(before)
    }
}

/// How the edges of a training step are drawn.
#[derive(Debug, Clone, Copy)]
pub(super) struct Draw {
    pub(super) fanout: usize,
    /// Seed of the step.
    pub(super) seed: u64,
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::graph;

    /// A star of six sources, a gene with two, one without any.
    fn star() -> Graph {
        graph(9, &[(1, 0), (2, 0), (3, 0), (4, 0), (5, 0), (6, 0), (7, 8), (6, 8)])
    }

    #[test]
    fn every_edge_is_drawn_equally_often_and_factors_make_up_for_the_others() {
        let (whole, mut rng) = (star(), Rng::new(3, "test"));
        let mut seen = [0.0; 9];
        let draws = 6_000;
        for _ in 0..draws {
            let sampled = SampledGraph::draw(&whole, 2, &mut rng);
            let sources: Vec<usize> = sampled.graph.incoming.row(0).collect();
            assert!(sources.len() == 2 && sources[0] < sources[1], "distinct: {sources:?}");
            assert_eq!(sampled.graph.incoming.row(8).count(), 2);
            assert_eq!((sampled.factors[0], sampled.factors[8], sampled.factors[4]), (3.0, 1.0, 1.0));
            for source in sources {
                seen[source] += sampled.factors[0];
            }
        }
        for (source, sum) in seen.iter().enumerate() {
            let expected = if (1..7).contains(&source) { 1.0 } else { 0.0 };
            // Four standard deviations of a mean of draws of 0 or 3, with probability 1/3.
            assert!((sum / f64::from(draws) - expected).abs() < 0.075, "source {source}: {sum}");
        }
    }

    #[test]
    fn a_large_fanout_draws_the_whole_graph() {
        let sampled = SampledGraph::draw(&star(), 6, &mut Rng::new(1, "test"));
        assert_eq!(sampled.graph, star());
        assert!(sampled.factors.iter().all(|&factor| factor == 1.0));
    }
}
