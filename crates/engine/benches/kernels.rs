//! The kernels at the sizes of a yeast cell: 6,607 rows of 64, a million edges.

use criterion::{Criterion, Throughput, criterion_group, criterion_main};
use knockout_base::random::Rng;
use knockout_engine::kernel::{
    Activation, Affine, Attended, Block, Csr, DistinctEdges, EdgeLoss, Graph, Layout, LinearTerm, NormScale,
    Pairwise, PairwiseOutput, Pool, Scalar, SelfAttention, SharedRows, Spmm, StoreMode,
};

const ROWS: usize = 6_607;
const WIDTH: usize = 64;
const EDGES: usize = 1_000_000;
/// Of the networks that combine pairs of graphs.
const HIDDEN: usize = 32;
const GRAPHS: usize = 9;

fn graph() -> Graph {
    let mut rng = Rng::new(1, "bench graph");
    let mut columns: Vec<Vec<u32>> = vec![Vec::new(); ROWS];
    for _ in 0..EDGES {
        columns[rng.below(ROWS)].push(rng.below(ROWS) as u32);
    }
    let mut offsets = vec![0u32];
    for row in &columns {
        offsets.push(offsets[offsets.len() - 1] + row.len() as u32);
    }
    Graph::from_outgoing(Csr::new(&offsets, &columns.concat(), ROWS).expect("entries within bounds"))
}

fn kernels(criterion: &mut Criterion) {
    let (pool, graph, mut rng) = (Pool::<f32>::new(), graph(), Rng::new(1, "bench values"));
    let mut normal = |count: usize| {
        let mut buffer = pool.scratch(count);
        buffer.iter_mut().for_each(|value| *value = rng.normal() as f32);
        buffer
    };
    let (x, y, weight, bias) =
        (normal(ROWS * WIDTH), normal(ROWS * WIDTH), normal(WIDTH * WIDTH), normal(ROWS));
    let mut out = pool.zeros(ROWS * WIDTH);
    let mut small = pool.zeros(WIDTH * WIDTH);
    let mut row_gradient = pool.zeros(ROWS);

    let mut group = criterion.benchmark_group("edges");
    group.throughput(Throughput::Elements(EDGES as u64));
    let task =
        Spmm { matrix: &graph.incoming, width: WIDTH, input: &x, column_weight: None, row_weight: None };
    group.bench_function("spmm", |bencher| bencher.iter(|| f32::spmm(&task, StoreMode::Set, &mut out)));
    let target = DistinctEdges::of(&graph);
    let task = EdgeLoss {
        matrix: &target.outgoing,
        target: &target.outgoing_count,
        row_values: &x,
        column_values: &y,
        row_bias: None,
        column_bias: Some(&bias),
        width: WIDTH,
        lambda: 0.1,
        scale: 1e-6,
    };
    group.bench_function("reconstruction", |bencher| {
        bencher.iter(|| f32::edge_loss(&task, &mut out, &mut row_gradient));
    });
    group.finish();

    let mut group = criterion.benchmark_group("flop");
    group.throughput(Throughput::Elements((2 * ROWS * WIDTH * WIDTH) as u64));
    let term = LinearTerm { rows: &x, depth: WIDTH, weight: &weight, layout: Layout::OutIn };
    group.bench_function("linear", |bencher| {
        bencher.iter(|| {
            f32::linear(&[term], Some(&bias[..WIDTH]), Activation::Relu, StoreMode::Set, &mut out, WIDTH);
        });
    });
    group.bench_function("weight gradient", |bencher| {
        bencher.iter(|| f32::transposed_product(&x, &y, [WIDTH, WIDTH], &mut small, None));
    });
    group.finish();
}

fn blocks(criterion: &mut Criterion) {
    let mut rng = Rng::new(1, "bench blocks");
    let mut normal =
        |count: usize| -> Vec<f32> { (0..count).map(|_| (rng.normal() * 0.12) as f32).collect() };
    let (weights, bias, scale) = (normal(4 * WIDTH * WIDTH), normal(WIDTH), normal(WIDTH));
    let linears = weights.chunks_exact(WIDTH * WIDTH).map(|weight| Affine { weight, bias: &bias }).collect();
    let norm = NormScale { scale: &scale[..], shift: &bias[..] };
    let block = Block::new(linears, Activation::Gelu, Some(norm), Activation::Gelu);
    let (x, upstream) = (normal(ROWS * WIDTH), normal(ROWS * WIDTH));
    let (mut out, mut d_x) = (vec![0.0; ROWS * WIDTH], vec![0.0; ROWS * WIDTH]);
    let mut gradient = vec![0.0; block.parameter_count()];
    let mut group = criterion.benchmark_group("block");
    group.throughput(Throughput::Elements(ROWS as u64));
    group.bench_function("forward", |bencher| bencher.iter(|| block.forward(&x, &mut out)));
    group.bench_function("backward", |bencher| {
        bencher.iter(|| block.backward(&x, &upstream, &mut d_x, &mut gradient));
    });
    group.finish();

    let pair = 2 * WIDTH * HIDDEN + HIDDEN + HIDDEN * WIDTH + WIDTH;
    let (numbers, score) =
        (normal(GRAPHS * (GRAPHS + 1) / 2 * pair), normal(HIDDEN * WIDTH + 2 * HIDDEN + 1));
    let cut = |numbers: &mut &'static [f32], inputs: usize, outputs: usize| {
        let (weight, rest) = numbers.split_at(inputs * outputs);
        let (bias, rest) = rest.split_at(outputs);
        *numbers = rest;
        Affine { weight, bias }
    };
    let (numbers, mut score): (&'static [f32], &'static [f32]) = (numbers.leak(), score.leak());
    let pairs = numbers
        .chunks_exact(pair)
        .map(|mut numbers| vec![cut(&mut numbers, 2 * WIDTH, HIDDEN), cut(&mut numbers, HIDDEN, WIDTH)]);
    let score = [cut(&mut score, WIDTH, HIDDEN), cut(&mut score, HIDDEN, 1)];
    let task = Pairwise::new(GRAPHS, pairs.collect(), score, Activation::Gelu);
    let (rows, index) = (normal(GRAPHS * ROWS * WIDTH), (0..ROWS as u32).collect::<Vec<u32>>());
    let (graphs, shared_rows) =
        (rows.chunks_exact(ROWS * WIDTH).collect::<Vec<_>>(), SharedRows::new(&[&index[..]; GRAPHS], None));
    let (mut log_sum, mut d_rows) = (vec![0.0; ROWS], vec![0.0; GRAPHS * ROWS * WIDTH]);
    let mut gradient = vec![0.0; task.parameter_count()];
    let mut group = criterion.benchmark_group("pairwise");
    group.throughput(Throughput::Elements(ROWS as u64)).sample_size(10);
    group.bench_function("forward", |bencher| {
        bencher.iter(|| {
            let output = PairwiseOutput { values: &mut out, log_sum: &mut log_sum, weights: None };
            task.forward(&graphs, &shared_rows, output);
        });
    });
    group.bench_function("backward", |bencher| {
        bencher.iter(|| {
            task.backward(&graphs, &shared_rows, (&out, &log_sum), &upstream, &mut d_rows, &mut gradient);
        });
    });
    group.finish();
}

/// One head of the transformer's two presets.
fn attention(criterion: &mut Criterion) {
    let mut rng = Rng::new(1, "bench attention");
    let mut normal = |count: usize| -> Vec<f32> { (0..count).map(|_| rng.normal() as f32).collect() };
    let mut group = criterion.benchmark_group("attention");
    group.throughput(Throughput::Elements((ROWS * ROWS) as u64)).sample_size(10);
    for width in [8, 20] {
        let [query, key, value, upstream] = [(); 4].map(|()| normal(ROWS * width));
        let task = SelfAttention { query: &query, key: &key, value: &value, width, heads: 1 };
        let (mut out, mut log_sum) = (vec![0.0; ROWS * width], vec![0.0; ROWS]);
        group.bench_function(format!("forward {width}"), |bencher| {
            bencher.iter(|| task.forward(&mut out, &mut log_sum));
        });
        let (forward, zero) = (Attended { rows: &out, log_sum: &log_sum }, vec![0.0; ROWS]);
        group.bench_function(format!("backward {width}"), |bencher| {
            bencher.iter(|| task.backward(forward, Attended { rows: &upstream, log_sum: &zero }));
        });
    }
    group.finish();
}

criterion_group!(benches, kernels, blocks, attention);
criterion_main!(benches);
