//! Results are the same to the last bit for any number of threads.

use super::{Layer, numbers};
use crate::kernel::simd::linear::{linear, transposed_product};
use crate::kernel::sparse::{edge_loss, spmm};
use crate::kernel::testing::{normal, random_graph};
use crate::kernel::{
    Activation, Block, DistinctEdges, EdgeLoss, Isa, Layout, LinearTerm, Pairwise, PairwiseOutput, Scalar,
    SharedRows, Spmm, StoreMode, reference,
};
use knockout_base::random::Rng;

/// The promise of every kernel: chunks depend on the input, never on the threads.
#[test]
fn threads_do_not_change_a_bit_of_products() {
    let mut rng = Rng::new(3, "threads");
    let (rows, width) = (3_000, 24);
    let graph = random_graph(&mut rng, rows, 200_000);
    let target = DistinctEdges::of(&graph);
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
            let task = Spmm {
                matrix: &graph.incoming,
                width,
                input: &x,
                column_weight: None,
                row_weight: Some(&bias),
            };
            spmm::spmm(isa, &task, StoreMode::Set, &mut sums);
            let term = LinearTerm { rows: &x, depth: width, weight: &weight, layout: Layout::OutIn };
            linear(isa, &[term], None, Activation::Relu, StoreMode::Set, &mut out, width);
            transposed_product(isa, &x, &y, [width, width], &mut product, None);
            let mut bias_gradient = vec![0.0; rows];
            let task = EdgeLoss {
                matrix: &target.incoming,
                target: &target.incoming_count,
                row_values: &x,
                column_values: &y,
                row_bias: Some(&bias),
                column_bias: None,
                width,
                lambda: 1.0,
                scale: 1.0,
            };
            let value = edge_loss::edge_loss(isa, &task, &mut out, &mut bias_gradient);
            (sums, out, product, bias_gradient, value)
        })
    };
    let one = run(1);
    for threads in [2, 7] {
        assert!(run(threads) == one, "{threads} threads");
    }
}

/// Whole operations through their drivers: several tiles and groups, a tile that is not full.
#[test]
fn threads_do_not_change_a_bit_of_blocks_and_pairs() {
    let mut rng = Rng::new(6, "threads");
    let (rows, width) = (500, 16);
    let layers: Vec<Layer> = (0..2).map(|_| Layer::new(&mut rng, width, width, false)).collect();
    let block =
        Block::new(layers.iter().map(Layer::narrow).collect(), Activation::Gelu, None, Activation::Gelu);
    let pairs: Vec<[Layer; 2]> = (0..3)
        .map(|_| [Layer::new(&mut rng, 2 * width, 8, false), Layer::new(&mut rng, 8, width, false)])
        .collect();
    let score = [Layer::new(&mut rng, width, 8, false), Layer::new(&mut rng, 8, 1, false)];
    let task = Pairwise::new(
        2,
        pairs.iter().map(|layers| layers.iter().map(Layer::narrow).collect()).collect(),
        [score[0].narrow(), score[1].narrow()],
        Activation::Gelu,
    );
    let (x, upstream) =
        (numbers(&mut rng, rows * width, 1.0, false), numbers(&mut rng, rows * width, 1.0, false));
    // The first graph's rows are read three times each, once in every part of the rows; the order brings them together.
    let index: Vec<u32> = (0..rows as u32).rev().collect();
    let shared: Vec<u32> = (0..rows as u32).map(|row| row % 167).collect();
    let mut order: Vec<u32> = (0..rows as u32).collect();
    order.sort_by_key(|&row| shared[row as usize]);
    let shared_rows = SharedRows::new(&[&shared, &index], Some(order));
    assert!(shared_rows.source_count() < 3 * rows / 2);
    let graphs = [&x[..], &upstream[..]];
    let run = |threads: usize| {
        let pool = rayon::ThreadPoolBuilder::new().num_threads(threads).build().unwrap();
        pool.install(|| {
            let (mut out, mut d_x, mut gradient) =
                (vec![0.0; x.len()], vec![0.0; x.len()], vec![0.0; block.parameter_count()]);
            block.forward(&x, &mut out);
            block.backward(&x, &upstream, &mut d_x, &mut gradient);
            let (mut values, mut log_sum) = (vec![0.0; x.len()], vec![0.0; rows]);
            let output = PairwiseOutput { values: &mut values, log_sum: &mut log_sum, weights: None };
            task.forward(&graphs, &shared_rows, output);
            let mut d_sources = vec![0.0; shared_rows.source_count() * width];
            let mut pair_gradient = vec![0.0; task.parameter_count()];
            let forward = (&values[..], &log_sum[..]);
            task.backward(&graphs, &shared_rows, forward, &upstream, &mut d_sources, &mut pair_gradient);
            [out, d_x, gradient, values, log_sum, d_sources, pair_gradient]
        })
    };
    let one = run(1);
    for threads in [2, 7] {
        assert!(run(threads) == one, "{threads} threads");
    }
    let mut exact = vec![0.0f32; x.len()];
    reference::block_rows(&block, None, &x, &mut exact);
    assert!(exact.iter().zip(&one[0]).all(|(a, b)| (a - b).abs() < 1e-5));
    assert!(f32::pair_gradient_len(&task) > task.parameter_count());
}
