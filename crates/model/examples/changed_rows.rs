//! How many rows of a sample differ from the wild type's, by layer and network, on the synthetic yeast in full:
//! `cargo run --release -p knockout-model --example changed_rows`.

#![allow(clippy::print_stdout, reason = "it prints its findings")]

use knockout_cell::{Edge, Network};
use knockout_kernel::Activation;
use knockout_model::{Aggregation, Combination, Hetero, HeteroNetwork, HeteroOptions, NormKind, SelfLoops};
use knockout_synth::{Config, synthesise};

const SAMPLES: usize = 280;

fn main() {
    let mut config = Config::preset("yeast").expect("a preset");
    config.screen.samples = 10_000;
    let dataset = synthesise(&config, 0, "yeast", "an example", &|_| ()).expect("the preset is sound");
    let sets = dataset.samples.gene_sets().first(SAMPLES);
    let options = HeteroOptions {
        width: 2,
        layers: 3,
        gin_linears: 1,
        gin_hidden: 2,
        activation: Activation::Relu,
        norm: NormKind::None,
        aggregation: Aggregation::Sum,
        combination: Combination::GlobalOnly,
        ..HeteroOptions::default()
    };
    for (title, both) in [("as stored", false), ("both directions of every edge", true)] {
        let networks = dataset.cell.networks().iter().enumerate().map(|(place, network)| {
            let network = if both { both_ways(network) } else { network.clone() };
            HeteroNetwork::of(&network, place, SelfLoops::AsStored)
        });
        let model = Hetero::<f32>::new(dataset.cell.genes().len(), networks.collect(), options.clone(), 0);
        println!("{title}: share of {SAMPLES} samples' rows that changed, in %");
        print!("{:<26}", "network");
        let rows = model.changed_rows(sets);
        (1..=rows.len()).for_each(|layer| print!("  layer {layer}"));
        println!();
        let line = |name: &str, of: &dyn Fn(&knockout_model::ChangedRows) -> usize| {
            print!("{name:<26}");
            for layer in &rows {
                print!("{:9.1}", 100.0 * of(layer) as f64 / layer.all as f64);
            }
            println!();
        };
        for (k, network) in model.networks().iter().enumerate() {
            line(&network.name, &|layer| layer.networks[k]);
        }
        line("mean of networks", &|layer| layer.networks.iter().sum::<usize>() / layer.networks.len());
        line("any network", &|layer| layer.any);
        println!();
    }
}

fn both_ways(network: &Network) -> Network {
    let edges = network.sources().iter().zip(network.targets());
    let edges = edges.flat_map(|(&a, &b)| [Edge::new(a, b), Edge::new(b, a)]).collect();
    let (network, _) =
        Network::from_edges(network.name(), network.gene_count(), edges, knockout_cell::SelfLoops::Keep)
            .expect("the same genes");
    network
}
