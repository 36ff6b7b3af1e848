//! Linear layers and weight gradients against the reference kernels.

use super::super::linear::{linear, transposed_product};
use crate::kernel::testing::{distance, normal, widen};
use crate::kernel::{Activation, Isa, Layout, LinearTerm, StoreMode, reference};
use knockout_base::random::Rng;
use proptest::prelude::*;

proptest! {
    #![proptest_config(ProptestConfig::with_cases(48))]

    #[test]
    fn linear_equals_the_reference(seed: u64, rows in 0usize..40, width in 1usize..70, depths in (1usize..70, 1usize..20), biased: bool) {
        let mut rng = Rng::new(seed, "linear");
        let (first, second) = (normal(&mut rng, rows * depths.0), normal(&mut rng, rows * depths.1));
        let weights = (normal(&mut rng, width * depths.0), normal(&mut rng, width * depths.1));
        let (bias, before) = (normal(&mut rng, width), normal(&mut rng, rows * width));
        let wide = (widen(&first), widen(&second), widen(&weights.0), widen(&weights.1), widen(&bias));
        for (activation, store) in [(Activation::Relu, StoreMode::Set), (Activation::None, StoreMode::Add)] {
            let mut exact = widen(&before);
            let terms = [
                LinearTerm { rows: &wide.0, depth: depths.0, weight: &wide.2, layout: Layout::OutIn },
                LinearTerm { rows: &wide.1, depth: depths.1, weight: &wide.3, layout: Layout::InOut },
            ];
            reference::linear(&terms, biased.then_some(&wide.4), activation, store, &mut exact, width);
            for isa in Isa::available() {
                let mut values = before.clone();
                let terms = [
                    LinearTerm { rows: &first, depth: depths.0, weight: &weights.0, layout: Layout::OutIn },
                    LinearTerm { rows: &second, depth: depths.1, weight: &weights.1, layout: Layout::InOut },
                ];
                linear(isa, &terms, biased.then_some(&bias), activation, store, &mut values, width);
                prop_assert!(distance(&values, &exact) < 1e-5, "{isa:?}: {}", distance(&values, &exact));
            }
        }
    }

    #[test]
    fn transposed_product_equals_the_reference(seed: u64, rows in 0usize..200, m in 1usize..40, k in 1usize..70) {
        let mut rng = Rng::new(seed, "transposed");
        let (left, right, before) = (normal(&mut rng, rows * m), normal(&mut rng, rows * k), normal(&mut rng, m * k));
        let (mut exact, mut exact_sum) = (widen(&before), vec![0.0; m]);
        reference::transposed_product(&widen(&left), &widen(&right), [m, k], &mut exact, Some(&mut exact_sum));
        for isa in Isa::available() {
            let (mut values, mut simd_sum) = (before.clone(), vec![0.0; m]);
            transposed_product(isa, &left, &right, [m, k], &mut values, Some(&mut simd_sum));
            prop_assert!(distance(&values, &exact) < 1e-5, "{isa:?}: {}", distance(&values, &exact));
            prop_assert!(distance(&simd_sum, &exact_sum) < 1e-5, "{isa:?}");
        }
    }

    #[test]
    fn a_gram_matrix_equals_the_full_product(seed: u64, rows in 0usize..200, m in 1usize..70) {
        let mut rng = Rng::new(seed, "gram");
        let left = normal(&mut rng, rows * m);
        let right = left.clone();
        for isa in Isa::available() {
            let (mut gram, mut product) = (vec![0.0; m * m], vec![0.0; m * m]);
            transposed_product(isa, &left, &left, [m, m], &mut gram, None);
            transposed_product(isa, &left, &right, [m, m], &mut product, None);
            prop_assert!(gram == product, "the mirrored triangle has every bit of the full product: {isa:?}");
        }
    }
}
