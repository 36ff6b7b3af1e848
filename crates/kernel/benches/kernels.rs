//! The kernels at the sizes of a yeast cell: 6,607 rows of 64, a million edges.

use criterion::{Criterion, Throughput, criterion_group, criterion_main};
use knockout_kernel::{
    Activation, Csr, EdgeTask, Graph, Layout, Pool, Scalar, SpmmTask, Store, Target, Term,
};
use knockout_random::Rng;

const ROWS: usize = 6_607;
const WIDTH: usize = 64;
const EDGES: usize = 1_000_000;

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
        SpmmTask { matrix: &graph.incoming, width: WIDTH, input: &x, column_weight: None, row_weight: None };
    group.bench_function("spmm", |bencher| bencher.iter(|| f32::spmm(&task, Store::Set, &mut out)));
    let target = Target::of(&graph);
    let task = EdgeTask {
        matrix: &target.outgoing,
        aim: &target.outgoing_count,
        row_values: &x,
        column_values: &y,
        row_bias: None,
        column_bias: Some(&bias),
        width: WIDTH,
        lambda: 0.1,
        scale: 1e-6,
    };
    group.bench_function("reconstruction", |bencher| {
        bencher.iter(|| f32::edges(&task, &mut out, &mut row_gradient));
    });
    group.finish();

    let mut group = criterion.benchmark_group("flop");
    group.throughput(Throughput::Elements((2 * ROWS * WIDTH * WIDTH) as u64));
    let term = Term { rows: &x, depth: WIDTH, weight: &weight, layout: Layout::OutIn };
    group.bench_function("linear", |bencher| {
        bencher.iter(|| {
            f32::linear(&[term], Some(&bias[..WIDTH]), Activation::Relu, Store::Set, &mut out, WIDTH);
        });
    });
    group.bench_function("weight gradient", |bencher| {
        bencher.iter(|| f32::transposed_product(&x, &y, [WIDTH, WIDTH], &mut small, None));
    });
    group.finish();
}

criterion_group!(benches, kernels);
criterion_main!(benches);
