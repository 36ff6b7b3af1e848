//! How much of one core's multipliers blocks, pairs and attention use: `cargo run --release -p knockout-engine --example gflops -- [runs] [rows]`.
//!
//! Times are CPU time of the one thread that works, the least of several runs, so that other programs disturb little. Only the
//! floating-point operations of the matrix products are counted, as few as the algebra leaves; activations, norms and softmax are overhead.

#![allow(clippy::print_stdout, reason = "it prints its findings")]

use knockout_base::random::Rng;
use knockout_engine::kernel::{
    Activation, Affine, Attended, Block, NormScale, Pairwise, PairwiseOutput, SelfAttention, SharedRows,
    peak_flop_per_s, worker_pool,
};
use rustix::time::{ClockId, clock_gettime};

const WIDTH: usize = 64;
const HIDDEN: usize = 32;
const GRAPHS: usize = 9;
const PAIRS: usize = GRAPHS * (GRAPHS + 1) / 2;

fn cpu_seconds() -> f64 {
    let now = clock_gettime(ClockId::ThreadCPUTime);
    now.tv_sec as f64 + now.tv_nsec as f64 * 1e-9
}

/// The least of several runs.
fn least(runs: usize, mut work: impl FnMut()) -> f64 {
    let time = |_| {
        let start = cpu_seconds();
        work();
        cpu_seconds() - start
    };
    (0..runs).map(time).fold(f64::INFINITY, f64::min)
}

fn report(name: &str, rows: usize, flops_per_row: usize, time: f64, peak: Option<f64>) {
    let rate = (rows * flops_per_row) as f64 / time;
    let share =
        peak.map_or(String::new(), |peak| format!(", {:4.1} % of the multipliers", 100.0 * rate / peak));
    println!("{name:18} {flops_per_row:9} flop/row {:8.2} ms {:6.1} GFLOP/s{share}", time * 1e3, rate * 1e-9);
}

fn main() {
    worker_pool(1, "gflops").expect("one thread").install(run);
}

fn run() {
    let argument = |at: usize, usual: usize| {
        std::env::args().nth(at).and_then(|argument| argument.parse().ok()).unwrap_or(usual)
    };
    let (runs, rows) = (argument(1, 15), argument(2, 6_607));
    let mut rng = Rng::new(1, "gflops");
    let mut normal = |count: usize, scale: f64| -> Vec<f32> {
        (0..count).map(|_| (rng.normal() * scale) as f32).collect()
    };
    let peak = peak_flop_per_s();
    if let Some(peak) = peak {
        println!("{:18} {:6.1} GFLOP/s", "multipliers alone", peak * 1e-9);
    }

    let (weights, bias) = (normal(4 * WIDTH * WIDTH, 0.12), normal(WIDTH, 0.1));
    let (scale, shift) = (normal(WIDTH, 1.0), normal(WIDTH, 0.1));
    let linears = weights.chunks_exact(WIDTH * WIDTH).map(|weight| Affine { weight, bias: &bias }).collect();
    let norm = NormScale { scale: &scale[..], shift: &shift[..] };
    let block = Block::new(linears, Activation::Gelu, Some(norm), Activation::Gelu);
    let (x, upstream) = (normal(rows * WIDTH, 1.0), normal(rows * WIDTH, 1.0));
    let (mut out, mut d_x) = (vec![0.0; rows * WIDTH], vec![0.0; rows * WIDTH]);
    let mut gradient = vec![0.0; block.parameter_count()];
    let layers = 4 * 2 * WIDTH * WIDTH;
    report("block forward", rows, layers, least(10 * runs, || block.forward(&x, &mut out)), peak);
    let time = least(4 * runs, || block.backward(&x, &upstream, &mut d_x, &mut gradient));
    report("block backward", rows, 3 * layers, time, peak);

    let numbers = normal(PAIRS * (2 * WIDTH * HIDDEN + HIDDEN + HIDDEN * WIDTH + WIDTH), 0.12);
    let pairs = numbers.chunks_exact(numbers.len() / PAIRS).map(|numbers| {
        let (first, rest) = numbers.split_at(2 * WIDTH * HIDDEN);
        let (first_bias, rest) = rest.split_at(HIDDEN);
        let (second, second_bias) = rest.split_at(HIDDEN * WIDTH);
        vec![Affine { weight: first, bias: first_bias }, Affine { weight: second, bias: second_bias }]
    });
    let (first, second, zero) = (normal(HIDDEN * WIDTH, 0.12), normal(HIDDEN, 0.2), normal(HIDDEN, 0.1));
    let score =
        [Affine { weight: &first[..], bias: &zero[..] }, Affine { weight: &second[..], bias: &zero[..1] }];
    let task = Pairwise::new(GRAPHS, pairs.collect(), score, Activation::Gelu);
    let values = normal(GRAPHS * rows * WIDTH, 1.0);
    let index: Vec<u32> = (0..rows as u32).collect();
    let (graphs, shared_rows) =
        (values.chunks_exact(rows * WIDTH).collect::<Vec<_>>(), SharedRows::new(&[&index[..]; GRAPHS], None));
    let mut log_sum = vec![0.0; rows];
    // Products of WIDTH x HIDDEN: halves of first layers, without the ones that are summed.
    let (halves, small) = (PAIRS * 2 - GRAPHS, 2 * HIDDEN * HIDDEN);
    let large = 2 * WIDTH * HIDDEN;
    let forward = halves * large + PAIRS * (small + large) + large;
    let time = least(runs, || {
        let output = PairwiseOutput { values: &mut out, log_sum: &mut log_sum, weights: None };
        task.forward(&graphs, &shared_rows, output);
    });
    report("pairwise forward", rows, forward, time, peak);
    let (mut d_rows, mut gradient) = (vec![0.0; GRAPHS * rows * WIDTH], vec![0.0; task.parameter_count()]);
    let backward = 3 * halves * large + PAIRS * (3 * small + 2 * large) + 3 * large;
    let time = least(runs, || {
        task.backward(&graphs, &shared_rows, (&out, &log_sum), &upstream, &mut d_rows, &mut gradient);
    });
    report("pairwise backward", rows, backward, time, peak);
    attention(rows, runs, &mut normal, peak);
}

/// One head of the transformer's two presets.
fn attention(rows: usize, runs: usize, normal: &mut impl FnMut(usize, f64) -> Vec<f32>, peak: Option<f64>) {
    for width in [8, 20] {
        let [query, key, value, upstream] = [(); 4].map(|()| normal(rows * width, 1.0));
        let task = SelfAttention { query: &query, key: &key, value: &value, width, heads: 1 };
        let (mut out, mut log_sum) = (vec![0.0; rows * width], vec![0.0; rows]);
        let time = least(runs, || task.forward(&mut out, &mut log_sum));
        report(&format!("attend {width}"), rows, 4 * rows * width, time, peak);
        let (forward, zero) = (Attended { rows: &out, log_sum: &log_sum }, vec![0.0; rows]);
        let time = least(runs, || {
            task.backward(forward, Attended { rows: &upstream, log_sum: &zero });
        });
        report(&format!("attend {width} backward"), rows, 10 * rows * width, time, peak);
    }
}
