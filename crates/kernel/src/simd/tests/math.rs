//! Activations and exponentials against `f64`.

use crate::simd::math;
use crate::{Activation, Isa};

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

#[test]
fn powers_of_two_are_exact_enough_and_never_subnormal() {
    for at in -70_000..=70_000 {
        let x = at as f32 * 1e-3;
        let exact = f64::from(x).max(-64.0).exp2();
        for value in [math::exp2_clamped::<true>(x), math::exp2_clamped::<false>(x)] {
            assert!((f64::from(value) - exact).abs() <= 3e-7 * exact, "2^{x} is {exact}, not {value}");
        }
    }
    assert_eq!(math::exp2_clamped::<true>(f32::NEG_INFINITY), (-64.0f32).exp2());
    assert!(math::exp2_clamped::<true>(f32::NAN).is_nan());
}
