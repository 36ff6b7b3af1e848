//! Sparse kernels on every instruction set of this machine, against the reference kernels.

use super::{edge_loss, neighbour_sum, spmm};
use crate::kernel::testing::{distance, normal, random_csr, random_graph, widen};
use crate::kernel::{
    DistinctEdges, EdgeLoss, Isa, MASKED, NeighbourSum, RowGradients, Spmm, StoreMode, reference,
};
use knockout_base::random::Rng;
use proptest::prelude::*;

proptest! {
    #![proptest_config(ProptestConfig::with_cases(48))]

    #[test]
    fn spmm_equals_the_reference(seed: u64, rows in 1usize..80, entries in 0usize..600, width in 1usize..70, weighted: bool) {
        let mut rng = Rng::new(seed, "spmm");
        let graph = random_graph(&mut rng, rows, entries);
        let (input, row_weight, column_weight) = (normal(&mut rng, rows * width), normal(&mut rng, rows), normal(&mut rng, rows));
        let before = normal(&mut rng, rows * width);
        for store in [StoreMode::Set, StoreMode::Add] {
            let mut exact = widen(&before);
            let wide = (widen(&input), widen(&row_weight), widen(&column_weight));
            reference::spmm(&Spmm {
                matrix: &graph.incoming, width, input: &wide.0,
                row_weight: weighted.then_some(&wide.1), column_weight: weighted.then_some(&wide.2),
            }, store, &mut exact);
            for isa in Isa::available() {
                let mut values = before.clone();
                spmm::spmm(isa, &Spmm {
                    matrix: &graph.incoming, width, input: &input,
                    row_weight: weighted.then_some(&row_weight), column_weight: weighted.then_some(&column_weight),
                }, store, &mut values);
                prop_assert!(distance(&values, &exact) < 1e-5, "{isa:?}: {}", distance(&values, &exact));
            }
        }
    }

    #[test]
    fn edge_losses_equal_the_reference(seed: u64, rows in 1usize..60, entries in 0usize..500, usual: bool) {
        let (mut rng, width) = (Rng::new(seed, "edges"), if usual { 64 } else { 7 });
        let target = DistinctEdges::of(&random_graph(&mut rng, rows, entries));
        let (h, v, c) = (normal(&mut rng, rows * width), normal(&mut rng, rows * width), normal(&mut rng, rows));
        let wide = (widen(&h), widen(&v), widen(&c));
        let (mut exact, mut exact_bias) = (vec![0.0; rows * width], vec![0.0; rows]);
        let exact_value = reference::edge_loss(&EdgeLoss {
            matrix: &target.outgoing, target: &target.outgoing_count, row_values: &wide.0, column_values: &wide.1,
            row_bias: None, column_bias: Some(&wide.2), width, lambda: 0.1, scale: 0.5,
        }, &mut exact, &mut exact_bias);
        for isa in Isa::available() {
            let (mut values, mut simd_bias) = (vec![0.0; rows * width], vec![0.0; rows]);
            let value = edge_loss::edge_loss(isa, &EdgeLoss {
                matrix: &target.outgoing, target: &target.outgoing_count, row_values: &h, column_values: &v,
                row_bias: None, column_bias: Some(&c), width, lambda: 0.1, scale: 0.5,
            }, &mut values, &mut simd_bias);
            prop_assert!((value - exact_value).abs() <= 1e-4 * exact_value.abs().max(1.0), "{value} {exact_value}");
            prop_assert!(distance(&values, &exact) < 1e-5);
            prop_assert!(distance(&simd_bias, &exact_bias) < 1e-5);
        }
    }

    #[test]
    fn neighbour_sums_equal_the_reference(
        seed: u64, nodes in 1usize..60, entries in 0usize..400, width in 1usize..150, masked: bool,
        self_weight in prop::option::of(Just(1.25)),
    ) {
        let mut rng = Rng::new(seed, "sums");
        let matrix = random_csr(&mut rng, nodes, entries);
        // A sample with rows of its own for about half of the nodes, some of them masked.
        let (mut row_of, mut own_rows) = (Vec::new(), 0u32);
        for node in 0..nodes as u32 {
            let row = if rng.unit() < 0.5 { own_rows += 1; nodes as u32 + own_rows - 1 } else { node };
            row_of.push(row | if rng.unit() < 0.2 { MASKED } else { 0 });
        }
        let edge_mask: Vec<u64> = (0..entries.div_ceil(64)).map(|_| rng.below(usize::MAX) as u64).collect();
        let chosen: Vec<u32> = (0..nodes as u32).filter(|_| rng.unit() < 0.7).collect();
        let input = normal(&mut rng, (nodes + own_rows as usize) * width);
        let upstream = normal(&mut rng, chosen.len() * width);
        let (edge_mask, wide_input) = (masked.then_some(&edge_mask[..]), widen(&input));
        let task = NeighbourSum {
            matrix: &matrix, edge_mask, row_of: &row_of, width, self_weight: self_weight.map(|weight: f64| weight as f32),
            input: &input, nodes: &chosen,
        };
        let exact_task = NeighbourSum {
            matrix: &matrix, edge_mask, row_of: &row_of, width, self_weight, input: &wide_input, nodes: &chosen,
        };
        let mut exact = vec![0.0; upstream.len()];
        reference::neighbour_sum(&exact_task, &mut exact);
        let (mut shared, mut own) = (vec![0.0; nodes * width], vec![0.0; own_rows as usize * width]);
        let mut gradients = RowGradients { shared: &mut shared, own: &mut own, first: nodes };
        let factor = reference::neighbour_sum_backward(&exact_task, &widen(&upstream), &mut gradients);
        for isa in Isa::available() {
            let mut values = vec![0.0; upstream.len()];
            neighbour_sum::neighbour_sum(isa, &task, &mut values);
            let near = |a: &[f32], b: &[f64]| distance(a, b) < 1e-5;
            prop_assert!(near(&values, &exact), "{isa:?}");
            let (mut simd_shared, mut simd_own) = (vec![0.0; shared.len()], vec![0.0; own.len()]);
            let mut gradients = RowGradients { shared: &mut simd_shared, own: &mut simd_own, first: nodes };
            let simd_factor = neighbour_sum::neighbour_sum_backward(isa, &task, &upstream, &mut gradients);
            prop_assert!((simd_factor - factor).abs() < 1e-4 * factor.abs().max(100.0), "{isa:?}");
            prop_assert!(near(&simd_shared, &shared) && near(&simd_own, &own), "{isa:?}");
        }
    }
}

/// Large enough for several bands of columns.
#[test]
fn bands_change_only_the_order_of_summation() {
    let mut rng = Rng::new(5, "bands");
    let (rows, width) = (4_000, 64);
    let graph = random_graph(&mut rng, rows, 120_000);
    assert!(graph.incoming.bands().len() > 1);
    let target = DistinctEdges::of(&graph);
    let (h, v, c) = (normal(&mut rng, rows * width), normal(&mut rng, rows * width), normal(&mut rng, rows));
    let wide = (widen(&h), widen(&v), widen(&c));
    let (mut sums, mut gradient, mut bias_gradient) =
        (vec![0.0; rows * width], vec![0.0; rows * width], vec![0.0; rows]);
    let task = Spmm {
        matrix: &graph.incoming,
        width,
        input: &wide.0,
        column_weight: Some(&wide.2),
        row_weight: None,
    };
    reference::spmm(&task, StoreMode::Set, &mut sums);
    let task = EdgeLoss {
        matrix: &target.incoming,
        target: &target.incoming_count,
        row_values: &wide.0,
        column_values: &wide.1,
        row_bias: Some(&wide.2),
        column_bias: None,
        width,
        lambda: 0.3,
        scale: 1.0,
    };
    reference::edge_loss(&task, &mut gradient, &mut bias_gradient);
    for isa in Isa::available() {
        let mut values = vec![7.0; rows * width];
        let task =
            Spmm { matrix: &graph.incoming, width, input: &h, column_weight: Some(&c), row_weight: None };
        spmm::spmm(isa, &task, StoreMode::Set, &mut values);
        assert!(distance(&values, &sums) < 1e-5, "{isa:?}");
        let (mut values, mut simd_bias) = (vec![0.0; rows * width], vec![0.0; rows]);
        let task = EdgeLoss {
            matrix: &target.incoming,
            target: &target.incoming_count,
            row_values: &h,
            column_values: &v,
            row_bias: Some(&c),
            column_bias: None,
            width,
            lambda: 0.3,
            scale: 1.0,
        };
        edge_loss::edge_loss(isa, &task, &mut values, &mut simd_bias);
        assert!(
            distance(&values, &gradient) < 1e-5 && distance(&simd_bias, &bias_gradient) < 1e-5,
            "{isa:?}"
        );
    }
}
