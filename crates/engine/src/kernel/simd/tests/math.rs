//! Activations and exponentials against `f64`.

use crate::kernel::simd::isa::for_isa;
use crate::kernel::simd::math;
use crate::kernel::{Activation, Isa};

#[test]
fn activations_are_exact_enough() {
    let mut inputs: Vec<f32> = (-120_000..=120_000).map(|at| at as f32 * 1e-4).collect();
    inputs
        .extend([1e-40, -1e-40, 1e-30, -1e-30, 50.0, -50.0, 1e3, -1e3, 1e10, -1e10, 1e30, -1e30, 0.0, -0.0]);
    for isa in Isa::available() {
        for activation in Activation::ALL {
            let (mut values, mut both, mut slopes) =
                (inputs.clone(), inputs.clone(), vec![7.0; inputs.len()]);
            math::activate(isa, activation, &mut values);
            math::activate_with_slope(isa, activation, &mut both, &mut slopes);
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
            math::activate(isa, activation, &mut nan);
            assert!(nan.iter().all(|value| value.is_nan()), "{activation:?} on {isa:?}");
        }
        let (scores, shift) = ([-1e30, -200.0, -44.5, -44.0, -1.0, 0.0, 30.0, f32::NEG_INFINITY], [0.0; 8]);
        let mut weights = [7.0; 8];
        math::exp_shifted(isa, &scores, &shift, &mut weights);
        for (score, weight) in scores.into_iter().zip(weights) {
            let exact = f64::from(score).exp();
            assert!((f64::from(weight) - exact).abs() <= 5e-6 * exact + 1e-19, "{score}: {weight}");
            assert!(weight == 0.0 || weight.is_normal(), "{score}: {weight}");
        }
    }
}

for_isa! {
    /// 2^x of whole vectors.
    fn powers(values: &mut [f32]) = powers_body
}

#[inline(always)]
fn powers_body<const L: usize, const FUSED: bool>(values: &mut [f32]) {
    for lanes in values.as_chunks_mut::<L>().0 {
        *lanes = math::exp2_clamped::<L, FUSED>(*lanes);
    }
}

#[test]
fn powers_of_two_are_exact_enough_and_never_subnormal() {
    let mut inputs: Vec<f32> = (-70_000..70_000).map(|at| at as f32 * 1e-3).collect();
    inputs.extend([f32::NEG_INFINITY, -1e30, -200.5, -64.5].repeat(4));
    for isa in Isa::available() {
        let (mut values, mut nan) = (inputs.clone(), [f32::NAN; 16]);
        powers(isa, &mut values);
        for (&x, &value) in inputs.iter().zip(&values) {
            let exact = f64::from(x).max(-64.0).exp2();
            let error = (f64::from(value) - exact).abs();
            assert!(error <= 3e-7 * exact, "2^{x} is {exact}, not {value} on {isa:?}");
        }
        powers(isa, &mut nan);
        assert!(nan.iter().all(|value| value.is_nan()), "{isa:?}");
    }
}
