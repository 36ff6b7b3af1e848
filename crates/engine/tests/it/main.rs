//! Floating-point operations of the kernels against closed forms. The count is that of the process, so this is the only test of its binary.

use knockout_base::random::Rng;
use knockout_engine::kernel::{
    Activation, Affine, Attended, Block, Layout, LinearTerm, Pairwise, PairwiseOutput, Scalar as _,
    SelfAttention, SharedRows, StoreMode, counted_flop, worker_pool,
};

/// Not whole tiles and no whole panels of any instruction set, so that padding would be seen.
const ROWS: usize = 205;
const WIDTH: usize = 20;
const HIDDEN: usize = 12;
const GRAPHS: usize = 3;
const PAIRS: usize = GRAPHS * (GRAPHS + 1) / 2;

/// Operations that are counted meanwhile.
fn counted(work: impl FnOnce()) -> usize {
    let before = counted_flop();
    work();
    (counted_flop() - before) as usize
}

#[test]
fn operations_are_those_of_the_closed_forms() {
    for threads in [1, 2, 7] {
        worker_pool(threads, "flop").unwrap().install(every_kernel);
    }
}

fn every_kernel() {
    let mut rng = Rng::new(1, "flop");
    let mut normal = |count: usize| -> Vec<f32> { (0..count).map(|_| 0.1 * rng.normal() as f32).collect() };
    let (rows, mut out) = (normal(ROWS * WIDTH), vec![0.0; ROWS * HIDDEN]);
    let weight = normal(WIDTH * HIDDEN);
    let product = 2 * ROWS * WIDTH * HIDDEN;

    let term = LinearTerm { rows: &rows, depth: WIDTH, weight: &weight, layout: Layout::OutIn };
    let linear =
        counted(|| f32::linear(&[term, term], None, Activation::Gelu, StoreMode::Set, &mut out, HIDDEN));
    assert_eq!(linear, 2 * product);
    let mut sum = vec![0.0; WIDTH * HIDDEN];
    let gradient = counted(|| f32::transposed_product(&out, &rows, [HIDDEN, WIDTH], &mut sum, None));
    assert_eq!(gradient, product);
    let mut gram = vec![0.0; WIDTH * WIDTH];
    let half = counted(|| f32::transposed_product(&rows, &rows, [WIDTH, WIDTH], &mut gram, None));
    assert_eq!(half, ROWS * WIDTH * (WIDTH + 1), "half of a symmetric matrix");

    let (first, second, bias) = (normal(HIDDEN * WIDTH), normal(WIDTH * HIDDEN), normal(WIDTH));
    let linears = vec![
        Affine { weight: &first[..], bias: &bias[..HIDDEN] },
        Affine { weight: &second[..], bias: &bias[..] },
    ];
    let block = Block::new(linears, Activation::Gelu, None, Activation::None);
    let (mut values, upstream) = (vec![0.0; ROWS * WIDTH], normal(ROWS * WIDTH));
    let (mut d_rows, mut d_block) = (vec![0.0; ROWS * WIDTH], vec![0.0; block.parameter_count()]);
    assert_eq!(counted(|| block.forward(&rows, &mut values)), 2 * product);
    let backward = counted(|| block.backward(&rows, &upstream, &mut d_rows, &mut d_block));
    assert_eq!(backward, 3 * 2 * product, "recomputed, then gradients of rows and weights");

    let attention = SelfAttention { query: &rows, key: &rows, value: &upstream, width: WIDTH, heads: 2 };
    let mut log_sum = vec![0.0; ROWS * 2];
    assert_eq!(counted(|| attention.forward(&mut values, &mut log_sum)), 2 * 2 * ROWS * ROWS * WIDTH);
    let (forward, zero) = (Attended { rows: &values, log_sum: &log_sum }, vec![0.0; ROWS * 2]);
    let backward = counted(|| {
        attention.backward(forward, Attended { rows: &upstream, log_sum: &zero });
    });
    assert_eq!(backward, 5 * 2 * ROWS * ROWS * WIDTH);
    pairwise(&mut normal);
}

/// Every row reads rows of its own, so that nothing is shared. The kernel splits first layers in halves, which are one for a graph with itself, and
/// takes the score's first layer and a pair's second one together.
fn pairwise(normal: &mut impl FnMut(usize) -> Vec<f32>) {
    let pairs: Vec<[Vec<f32>; 4]> = (0..PAIRS)
        .map(|_| [normal(2 * WIDTH * HIDDEN), normal(HIDDEN), normal(HIDDEN * WIDTH), normal(WIDTH)])
        .collect();
    let linears = pairs.iter().map(|[first, first_bias, second, second_bias]| {
        vec![
            Affine { weight: &first[..], bias: &first_bias[..] },
            Affine { weight: &second[..], bias: &second_bias[..] },
        ]
    });
    let score = [normal(HIDDEN * WIDTH), normal(HIDDEN), normal(HIDDEN), normal(1)];
    let layers = [
        Affine { weight: &score[0][..], bias: &score[1][..] },
        Affine { weight: &score[2][..], bias: &score[3][..] },
    ];
    let task = Pairwise::new(GRAPHS, linears.collect(), layers, Activation::Gelu);
    let rows: Vec<Vec<f32>> = (0..GRAPHS).map(|_| normal(ROWS * WIDTH)).collect();
    let graphs: Vec<&[f32]> = rows.iter().map(|rows| &rows[..]).collect();
    let index: Vec<u32> = (0..ROWS as u32).collect();
    let shared = SharedRows::new(&[&index[..]; GRAPHS], None);
    let (mut values, mut log_sum) = (vec![0.0; ROWS * WIDTH], vec![0.0; ROWS]);
    let forward = counted(|| {
        let output = PairwiseOutput { values: &mut values, log_sum: &mut log_sum, weights: None };
        task.forward(&graphs, &shared, output);
    });
    let (halves, large, small) = (2 * PAIRS - GRAPHS, 2 * WIDTH * HIDDEN, 2 * HIDDEN * HIDDEN);
    assert_eq!(forward, ROWS * (halves * large + PAIRS * (small + large) + large));
    let upstream = normal(ROWS * WIDTH);
    let (mut d_rows, mut gradient) = (vec![0.0; GRAPHS * ROWS * WIDTH], vec![0.0; task.parameter_count()]);
    let backward = counted(|| {
        task.backward(&graphs, &shared, (&values, &log_sum), &upstream, &mut d_rows, &mut gradient);
    });
    // Second biases of all pairs are one product each way.
    let biases = 2 * 2 * WIDTH * PAIRS;
    assert_eq!(backward, ROWS * (3 * halves * large + PAIRS * (3 * small + 2 * large) + 3 * large + biases));
}
