//! All routes give the same numbers, for any number of threads and with dropout.

use super::super::*;
use super::{AT, OFFSETS, random_model, random_sets, small};
use crate::loss::interaction_loss;
use crate::testing::wide;
use knockout_data::batch::Graphs;
use knockout_engine::grad::Gradients;
use proptest::prelude::*;

/// Predictions and gradients of a training pass.
pub(super) fn evaluate<T: Scalar>(
    model: &Hetero<T>,
    sets: GeneSetsRef<'_>,
    graphs: &Graphs<'_>,
) -> Vec<Vec<f64>> {
    let targets = vec![T::of(0.25); sets.len()];
    let mut tape = Tape::new(model.parameters());
    let input = Input { training: Some(AT), ..Input::evaluated(sets, graphs) };
    let forward = model.forward(&mut tape, input, AggregationWeights::Discard);
    let predictions = wide(tape.value(forward.readout.predictions)).collect();
    let loss = interaction_loss(&mut tape, forward.readout.predictions, &targets);
    let mut gradients = Gradients::zeros(model.parameters());
    tape.backward(loss, &mut gradients);
    let gradients = (0..model.parameters().len()).map(|index| wide(gradients.parameter(index)).collect());
    std::iter::once(predictions).chain(gradients).collect()
}

/// `max |a − b| ≤ share · max |b|`, or so near zero that both are rounding.
pub(super) fn assert_close(a: &[Vec<f64>], b: &[Vec<f64>], share: f64, what: &str) {
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
        metabolism in prop::sample::select(vec![MetabolismSwitch::Off, MetabolismSwitch::On]),
    ) {
        let options = HeteroOptions {
            metabolism,
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
fn sampled_edges_apply_in_training_on_both_routes_and_differ_between_steps() {
    let options = HeteroOptions { fanout: 2, metabolism: MetabolismSwitch::On, ..small() };
    let mut model: Hetero<f64> = random_model(5, 30, 120, options.clone());
    let genes = random_sets(5, 30);
    let sets = GeneSetsRef::new(&OFFSETS, &genes);
    let predictions = |model: &Hetero<f64>, training: Option<LossPosition>| {
        let mut tape = Tape::new(model.parameters());
        let input = Input { training, ..Input::evaluated(sets, &Graphs::None) };
        let forward = model.forward(&mut tape, input, AggregationWeights::Discard);
        tape.value(forward.readout.predictions).to_vec()
    };
    let trained = predictions(&model, Some(AT));
    assert_ne!(trained, predictions(&model, Some(LossPosition { step: 8, ..AT })));
    let whole: Hetero<f64> = random_model(5, 30, 120, HeteroOptions { fanout: 0, ..options.clone() });
    assert_eq!(predictions(&model, None), predictions(&whole, Some(AT)), "evaluation reads all edges");
    let large: Hetero<f64> = random_model(5, 30, 120, HeteroOptions { fanout: 200, ..options });
    assert_close(&[predictions(&large, Some(AT))], &[predictions(&whole, Some(AT))], 1e-12, "all are drawn");
    let changed = evaluate(&model, sets, &Graphs::None);
    model.set_route(Route::NodeMask);
    assert_close(&changed, &evaluate(&model, sets, &Graphs::None), 1e-9, "routes");
}

#[test]
fn dropout_applies_in_training_and_differs_between_steps() {
    let options = HeteroOptions { dropout: 0.3, ..small() };
    let model: Hetero<f64> = random_model(5, 30, 40, options.clone());
    let genes = random_sets(5, 30);
    let sets = GeneSetsRef::new(&OFFSETS, &genes);
    let predictions = |training: Option<LossPosition>| {
        let mut tape = Tape::new(model.parameters());
        let input = Input { training, ..Input::evaluated(sets, &Graphs::None) };
        let forward = model.forward(&mut tape, input, AggregationWeights::Discard);
        tape.value(forward.readout.predictions).to_vec()
    };
    assert_eq!(predictions(Some(AT)), predictions(Some(AT)));
    assert_ne!(predictions(Some(AT)), predictions(Some(LossPosition { step: 8, ..AT })));
    let evaluated = predictions(None);
    assert_ne!(evaluated, predictions(Some(AT)));
    let options = HeteroOptions { dropout: 0.0, ..options };
    let without: Hetero<f64> = random_model(5, 30, 40, options);
    assert_eq!(evaluate(&without, sets, &Graphs::None)[0], evaluated);
}

#[test]
fn threads_do_not_change_a_bit() {
    let options = HeteroOptions { width: 16, dropout: 0.1, metabolism: MetabolismSwitch::On, ..small() };
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
