//! The hetero model over a synthetic cell: what the loader's processors make of a deletion gives what the genes alone give.

use knockout_data::batch::{Graphs, Processor, ProcessorKind};
use knockout_data::cell::GeneSetsRef;
use knockout_data::cell::{Cell, Deletion, GeneId};
use knockout_engine::grad::{Gradients, Tape};
use knockout_engine::kernel::Scalar;
use knockout_models::loss::interaction_loss;
use knockout_models::{
    AggregationWeights, Hetero, HeteroNetwork, HeteroOptions, HeteroParts, Input, MetabolicGraph, Model,
    Route, SelfLoopChoice,
};
use knockout_sources::synth;
use std::sync::Arc;

fn options() -> HeteroOptions {
    HeteroOptions {
        width: 16,
        layers: 2,
        gin_linears: 2,
        gin_hidden: 16,
        cross_heads: 4,
        pair_hidden: 8,
        pair_linears: 2,
        local_layers: 1,
        local_heads: 4,
        ..HeteroOptions::default()
    }
}

const OFFSETS: [u32; 4] = [0, 1, 3, 6];
const GENES: [u32; 6] = [0, 17, 90, 3, 150, 44];

fn evaluate<T: Scalar>(model: &Hetero<T>, graphs: &Graphs<'_>) -> Vec<Vec<f64>> {
    let widen = |values: &[T]| -> Vec<f64> { values.iter().map(|value| value.to_f64()).collect() };
    let sets = GeneSetsRef::new(&OFFSETS, &GENES);
    let targets = [0.3, -1.0, 0.7].map(T::of);
    let mut tape = Tape::new(model.parameters());
    let forward = model.forward(&mut tape, Input::evaluated(sets, graphs), AggregationWeights::Discard);
    let predictions = widen(tape.value(forward.readout.predictions));
    let loss = interaction_loss(&mut tape, forward.readout.predictions, &targets);
    let mut gradients = Gradients::zeros(model.parameters());
    tape.backward(loss, &mut gradients);
    let gradients = (0..model.parameters().len()).map(|place| widen(gradients.parameter(place)));
    std::iter::once(predictions).chain(gradients).collect()
}

fn assert_close(a: &[Vec<f64>], b: &[Vec<f64>], tolerance: f64, what: &str) {
    let largest = b.iter().flatten().fold(0.0, |size: f64, value| size.max(value.abs()));
    for (at, (a, b)) in a.iter().zip(b).enumerate() {
        let size = b.iter().fold(0.0, |size: f64, value| size.max(value.abs()));
        let far = a.iter().zip(b).map(|(a, b)| (a - b).abs()).fold(0.0, f64::max);
        // Gradients that are zero but for rounding are judged by the others.
        assert!(
            far <= tolerance * size.max(1e-2 * largest),
            "{what}: tensor {at} differs by {far} of {size}"
        );
    }
}

#[test]
fn every_processor_gives_what_the_genes_give() {
    let dataset =
        synth::synthesise(&synth::SynthConfig::preset("tiny").unwrap(), 3, "tiny", "test", &|_| ()).unwrap();
    check::<f64>(&dataset.cell, None, 1e-11);
    // Rounding alone: in single precision every route is 2e-5 from the exact gradients here.
    check::<f32>(&dataset.cell, None, 5e-5);
}

#[test]
fn every_processor_stops_the_same_reactions() {
    let dataset =
        synth::synthesise(&synth::SynthConfig::preset("tiny").unwrap(), 3, "tiny", "test", &|_| ()).unwrap();
    let metabolism = dataset.cell.metabolism().unwrap();
    let genes: Vec<GeneId> = GENES[3..].iter().map(|&gene| GeneId(gene)).collect();
    let stopped = Deletion::new(&genes).unwrap().stopped_reactions(metabolism);
    assert!(!stopped.is_empty(), "a sample that stops reactions");
    check::<f64>(&dataset.cell, Some(MetabolicGraph::of(metabolism)), 1e-11);
}

#[expect(clippy::unwrap_used, reason = "part of a test")]
fn check<T: Scalar>(cell: &Arc<Cell>, metabolism: Option<MetabolicGraph>, tolerance: f64) {
    let networks = cell.networks().iter().enumerate();
    let networks: Vec<HeteroNetwork> = networks
        .map(|(place, network)| HeteroNetwork::of(network, place, SelfLoopChoice::AsStored).indexed(network))
        .collect();
    let parts = HeteroParts { networks, metabolism, features: None };
    let mut model = Hetero::<T>::with_parts(cell.genes().len(), parts, options(), 1);
    let expected = evaluate(&model, &Graphs::None);
    model.set_route(Route::NodeMask);
    assert_close(&evaluate(&model, &Graphs::None), &expected, tolerance, "node-mask");
    for (route, kind) in [
        (Route::EdgeMask, ProcessorKind::Perturbation),
        (Route::EdgeMask, ProcessorKind::Mask),
        (Route::EdgeMask, ProcessorKind::ResidentMask),
        (Route::Rebuilt, ProcessorKind::Perturbation),
        (Route::Rebuilt, ProcessorKind::Subgraph),
    ] {
        model.set_route(route);
        let mut processor = Processor::new(cell, kind, OFFSETS.len() - 1);
        for (slot, pair) in OFFSETS.windows(2).enumerate() {
            let genes = &GENES[pair[0] as usize..pair[1] as usize];
            let genes: Vec<GeneId> = genes.iter().map(|&gene| GeneId(gene)).collect();
            processor.process(slot, 0, &Deletion::new(&genes).unwrap()).unwrap();
        }
        let found = evaluate(&model, &processor.graphs(OFFSETS.len() - 1));
        assert_close(&found, &expected, tolerance, &format!("{route:?} from {}", kind.name()));
    }
}
