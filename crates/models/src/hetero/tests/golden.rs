//! Whole models and optimiser steps against PyTorch's numbers.

use super::super::*;
use super::{named, network, small};
use crate::loss::interaction_loss;
use crate::testing::{case_batch, case_graph, check_gradients, fill_all, wide};
use knockout_data::batch::Graphs;
use knockout_engine::grad::{AdamW, AdamWConfig, Gradients, clip_factor};
use knockout_testdata::golden::{Case, Precision, cases};

fn options(case: &Case) -> HeteroOptions {
    let options = &case.json["options"];
    let number = |name: &str| options[name].as_u64().unwrap() as usize;
    let text = |name: &str| options[name].as_str().unwrap();
    HeteroOptions {
        width: number("width"),
        layers: number("layers"),
        gin_linears: number("gin_linears"),
        gin_hidden: number("gin_hidden"),
        activation: named(text("activation")),
        norm: named(text("norm")),
        aggregation: named(text("aggregation")),
        cross_heads: number("cross_heads"),
        pair_hidden: number("pair_hidden"),
        pair_linears: number("pair_linears"),
        combination: if options["local"].as_bool().unwrap() {
            named(text("combination"))
        } else {
            ScoreCombination::GlobalOnly
        },
        local_layers: number("local_layers"),
        local_heads: number("local_heads"),
        route: Route::NodeMask,
        ..HeteroOptions::default()
    }
}

fn load<T: Scalar>(case: &Case, route: Route) -> Hetero<T> {
    let genes = case.json["sizes"]["genes"].as_u64().unwrap() as usize;
    let names = case.json["options"]["networks"].as_array().unwrap();
    let networks = names.iter().enumerate().map(|(index, name)| {
        let name = name.as_str().unwrap();
        let graph = case_graph(case, &format!("input.edges.{name}"), genes);
        HeteroNetwork { name: name.to_owned(), graph, index, positions: Vec::new(), channels: Vec::new() }
    });
    let mut model = Hetero::new(genes, networks.collect(), HeteroOptions { route, ..options(case) }, 0);
    fill_all(case, model.parameters_mut());
    model
}

fn forward_and_gradients<T: Scalar>(case: &Case, route: Route, precision: Precision) {
    let (model, (offsets, genes, targets)) = (load::<T>(case, route), case_batch(case));
    let sets = GeneSetsRef::new(&offsets, &genes);
    let (rows, width) = (model.genes, model.options.width);
    let mut tape = Tape::new(model.parameters());
    let forward = model.forward(&mut tape, Input::evaluated(sets, &Graphs::None), AggregationWeights::Return);
    case.check("output.wild.pre", wide(tape.value(forward.pre)), precision);
    for (layer, &x) in forward.layers.iter().enumerate() {
        case.check(
            &format!("output.wild.layer{}", layer + 1),
            wide(&tape.value(x)[..rows * width]),
            precision,
        );
        let name = format!("output.wild.layer{}_weights", layer + 1);
        if let Some(weights) = &forward.weights[layer] {
            case.check(&name, wide(&weights[..case.expected(&name).len()]), precision);
        } else {
            assert!(!case.has(&name), "{}: {name}", case.name);
        }
    }
    let last = tape.value(forward.layers[forward.layers.len() - 1]);
    if route != Route::Rebuilt {
        let rows_of_genes = (0..sets.len()).flat_map(|sample| (0..rows).map(move |gene| (sample, gene)));
        let z = rows_of_genes.flat_map(|(sample, gene)| {
            let row = forward.row(sample, gene);
            last[row * width..(row + 1) * width].iter().map(|value| value.to_f64())
        });
        case.check("output.z_i", z, precision);
    }
    let (wild, samples) = tape.value(forward.pooled).split_at(width);
    case.check("output.pooled_w", wide(wild), precision);
    case.check("output.pooled_i", wide(samples), precision);
    case.check("output.global", wide(tape.value(forward.readout.global)), precision);
    if let Some(local) = forward.readout.local {
        case.check("output.local", wide(tape.value(local)), precision);
    }
    case.check("output.predictions", wide(tape.value(forward.readout.predictions)), precision);
    let loss = interaction_loss(&mut tape, forward.readout.predictions, &targets);
    case.check("loss.log_cosh", wide(tape.value(loss)), precision);
    check_gradients(case, "grad.", model.parameters(), tape, loss, precision);
}

fn routes_of(case: &Case) -> Vec<Route> {
    if case.json["options"]["norm"] == "graph" {
        return vec![Route::NodeMask, Route::EdgeMask];
    }
    vec![Route::ChangedRows, Route::NodeMask, Route::EdgeMask, Route::Rebuilt]
}

#[test]
fn golden_forward_and_gradients() {
    for case in cases("hetero/") {
        for route in routes_of(&case) {
            forward_and_gradients::<f64>(&case, route, Precision::F64);
            forward_and_gradients::<f32>(&case, route, Precision::F32);
        }
    }
}

fn optimiser_steps<T: Scalar>(case: &Case, route: Route, precision: Precision) {
    let (mut model, (offsets, genes, targets)) = (load::<T>(case, route), case_batch(case));
    let sets = GeneSetsRef::new(&offsets, &genes);
    let option = |name: &str| case.json["optimiser"][name].as_f64().unwrap();
    let config = AdamWConfig { weight_decay: option("weight_decay"), ..AdamWConfig::default() };
    let mut adamw = AdamW::new(config, model.parameters());
    let (mut losses, mut norms) = (Vec::new(), Vec::new());
    let steps = option("steps") as usize;
    for step in 0..=steps {
        let mut gradients = Gradients::zeros(model.parameters());
        let mut tape = Tape::new(model.parameters());
        let forward =
            model.forward(&mut tape, Input::evaluated(sets, &Graphs::None), AggregationWeights::Discard);
        let loss = interaction_loss(&mut tape, forward.readout.predictions, &targets);
        losses.push(tape.scalar(loss).to_f64());
        if step < steps {
            tape.backward(loss, &mut gradients);
            let norm = gradients.norm();
            norms.push(norm);
            let clip = clip_factor(norm, option("clip_norm"));
            adamw.update(model.parameters_mut(), &gradients, option("lr"), clip);
        }
    }
    case.check("train.losses", losses, precision);
    case.check("train.gradient_norms", norms, precision);
    let zero: Vec<&str> = case.json["zero_gradient_parameters"]
        .as_array()
        .unwrap()
        .iter()
        .map(|name| name.as_str().unwrap())
        .collect();
    for entry in model.parameters().iter() {
        let name = format!("after.{}", entry.name());
        if zero.contains(&entry.name()) {
            // Its gradient is rounding noise, which AdamW turns into steps of any sign.
            let far =
                wide(entry.values()).zip(case.expected(&name)).map(|(mine, theirs)| (mine - theirs).abs());
            assert!(far.fold(0.0, f64::max) <= 2.0 * option("lr") * steps as f64, "{}: {name}", case.name);
        } else {
            case.check(&name, wide(entry.values()), precision);
        }
    }
}

#[test]
fn golden_optimiser_steps() {
    for case in cases("hetero/") {
        let route = routes_of(&case)[0];
        optimiser_steps::<f64>(&case, route, Precision::F64);
        optimiser_steps::<f32>(&case, route, Precision::F32);
    }
}

#[test]
fn parameter_counts_are_the_references() {
    let genes = 6607;
    let names = ["a", "b", "c", "d", "e", "f", "g", "h", "i"];
    let networks = |count: usize| {
        names[..count].iter().enumerate().map(|(at, name)| network(name, at, genes, &[])).collect()
    };
    let gh_085 = HeteroOptions {
        width: 64,
        layers: 3,
        gin_linears: 4,
        gin_hidden: 64,
        cross_heads: 4,
        pair_hidden: 32,
        pair_linears: 2,
        local_layers: 2,
        local_heads: 8,
        ..small()
    };
    let count =
        |networks, options| Hetero::<f32>::new(genes, networks, options, 0).parameters().element_count();
    assert_eq!(count(networks(9), gh_085.clone()), 1_781_187);
    let profiling = HeteroOptions {
        aggregation: Aggregation::Sum,
        gin_linears: 2,
        combination: ScoreCombination::GlobalOnly,
        ..gh_085.clone()
    };
    assert_eq!(count(networks(9), profiling), 669_917);
    assert_eq!(count(networks(1), gh_085), 555_051);
}
