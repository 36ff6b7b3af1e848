//! Matrix products on tiles, on whole numbers whose sums are exact in any order.

use crate::kernel::Isa;
use crate::kernel::simd::{gemm, stride};
use knockout_base::random::Rng;
use proptest::prelude::*;

/// Small whole numbers.
fn whole(rng: &mut Rng, count: usize) -> Vec<f32> {
    (0..count).map(|_| rng.below(9) as f32 - 4.0).collect()
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(256))]

    /// To the last bit, for every number of rows, depth and width that loops have a remainder of.
    #[test]
    fn products_of_whole_numbers_are_exact(
        (rows, depth, width, beyond) in (1usize..30, 1usize..70, 1usize..70, 0usize..5),
        seed: u64,
    ) {
        let mut rng = Rng::new(seed, "products");
        let row_stride = depth + beyond;
        let (x, weight) = (whole(&mut rng, rows * row_stride), whole(&mut rng, depth * width));
        let factors = whole(&mut rng, rows);
        for isa in Isa::available() {
            let wide = stride(isa, width);
            let mut packed = vec![0.0; depth * wide];
            gemm::pack(isa, depth, width, |k, column| weight[k * width + column], &mut packed);
            let term = gemm::GemmOperand { rows: &x, stride: row_stride, depth, weight: &packed, width };
            let bias = vec![1.0; wide];
            let mut out = vec![f32::NAN; rows * wide];
            gemm::gemm(isa, &[term, term], Some(&bias), gemm::Epilogue::Set, &mut out, wide);
            gemm::gemm(isa, &[term], None, gemm::Epilogue::AddScaled(&factors), &mut out, wide);
            for (row, column) in (0..rows).flat_map(|row| (0..width).map(move |column| (row, column))) {
                let sum: f32 = (0..depth).map(|k| x[row * row_stride + k] * weight[k * width + column]).sum();
                prop_assert_eq!(out[row * wide + column], 1.0 + (2.0 + factors[row]) * sum, "{:?}", isa);
            }
        }
    }

    /// Gradients of weights, likewise.
    #[test]
    fn outer_products_of_whole_numbers_are_exact(
        (rows, left_width, right_width) in (1usize..30, 1usize..40, 1usize..40),
        seed: u64,
    ) {
        let mut rng = Rng::new(seed, "outer products");
        let left = whole(&mut rng, rows * left_width);
        for isa in Isa::available() {
            let right_stride = stride(isa, right_width);
            let right = whole(&mut rng, rows * right_stride);
            let mut sum = vec![1.0; left_width * right_width];
            let sides = [(&left, left_width, left_width), (&right, right_stride, right_width)]
                .map(|(values, stride, width)| gemm::TileRows { values, stride, width });
            gemm::gemm_tn(isa, sides[0], sides[1], gemm::ProductPart::Whole, &mut sum, right_width);
            for (i, j) in (0..left_width).flat_map(|i| (0..right_width).map(move |j| (i, j))) {
                let exact: f32 = (0..rows).map(|k| left[k * left_width + i] * right[k * right_stride + j]).sum();
                prop_assert_eq!(sum[i * right_width + j], 1.0 + exact, "{:?}", isa);
            }
        }
    }
}
