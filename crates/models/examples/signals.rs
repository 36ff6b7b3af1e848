//! How much of the hetero model's activations is signal at the start, layer by layer, and how far rounding has come there:
//! `cargo run --release -p knockout-model --example signals -- [preset] [samples] [key=value …]`, keys as in `model.*` without the `model.`.
//!
//! *Genes*: what differs between genes of the wild type, as a share of the rows' size. *Deletion*: how far a sample's rows are from the wild
//! type's. *Rounding*: how far single precision is from double, as a share of the rows and of what differs.

#![allow(clippy::print_stdout, reason = "it prints its findings")]

use knockout_data::batch::Graphs;
use knockout_data::cell::GeneSetsRef;
use knockout_engine::grad::{Gradients, Tape};
use knockout_models::loss::{LossPrecision, interaction_loss};
use knockout_models::{AggregationWeights, HeteroOptions, Input, Model, ModelOptions};
use knockout_sources::synth::{SynthConfig, synthesise};

/// A stage of the forward pass: its rows, `[rows, width]`.
struct Signal {
    name: String,
    values: Vec<f64>,
    width: usize,
}

/// Everything a forward and backward pass leaves.
struct Signals {
    /// Rows of all genes in the wild type, then of the samples.
    rows: Vec<Signal>,
    /// One row for each sample.
    scores: Vec<Signal>,
    gradients: Vec<(String, Vec<f64>)>,
    genes: usize,
}

fn find<T: LossPrecision>(
    options: &HeteroOptions,
    cell: &knockout_data::cell::Cell,
    sets: GeneSetsRef<'_>,
    targets: &[f64],
) -> Signals {
    let model = options.model::<T>(cell, 1);
    let targets: Vec<T> = targets.iter().map(|&target| T::of(target)).collect();
    let mut tape = Tape::new(model.parameters());
    let forward =
        model.forward(&mut tape, Input::evaluated(sets, &Graphs::None), AggregationWeights::Discard);
    let widen = |values: &[T]| -> Vec<f64> { values.iter().map(|value| value.to_f64()).collect() };
    let stage =
        |name: &str, var, width| Signal { name: name.to_owned(), values: widen(tape.value(var)), width };
    let width = options.width;
    let mut rows = vec![stage("pre", forward.pre, width)];
    rows.extend(
        forward.layers.iter().enumerate().map(|(at, &var)| stage(&format!("layer {}", at + 1), var, width)),
    );
    let readout = forward.readout;
    let mut scores =
        vec![stage("pooled", forward.pooled, width), stage("difference", readout.difference, width)];
    scores.push(stage("global", readout.global, 1));
    scores.extend(readout.local.map(|local| stage("local", local, 1)));
    scores.push(stage("prediction", readout.predictions, 1));
    let loss = interaction_loss(&mut tape, readout.predictions, &targets);
    let mut gradients = Gradients::zeros(model.parameters());
    tape.backward(loss, &mut gradients);
    let named = model.parameters().iter().enumerate();
    let gradients = named
        .map(|(place, parameter)| (parameter.name().to_owned(), widen(gradients.parameter(place))))
        .collect();
    Signals { rows, scores, gradients, genes: cell.genes().len() }
}

fn norm(values: impl IntoIterator<Item = f64>) -> f64 {
    values.into_iter().map(|value| value * value).sum::<f64>().sqrt()
}

fn distance(a: &[f64], b: &[f64]) -> f64 {
    norm(a.iter().zip(b).map(|(a, b)| a - b))
}

/// The rows without what they have in common.
fn centred(values: &[f64], width: usize) -> Vec<f64> {
    let count = values.len() / width;
    let mut means = vec![0.0; width];
    for row in values.chunks_exact(width) {
        means.iter_mut().zip(row).for_each(|(mean, value)| *mean += value / count as f64);
    }
    values.iter().enumerate().map(|(at, value)| value - means[at % width]).collect()
}

fn main() {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let preset = arguments.first().map_or("tiny", String::as_str);
    let samples = arguments.get(1).and_then(|count| count.parse().ok()).unwrap_or(32);
    let mut config = SynthConfig::preset(preset).expect("a preset");
    config.screen.samples = config.screen.samples.min(10_000);
    let dataset = synthesise(&config, 0, preset, "an example", &|_| ()).expect("the preset is sound");
    let mut options = serde_json::to_value(HeteroOptions::defaults(&dataset.cell)).expect("plain values");
    for argument in arguments.iter().skip(2) {
        let (key, value) = argument.split_once('=').expect("key=value");
        options[key] = serde_json::from_str(value).unwrap_or_else(|_| value.into());
    }
    let options: HeteroOptions = serde_json::from_value(options).expect("keys of the hetero model");
    options.check(&dataset.cell).expect("options that can be followed");
    let order = dataset.samples.gene_sets();
    let step = order.len() / samples;
    let mut sets = knockout_data::cell::GeneSets::default();
    (0..samples).for_each(|at| sets.push(order.get(at * step)));
    let scores = dataset.samples.scores();
    let targets: Vec<f64> = (0..samples).map(|at| (scores[at * step] + 0.008) / 0.0633).collect();
    let exact = find::<f64>(&options, &dataset.cell, sets.view(), &targets);
    let single = find::<f32>(&options, &dataset.cell, sets.view(), &targets);

    println!("{samples} samples of {preset}; shares of the rows' size, rounding as a share of the signal");
    println!("{:<12} {:>10} {:>10} {:>10} {:>10}", "rows", "size", "genes", "rounding", "÷ genes");
    for (exact_rows, single_rows) in exact.rows.iter().zip(&single.rows) {
        let width = exact_rows.width;
        let wild = &exact_rows.values[..exact.genes * width];
        let size = norm(wild.iter().copied());
        let genes = norm(centred(wild, width));
        let rounding = distance(wild, &single_rows.values[..wild.len()]);
        println!(
            "{:<12} {:>10.2e} {:>10.2e} {:>10.1e} {:>10.1e}",
            exact_rows.name,
            size / (wild.len() as f64).sqrt(),
            genes / size,
            rounding / size,
            rounding / genes
        );
    }
    println!("{:<12} {:>10} {:>10} {:>10} {:>10}", "of a sample", "size", "samples", "rounding", "÷ samples");
    for (exact_rows, single_rows) in exact.scores.iter().zip(&single.scores) {
        let size = norm(exact_rows.values.iter().copied());
        let differs = norm(centred(&exact_rows.values, exact_rows.width));
        let rounding = distance(&exact_rows.values, &single_rows.values);
        println!(
            "{:<12} {:>10.2e} {:>10.2e} {:>10.1e} {:>10.1e}",
            exact_rows.name,
            size / (exact_rows.values.len() as f64).sqrt(),
            differs / size,
            rounding / size,
            rounding / differs
        );
    }
    let all = |found: &Signals| -> Vec<f64> {
        found.gradients.iter().flat_map(|(_, values)| values.clone()).collect()
    };
    let (exact_all, single_all) = (all(&exact), all(&single));
    let total = norm(exact_all.iter().copied());
    println!("gradients: size {total:.2e}, rounding {:.1e} of it", distance(&exact_all, &single_all) / total);
    for (place, part) in
        ["gene_embedding", "pre.", "layer1.", "layer2.", "layer3.", "pool.", "global.", "local."]
            .iter()
            .enumerate()
    {
        let of = |found: &Signals| -> Vec<f64> {
            let chosen = found.gradients.iter().filter(|(name, _)| name.starts_with(part));
            chosen.flat_map(|(_, values)| values.clone()).collect()
        };
        let (exact, single) = (of(&exact), of(&single));
        let size = norm(exact.iter().copied());
        if place == 0 || size > 0.0 {
            println!(
                "  {part:<16} {:>9.2e} of all, rounding {:.1e} of it",
                size / total,
                distance(&exact, &single) / size
            );
        }
    }
}
