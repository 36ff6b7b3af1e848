//! The hetero model against PyTorch's numbers, its routes against one another, its gradients against differences.

mod channels;
mod golden;
mod gradients;
mod metabolism;
mod operations;
mod plan;
mod routes;
mod sharing;
mod start;

use super::*;
use crate::testing::graph;
use knockout_base::random::Rng;

fn network(name: &str, index: usize, genes: usize, edges: &[(u32, u32)]) -> HeteroNetwork {
    HeteroNetwork {
        name: name.to_owned(),
        graph: graph(genes, edges),
        index,
        positions: Vec::new(),
        channels: Vec::new(),
    }
}

fn named<T: serde::de::DeserializeOwned>(value: &str) -> T {
    serde_json::from_value(serde_json::Value::String(value.to_owned())).unwrap()
}

fn small() -> HeteroOptions {
    HeteroOptions {
        width: 8,
        layers: 3,
        gin_linears: 2,
        gin_hidden: 6,
        activation: Activation::Gelu,
        norm: NormKind::Node,
        aggregation: Aggregation::PairwiseInteraction,
        cross_heads: 2,
        pair_hidden: 4,
        pair_linears: 2,
        combination: ScoreCombination::Concat,
        local_layers: 1,
        local_heads: 2,
        ..HeteroOptions::default()
    }
}

/// Sparse enough that rows remain unchanged in every layer, with self-loops, repeats and genes without edges.
fn random_networks(rng: &mut Rng, genes: usize, edges: usize) -> Vec<HeteroNetwork> {
    let mut make = |index: usize, name: &str| {
        let edges: Vec<(u32, u32)> = (0..edges)
            .map(|_| (rng.below(genes - 2) as u32, rng.below(genes - 3) as u32))
            .chain([(0, 0), (1, 2), (1, 2)])
            .collect();
        network(name, index, genes, &edges)
    };
    vec![make(0, "a"), make(1, "b"), make(2, "c")]
}

fn random_model<T: Scalar>(seed: u64, genes: usize, edges: usize, options: HeteroOptions) -> Hetero<T> {
    let mut rng = Rng::new(seed, "hetero test");
    let mut networks = random_networks(&mut rng, genes, edges);
    if options.merge_networks {
        networks = vec![HeteroNetwork::of_channels("merged", networks)];
    }
    let metabolism = match options.metabolism {
        MetabolismSwitch::Off => None,
        MetabolismSwitch::On => Some(MetabolicGraph::of(&metabolism::random_metabolism(&mut rng, genes))),
    };
    let parts = HeteroParts { networks, metabolism, features: None };
    let mut model = Hetero::with_parts(genes, parts, options, seed);
    for index in 0..model.parameters().len() {
        for value in model.parameters_mut().values_mut(index) {
            *value += T::of(0.2 * rng.normal());
        }
    }
    model
}

/// Position of every training pass.
const AT: LossPosition = LossPosition {
    epoch: 0,
    step: 7,
    shard: crate::ShardAt { first_sample: 0, first_member: 0, is_part: false },
};
const OFFSETS: [u32; 5] = [0, 1, 3, 6, 9];

fn random_sets(seed: u64, genes: usize) -> Vec<u32> {
    let mut rng = Rng::new(seed, "hetero sets");
    let mut sets = Vec::new();
    for pair in OFFSETS.windows(2) {
        let mut all: Vec<u32> = (0..genes as u32).collect();
        rng.shuffle(&mut all);
        sets.extend(&all[..(pair[1] - pair[0]) as usize]);
    }
    sets
}
