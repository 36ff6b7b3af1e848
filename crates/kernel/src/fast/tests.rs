//! Fast blocks and pairs on every instruction set of this machine, against the plain ones in `f64`.

use super::{PackedBlock, PackedPairwise, elementary, tile};
use super::{add_pair_gradient, block_rows, block_rows_backward, pair_rows, pair_rows_backward};
use crate::{
    Activation, Affine, Block, Isa, Meeting, Met, Noise, NormScale, Pairwise, PairwiseOutput, Scalar, plain,
};
use knockout_random::Rng;
use proptest::prelude::*;

/// Functions whose derivative jumps: their inputs must be the same to the last bit in both float types.
fn jumps(activation: Activation) -> bool {
    matches!(activation, Activation::Relu | Activation::LeakyRelu)
}

/// Normal numbers times `scale`; on a coarse grid where sums must be exact.
fn numbers(rng: &mut Rng, count: usize, scale: f64, exact: bool) -> Vec<f32> {
    let value = |rng: &mut Rng| {
        let value = rng.normal() * scale;
        if exact { ((value * 8.0).round() / 8.0) as f32 } else { value as f32 }
    };
    (0..count).map(|_| value(rng)).collect()
}

/// Small whole numbers, whose sums are exact in any order.
fn whole(rng: &mut Rng, count: usize) -> Vec<f32> {
    (0..count).map(|_| rng.below(9) as f32 - 4.0).collect()
}

fn widen(values: &[f32]) -> Vec<f64> {
    values.iter().map(|&value| f64::from(value)).collect()
}

/// Weight and bias of a layer, in both types.
struct Layer {
    narrow: [Vec<f32>; 2],
    wide: [Vec<f64>; 2],
}

impl Layer {
    fn new(rng: &mut Rng, inputs: usize, outputs: usize, exact: bool) -> Self {
        let scale = if exact { 0.3 } else { (1.0 / inputs as f64).sqrt() };
        let narrow = [numbers(rng, inputs * outputs, scale, exact), numbers(rng, outputs, 0.5, exact)];
        let wide = [widen(&narrow[0]), widen(&narrow[1])];
        Self { narrow, wide }
    }

    fn narrow(&self) -> Affine<'_, f32> {
        Affine { weight: &self.narrow[0], bias: &self.narrow[1] }
    }

    fn wide(&self) -> Affine<'_, f64> {
        Affine { weight: &self.wide[0], bias: &self.wide[1] }
    }
}

fn assert_near(what: &str, isa: Isa, fast: &[f32], exact: &[f64], tolerance: f64) {
    assert_eq!(fast.len(), exact.len());
    let size = exact.iter().fold(1.0, |size: f64, value| size.max(value.abs()));
    for (at, (&fast, &exact)) in fast.iter().zip(exact).enumerate() {
        let distance = (f64::from(fast) - exact).abs() / size;
        assert!(distance < tolerance, "{what} {at} on {isa:?}: {fast} {exact} in {size}");
    }
}

/// Where a function jumps, what is kept is doubled: any other factor would be rounded, and rounding would decide.
fn exact_dropout(dropout: f64, jumps: bool) -> f64 {
    if jumps && dropout > 0.0 { 0.5 } else { dropout }
}

struct BlockCase {
    rows: usize,
    widths: Vec<usize>,
    between: Activation,
    last: Activation,
    normed: bool,
    input_scale: f64,
    dropout: f64,
}

fn check_block(seed: u64, case: &BlockCase) {
    let mut rng = Rng::new(seed, "block");
    let exact = jumps(case.between) || jumps(case.last);
    let (inputs, outputs) = (case.widths[0], case.widths[case.widths.len() - 1]);
    let layers: Vec<Layer> =
        case.widths.windows(2).map(|pair| Layer::new(&mut rng, pair[0], pair[1], exact)).collect();
    let (scale, shift) = (numbers(&mut rng, outputs, 1.0, false), numbers(&mut rng, outputs, 1.0, false));
    let (wide_scale, wide_shift) = (widen(&scale), widen(&shift));
    let norm = case.normed.then_some(NormScale { scale: &scale[..], shift: &shift[..] });
    let wide_norm = case.normed.then_some(NormScale { scale: &wide_scale[..], shift: &wide_shift[..] });
    let block = Block::new(layers.iter().map(Layer::narrow).collect(), case.between, norm, case.last);
    let wide = Block::new(layers.iter().map(Layer::wide).collect(), case.between, wide_norm, case.last);
    let input = numbers(&mut rng, case.rows * inputs, case.input_scale, exact);
    let upstream = numbers(&mut rng, case.rows * outputs, 1.0, false);

    let mut output = vec![0.0; case.rows * outputs];
    let keys: Vec<u32> = (0..case.rows as u32).map(|row| row / 2).collect();
    let noise = (case.dropout > 0.0).then(|| Noise::new(seed, 1, case.dropout, &keys));
    plain::block_rows(&wide, noise, &widen(&input), &mut output);
    let (mut d_input, mut gradient) = (vec![0.0; input.len()], vec![1.0; block.number_count()]);
    plain::block_rows_backward(&wide, noise, &widen(&input), &widen(&upstream), &mut d_input, &mut gradient);
    for isa in Isa::available() {
        let packed = PackedBlock::new(isa, block.linears());
        let mut fast = vec![7.0; output.len()];
        block_rows(&block, &packed, noise, &input, &mut fast);
        assert_near("output", isa, &fast, &output, 2e-5);
        let (mut fast_d, mut fast_gradient) = (vec![7.0; input.len()], vec![1.0; gradient.len()]);
        block_rows_backward(&block, &packed, noise, &input, &upstream, &mut fast_d, &mut fast_gradient);
        assert_near("d_input", isa, &fast_d, &d_input, 4e-5);
        assert_near("gradient", isa, &fast_gradient, &gradient, 4e-5);
    }
}

struct PairCase {
    rows: usize,
    graphs: usize,
    width: usize,
    hiddens: Vec<usize>,
    scored: usize,
    activation: Activation,
    input_scale: f64,
    dropout: f64,
    score_scale: f32,
    /// Rows of each graph: as many as the result has, or fewer that are read again and again.
    sources: usize,
}

fn check_pairs(seed: u64, case: &PairCase) {
    let mut rng = Rng::new(seed, "pairs");
    let exact = jumps(case.activation);
    let (rows, width) = (case.rows, case.width);
    let widths: Vec<usize> = std::iter::once(2 * width).chain(case.hiddens.clone()).chain([width]).collect();
    let pairs: Vec<Vec<Layer>> = (0..case.graphs * (case.graphs + 1) / 2)
        .map(|_| widths.windows(2).map(|pair| Layer::new(&mut rng, pair[0], pair[1], exact)).collect())
        .collect();
    let mut score =
        [Layer::new(&mut rng, width, case.scored, exact), Layer::new(&mut rng, case.scored, 1, exact)];
    score[1].narrow[0].iter_mut().for_each(|weight| *weight *= case.score_scale);
    score[1].wide[0] = widen(&score[1].narrow[0]);
    let task = Pairwise::new(
        case.graphs,
        pairs.iter().map(|layers| layers.iter().map(Layer::narrow).collect()).collect(),
        [score[0].narrow(), score[1].narrow()],
        case.activation,
    );
    let wide = Pairwise::new(
        case.graphs,
        pairs.iter().map(|layers| layers.iter().map(Layer::wide).collect()).collect(),
        [score[0].wide(), score[1].wide()],
        case.activation,
    );
    let indexes: Vec<Vec<u32>> = (0..case.graphs)
        .map(|_| {
            (0..rows)
                .map(|row| if case.sources < rows { rng.below(case.sources) } else { row } as u32)
                .collect()
        })
        .collect();
    let meeting = Meeting::new(&indexes.iter().map(|index| &index[..]).collect::<Vec<_>>(), None);
    let input = numbers(&mut rng, case.graphs * case.sources * width, case.input_scale, exact);
    let upstream = numbers(&mut rng, rows * width, 1.0, false);
    let wide_input = widen(&input);
    let size = case.sources * width;
    let (mut room, mut wide_room) =
        (vec![0.0; case.graphs * rows * width], vec![0.0; case.graphs * rows * width]);
    let met = meeting.tile(0, &input.chunks_exact(size).collect::<Vec<_>>(), width, &mut room);
    let wide_met = meeting.tile(0, &wide_input.chunks_exact(size).collect::<Vec<_>>(), width, &mut wide_room);

    // Rows may share a pair of rows: all have one key.
    let keys = vec![3; rows];
    let noise = (case.dropout > 0.0).then(|| Noise::new(seed, 1, case.dropout, &keys));
    let (met, wide_met) = (Met { noise, ..met }, Met { noise, ..wide_met });
    let (mut values, mut log_sum, mut weights) =
        (vec![0.0; rows * width], vec![0.0; rows], vec![0.0; rows * task.options()]);
    let output = PairwiseOutput { values: &mut values, log_sum: &mut log_sum, weights: Some(&mut weights) };
    plain::pair_rows(&wide, wide_met, output);
    let (mut d_input, mut gradient) = (vec![0.0; met.rows.len()], vec![1.0; task.number_count()]);
    let forward = (&values[..], &log_sum[..]);
    plain::pair_rows_backward(&wide, wide_met, forward, &widen(&upstream), &mut d_input, &mut gradient);
    // A score is known to its own rounding only, and that is what its exponential is wrong by.
    let top = log_sum.iter().fold(1.0, |top: f64, value| top.max(value.abs()));
    let tolerance = 4e-5 * top.max(1.0);
    for isa in Isa::available() {
        let linears: Vec<Vec<Affine<'_, f32>>> =
            task.pairs().map(|(_, _, linears)| linears.to_vec()).collect();
        let packed = PackedPairwise::new(isa, case.graphs, &linears, task.score());
        let (mut fast, mut fast_sum, mut fast_weights) =
            (vec![7.0; values.len()], vec![7.0; rows], vec![7.0; weights.len()]);
        let output =
            PairwiseOutput { values: &mut fast, log_sum: &mut fast_sum, weights: Some(&mut fast_weights) };
        pair_rows(&task, &packed, met, output);
        assert_near("values", isa, &fast, &values, tolerance);
        assert_near("log_sum", isa, &fast_sum, &log_sum, 2e-5);
        assert_near("weights", isa, &fast_weights, &weights, tolerance);
        let len = packed.gradient_len().unwrap_or_else(|| task.number_count());
        let (mut fast_d, mut partial) = (vec![7.0; met.rows.len()], vec![0.0; len]);
        let forward = (&fast[..], &fast_sum[..]);
        pair_rows_backward(&task, &packed, met, forward, &upstream, &mut fast_d, &mut partial);
        let mut fast_gradient = vec![1.0; gradient.len()];
        add_pair_gradient(&task, &packed, &partial, &mut fast_gradient);
        assert_near("d_input", isa, &fast_d, &d_input, 2.0 * tolerance);
        assert_near("gradient", isa, &fast_gradient, &gradient, 2.0 * tolerance);
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(48))]

    #[test]
    fn blocks_equal_the_plain_ones(
        seed: u64,
        rows in 1usize..50,
        mut widths in prop::collection::vec(1usize..40, 2..5),
        between in 0usize..6,
        last in 0usize..6,
        normed: bool,
        dropout in prop::sample::select(vec![0.0, 0.4]),
    ) {
        // Where functions jump, a norm's rounding must not decide; and a norm of one or two channels only magnifies rounding.
        let (between, mut last) = (Activation::ALL[between], Activation::ALL[last]);
        // Nothing that jumps may come after what is rounded, as the small slope is.
        if between == Activation::LeakyRelu {
            widths.truncate(3);
        }
        if jumps(last) && !matches!(between, Activation::None | Activation::Relu) {
            last = Activation::Tanh;
        }
        let normed = normed && !jumps(last) && widths[widths.len() - 1] > 3;
        let dropout = exact_dropout(dropout, jumps(between) || jumps(last));
        check_block(seed, &BlockCase { rows, widths, between, last, normed, input_scale: 1.0, dropout });
    }

    #[test]
    fn pairs_equal_the_plain_ones(
        seed: u64,
        rows in 1usize..30,
        sources in 1usize..60,
        graphs in 1usize..5,
        width in 1usize..24,
        hiddens in prop::collection::vec(1usize..20, 1..3),
        scored in 1usize..20,
        activation in 0usize..6,
        dropout in prop::sample::select(vec![0.0, 0.4]),
    ) {
        // The score comes after the pairs, and nothing that jumps may come after a slope that is rounded.
        let activation = match Activation::ALL[activation] {
            Activation::LeakyRelu => Activation::Relu,
            other => other,
        };
        // A mean of three is not exact.
        let graphs = if jumps(activation) { graphs.next_power_of_two() } else { graphs };
        let dropout = exact_dropout(dropout, jumps(activation));
        let (input_scale, score_scale) = (1.0, 1.0);
        let sources = sources.min(rows);
        let case =
            PairCase { rows, graphs, width, hiddens, scored, activation, input_scale, dropout, score_scale, sources };
        check_pairs(seed, &case);
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(256))]

    /// To the last bit, for every number of rows, depth and width that loops have a rest of.
    #[test]
    fn products_of_whole_numbers_are_exact(
        (rows, depth, width, beyond) in (1usize..30, 1usize..70, 1usize..70, 0usize..5),
        seed: u64,
    ) {
        let mut rng = Rng::new(seed, "products");
        let stride = depth + beyond;
        let (x, weight) = (whole(&mut rng, rows * stride), whole(&mut rng, depth * width));
        let factors = whole(&mut rng, rows);
        for isa in Isa::available() {
            let wide = super::stride(isa, width);
            let mut packed = vec![0.0; depth * wide];
            tile::pack(isa, depth, width, |k, column| weight[k * width + column], &mut packed);
            let term = tile::Factor { rows: &x, stride, depth, weight: &packed };
            let bias = vec![1.0; wide];
            let mut out = vec![f32::NAN; rows * wide];
            tile::product(isa, &[term, term], Some(&bias), tile::Finish::Set, &mut out, wide);
            tile::product(isa, &[term], None, tile::Finish::AddScaled(&factors), &mut out, wide);
            for (row, column) in (0..rows).flat_map(|row| (0..width).map(move |column| (row, column))) {
                let sum: f32 = (0..depth).map(|k| x[row * stride + k] * weight[k * width + column]).sum();
                prop_assert_eq!(out[row * wide + column], 1.0 + (2.0 + factors[row]) * sum, "{:?}", isa);
            }
        }
    }

    /// The same of the gradients of weights.
    #[test]
    fn outer_products_of_whole_numbers_are_exact(
        (rows, left_width, right_width) in (1usize..30, 1usize..40, 1usize..40),
        seed: u64,
    ) {
        let mut rng = Rng::new(seed, "outer products");
        let left = whole(&mut rng, rows * left_width);
        for isa in Isa::available() {
            let stride = super::stride(isa, right_width);
            let right = whole(&mut rng, rows * stride);
            let mut sum = vec![1.0; left_width * right_width];
            let sides = [(&left, left_width, left_width), (&right, stride, right_width)]
                .map(|(values, stride, width)| tile::Rows { values, stride, width });
            tile::outer(isa, sides[0], sides[1], tile::Part::Whole, &mut sum, right_width);
            for (i, j) in (0..left_width).flat_map(|i| (0..right_width).map(move |j| (i, j))) {
                let exact: f32 = (0..rows).map(|k| left[k * left_width + i] * right[k * stride + j]).sum();
                prop_assert_eq!(sum[i * right_width + j], 1.0 + exact, "{:?}", isa);
            }
        }
    }
}

#[test]
fn usual_sizes_are_right() {
    let widths = vec![64; 5];
    let case = BlockCase {
        rows: 96,
        widths,
        between: Activation::Gelu,
        last: Activation::Gelu,
        normed: true,
        input_scale: 1.0,
        dropout: 0.0,
    };
    check_block(1, &case);
    let usual = |rows: usize, sources: usize, input_scale: f64, score_scale: f32| PairCase {
        rows,
        graphs: 9,
        width: 64,
        hiddens: vec![32],
        scored: 32,
        activation: Activation::Gelu,
        input_scale,
        score_scale,
        dropout: 0.0,
        sources,
    };
    check_pairs(2, &usual(20, 20, 1.0, 1.0));
    check_pairs(2, &usual(96, 30, 1.0, 1.0));
    // Scores far apart: the softmax is compared with another score again and again.
    check_pairs(3, &usual(10, 10, 3.0, 100.0));
    check_pairs(3, &usual(10, 4, 3.0, 100.0));
}

#[test]
fn large_inputs_are_right() {
    for activation in Activation::ALL {
        let case = BlockCase {
            rows: 13,
            widths: vec![20, 33, 16],
            between: activation,
            last: Activation::None,
            normed: true,
            input_scale: 1e3,
            dropout: 0.0,
        };
        check_block(4, &case);
    }
    let case = PairCase {
        rows: 13,
        graphs: 3,
        width: 16,
        hiddens: vec![8],
        scored: 8,
        activation: Activation::Gelu,
        input_scale: 1e3,
        score_scale: 0.1,
        dropout: 0.0,
        sources: 13,
    };
    check_pairs(5, &case);
}

#[test]
fn pairs_with_a_leaky_slope_equal_the_plain_ones() {
    // Fixed cases: in random ones rounding would now and then decide on which side of the kink a score's layer is.
    for seed in 0..20 {
        let case = PairCase {
            rows: 17,
            graphs: 4,
            width: 13,
            hiddens: vec![11],
            scored: 14,
            activation: Activation::LeakyRelu,
            input_scale: 1.0,
            score_scale: 1.0,
            dropout: if seed % 2 == 0 { 0.0 } else { 0.4 },
            sources: 9,
        };
        check_pairs(seed, &case);
    }
}

#[test]
fn constant_rows_have_a_norm() {
    let (weight, bias, scale, shift) = (vec![0.0f32; 64 * 64], vec![3.0; 64], vec![2.0; 64], vec![0.5; 64]);
    let norm = NormScale { scale: &scale[..], shift: &shift[..] };
    let linear = Affine { weight: &weight[..], bias: &bias[..] };
    let block = Block::new(vec![linear], Activation::None, Some(norm), Activation::None);
    for isa in Isa::available() {
        let packed = PackedBlock::new(isa, block.linears());
        let mut output = vec![7.0; 7 * 64];
        block_rows(&block, &packed, None, &[1.0; 7 * 64], &mut output);
        assert!(output.iter().all(|&value| value == 0.5), "{isa:?}");
        let (mut d_input, mut gradient) = (vec![7.0; 7 * 64], vec![0.0; block.number_count()]);
        let upstream: Vec<f32> = (0..7 * 64).map(|at| (at % 5) as f32).collect();
        block_rows_backward(&block, &packed, None, &[1.0; 7 * 64], &upstream, &mut d_input, &mut gradient);
        assert!(gradient.iter().chain(&d_input).all(|value| value.is_finite()), "{isa:?}");
    }
}

#[test]
fn activations_are_exact_enough() {
    let mut inputs: Vec<f32> = (-120_000..=120_000).map(|at| at as f32 * 1e-4).collect();
    inputs
        .extend([1e-40, -1e-40, 1e-30, -1e-30, 50.0, -50.0, 1e3, -1e3, 1e10, -1e10, 1e30, -1e30, 0.0, -0.0]);
    for isa in Isa::available() {
        for activation in Activation::ALL {
            let (mut values, mut both, mut slopes) =
                (inputs.clone(), inputs.clone(), vec![7.0; inputs.len()]);
            elementary::activate(isa, activation, &mut values);
            elementary::activate_both(isa, activation, &mut both, &mut slopes);
            assert!(values == both, "with or without its derivative: {activation:?} on {isa:?}");
            for ((&x, &value), &slope) in inputs.iter().zip(&values).zip(&slopes) {
                let (exact, exact_slope) =
                    (activation.apply(f64::from(x)), activation.derivative(f64::from(x)));
                // GELU is a difference of nearly equal numbers far below 0: it is as exact as its argument is large.
                let (size, bound) = match activation {
                    Activation::Gelu => (f64::from(x).abs(), 3e-7),
                    _ => (exact.abs(), 5e-7),
                };
                let error = (f64::from(value) - exact).abs() / size.max(1.0);
                assert!(error < bound, "{activation:?} of {x} on {isa:?}: {value}, not {exact}");
                let error = (f64::from(slope) - exact_slope).abs();
                assert!(
                    error < 1e-6,
                    "slope of {activation:?} at {x} on {isa:?}: {slope}, not {exact_slope}"
                );
            }
            let mut nan = [f32::NAN; 9];
            elementary::activate(isa, activation, &mut nan);
            assert!(nan.iter().all(|value| value.is_nan()), "{activation:?} on {isa:?}");
        }
        let (scores, shift) = ([-1e30, -200.0, -44.5, -44.0, -1.0, 0.0, 30.0, f32::NEG_INFINITY], [0.0; 8]);
        let mut weights = [7.0; 8];
        elementary::exp_above(isa, &scores, &shift, &mut weights);
        for (score, weight) in scores.into_iter().zip(weights) {
            let exact = f64::from(score).exp();
            assert!((f64::from(weight) - exact).abs() <= 5e-6 * exact + 1e-19, "{score}: {weight}");
            assert!(weight == 0.0 || weight.is_normal(), "{score}: {weight}");
        }
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
    let meeting = Meeting::new(&[&shared, &index], Some(order));
    assert!(meeting.source_count() < 3 * rows / 2);
    let graphs = [&x[..], &upstream[..]];
    let run = |threads: usize| {
        let pool = rayon::ThreadPoolBuilder::new().num_threads(threads).build().unwrap();
        pool.install(|| {
            let (mut out, mut d_x, mut gradient) =
                (vec![0.0; x.len()], vec![0.0; x.len()], vec![0.0; block.number_count()]);
            block.forward(&x, &mut out);
            block.backward(&x, &upstream, &mut d_x, &mut gradient);
            let (mut values, mut log_sum) = (vec![0.0; x.len()], vec![0.0; rows]);
            let output = PairwiseOutput { values: &mut values, log_sum: &mut log_sum, weights: None };
            task.forward(&graphs, &meeting, output);
            let mut d_sources = vec![0.0; meeting.source_count() * width];
            let mut pair_gradient = vec![0.0; task.number_count()];
            let forward = (&values[..], &log_sum[..]);
            task.backward(&graphs, &meeting, forward, &upstream, &mut d_sources, &mut pair_gradient);
            [out, d_x, gradient, values, log_sum, d_sources, pair_gradient]
        })
    };
    let one = run(1);
    for threads in [2, 7] {
        assert!(run(threads) == one, "{threads} threads");
    }
    let mut exact = vec![0.0f32; x.len()];
    plain::block_rows(&block, None, &x, &mut exact);
    assert!(exact.iter().zip(&one[0]).all(|(a, b)| (a - b).abs() < 1e-5));
    assert!(f32::pair_gradient_len(&task) > task.number_count());
}
