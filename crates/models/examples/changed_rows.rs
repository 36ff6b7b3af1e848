//! How many rows of a sample differ from the wild type's, by layer and network, on the synthetic yeast in full, and how many a batch computes
//! whose samples share genes: `cargo run --release -p knockout-model --example changed_rows`.

#![allow(clippy::print_stdout, reason = "it prints its findings")]

use knockout_base::random::Rng;
use knockout_data::cell::{Edge, GeneSets, GeneSetsRef, Network};
use knockout_engine::kernel::Activation;
use knockout_models::{
    Aggregation, ChangedRows, Hetero, HeteroNetwork, HeteroOptions, NormKind, ScoreCombination,
    SelfLoopChoice, sharing_order,
};
use knockout_sources::synth::{SynthConfig, synthesise};

const SAMPLES: usize = 280;

fn main() {
    let mut config = SynthConfig::preset("yeast").expect("a preset");
    config.screen.samples = 10_000;
    let dataset = synthesise(&config, 0, "yeast", "an example", &|_| ()).expect("the preset is sound");
    let sets = dataset.samples.gene_sets().first(SAMPLES);
    let samples = &dataset.samples;
    let mut by_query: Vec<usize> = (0..samples.len()).collect();
    by_query.sort_by_key(|&row| samples.query(row));
    let by_query: GeneSets = by_query.into_iter().take(SAMPLES).map(|row| samples.genes(row)).collect();
    let options = HeteroOptions {
        width: 2,
        layers: 3,
        gin_linears: 1,
        gin_hidden: 2,
        activation: Activation::Relu,
        norm: NormKind::None,
        aggregation: Aggregation::Sum,
        combination: ScoreCombination::GlobalOnly,
        ..HeteroOptions::default()
    };
    for (title, both) in [("as stored", false), ("both directions of every edge", true)] {
        let networks = dataset.cell.networks().iter().enumerate().map(|(place, network)| {
            let network = if both { both_ways(network) } else { network.clone() };
            HeteroNetwork::of(&network, place, SelfLoopChoice::AsStored)
        });
        let model = Hetero::<f32>::new(dataset.cell.genes().len(), networks.collect(), options.clone(), 0);
        println!("{title}: share of {SAMPLES} samples' rows that changed, in %");
        print!("{:<26}", "network");
        let rows = in_batches(&model, sets, 1);
        (1..=rows.len()).for_each(|layer| print!("  layer {layer}"));
        println!();
        let line = |name: &str, of: &dyn Fn(&ChangedRows) -> usize| {
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
        println!(
            "rows that batches compute beside the wild type's, in % of all: mean of networks (any network)"
        );
        for (name, sets, batch) in batches(&by_query, dataset.cell.genes().len()) {
            print!("{name:<44}");
            for layer in in_batches(&model, sets.view(), batch) {
                let share = |rows: usize| 100.0 * rows as f64 / layer.all as f64;
                let mean = layer.networks.iter().sum::<usize>() / layer.networks.len();
                print!("{:9.1} ({:4.1})", share(mean), share(layer.any));
            }
            println!();
        }
        println!();
    }
}

/// The rows of all batches, summed.
fn in_batches(model: &Hetero<f32>, sets: GeneSetsRef<'_>, batch: usize) -> Vec<ChangedRows> {
    let sets: Vec<&[u32]> = sets.iter().collect();
    let batches =
        sets.chunks(batch).map(|sets| model.changed_rows(sets.iter().copied().collect::<GeneSets>().view()));
    let add = |mut sum: Vec<ChangedRows>, rows: Vec<ChangedRows>| {
        for (sum, rows) in sum.iter_mut().zip(rows) {
            sum.networks.iter_mut().zip(rows.networks).for_each(|(sum, rows)| *sum += rows);
            (sum.any, sum.all) = (sum.any + rows.any, sum.all + rows.all);
        }
        sum
    };
    batches.reduce(add).unwrap_or_default()
}

/// Samples of the screen and triples at random, one by one and in batches that share more and more.
fn batches(by_query: &GeneSets, genes: usize) -> Vec<(&'static str, GeneSets, usize)> {
    let mut rng = Rng::new(0, "candidates");
    let mut chosen: Vec<u32> = (0..genes as u32).collect();
    rng.shuffle(&mut chosen);
    let mut random = GeneSets::default();
    chosen.chunks_exact(3).take(SAMPLES).for_each(|set| random.push_sorted(set));
    let mut listed = chosen[..40].to_vec();
    listed.sort_unstable();
    let pairs = |first: usize| (first + 1..40).map(move |second| (first, second));
    let mut line = GeneSets::default();
    chosen[2..258].iter().for_each(|&gene| line.push_sorted(&[chosen[0], chosen[1], gene]));
    let triples: GeneSets = (1..40)
        .flat_map(pairs)
        .map(|(second, third)| [listed[0], listed[second], listed[third]])
        .collect::<Vec<_>>()
        .iter()
        .map(|set| &set[..])
        .collect();
    let order = sharing_order(triples.view(), 64);
    let square: GeneSets = order.into_iter().map(|place| triples.get(place)).collect();
    vec![
        ("samples of the screen, one by one", by_query.clone(), 1),
        ("the same, 28 of a query or two", by_query.clone(), 28),
        ("random triples, one by one", random.clone(), 1),
        ("the same, batches of 64", random, 64),
        ("triples of one random pair, 64", line, 64),
        ("triples of 40 genes, in the order of predict", square, 64),
    ]
}

fn both_ways(network: &Network) -> Network {
    let edges = network.sources().iter().zip(network.targets());
    let edges = edges.flat_map(|(&a, &b)| [Edge::new(a, b), Edge::new(b, a)]).collect();
    let (network, _) = Network::from_edges(
        network.name(),
        network.gene_count(),
        edges,
        knockout_data::cell::SelfLoops::Keep,
    )
    .expect("the same genes");
    network
}
