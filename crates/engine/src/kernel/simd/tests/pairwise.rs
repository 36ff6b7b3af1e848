//! Pairwise combination against the reference kernels.

use super::{Layer, assert_near, exact_dropout, jumps, numbers};
use crate::kernel::simd::{PackedPairwise, add_pair_gradient, pair_rows, pair_rows_backward};
use crate::kernel::testing::widen;
use crate::kernel::{
    Activation, Affine, DropoutMask, Isa, Pairwise, PairwiseOutput, SharedRows, SourceTile, reference,
};
use knockout_base::random::Rng;
use proptest::prelude::*;

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
    let shared_rows = SharedRows::new(&indexes.iter().map(|index| &index[..]).collect::<Vec<_>>(), None);
    let input = numbers(&mut rng, case.graphs * case.sources * width, case.input_scale, exact);
    let upstream = numbers(&mut rng, rows * width, 1.0, false);
    let wide_input = widen(&input);
    let size = case.sources * width;
    let (mut room, mut wide_room) =
        (vec![0.0; case.graphs * rows * width], vec![0.0; case.graphs * rows * width]);
    let sources = shared_rows.tile(0, &input.chunks_exact(size).collect::<Vec<_>>(), width, &mut room);
    let wide_sources =
        shared_rows.tile(0, &wide_input.chunks_exact(size).collect::<Vec<_>>(), width, &mut wide_room);

    // Rows may share a pair of rows: all have one key.
    let keys = vec![3; rows];
    let dropout = (case.dropout > 0.0).then(|| DropoutMask::new(seed, 1, case.dropout, &keys));
    let (sources, wide_sources) = (SourceTile { dropout, ..sources }, SourceTile { dropout, ..wide_sources });
    let (mut values, mut log_sum, mut weights) =
        (vec![0.0; rows * width], vec![0.0; rows], vec![0.0; rows * task.options()]);
    let output = PairwiseOutput { values: &mut values, log_sum: &mut log_sum, weights: Some(&mut weights) };
    reference::pair_rows(&wide, wide_sources, output);
    let (mut d_input, mut gradient) = (vec![0.0; sources.rows.len()], vec![1.0; task.parameter_count()]);
    let forward = (&values[..], &log_sum[..]);
    reference::pair_rows_backward(
        &wide,
        wide_sources,
        forward,
        &widen(&upstream),
        &mut d_input,
        &mut gradient,
    );
    // A score is known to its own rounding only, and that is what its exponential is wrong by.
    let top = log_sum.iter().fold(1.0, |top: f64, value| top.max(value.abs()));
    let tolerance = 4e-5 * top.max(1.0);
    for isa in Isa::available() {
        let linears: Vec<Vec<Affine<'_, f32>>> =
            task.pairs().map(|(_, _, linears)| linears.to_vec()).collect();
        let packed = PackedPairwise::new(isa, case.graphs, &linears, task.score());
        let (mut simd_values, mut simd_sum, mut simd_weights) =
            (vec![7.0; values.len()], vec![7.0; rows], vec![7.0; weights.len()]);
        let output = PairwiseOutput {
            values: &mut simd_values,
            log_sum: &mut simd_sum,
            weights: Some(&mut simd_weights),
        };
        pair_rows(&task, &packed, sources, output);
        assert_near("values", isa, &simd_values, &values, tolerance);
        assert_near("log_sum", isa, &simd_sum, &log_sum, 2e-5);
        assert_near("weights", isa, &simd_weights, &weights, tolerance);
        let len = packed.gradient_len().unwrap_or_else(|| task.parameter_count());
        let (mut simd_d, mut partial) = (vec![7.0; sources.rows.len()], vec![0.0; len]);
        let forward = (&simd_values[..], &simd_sum[..]);
        pair_rows_backward(&task, &packed, sources, forward, &upstream, &mut simd_d, &mut partial);
        let mut simd_gradient = vec![1.0; gradient.len()];
        add_pair_gradient(&task, &packed, &partial, &mut simd_gradient);
        assert_near("d_input", isa, &simd_d, &d_input, 2.0 * tolerance);
        assert_near("gradient", isa, &simd_gradient, &gradient, 2.0 * tolerance);
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(48))]

    #[test]
    fn pairs_equal_the_reference(
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

#[test]
fn usual_pair_sizes_are_right() {
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
fn large_pair_inputs_are_right() {
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
fn pairs_with_a_leaky_slope_equal_the_reference() {
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
