//! The scaled start beside the reference's.

use super::super::*;
use super::{AT, OFFSETS, random_networks, random_sets, small};
use crate::loss::interaction_loss;
use knockout_base::random::Rng;
use knockout_data::batch::Graphs;
use knockout_data::cell::GeneSets;
use knockout_engine::grad::{evaluate_loss, gradient_check};

const GENES: usize = 200;

fn model<T: Scalar>(options: HeteroOptions, init: StartKind) -> Hetero<T> {
    let networks = random_networks(&mut Rng::new(3, "start"), GENES, 3_000);
    Hetero::new(GENES, networks, HeteroOptions { init, ..options }, 5)
}

/// How much of the wild type's rows differs between genes, layer by layer, and the largest prediction.
fn signal(model: &Hetero<f64>) -> (Vec<f64>, f64) {
    let genes = random_sets(1, GENES);
    let mut tape = Tape::new(model.parameters());
    let sets = GeneSetsRef::new(&OFFSETS, &genes);
    let forward =
        model.forward(&mut tape, Input::evaluated(sets, &Graphs::None), AggregationWeights::Discard);
    let width = model.options.width;
    let share = |&var: &Var| {
        let rows = &tape.value(var)[..GENES * width];
        let column = |channel: usize| rows.iter().skip(channel).step_by(width);
        let common: f64 = (0..width).map(|channel| column(channel).sum::<f64>().powi(2) / GENES as f64).sum();
        1.0 - common / rows.iter().map(|value| value * value).sum::<f64>()
    };
    let predictions = tape.value(forward.readout.predictions);
    (
        forward.layers.iter().map(share).collect(),
        predictions.iter().fold(0.0, |most, value| most.max(value.abs())),
    )
}

#[test]
fn genes_differ_as_much_after_the_last_layer_as_after_the_first() {
    let options = HeteroOptions { gin_linears: 4, aggregation: Aggregation::Mean, width: 32, ..small() };
    let (reference, _) = signal(&model(options.clone(), StartKind::Reference));
    let (scaled, _) = signal(&model(options, StartKind::Scaled));
    assert!(reference[2] < 0.5 * reference[0], "the reference's rows become alike: {reference:?}");
    assert!(scaled[2] > 0.8 * scaled[0] && scaled[2] > 3.0 * reference[2], "{scaled:?} beside {reference:?}");
}

#[test]
fn first_predictions_are_small_for_every_aggregation_and_norm() {
    use {Aggregation as A, NormKind as N};
    for aggregation in [A::Sum, A::Mean, A::CrossAttention, A::PairwiseInteraction] {
        for norm in [N::Node, N::Graph, N::None] {
            for (combination, activation) in [
                (ScoreCombination::Concat, Activation::Gelu),
                (ScoreCombination::GlobalOnly, Activation::Tanh),
            ] {
                let options =
                    HeteroOptions { aggregation, norm, combination, activation, width: 16, ..small() };
                let (_, largest) = signal(&model(options.clone(), StartKind::Scaled));
                assert!(largest > 0.0 && largest < 3.0, "{largest}: {options:?}");
            }
        }
    }
}

/// The model with a metabolism.
fn with_metabolism(options: HeteroOptions, init: StartKind) -> Hetero<f64> {
    let rng = &mut Rng::new(4, "start");
    let metabolism = Some(MetabolicGraph::of(&super::metabolism::random_metabolism(rng, GENES)));
    let networks = random_networks(rng, GENES, 3_000);
    let parts = HeteroParts { networks, metabolism, features: None };
    Hetero::with_parts(GENES, parts, HeteroOptions { init, ..options }, 5)
}

#[test]
fn what_reactions_and_metabolites_are_given_is_scaled_too() {
    let options = HeteroOptions { aggregation: Aggregation::Mean, width: 16, ..small() };
    let of = |init| with_metabolism(options.clone(), init);
    let (reference, scaled) = (of(StartKind::Reference), of(StartKind::Scaled));
    // The wild type's rows after the first layer.
    let x = |model: &Hetero<f64>| {
        let none = GeneSets::default();
        let mut tape = Tape::new(model.parameters());
        let input = Input::evaluated(none.view(), &Graphs::None);
        let forward = model.forward(&mut tape, input, AggregationWeights::Discard);
        tape.value(forward.layers[0]).to_vec()
    };
    // What the linear layers of the second layer's nodes make of what they are given: mean and deviation of each channel.
    let moments = |model: &Hetero<f64>| {
        let (metabolic, graph) =
            (model.layers[1].metabolism.as_ref().unwrap(), model.metabolism.as_ref().unwrap());
        let given = metabolic.given_in_wild_type(model.parameters(), graph, &x(model));
        let mut all = Vec::new();
        for (linear, rows) in metabolic.linears().into_iter().zip(&given) {
            let tape = Tape::new(model.parameters());
            let (weight, bias) = (tape.value(linear.weight), tape.value(linear.bias));
            for channel in 0..linear.outputs {
                let weight = &weight[channel * linear.inputs..][..linear.inputs];
                let out = |row: &[f64]| -> f64 {
                    bias[channel] + row.iter().zip(weight).map(|(x, w)| x * w).sum::<f64>()
                };
                let values: Vec<f64> = rows.chunks_exact(linear.inputs).map(out).collect();
                let mean = values.iter().sum::<f64>() / values.len() as f64;
                let square = values.iter().map(|value| (value - mean).powi(2)).sum::<f64>();
                all.push((mean, (square / values.len() as f64).sqrt()));
            }
        }
        all
    };
    let is_standard = |&(mean, deviation): &(f64, f64)| mean.abs() < 1e-9 && (deviation - 1.0).abs() < 1e-9;
    assert!(moments(&scaled).iter().all(is_standard));
    assert!(!moments(&reference).iter().any(is_standard));
    let (shares, largest) = signal(&scaled);
    assert!(shares[2] > 0.5 * shares[0] && largest > 0.0 && largest < 3.0, "{shares:?} {largest}");
}

#[test]
fn the_start_changes_values_alone_and_does_not_depend_on_the_route() {
    let parameters = |route, init| {
        let model: Hetero<f64> = model(HeteroOptions { route, ..small() }, init);
        model.parameters.iter().map(|p| (p.name().to_owned(), p.values().to_vec())).collect::<Vec<_>>()
    };
    let reference = parameters(Route::ChangedRows, StartKind::Reference);
    let scaled = parameters(Route::ChangedRows, StartKind::Scaled);
    let shape = |all: &[(String, Vec<f64>)]| -> Vec<(String, usize)> {
        all.iter().map(|(name, values)| (name.clone(), values.len())).collect()
    };
    assert_eq!(shape(&reference), shape(&scaled));
    assert_ne!(reference, scaled);
    assert_eq!(scaled, parameters(Route::EdgeMask, StartKind::Scaled));
    assert!(scaled.iter().all(|(_, values)| values.iter().all(|value| value.is_finite())));
}

#[test]
fn genes_that_no_network_tells_apart_start_with_finite_values() {
    // Rows that are all alike have no deviation to divide by.
    let networks = vec![super::network("alone", 0, 2, &[])];
    let options = HeteroOptions { init: StartKind::Scaled, ..small() };
    let model: Hetero<f32> = Hetero::new(2, networks, options, 5);
    assert!(model.parameters.iter().all(|p| p.values().iter().all(|value| value.is_finite())));
}

#[test]
fn a_total_is_the_mean_times_the_genes_and_has_the_right_gradient() {
    let of = |difference| {
        let networks = random_networks(&mut Rng::new(3, "start"), 12, 14);
        let options = HeteroOptions { difference, layers: 2, ..small() };
        Hetero::<f64>::new(12, networks, options, 5)
    };
    let (mean, total) = (of(DifferenceScale::Mean), of(DifferenceScale::Total));
    let genes = random_sets(2, 12);
    let sets = GeneSetsRef::new(&OFFSETS, &genes);
    let differences = |model: &Hetero<f64>| {
        let mut tape = Tape::new(model.parameters());
        let forward =
            model.forward(&mut tape, Input::evaluated(sets, &Graphs::None), AggregationWeights::Discard);
        tape.value(forward.readout.difference).to_vec()
    };
    for (mean, total) in differences(&mean).into_iter().zip(differences(&total)) {
        assert!((12.0 * mean - total).abs() < 1e-12, "{mean} {total}");
    }
    let targets = [0.3, -0.2, 0.9, 0.1];
    let mut parameters = total.parameters().clone();
    let worst = gradient_check(&mut parameters, 6, |parameters, gradients| {
        let mut tape = Tape::new(parameters);
        let input = Input { training: Some(AT), ..Input::evaluated(sets, &Graphs::None) };
        let forward = total.forward(&mut tape, input, AggregationWeights::Discard);
        let loss = interaction_loss(&mut tape, forward.readout.predictions, &targets);
        evaluate_loss(tape, loss, gradients)
    });
    assert!(worst.tolerances < 1.0, "{worst:?}");
}
