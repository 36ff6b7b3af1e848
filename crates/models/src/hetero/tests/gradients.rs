//! Gradients against central differences, on every route.

use super::super::*;
use super::{AT, OFFSETS, random_model, random_sets, small};
use crate::loss::interaction_loss;
use knockout_data::batch::Graphs;
use knockout_engine::grad::{evaluate_loss, gradient_check};

#[test]
fn gradients_equal_differences_of_the_loss() {
    check(MetabolismSwitch::Off, 14);
}

#[test]
fn gradients_of_merged_networks_equal_differences_of_the_loss() {
    use {Aggregation as A, NormKind as N, ScoreCombination as C};
    let none = (0.0, NoiseKind::Shared);
    for (seed, case) in [
        (A::PairwiseInteraction, N::Node, C::Gating, Route::ChangedRows, none),
        (A::Sum, N::Graph, C::Concat, Route::NodeMask, (0.3, NoiseKind::Shared)),
    ]
    .into_iter()
    .enumerate()
    {
        check_case(seed as u64, case, HeteroOptions { merge_networks: true, layers: 2, ..small() }, 6);
    }
}

#[test]
fn gradients_over_sampled_edges_equal_differences_of_the_loss() {
    use {Aggregation as A, NormKind as N, ScoreCombination as C};
    for (seed, case) in [
        (A::PairwiseInteraction, N::Node, C::Gating, Route::ChangedRows, (0.0, NoiseKind::Shared)),
        (A::Mean, N::None, C::Concat, Route::ChangedRows, (0.3, NoiseKind::Shared)),
        (A::Sum, N::Graph, C::Concat, Route::NodeMask, (0.0, NoiseKind::Shared)),
    ]
    .into_iter()
    .enumerate()
    {
        let options = HeteroOptions { fanout: 1, metabolism: MetabolismSwitch::On, layers: 2, ..small() };
        check_case(seed as u64, case, options, 14);
    }
}

#[test]
fn gradients_with_the_metabolism_equal_differences_of_the_loss() {
    check(MetabolismSwitch::On, 8);
}

fn check(metabolism: MetabolismSwitch, edges: usize) {
    use {Aggregation as A, NormKind as N, ScoreCombination as C};
    let (shared, independent) = ((0.3, NoiseKind::Shared), (0.3, NoiseKind::Independent));
    let none = (0.0, NoiseKind::Shared);
    for (seed, case) in [
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
        check_case(seed as u64, case, HeteroOptions { metabolism, layers: 2, ..small() }, edges);
    }
}

/// Aggregation, norm, combination, route, and dropout with its kind.
type Case = (Aggregation, NormKind, ScoreCombination, Route, (f64, NoiseKind));

fn check_case(seed: u64, case: Case, options: HeteroOptions, edges: usize) {
    let targets = [0.3, -0.2, 0.9, 0.1];
    let (aggregation, norm, combination, route, (dropout, noise)) = case;
    let options = HeteroOptions { norm, aggregation, combination, dropout, noise, route, ..options };
    let mut model: Hetero<f64> = random_model(seed, 12, edges, options.clone());
    let genes = random_sets(seed, 12);
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
        let forward = model.forward(&mut tape, input, AggregationWeights::Discard);
        let loss = interaction_loss(&mut tape, forward.readout.predictions, &targets);
        evaluate_loss(tape, loss, gradients)
    });
    assert!(worst.tolerances < 1.0, "{options:?}: {worst:?}");
}
