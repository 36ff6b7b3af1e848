//! The hetero model against PyTorch's numbers, its routes against one another, its gradients against their definition.

use super::*;
use crate::layer::interaction_loss;
use crate::testing::{fill, fill_all, graph, wide};
use knockout_batch::Graphs;
use knockout_grad::{AdamW, AdamWConfig, Gradients, clip_factor, gradient_check};
use knockout_random::Rng;
use knockout_testdata::golden::{Case, Precision, cases};
use proptest::prelude::*;

fn network(name: &str, place: usize, genes: usize, edges: &[(u32, u32)]) -> HeteroNetwork {
    HeteroNetwork { name: name.to_owned(), graph: graph(genes, edges), place, positions: Vec::new() }
}

fn named<T: serde::de::DeserializeOwned>(value: &str) -> T {
    serde_json::from_value(serde_json::Value::String(value.to_owned())).unwrap()
}

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
            Combination::GlobalOnly
        },
        local_layers: number("local_layers"),
        local_heads: number("local_heads"),
        route: Route::NodeMask,
        ..HeteroOptions::default()
    }
}

struct Loaded<T: Scalar> {
    model: Hetero<T>,
    offsets: Vec<u32>,
    genes: Vec<u32>,
    targets: Vec<T>,
}

fn load<T: Scalar>(case: &Case, route: Route) -> Loaded<T> {
    let genes = case.json["sizes"]["genes"].as_u64().unwrap() as usize;
    let names = case.json["options"]["networks"].as_array().unwrap();
    let networks = names.iter().enumerate().map(|(place, name)| {
        let name = name.as_str().unwrap();
        let edges = case.indices(&format!("input.edges.{name}"));
        let (sources, targets) = edges.split_at(edges.len() / 2);
        let edges: Vec<(u32, u32)> = sources.iter().copied().zip(targets.iter().copied()).collect();
        network(name, place, genes, &edges)
    });
    let mut model = Hetero::new(genes, networks.collect(), HeteroOptions { route, ..options(case) }, 0);
    fill_all(case, model.parameters_mut());
    Loaded {
        model,
        offsets: case.indices("input.perturbation.offsets"),
        genes: case.indices("input.perturbation.genes"),
        targets: case.f64("input.targets").iter().map(|&value| T::of(value)).collect(),
    }
}

fn forward_and_gradients<T: Scalar>(case: &Case, route: Route, precision: Precision) {
    let Loaded { model, offsets, genes, targets } = &load::<T>(case, route);
    let sets = GeneSetsRef::new(&offsets, &genes);
    let (rows, width) = (model.genes, model.options.width);
    let mut tape = Tape::new(model.parameters());
    let forward = model.forward(&mut tape, Input::evaluated(sets, &Graphs::None), true);
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
        let places = (0..sets.len()).flat_map(|sample| (0..rows).map(move |gene| (sample, gene)));
        let z = places.flat_map(|(sample, gene)| {
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
    let loss = interaction_loss(&mut tape, forward.readout.predictions, targets);
    case.check("loss.log_cosh", wide(tape.value(loss)), precision);
    let mut gradients = Gradients::zeros(model.parameters());
    tape.backward(loss, &mut gradients);
    for (place, entry) in model.parameters().iter().enumerate() {
        case.check(&format!("grad.{}", entry.name()), wide(gradients.parameter(place)), precision);
    }
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
    let Loaded { mut model, offsets, genes, targets } = load::<T>(case, route);
    let sets = GeneSetsRef::new(&offsets, &genes);
    let option = |name: &str| case.json["optimiser"][name].as_f64().unwrap();
    let config = AdamWConfig { weight_decay: option("weight_decay"), ..AdamWConfig::default() };
    let mut adamw = AdamW::new(config, model.parameters());
    let (mut losses, mut norms) = (Vec::new(), Vec::new());
    let steps = option("steps") as usize;
    for step in 0..=steps {
        let mut gradients = Gradients::zeros(model.parameters());
        let mut tape = Tape::new(model.parameters());
        let forward = model.forward(&mut tape, Input::evaluated(sets, &Graphs::None), false);
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
        combination: Combination::Concat,
        local_layers: 1,
        local_heads: 2,
        ..HeteroOptions::default()
    }
}

/// Sparse enough that rows remain unchanged in every layer, with self-loops, repeats and genes without edges.
fn random_networks(rng: &mut Rng, genes: usize, edges: usize) -> Vec<HeteroNetwork> {
    let mut make = |place: usize, name: &str| {
        let edges: Vec<(u32, u32)> = (0..edges)
            .map(|_| (rng.below(genes - 2) as u32, rng.below(genes - 3) as u32))
            .chain([(0, 0), (1, 2), (1, 2)])
            .collect();
        network(name, place, genes, &edges)
    };
    vec![make(0, "a"), make(1, "b"), make(2, "c")]
}

fn random_model<T: Scalar>(seed: u64, genes: usize, edges: usize, options: HeteroOptions) -> Hetero<T> {
    let mut rng = Rng::new(seed, "hetero test");
    let mut model = Hetero::new(genes, random_networks(&mut rng, genes, edges), options, seed);
    for place in 0..model.parameters().len() {
        for value in model.parameters_mut().values_mut(place) {
            *value += T::of(0.2 * rng.normal());
        }
    }
    model
}

/// Of all passes of training here.
const AT: LossAt = LossAt { epoch: 0, step: 7 };
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

#[test]
fn gradients_are_those_of_the_loss() {
    use {Aggregation as A, Combination as C, NormKind as N};
    let targets = [0.3, -0.2, 0.9, 0.1];
    let (shared, independent) = ((0.3, NoiseKind::Shared), (0.3, NoiseKind::Independent));
    let none = (0.0, NoiseKind::Shared);
    for (seed, (aggregation, norm, combination, route, (dropout, noise))) in [
        (A::PairwiseInteraction, N::Node, C::Gating, Route::ChangedRows, none),
        (A::CrossAttention, N::None, C::Concat, Route::ChangedRows, none),
        (A::Mean, N::Node, C::GlobalOnly, Route::ChangedRows, none),
        (A::Sum, N::Graph, C::Concat, Route::NodeMask, none),
        (A::PairwiseInteraction, N::Node, C::Concat, Route::Rebuilt, none),
        (A::CrossAttention, N::Node, C::Concat, Route::EdgeMask, none),
        (A::PairwiseInteraction, N::Node, C::Concat, Route::ChangedRows, shared),
        (A::PairwiseInteraction, N::None, C::Gating, Route::ChangedRows, independent),
        (A::CrossAttention, N::Graph, C::Concat, Route::NodeMask, shared),
        (A::Mean, N::Node, C::GlobalOnly, Route::Rebuilt, shared),
    ]
    .into_iter()
    .enumerate()
    {
        let options =
            HeteroOptions { aggregation, norm, combination, route, dropout, noise, layers: 2, ..small() };
        let mut model: Hetero<f64> = random_model(seed as u64, 12, 14, options.clone());
        let genes = random_sets(seed as u64, 12);
        let sets = GeneSetsRef::new(&OFFSETS, &genes);
        if route == Route::ChangedRows {
            let rows = model.changed_rows(sets);
            assert!(rows.iter().all(|rows| rows.any < rows.all), "some rows stay the wild type's: {rows:?}");
        }
        let mut parameters = model.parameters().clone();
        let model = &mut model;
        let worst = gradient_check(&mut parameters, 6, |parameters, gradients| {
            let mut tape = Tape::new(parameters);
            let input = Input { training: Some(AT), ..Input::evaluated(sets, &Graphs::None) };
            let forward = model.forward(&mut tape, input, false);
            let loss = interaction_loss(&mut tape, forward.readout.predictions, &targets);
            let value = tape.scalar(loss);
            if let Some(gradients) = gradients {
                tape.backward(loss, gradients);
            }
            value
        });
        assert!(worst.tolerances < 1.0, "{options:?}: {worst:?}");
    }
}

/// Predictions and gradients of a pass of training.
fn evaluate<T: Scalar>(model: &Hetero<T>, sets: GeneSetsRef<'_>, graphs: &Graphs<'_>) -> Vec<Vec<f64>> {
    let targets = vec![T::of(0.25); sets.len()];
    let mut tape = Tape::new(model.parameters());
    let input = Input { training: Some(AT), ..Input::evaluated(sets, graphs) };
    let forward = model.forward(&mut tape, input, false);
    let predictions = wide(tape.value(forward.readout.predictions)).collect();
    let loss = interaction_loss(&mut tape, forward.readout.predictions, &targets);
    let mut gradients = Gradients::zeros(model.parameters());
    tape.backward(loss, &mut gradients);
    let gradients = (0..model.parameters().len()).map(|place| wide(gradients.parameter(place)).collect());
    std::iter::once(predictions).chain(gradients).collect()
}

/// `max |a − b| ≤ share · max |b|`, or so near zero that both are rounding.
fn assert_close(a: &[Vec<f64>], b: &[Vec<f64>], share: f64, what: &str) {
    let largest = b.iter().flatten().fold(0.0, |size: f64, value| size.max(value.abs()));
    for (at, (a, b)) in a.iter().zip(b).enumerate() {
        let size = b.iter().fold(0.0, |size: f64, value| size.max(value.abs()));
        let far = a.iter().zip(b).map(|(a, b)| (a - b).abs()).fold(0.0, f64::max);
        assert!(far <= share * size.max(largest * 0.01), "{what}: tensor {at} differs by {far} of {size}");
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(24))]

    #[test]
    fn all_routes_give_the_same(
        seed: u64,
        genes in 9usize..40,
        edges in 0usize..60,
        pairwise: bool,
        normed: bool,
        dropout in prop::sample::select(vec![0.0, 0.3]),
        independent: bool,
    ) {
        let options = HeteroOptions {
            dropout,
            noise: if independent { NoiseKind::Independent } else { NoiseKind::Shared },
            aggregation: if pairwise { Aggregation::PairwiseInteraction } else { Aggregation::Sum },
            norm: if normed { NormKind::Node } else { NormKind::None },
            ..small()
        };
        let set_genes = random_sets(seed, genes);
        let sets = GeneSetsRef::new(&OFFSETS, &set_genes);
        let mut model: Hetero<f64> = random_model(seed, genes, edges, options);
        let expected = evaluate(&model, sets, &Graphs::None);
        for route in [Route::NodeMask, Route::EdgeMask, Route::Rebuilt] {
            model.set_route(route);
            assert_close(&evaluate(&model, sets, &Graphs::None), &expected, 1e-9, &format!("{route:?}"));
        }
    }
}

#[test]
fn dropout_is_for_training_and_another_in_every_step() {
    let options = HeteroOptions { dropout: 0.3, ..small() };
    let model: Hetero<f64> = random_model(5, 30, 40, options.clone());
    let genes = random_sets(5, 30);
    let sets = GeneSetsRef::new(&OFFSETS, &genes);
    let predictions = |training: Option<LossAt>| {
        let mut tape = Tape::new(model.parameters());
        let input = Input { training, ..Input::evaluated(sets, &Graphs::None) };
        let forward = model.forward(&mut tape, input, false);
        tape.value(forward.readout.predictions).to_vec()
    };
    assert_eq!(predictions(Some(AT)), predictions(Some(AT)));
    assert_ne!(predictions(Some(AT)), predictions(Some(LossAt { step: 8, ..AT })));
    let evaluated = predictions(None);
    assert_ne!(evaluated, predictions(Some(AT)));
    let options = HeteroOptions { dropout: 0.0, ..options };
    let without: Hetero<f64> = random_model(5, 30, 40, options);
    assert_eq!(evaluate(&without, sets, &Graphs::None)[0], evaluated);
}

#[test]
fn threads_do_not_change_a_bit() {
    let options = HeteroOptions { width: 16, dropout: 0.1, ..small() };
    let model: Hetero<f32> = random_model(3, 300, 900, options);
    let genes = random_sets(3, 300);
    let sets = GeneSetsRef::new(&OFFSETS, &genes);
    let with = |threads: usize| {
        let pool = rayon::ThreadPoolBuilder::new().num_threads(threads).build().unwrap();
        pool.install(|| evaluate(&model, sets, &Graphs::None))
    };
    let one = with(1);
    for threads in [2, 7] {
        assert_eq!(with(threads), one, "{threads} threads");
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
        |networks, options| Hetero::<f32>::new(genes, networks, options, 0).parameters().number_count();
    assert_eq!(count(networks(9), gh_085.clone()), 1_781_187);
    let profiling = HeteroOptions {
        aggregation: Aggregation::Sum,
        gin_linears: 2,
        combination: Combination::GlobalOnly,
        ..gh_085.clone()
    };
    assert_eq!(count(networks(9), profiling), 669_917);
    assert_eq!(count(networks(1), gh_085), 555_051);
}

/// Σ upstream · output, differentiated: the gradients of a single operation against PyTorch's.
fn check_operation<T: Scalar>(
    case: &Case,
    parameters: &Parameters<T>,
    mut tape: Tape<'_, T>,
    output: Var,
    upstream: &str,
    precision: Precision,
) {
    let upstream: Vec<T> = case.f64(upstream).iter().map(|&value| T::of(value)).collect();
    let loss = tape.op(
        "loss.test",
        1,
        |values, out| {
            out[0] = crate::layer::dot(values.of(output), &upstream);
            upstream
        },
        move |step, upstream, gradients| {
            gradients.add(output, |sum| crate::layer::add_scaled(sum, step.gradient[0], &upstream));
        },
    );
    let mut gradients = Gradients::zeros(parameters);
    tape.backward(loss, &mut gradients);
    for (place, entry) in parameters.iter().enumerate() {
        case.check(&format!("grad.{}", entry.name()), wide(gradients.parameter(place)), precision);
    }
}

fn norms<T: Scalar>(case: &Case, kind: NormKind, precision: Precision) {
    let [rows, width] = case.shape("param.x")[..] else { panic!("a matrix") };
    let mut parameters = Parameters::<T>::new(&knockout_kernel::Pool::new());
    let x = parameters.add("x", &[rows, width], || 0.0);
    let norm = Norm::new(&mut parameters, "norm", width, kind);
    fill(case, &mut parameters);
    let mut tape = Tape::new(&parameters);
    let y = norm.forward(&mut tape, "norm", x, rows);
    case.check("output.y", wide(tape.value(y)), precision);
    check_operation(case, &parameters, tape, y, "upstream.y", precision);
}

#[test]
fn golden_norms() {
    for (name, kind) in [("ops/node_norm", NormKind::Node), ("ops/graph_norm", NormKind::Graph)] {
        for case in cases(name) {
            norms::<f64>(&case, kind, Precision::F64);
            norms::<f32>(&case, kind, Precision::F32);
        }
    }
}

/// `param.g: [rows, networks, width]`: each network's rows are taken out of it.
fn aggregations<T: Scalar>(case: &Case, precision: Precision) {
    let [rows, networks, width] = case.shape("param.g")[..] else { panic!("a tensor") };
    let options = &case.json["options"];
    let number = |name: &str| options[name].as_u64().map_or(1, |number| number as usize);
    let kind: Aggregation = named(options["aggregation"].as_str().unwrap());
    let sizes = AggregationSizes {
        heads: number("cross_heads"),
        pair_hidden: number("pair_hidden"),
        pair_linears: number("pair_linears"),
    };
    let names: Vec<String> = match options["networks"].as_array() {
        Some(names) => names.iter().map(|name| name.as_str().unwrap().to_owned()).collect(),
        None => (0..networks).map(|network| network.to_string()).collect(),
    };
    let names: Vec<&str> = names.iter().map(|name| &name[..]).collect();
    let mut parameters = Parameters::<T>::new(&knockout_kernel::Pool::new());
    let g = parameters.add("g", &[rows, networks, width], || 0.0);
    let activation = if options["activation"] == "gelu" { Activation::Gelu } else { Activation::Relu };
    let aggregate = Aggregate::new(
        &mut parameters,
        "aggregate",
        &names,
        width,
        kind,
        sizes,
        (activation, NormKind::None),
        &mut Init::new(0),
    );
    fill(case, &mut parameters);
    let graphs: Vec<HeteroNetwork> = names.iter().map(|name| network(name, 0, rows, &[])).collect();
    let graphs: Vec<&Graph> = graphs.iter().map(|network| &network.graph).collect();
    let plan = Plan::new(&graphs, rows, GeneSetsRef::new(&[0], &[]), 1, Extent::Changed);
    let mut tape = Tape::new(&parameters);
    let each: Vec<Var> = (0..networks)
        .map(|network| {
            tape.op(
                "take",
                rows * width,
                |values, out| {
                    let rows = values.of(g).chunks_exact(networks * width);
                    for (out, row) in out.chunks_exact_mut(width).zip(rows) {
                        out.copy_from_slice(&row[network * width..(network + 1) * width]);
                    }
                },
                move |step, (), gradients| {
                    gradients.add(g, |sum| {
                        let rows = sum.chunks_exact_mut(networks * width);
                        for (sum, row) in rows.zip(step.gradient.chunks_exact(width)) {
                            crate::layer::add_to(&mut sum[network * width..(network + 1) * width], row);
                        }
                    });
                },
            )
        })
        .collect();
    let combined = aggregate.forward(&mut tape, &each, &plan.layers[0], width, true, None);
    case.check("output.y", wide(tape.value(combined.rows)), precision);
    case.check("output.y.weights", wide(&combined.weights.unwrap()), precision);
    check_operation(case, &parameters, tape, combined.rows, "upstream.y", precision);
}

#[test]
fn golden_aggregations() {
    for name in ["ops/cross_attention", "ops/pairwise_interaction"] {
        for case in cases(name) {
            aggregations::<f64>(&case, Precision::F64);
            aggregations::<f32>(&case, Precision::F32);
        }
    }
}

fn pooling<T: Scalar>(case: &Case, precision: Precision) {
    let [samples, genes, width] = case.shape("param.x")[..] else { panic!("a tensor") };
    let (offsets, set_genes) =
        (case.indices("input.perturbation.offsets"), case.indices("input.perturbation.genes"));
    let sets = GeneSetsRef::new(&offsets, &set_genes);
    let mut parameters = Parameters::<T>::new(&knockout_kernel::Pool::new());
    let x = parameters.add("x", &[samples, genes, width], || 0.0);
    let pool = Pool::new(&mut parameters, width, Activation::Gelu, &mut Init::new(0));
    fill(case, &mut parameters);
    let graph = network("a", 0, genes, &[]).graph;
    let plan = Plan::new(&[&graph], genes, sets, 1, Extent::All);
    let mut tape = Tape::new(&parameters);
    // The wild type's rows come first; here they do not matter.
    let rows = tape.op(
        "rows",
        (1 + samples) * genes * width,
        |values, out| {
            out[..genes * width].fill(T::ZERO);
            out[genes * width..].copy_from_slice(values.of(x));
        },
        move |step, (), gradients| {
            gradients.add(x, |sum| crate::layer::add_to(sum, &step.gradient[genes * width..]));
        },
    );
    let pooled = pool.forward(&mut tape, rows, &plan.layers[0].output, None);
    let z = tape.op(
        "samples",
        samples * width,
        |values, out| out.copy_from_slice(&values.of(pooled)[width..]),
        move |step, (), gradients| {
            gradients.add(pooled, |sum| crate::layer::add_to(&mut sum[width..], step.gradient));
        },
    );
    case.check("output.z", wide(tape.value(z)), precision);
    check_operation(case, &parameters, tape, z, "upstream.z", precision);
}

#[test]
fn golden_pooling() {
    for case in cases("ops/attentional_pooling") {
        pooling::<f64>(&case, Precision::F64);
        pooling::<f32>(&case, Precision::F32);
    }
}
