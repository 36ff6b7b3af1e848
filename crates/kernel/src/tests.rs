//! Every fast kernel on every instruction set of this machine, against the plain one.

use crate::{
    Activation, Csr, EdgeTask, Graph, Isa, Layout, SpmmTask, Store, Target, Term, edges, fast, plain, spmm,
};
use knockout_random::Rng;
use proptest::prelude::*;

fn normal(rng: &mut Rng, count: usize) -> Vec<f32> {
    (0..count).map(|_| rng.normal() as f32).collect()
}

fn widen(values: &[f32]) -> Vec<f64> {
    values.iter().map(|&value| f64::from(value)).collect()
}

fn graph(rng: &mut Rng, rows: usize, entries: usize) -> Graph {
    let mut columns: Vec<Vec<u32>> = vec![Vec::new(); rows];
    for _ in 0..entries {
        // The square makes row 0 a hub and leaves the last rows without entries.
        let row = (rng.unit() * rng.unit() * rows as f64) as usize;
        columns[row].push(rng.below(rows) as u32);
    }
    let mut offsets = vec![0u32];
    for row in &columns {
        offsets.push(offsets[offsets.len() - 1] + row.len() as u32);
    }
    Graph::from_outgoing(Csr::new(&offsets, &columns.concat(), rows).unwrap())
}

/// Largest distance in units of the largest value, or of 10 where all are small: sums of hundreds of standard normal numbers may
/// end near zero by chance, and their rounding does not.
fn distance(fast: &[f32], exact: &[f64]) -> f64 {
    let size = exact.iter().fold(10.0, |size: f64, value| size.max(value.abs()));
    fast.iter().zip(exact).map(|(&a, b)| (f64::from(a) - b).abs()).fold(0.0, f64::max) / size
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(48))]

    #[test]
    fn spmm_equals_the_plain_one(seed: u64, rows in 1usize..80, entries in 0usize..600, width in 1usize..70, weighted: bool) {
        let mut rng = Rng::new(seed, "spmm");
        let graph = graph(&mut rng, rows, entries);
        let (input, row_weight, column_weight) = (normal(&mut rng, rows * width), normal(&mut rng, rows), normal(&mut rng, rows));
        let before = normal(&mut rng, rows * width);
        for store in [Store::Set, Store::Add] {
            let mut exact = widen(&before);
            let wide = (widen(&input), widen(&row_weight), widen(&column_weight));
            plain::spmm(&SpmmTask {
                matrix: &graph.incoming, width, input: &wide.0,
                row_weight: weighted.then_some(&wide.1), column_weight: weighted.then_some(&wide.2),
            }, store, &mut exact);
            for isa in Isa::available() {
                let mut fast = before.clone();
                spmm::spmm(isa, &SpmmTask {
                    matrix: &graph.incoming, width, input: &input,
                    row_weight: weighted.then_some(&row_weight), column_weight: weighted.then_some(&column_weight),
                }, store, &mut fast);
                prop_assert!(distance(&fast, &exact) < 1e-5, "{isa:?}: {}", distance(&fast, &exact));
            }
        }
    }

    #[test]
    fn linear_equals_the_plain_one(seed: u64, rows in 0usize..40, width in 1usize..70, depths in (1usize..70, 1usize..20), biased: bool) {
        let mut rng = Rng::new(seed, "linear");
        let (first, second) = (normal(&mut rng, rows * depths.0), normal(&mut rng, rows * depths.1));
        let weights = (normal(&mut rng, width * depths.0), normal(&mut rng, width * depths.1));
        let (bias, before) = (normal(&mut rng, width), normal(&mut rng, rows * width));
        let wide = (widen(&first), widen(&second), widen(&weights.0), widen(&weights.1), widen(&bias));
        for (activation, store) in [(Activation::Relu, Store::Set), (Activation::None, Store::Add)] {
            let mut exact = widen(&before);
            let terms = [
                Term { rows: &wide.0, depth: depths.0, weight: &wide.2, layout: Layout::OutIn },
                Term { rows: &wide.1, depth: depths.1, weight: &wide.3, layout: Layout::InOut },
            ];
            plain::linear(&terms, biased.then_some(&wide.4), activation, store, &mut exact, width);
            for isa in Isa::available() {
                let mut fast = before.clone();
                let terms = [
                    Term { rows: &first, depth: depths.0, weight: &weights.0, layout: Layout::OutIn },
                    Term { rows: &second, depth: depths.1, weight: &weights.1, layout: Layout::InOut },
                ];
                fast::linear(isa, &terms, biased.then_some(&bias), activation, store, &mut fast, width);
                prop_assert!(distance(&fast, &exact) < 1e-5, "{isa:?}: {}", distance(&fast, &exact));
            }
        }
    }

    #[test]
    fn transposed_product_equals_the_plain_one(seed: u64, rows in 0usize..200, m in 1usize..40, k in 1usize..70) {
        let mut rng = Rng::new(seed, "transposed");
        let (left, right, before) = (normal(&mut rng, rows * m), normal(&mut rng, rows * k), normal(&mut rng, m * k));
        let (mut exact, mut exact_sum) = (widen(&before), vec![0.0; m]);
        plain::transposed_product(&widen(&left), &widen(&right), [m, k], &mut exact, Some(&mut exact_sum));
        for isa in Isa::available() {
            let (mut fast, mut fast_sum) = (before.clone(), vec![0.0; m]);
            fast::transposed_product(isa, &left, &right, [m, k], &mut fast, Some(&mut fast_sum));
            prop_assert!(distance(&fast, &exact) < 1e-5, "{isa:?}: {}", distance(&fast, &exact));
            prop_assert!(distance(&fast_sum, &exact_sum) < 1e-5, "{isa:?}");
        }
    }

    #[test]
    fn a_gram_matrix_is_the_product_of_equals(seed: u64, rows in 0usize..200, m in 1usize..70) {
        let mut rng = Rng::new(seed, "gram");
        let left = normal(&mut rng, rows * m);
        let right = left.clone();
        for isa in Isa::available() {
            let (mut gram, mut product) = (vec![0.0; m * m], vec![0.0; m * m]);
            fast::transposed_product(isa, &left, &left, [m, m], &mut gram, None);
            fast::transposed_product(isa, &left, &right, [m, m], &mut product, None);
            prop_assert!(gram == product, "half of it and the mirror give every bit of the whole: {isa:?}");
        }
    }

    #[test]
    fn edges_equal_the_plain_ones(seed: u64, rows in 1usize..60, entries in 0usize..500, usual: bool) {
        let (mut rng, width) = (Rng::new(seed, "edges"), if usual { 64 } else { 7 });
        let target = Target::of(&graph(&mut rng, rows, entries));
        let (h, v, c) = (normal(&mut rng, rows * width), normal(&mut rng, rows * width), normal(&mut rng, rows));
        let wide = (widen(&h), widen(&v), widen(&c));
        let (mut exact, mut exact_bias) = (vec![0.0; rows * width], vec![0.0; rows]);
        let exact_value = plain::edges(&EdgeTask {
            matrix: &target.outgoing, aim: &target.outgoing_count, row_values: &wide.0, column_values: &wide.1,
            row_bias: None, column_bias: Some(&wide.2), width, lambda: 0.1, scale: 0.5,
        }, &mut exact, &mut exact_bias);
        for isa in Isa::available() {
            let (mut fast, mut fast_bias) = (vec![0.0; rows * width], vec![0.0; rows]);
            let value = edges::edges(isa, &EdgeTask {
                matrix: &target.outgoing, aim: &target.outgoing_count, row_values: &h, column_values: &v,
                row_bias: None, column_bias: Some(&c), width, lambda: 0.1, scale: 0.5,
            }, &mut fast, &mut fast_bias);
            prop_assert!((value - exact_value).abs() <= 1e-4 * exact_value.abs().max(1.0), "{value} {exact_value}");
            prop_assert!(distance(&fast, &exact) < 1e-5);
            prop_assert!(distance(&fast_bias, &exact_bias) < 1e-5);
        }
    }
}

/// The promise of every kernel: chunks depend on the input, never on the threads.
#[test]
fn threads_do_not_change_a_bit() {
    let mut rng = Rng::new(3, "threads");
    let (rows, width) = (3_000, 24);
    let graph = graph(&mut rng, rows, 200_000);
    let target = Target::of(&graph);
    let (x, y, weight, bias) = (
        normal(&mut rng, rows * width),
        normal(&mut rng, rows * width),
        normal(&mut rng, width * width),
        normal(&mut rng, rows),
    );
    let run = |threads: usize| {
        let pool = rayon::ThreadPoolBuilder::new().num_threads(threads).build().unwrap();
        pool.install(|| {
            let isa = Isa::current();
            let (mut sums, mut out, mut product) =
                (vec![0.0; rows * width], vec![0.0; rows * width], vec![0.0; width * width]);
            let task = SpmmTask {
                matrix: &graph.incoming,
                width,
                input: &x,
                column_weight: None,
                row_weight: Some(&bias),
            };
            spmm::spmm(isa, &task, Store::Set, &mut sums);
            let term = Term { rows: &x, depth: width, weight: &weight, layout: Layout::OutIn };
            fast::linear(isa, &[term], None, Activation::Relu, Store::Set, &mut out, width);
            fast::transposed_product(isa, &x, &y, [width, width], &mut product, None);
            let mut bias_gradient = vec![0.0; rows];
            let task = EdgeTask {
                matrix: &target.incoming,
                aim: &target.incoming_count,
                row_values: &x,
                column_values: &y,
                row_bias: Some(&bias),
                column_bias: None,
                width,
                lambda: 1.0,
                scale: 1.0,
            };
            let value = edges::edges(isa, &task, &mut out, &mut bias_gradient);
            (sums, out, product, bias_gradient, value)
        })
    };
    let one = run(1);
    for threads in [2, 7] {
        assert!(run(threads) == one, "{threads} threads");
    }
}

/// Large enough for several bands of columns.
#[test]
fn bands_change_nothing_but_the_order() {
    let mut rng = Rng::new(5, "bands");
    let (rows, width) = (4_000, 64);
    let graph = graph(&mut rng, rows, 120_000);
    assert!(graph.incoming.bands().len() > 1);
    let target = Target::of(&graph);
    let (h, v, c) = (normal(&mut rng, rows * width), normal(&mut rng, rows * width), normal(&mut rng, rows));
    let wide = (widen(&h), widen(&v), widen(&c));
    let (mut sums, mut gradient, mut bias_gradient) =
        (vec![0.0; rows * width], vec![0.0; rows * width], vec![0.0; rows]);
    let task = SpmmTask {
        matrix: &graph.incoming,
        width,
        input: &wide.0,
        column_weight: Some(&wide.2),
        row_weight: None,
    };
    plain::spmm(&task, Store::Set, &mut sums);
    let task = EdgeTask {
        matrix: &target.incoming,
        aim: &target.incoming_count,
        row_values: &wide.0,
        column_values: &wide.1,
        row_bias: Some(&wide.2),
        column_bias: None,
        width,
        lambda: 0.3,
        scale: 1.0,
    };
    plain::edges(&task, &mut gradient, &mut bias_gradient);
    for isa in Isa::available() {
        let mut fast = vec![7.0; rows * width];
        let task =
            SpmmTask { matrix: &graph.incoming, width, input: &h, column_weight: Some(&c), row_weight: None };
        spmm::spmm(isa, &task, Store::Set, &mut fast);
        assert!(distance(&fast, &sums) < 1e-5, "{isa:?}");
        let (mut fast, mut fast_bias) = (vec![0.0; rows * width], vec![0.0; rows]);
        let task = EdgeTask {
            matrix: &target.incoming,
            aim: &target.incoming_count,
            row_values: &h,
            column_values: &v,
            row_bias: Some(&c),
            column_bias: None,
            width,
            lambda: 0.3,
            scale: 1.0,
        };
        edges::edges(isa, &task, &mut fast, &mut fast_bias);
        assert!(distance(&fast, &gradient) < 1e-5 && distance(&fast_bias, &bias_gradient) < 1e-5, "{isa:?}");
    }
}
