//! Batches whose samples share deleted genes: the same predictions and gradients as one by one, from fewer rows.

use super::super::cells::{BatchCells, Sharing};
use super::super::*;
use super::routes::{assert_close, evaluate};
use super::{AT, network, random_model, small};
use crate::loss::interaction_loss;
use knockout_base::random::Rng;
use knockout_data::batch::Graphs;
use knockout_data::cell::GeneSets;
use knockout_engine::grad::{evaluate_loss, gradient_check};
use proptest::prelude::*;

/// Sets of one to five genes out of a few, so that most share some; the first one twice.
fn alike(seed: u64, count: usize, pool: usize) -> GeneSets {
    let mut rng = Rng::new(seed, "sets that share genes");
    let mut sets = GeneSets::default();
    for _ in 0..count {
        let mut genes: Vec<u32> = (0..pool as u32).collect();
        rng.shuffle(&mut genes);
        sets.push(&genes[..=rng.below(5)]);
    }
    let first = sets.get(0).to_vec();
    sets.push(&first);
    sets
}

fn predictions<T: Scalar>(model: &Hetero<T>, sets: GeneSetsRef<'_>) -> Vec<T> {
    let mut tape = Tape::new(model.parameters());
    let forward =
        model.forward(&mut tape, Input::evaluated(sets, &Graphs::None), AggregationWeights::Discard);
    tape.value(forward.readout.predictions).to_vec()
}

fn alone<T: Scalar>(model: &Hetero<T>, sets: &GeneSets) -> Vec<T> {
    let one = |set: &[u32]| predictions(model, GeneSetsRef::new(&[0, set.len() as u32], set))[0];
    sets.view().iter().map(one).collect()
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(24))]

    #[test]
    fn sharing_changes_neither_predictions_nor_gradients(
        seed: u64,
        genes in 9usize..40,
        edges in 0usize..60,
        pool in 5usize..9,
        pairwise: bool,
        dropout in prop::sample::select(vec![0.0, 0.3]),
        metabolism in prop::sample::select(vec![MetabolismSwitch::Off, MetabolismSwitch::On]),
    ) {
        let aggregation = if pairwise { Aggregation::PairwiseInteraction } else { Aggregation::Sum };
        let options = HeteroOptions { aggregation, dropout, metabolism, ..small() };
        let sets = alike(seed, 9, pool);
        let mut model: Hetero<f64> = random_model(seed, genes, edges, options);
        let shared = predictions(&model, sets.view());
        prop_assert_eq!(&shared, &alone(&model, &sets), "one by one, to the last bit");
        let expected = evaluate(&model, sets.view(), &Graphs::None);
        for route in [Route::NodeMask, Route::EdgeMask, Route::Rebuilt] {
            model.set_route(route);
            assert_close(&evaluate(&model, sets.view(), &Graphs::None), &expected, 1e-9, &format!("{route:?}"));
        }
    }

    #[test]
    fn in_single_precision_a_prediction_depends_on_its_batch_by_rounding_alone(
        seed: u64, genes in 9usize..300, edges in 0usize..900, pool in 5usize..9,
    ) {
        let model: Hetero<f32> = random_model(seed, genes, edges, HeteroOptions { width: 16, ..small() });
        let sets = alike(seed, 20, pool);
        let wide = |values: Vec<f32>| vec![crate::testing::wide(&values).collect::<Vec<f64>>()];
        assert_close(&wide(predictions(&model, sets.view())), &wide(alone(&model, &sets)), 1e-3, "one by one");
    }
}

#[test]
fn gradients_of_shared_rows_equal_differences_of_the_loss() {
    let sets: GeneSets =
        [&[0, 1, 4][..], &[0, 1, 5], &[0, 1, 6], &[0, 6, 1], &[1, 5], &[2, 3, 4, 5]].into_iter().collect();
    let targets = [0.3, -0.2, 0.9, 0.1, 0.5, -0.4];
    for (seed, aggregation) in [(3, Aggregation::PairwiseInteraction), (4, Aggregation::CrossAttention)] {
        let metabolism = if seed == 3 { MetabolismSwitch::On } else { MetabolismSwitch::Off };
        let options = HeteroOptions { aggregation, metabolism, layers: 3, dropout: 0.2, ..small() };
        let model: Hetero<f64> = random_model(seed, 14, 12, options);
        let mut parameters = model.parameters().clone();
        let worst = gradient_check(&mut parameters, 6, |parameters, gradients| {
            let mut tape = Tape::new(parameters);
            let input = Input { training: Some(AT), ..Input::evaluated(sets.view(), &Graphs::None) };
            let forward = model.forward(&mut tape, input, AggregationWeights::Discard);
            let loss = interaction_loss(&mut tape, forward.readout.predictions, &targets);
            evaluate_loss(tape, loss, gradients)
        });
        assert!(worst.tolerances < 1.0, "{aggregation:?}: {worst:?}");
    }
}

#[test]
fn threads_do_not_change_a_bit_of_shared_rows() {
    let model: Hetero<f32> = random_model(3, 300, 900, HeteroOptions { width: 16, ..small() });
    let sets = alike(8, 40, 8);
    let with = |threads: usize| {
        let pool = rayon::ThreadPoolBuilder::new().num_threads(threads).build().unwrap();
        pool.install(|| evaluate(&model, sets.view(), &Graphs::None))
    };
    let one = with(1);
    for threads in [2, 7] {
        assert_eq!(with(threads), one, "{threads} threads");
    }
}

#[test]
fn sets_that_several_samples_contain_are_bases() {
    let sets: GeneSets =
        [&[4, 1, 0][..], &[0, 1, 5], &[5, 6], &[7, 8, 9, 10, 11], &[7, 8, 9, 10, 11]].into_iter().collect();
    let cells = BatchCells::new(sets.view(), Sharing::Bases);
    let bases: Vec<&[u32]> = (0..cells.bases).map(|base| cells.deleted.of(base)).collect();
    assert_eq!(bases, [&[0][..], &[1], &[5], &[0, 1]], "sets of more than four genes share none");
    assert_eq!((cells.samples(), cells.sample(0)), (5, &[0, 1, 4][..]));
    assert_eq!(cells.subsets(1), [(0b001, 0), (0b010, 1), (0b100, 2), (0b011, 3)]);
    assert_eq!(BatchCells::new(sets.view(), Sharing::None).bases, 0);
}

/// The worked example of the module `plan`.
#[test]
fn two_samples_share_the_cell_without_their_query() {
    // A ──> B ──> C ──> D ──> E
    let (a, b, c, d, e) = (0, 1, 2, 3, 4);
    let physical = network("physical", 0, 5, &[(a, b), (b, c), (c, d), (d, e)]).graph;
    let sets: GeneSets = [&[a, c][..], &[a, d]].into_iter().collect();
    let plan = RowPlan::new(&[&physical], 5, sets.view(), 2, Extent::Changed);
    let [first, second] = &plan.layers[..] else { panic!("two layers") };
    let own = |rows: &own_rows::OwnRows| (0..3).map(|cell| rows.of(cell).to_vec()).collect::<Vec<_>>();
    // Cells: without A, then the two samples. A reaches B in one layer, B and C in two.
    assert_eq!(own(&first.output.own_rows), [vec![a, b], vec![c, d], vec![d, e]]);
    assert_eq!(own(&second.output.own_rows), [vec![a, b, c], vec![c, d, e], vec![d, e]]);
    assert_eq!((first.output.samples(), first.output.shared_rows()), (1..3, 7));
    // Rows 0 to 4 are the wild type's, 5 to 7 those of the cell without A: the second sample reads all three.
    let mask = knockout_engine::kernel::MASKED;
    assert_eq!(second.output.row_of(0), [5 | mask, 6, 7, d, e]);
    assert_eq!(second.output.row_of(1), [5 | mask, 6, 8 | mask, 9, 10]);
    assert_eq!(second.output.row_of(2), [mask | 0x5, 6, 7, mask | 0xb, 12]);
}

#[test]
fn samples_that_share_genes_take_fewer_rows() {
    let model: Hetero<f32> = random_model(3, 60, 90, small());
    let sets: GeneSets = [&[0, 1, 2][..], &[0, 1, 3], &[0, 1, 4], &[0, 2, 3], &[1, 2]].into_iter().collect();
    let apart: Vec<Vec<ChangedRows>> = sets
        .view()
        .iter()
        .map(|set| model.changed_rows(GeneSetsRef::new(&[0, set.len() as u32], set)))
        .collect();
    for (layer, together) in model.changed_rows(sets.view()).iter().enumerate() {
        let apart: usize = apart.iter().map(|rows| rows[layer].any).sum();
        assert!(together.any < apart, "layer {layer}: {} rows together, {apart} one by one", together.any);
    }
}
