//! How far the routes of the hetero model are from each other, in double and in single precision, with the reference's configuration:
//! `cargo run --release -p knockout-model --example rounding -- [preset] [samples]`.
//!
//! In double precision they must agree. What single precision is away from that is rounding, however a route adds up.

#![allow(clippy::print_stdout, reason = "it prints its findings")]

use knockout_data::batch::{Graphs, Processor, ProcessorKind};
use knockout_data::cell::GeneSetsRef;
use knockout_data::cell::{Cell, Deletion, GeneId};
use knockout_engine::grad::{Gradients, Tape};
use knockout_engine::kernel::Scalar;
use knockout_models::loss::interaction_loss;
use knockout_models::{
    AggregationWeights, Hetero, HeteroNetwork, HeteroOptions, Input, Model, Route, SelfLoopChoice,
};
use knockout_sources::synth::{SynthConfig, synthesise};
use std::sync::Arc;

/// Experiment 085 with the norm `node`.
fn options() -> HeteroOptions {
    HeteroOptions {
        width: 64,
        layers: 3,
        gin_linears: 4,
        gin_hidden: 64,
        cross_heads: 8,
        pair_hidden: 32,
        pair_linears: 2,
        local_layers: 2,
        local_heads: 8,
        ..HeteroOptions::default()
    }
}

/// Predictions, and all gradients one after the other.
struct Pass {
    predictions: Vec<f64>,
    gradients: Vec<f64>,
}

impl Pass {
    fn of<T: Scalar>(cell: &Arc<Cell>, sets: GeneSetsRef<'_>, route: Route) -> Self {
        let networks = cell.networks().iter().enumerate().map(|(place, network)| {
            HeteroNetwork::of(network, place, SelfLoopChoice::AsStored).indexed(network)
        });
        let options = HeteroOptions { route, ..options() };
        let model = Hetero::<T>::new(cell.genes().len(), networks.collect(), options, 1);
        let mut processor = Processor::new(cell, ProcessorKind::Perturbation, sets.len());
        for (slot, set) in sets.ranges().enumerate() {
            let genes: Vec<GeneId> = sets.genes()[set].iter().map(|&gene| GeneId(gene)).collect();
            let deletion = Deletion::new(&genes).expect("genes of the screen");
            processor.process(slot, 0, &deletion).expect("genes of the cell");
        }
        let graphs = match route {
            Route::ChangedRows | Route::NodeMask => Graphs::None,
            Route::EdgeMask | Route::Rebuilt => processor.graphs(sets.len()),
        };
        let targets: Vec<T> = (0..sets.len()).map(|at| T::of(at as f64 * 0.1 - 0.3)).collect();
        let mut tape = Tape::new(model.parameters());
        let forward = model.forward(&mut tape, Input::evaluated(sets, &graphs), AggregationWeights::Discard);
        let widen = |values: &[T]| -> Vec<f64> { values.iter().map(|value| value.to_f64()).collect() };
        let predictions = widen(tape.value(forward.readout.predictions));
        let loss = interaction_loss(&mut tape, forward.readout.predictions, &targets);
        let mut gradients = Gradients::zeros(model.parameters());
        tape.backward(loss, &mut gradients);
        let gradients = (0..model.parameters().len()).flat_map(|place| widen(gradients.parameter(place)));
        Self { predictions, gradients: gradients.collect() }
    }

    fn print_from(&self, exact: &Self, what: &str) {
        println!(
            "{what:<28} predictions {:8.1e}, gradients {:8.1e} of their size",
            distance(&self.predictions, &exact.predictions),
            distance(&self.gradients, &exact.gradients)
        );
    }
}

fn distance(found: &[f64], exact: &[f64]) -> f64 {
    let norm = |values: &mut dyn Iterator<Item = f64>| values.map(|value| value * value).sum::<f64>().sqrt();
    norm(&mut found.iter().zip(exact).map(|(found, exact)| found - exact)) / norm(&mut exact.iter().copied())
}

fn main() {
    let argument = |at: usize| std::env::args().nth(at);
    let preset = argument(1).unwrap_or_else(|| "tiny".to_owned());
    let samples = argument(2).and_then(|count| count.parse().ok()).unwrap_or(4);
    let mut config = SynthConfig::preset(&preset).expect("tiny, small or yeast");
    config.screen.samples = config.screen.samples.min(10_000);
    let dataset = synthesise(&config, 0, &preset, "an example", &|_| ()).expect("the preset is sound");
    let sets = dataset.samples.gene_sets().first(samples);
    println!("{samples} samples of {preset}, from changed-rows in double precision:");
    let exact = Pass::of::<f64>(&dataset.cell, sets, Route::ChangedRows);
    let routes = [
        (Route::ChangedRows, "changed-rows"),
        (Route::NodeMask, "node-mask"),
        (Route::EdgeMask, "edge-mask"),
        (Route::Rebuilt, "rebuilt"),
    ];
    for (route, name) in &routes[1..] {
        Pass::of::<f64>(&dataset.cell, sets, *route).print_from(&exact, &format!("{name}, double"));
    }
    for (route, name) in routes {
        Pass::of::<f32>(&dataset.cell, sets, route).print_from(&exact, &format!("{name}, single"));
    }
}
