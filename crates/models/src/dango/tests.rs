//! DANGO against PyTorch's numbers, and its gradients against their definition.

use super::*;
use crate::testing::{case_batch, case_graph, check_gradients, fill_all, graph, wide};
use knockout_base::random::Rng;
use knockout_data::cell::GeneSets;
use knockout_engine::grad::{AdamW, AdamWConfig, Gradients, clip_factor, evaluate_loss, gradient_check};
use knockout_testdata::golden::{Case, Precision, cases};

fn load<T: Scalar>(case: &Case) -> Dango<T> {
    let size = |name: &str| case.json["sizes"][name].as_u64().unwrap() as usize;
    let networks = case.json["options"]["networks"].as_array().unwrap();
    let networks = networks
        .iter()
        .map(|name| {
            let name = name.as_str().unwrap();
            DangoNetwork {
                name: name.to_owned(),
                graph: case_graph(case, &format!("input.edges.{name}"), size("genes")),
                lambda: case.json["options"]["lambda"][name].as_f64().unwrap(),
            }
        })
        .collect();
    let mut model = Dango::new(size("genes"), networks, size("width"), size("heads"), 0);
    fill_all(case, model.parameters_mut());
    model
}

fn forward_and_gradients<T: Scalar>(case: &Case, precision: Precision) {
    let (model, (offsets, genes, targets)) = (load::<T>(case), case_batch(case));
    let sets = GeneSetsRef::new(&offsets, &genes);
    let rows = case.json["sizes"]["genes"].as_u64().unwrap() as usize;
    let alphas = case.json["options"]["alphas_of_gradients"].as_array().unwrap();
    for alpha in alphas.iter().map(|alpha| alpha.as_f64().unwrap()) {
        let mut tape = Tape::new(model.parameters());
        let forward = model.forward(&mut tape, sets);
        for (k, network) in model.networks().enumerate() {
            case.check(
                &format!("output.sage1.{}", network.name),
                wide(tape.value(forward.first[k])),
                precision,
            );
            case.check(
                &format!("output.embedding.{}", network.name),
                wide(tape.value(forward.second[k])),
                precision,
            );
        }
        let (embedding, weights) = tape.value(forward.meta).split_at(rows * model.width);
        case.check("output.meta_weights", wide(weights), precision);
        case.check("output.meta_embedding", wide(embedding), precision);
        case.check("output.set_dynamic", wide(tape.value(forward.set.dynamic)), precision);
        case.check("output.scores", wide(tape.value(forward.set.scores)), precision);
        let loss = model.loss_with(&mut tape, &forward.outputs(), &targets, alpha, LossPosition::default());
        let part = |name: &str| loss.parts.iter().find(|(part, _)| part == name).unwrap().1;
        case.check("loss.interaction", [part("interaction")], precision);
        if alpha != 0.0 {
            case.check("loss.reconstruction", [part("reconstruction")], precision);
            let parts = model.reconstruction(&mut tape, &forward.second, alpha);
            let parts = parts.iter().map(|&part| tape.scalar(part).to_f64());
            case.check("loss.reconstruction_per_network", parts, precision);
        }
        case.check(&format!("loss.total.alpha{alpha}"), wide(tape.value(loss.total)), precision);
        check_gradients(
            case,
            &format!("grad.alpha{alpha}."),
            model.parameters(),
            tape,
            loss.total,
            precision,
        );
    }
}

#[test]
fn golden_forward_losses_and_gradients() {
    for case in cases("dango/") {
        forward_and_gradients::<f64>(&case, Precision::F64);
        forward_and_gradients::<f32>(&case, Precision::F32);
    }
}

fn optimiser_steps<T: Scalar>(case: &Case, precision: Precision) {
    let (mut model, (offsets, genes, targets)) = (load::<T>(case), case_batch(case));
    let sets = GeneSetsRef::new(&offsets, &genes);
    let option = |name: &str| case.json["optimiser"][name].as_f64().unwrap();
    let config = AdamWConfig {
        beta1: case.json["optimiser"]["betas"][0].as_f64().unwrap(),
        beta2: case.json["optimiser"]["betas"][1].as_f64().unwrap(),
        epsilon: option("eps"),
        weight_decay: option("weight_decay"),
    };
    let mut optimiser = AdamW::new(config, model.parameters());
    let alphas: Vec<f64> = case.json["options"]["alpha_per_training_step"]
        .as_array()
        .unwrap()
        .iter()
        .map(|alpha| alpha.as_f64().unwrap())
        .collect();
    let (mut losses, mut norms) = (Vec::new(), Vec::new());
    let mut gradients = Gradients::zeros(model.parameters());
    for &alpha in &alphas {
        let mut tape = Tape::new(model.parameters());
        let forward = model.forward(&mut tape, sets);
        let loss = model.loss_with(&mut tape, &forward.outputs(), &targets, alpha, LossPosition::default());
        losses.push(tape.scalar(loss.total).to_f64());
        gradients.clear();
        tape.backward(loss.total, &mut gradients);
        norms.push(gradients.norm());
        let factor = clip_factor(gradients.norm(), option("clip_norm"));
        optimiser.update(model.parameters_mut(), &gradients, option("lr"), factor);
    }
    let mut tape = Tape::new(model.parameters());
    let forward = model.forward(&mut tape, sets);
    let loss = model.loss_with(
        &mut tape,
        &forward.outputs(),
        &targets,
        *alphas.last().unwrap(),
        LossPosition::default(),
    );
    losses.push(tape.scalar(loss.total).to_f64());
    case.check("train.losses", losses, precision);
    case.check("train.gradient_norms", norms, precision);
    let (mut near, mut count) = (0usize, 0usize);
    for entry in model.parameters().iter() {
        let name = format!("after.{}", entry.name());
        case.check(&name, wide(entry.values()), precision);
        for (mine, theirs) in wide(entry.values()).zip(case.expected(&name)) {
            near += usize::from((mine - theirs).abs() < 1e-5);
            count += 1;
        }
    }
    // Parameters whose gradient is rounding noise take steps of any sign: PyTorch's own share is 0.9997 or so, less in a small case.
    let own_share = case.json["optimiser"]["fraction_of_f32_parameters_within_1e_5_of_f64"].as_f64().unwrap();
    let least = f64::min(0.995, own_share - 0.003);
    assert!(near as f64 > least * count as f64, "{}: only {near} of {count} parameters are near", case.name);
}

#[test]
fn golden_optimiser_steps() {
    for case in cases("dango/") {
        optimiser_steps::<f64>(&case, Precision::F64);
        optimiser_steps::<f32>(&case, Precision::F32);
    }
}

fn random_model(seed: u64) -> Dango<f64> {
    let mut rng = Rng::new(seed, "dango test");
    let rows = 12;
    let networks = ["a", "b"].iter().zip([0.1, 1.0]).map(|(name, lambda)| {
        // Self-loops, repeats, genes without edges.
        let edges: Vec<(u32, u32)> = (0..20)
            .map(|_| (rng.below(rows - 2) as u32, rng.below(rows - 3) as u32))
            .chain([(0, 0), (1, 2), (1, 2)])
            .collect();
        DangoNetwork { name: (*name).to_owned(), graph: graph(rows, &edges), lambda }
    });
    let networks = networks.collect();
    let mut model = Dango::new(rows, networks, 8, 2, seed);
    // Biases and factors away from their usual start, so that none can be forgotten.
    for index in 0..model.parameters().len() {
        model.parameters_mut().values_mut(index).iter_mut().for_each(|value| *value += 0.2 * rng.normal());
    }
    model
}

#[test]
fn gradients_agree_with_differences() {
    let (offsets, genes) = (vec![0, 1, 3, 6, 11], vec![4, 0, 5, 1, 2, 3, 7, 8, 9, 10, 11]);
    let targets = vec![0.3, -1.2, 0.7, 2.0];
    for seed in 0..4 {
        let model = random_model(seed);
        let mut parameters = model.parameters().clone();
        let worst = gradient_check(&mut parameters, 24, |parameters, gradients| {
            let mut tape = Tape::new(parameters);
            let forward = model.forward(&mut tape, GeneSetsRef::new(&offsets, &genes));
            let loss = model.loss_with(&mut tape, &forward.outputs(), &targets, 0.4, LossPosition::default());
            evaluate_loss(tape, loss.total, gradients)
        });
        assert!(worst.tolerances <= 1.0, "{worst:?}");
    }
}

#[test]
fn the_gram_form_is_the_dense_form() {
    for seed in 0..4 {
        let model = random_model(seed);
        let (offsets, genes) = ([0, 2], [3, 4]);
        let mut tape = Tape::new(model.parameters());
        let forward = model.forward(&mut tape, GeneSetsRef::new(&offsets, &genes));
        let reconstruction = model.reconstruction(&mut tape, &forward.second, 0.5);
        for (k, layers) in model.networks.iter().enumerate() {
            let (h, rows) = (tape.value(forward.second[k]), 12);
            let (v, c) = (tape.value(layers.reconstruction.weight), tape.value(layers.reconstruction.bias));
            let mut dense = 0.0;
            for i in 0..rows {
                for j in 0..rows {
                    let r: f64 = (0..8).map(|d| h[i * 8 + d] * v[j * 8 + d]).sum::<f64>() + c[j];
                    let edges =
                        layers.network.graph.outgoing.row(i).filter(|&column| column == j).count() as f64;
                    dense += if edges > 0.0 { (r - edges).powi(2) } else { layers.network.lambda * r * r };
                }
            }
            let gram = tape.scalar(reconstruction[k]);
            assert!((gram - dense / 144.0).abs() < 1e-12 * dense, "{gram} {}", dense / 144.0);
        }
    }
}

#[test]
fn the_reference_configuration_has_its_parameters() {
    let rows = 6607;
    let networks = (0..6)
        .map(|k| DangoNetwork { name: format!("network{k}"), graph: graph(rows, &[]), lambda: 1.0 })
        .collect();
    let model = Dango::<f32>::new(rows, networks, 64, 4, 0);
    assert_eq!(model.parameters().element_count(), 3_138_270);
}

/// Tables and the forward pass agree to the rounding of `f32`: 2e-6 of the scores' standard deviation was seen; ten times is allowed.
#[test]
fn tables_score_as_the_forward_pass() {
    let rows = 40;
    for (width, heads) in [(64, 4), (32, 1), (32, 8)] {
        let mut rng = Rng::new(5, "dango tables test");
        let networks = ["a", "b"].map(|name| {
            let edges: Vec<(u32, u32)> =
                (0..90).map(|_| (rng.below(rows) as u32, rng.below(rows) as u32)).collect();
            DangoNetwork { name: name.to_owned(), graph: graph(rows, &edges), lambda: 1.0 }
        });
        let mut model = Dango::<f32>::new(rows, networks.to_vec(), width, heads, 3);
        // Away from the start, where `rezero` hides the attention and biases are zero.
        for index in 0..model.parameters().len() {
            let name = model.parameters().get(index).name().to_owned();
            let size = if name.ends_with("rezero") { 0.5 } else { 0.05 };
            for value in model.parameters_mut().values_mut(index) {
                *value += size * rng.normal() as f32;
            }
        }
        let sets: GeneSets = (0..500)
            .map(|set| {
                let first = rng.below(rows - 4) as u32;
                (first..first + 1 + set % 4).collect::<Vec<u32>>()
            })
            .collect::<Vec<_>>()
            .iter()
            .map(Vec::as_slice)
            .collect();
        let mut tape = Tape::new(model.parameters());
        let forward = model.forward(&mut tape, sets.view());
        let expected = tape.value(forward.set.scores);
        let mut found = vec![0.0; sets.len()];
        Model::fixed(&model).expect("the kernels handle the shape").score(sets.view(), &mut found);
        let mean = expected.iter().sum::<f32>() / expected.len() as f32;
        let sd =
            (expected.iter().map(|value| (value - mean).powi(2)).sum::<f32>() / expected.len() as f32).sqrt();
        let worst = expected.iter().zip(&found).map(|(a, b)| (a - b).abs()).fold(0.0, f32::max);
        assert!(sd > 1e-3 && worst < 2e-5 * sd, "{width}/{heads}: off by {worst} of a deviation of {sd}");
    }
    let odd = Dango::<f32>::new(
        rows,
        vec![DangoNetwork { name: "a".into(), graph: graph(rows, &[]), lambda: 1.0 }],
        24,
        4,
        3,
    );
    assert!(Model::fixed(&odd).is_none(), "a width that no kernel handles goes through the forward pass");
}
