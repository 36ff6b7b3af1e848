//! Blocks of linear layers against the reference kernels.

use super::{Layer, assert_near, exact_dropout, jumps, numbers};
use crate::kernel::simd::{PackedBlock, block_rows, block_rows_backward};
use crate::kernel::testing::widen;
use crate::kernel::{Activation, Affine, Block, DropoutMask, Isa, NormScale, reference};
use knockout_base::random::Rng;
use proptest::prelude::*;

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
    let dropout = (case.dropout > 0.0).then(|| DropoutMask::new(seed, 1, case.dropout, &keys));
    reference::block_rows(&wide, dropout, &widen(&input), &mut output);
    let (mut d_input, mut gradient) = (vec![0.0; input.len()], vec![1.0; block.parameter_count()]);
    reference::block_rows_backward(
        &wide,
        dropout,
        &widen(&input),
        &widen(&upstream),
        &mut d_input,
        &mut gradient,
    );
    for isa in Isa::available() {
        let packed = PackedBlock::new(isa, block.linears());
        let mut simd_values = vec![7.0; output.len()];
        block_rows(&block, &packed, dropout, &input, &mut simd_values);
        assert_near("output", isa, &simd_values, &output, 2e-5);
        let (mut simd_d, mut simd_gradient) = (vec![7.0; input.len()], vec![1.0; gradient.len()]);
        block_rows_backward(&block, &packed, dropout, &input, &upstream, &mut simd_d, &mut simd_gradient);
        assert_near("d_input", isa, &simd_d, &d_input, 4e-5);
        assert_near("gradient", isa, &simd_gradient, &gradient, 4e-5);
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(48))]

    #[test]
    fn blocks_equal_the_reference(
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
}

#[test]
fn usual_block_sizes_are_right() {
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
}

#[test]
fn large_block_inputs_are_right() {
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
        let (mut d_input, mut gradient) = (vec![7.0; 7 * 64], vec![0.0; block.parameter_count()]);
        let upstream: Vec<f32> = (0..7 * 64).map(|at| (at % 5) as f32).collect();
        block_rows_backward(&block, &packed, None, &[1.0; 7 * 64], &upstream, &mut d_input, &mut gradient);
        assert!(gradient.iter().chain(&d_input).all(|value| value.is_finite()), "{isa:?}");
    }
}
