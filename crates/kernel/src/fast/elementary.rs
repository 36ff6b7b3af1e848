//! Exponentials and activations, a vector at a time, to within a few units of the last place of 1.
//!
//! GELU is the exact one. Below 0 it is Φ(−t) = e^(−t²/2) R(t) with a polynomial for R (half the scaled complementary error function)
//! that errs by less than 1e-7 where the exponential counts; above 0 it is one minus that. The exponential is shared with the density in
//! the derivative, and half of its steps run beside the multipliers.

use crate::Activation;
use crate::isa::for_isa;
use crate::lanes::multiply_add;

/// 2^y for y below 100; an exact 0 below 2⁻⁶⁴, so that no subnormal number, which costs thirty times a normal one, follows from it.
#[inline(always)]
pub(super) fn exp2<const L: usize, const FUSED: bool>(y: [f32; L]) -> [f32; L] {
    /// Adding it leaves the nearest integer in the last bits.
    const ROUND: f32 = 12_582_912.0;
    /// 2^x on [−½, ½] to 1.1e-7.
    #[expect(clippy::approx_constant, reason = "the second is not quite ln 2: the last ones are cut off")]
    const POWER: [f32; 6] = [1.0, 6.931_47e-1, 2.402_224_2e-1, 5.550_733_7e-2, 9.671_513e-3, 1.326_472_7e-3];
    let mut shifted = [0.0; L];
    let mut rest = [0.0; L];
    for i in 0..L {
        shifted[i] = y[i] + ROUND;
        rest[i] = y[i] - (shifted[i] - ROUND);
    }
    let power = polynomial::<L, FUSED, 6>(rest, POWER);
    let mut out = [0.0; L];
    for i in 0..L {
        let scaled = f32::from_bits(power[i].to_bits().wrapping_add(shifted[i].to_bits() << 23));
        // Written so that NaN stays NaN.
        out[i] = if y[i] < -64.0 { 0.0 } else { scaled };
    }
    out
}

/// Σ cᵢ xⁱ.
#[inline(always)]
fn polynomial<const L: usize, const FUSED: bool, const N: usize>(x: [f32; L], c: [f32; N]) -> [f32; L] {
    let mut sum = [c[N - 1]; L];
    for i in (0..N - 1).rev() {
        sum = multiply_add::<L, FUSED>(sum, x, [c[i]; L]);
    }
    sum
}

/// e to the −|x|, |x| no further than 64.
#[inline(always)]
fn decay<const L: usize, const FUSED: bool>(x: [f32; L], factor: f32) -> [f32; L] {
    exp2::<L, FUSED>(x.map(|x| x.abs() * (-factor * std::f32::consts::LOG2_E)))
}

#[inline(always)]
fn gelu<const L: usize, const FUSED: bool>(x: [f32; L]) -> ([f32; L], [f32; L]) {
    /// R on [0, ∞), weighted by t e^(−t²/2).
    const R: [f32; 11] = [
        4.999_997_3e-1,
        -3.989_236_7e-1,
        2.497_869_7e-1,
        -1.320_13e-1,
        6.017_988_4e-2,
        -2.323_101_4e-2,
        7.213_805e-3,
        -1.677_087e-3,
        2.669_418e-4,
        -2.548_300_4e-5,
        1.087_560_7e-6,
    ];
    const DENSITY: f32 = 0.398_942_3;
    // Past 10 the exponential is 0; R must not become infinite there.
    let t = x.map(|x| if x.abs() > 10.0 { 10.0 } else { x.abs() });
    let density = exp2::<L, FUSED>(t.map(|t| t * t * (-0.5 * std::f32::consts::LOG2_E)));
    let r = polynomial::<L, FUSED, 11>(t, R);
    let (mut below, mut value, mut scaled) = ([0.0; L], [0.0; L], [0.0; L]);
    for i in 0..L {
        let tail = density[i] * r[i];
        below[i] = if x[i] < 0.0 { tail } else { 1.0 - tail };
        value[i] = x[i] * below[i];
        scaled[i] = x[i] * DENSITY;
    }
    (value, multiply_add::<L, FUSED>(scaled, density, below))
}

/// The value and the derivative; what is not used is not computed.
#[inline(always)]
fn both<const L: usize, const FUSED: bool>(activation: Activation, x: [f32; L]) -> ([f32; L], [f32; L]) {
    match activation {
        Activation::None | Activation::Relu | Activation::LeakyRelu => {
            (x.map(|x| activation.apply(x)), x.map(|x| activation.derivative(x)))
        }
        Activation::Gelu => gelu::<L, FUSED>(x),
        Activation::Sigmoid => {
            let e = decay::<L, FUSED>(x, 1.0);
            let mut value = [0.0; L];
            for i in 0..L {
                value[i] = if x[i] < 0.0 { e[i] } else { 1.0 } / (1.0 + e[i]);
            }
            (value, value.map(|y| y * (1.0 - y)))
        }
        Activation::Tanh => {
            let e = decay::<L, FUSED>(x, 2.0);
            let mut value = [0.0; L];
            for i in 0..L {
                value[i] = ((1.0 - e[i]) / (1.0 + e[i])).copysign(x[i]);
            }
            (value, value.map(|y| 1.0 - y * y))
        }
    }
}

for_isa! {
    /// Applies a function to all values.
    fn activate(activation: Activation, values: &mut [f32]) = activate_body
}

#[inline(always)]
fn activate_body<const L: usize, const FUSED: bool>(activation: Activation, values: &mut [f32]) {
    // The choice stands outside the loop, where it is made once.
    match activation {
        Activation::None => {}
        Activation::Relu => each::<L, FUSED>(Activation::Relu, values),
        Activation::Gelu => each::<L, FUSED>(Activation::Gelu, values),
        Activation::Sigmoid => each::<L, FUSED>(Activation::Sigmoid, values),
        Activation::LeakyRelu => each::<L, FUSED>(Activation::LeakyRelu, values),
        Activation::Tanh => each::<L, FUSED>(Activation::Tanh, values),
    }
}

#[inline(always)]
fn each<const L: usize, const FUSED: bool>(activation: Activation, values: &mut [f32]) {
    let (vectors, rest) = values.as_chunks_mut::<L>();
    for vector in vectors {
        *vector = both::<L, FUSED>(activation, *vector).0;
    }
    for value in rest {
        *value = both::<1, FUSED>(activation, [*value]).0[0];
    }
}

for_isa! {
    /// Applies a function to all values and writes its derivatives.
    fn activate_both(activation: Activation, values: &mut [f32], slopes: &mut [f32]) = activate_both_body
}

#[inline(always)]
fn activate_both_body<const L: usize, const FUSED: bool>(
    activation: Activation,
    values: &mut [f32],
    slopes: &mut [f32],
) {
    match activation {
        Activation::None => slopes.fill(1.0),
        Activation::Relu => each_both::<L, FUSED>(Activation::Relu, values, slopes),
        Activation::Gelu => each_both::<L, FUSED>(Activation::Gelu, values, slopes),
        Activation::Sigmoid => each_both::<L, FUSED>(Activation::Sigmoid, values, slopes),
        Activation::LeakyRelu => each_both::<L, FUSED>(Activation::LeakyRelu, values, slopes),
        Activation::Tanh => each_both::<L, FUSED>(Activation::Tanh, values, slopes),
    }
}

#[inline(always)]
fn each_both<const L: usize, const FUSED: bool>(
    activation: Activation,
    values: &mut [f32],
    slopes: &mut [f32],
) {
    let (vectors, rest) = values.as_chunks_mut::<L>();
    let (slope_vectors, slope_rest) = slopes.as_chunks_mut::<L>();
    for (vector, slope) in vectors.iter_mut().zip(slope_vectors) {
        (*vector, *slope) = both::<L, FUSED>(activation, *vector);
    }
    for (value, slope) in rest.iter_mut().zip(slope_rest) {
        let ([one], [its_slope]) = both::<1, FUSED>(activation, [*value]);
        (*value, *slope) = (one, its_slope);
    }
}

for_isa! {
    /// `weights = e^(scores − shift)`, value by value.
    fn exp_above(scores: &[f32], shift: &[f32], weights: &mut [f32]) = exp_above_body
}

#[inline(always)]
fn exp_above_body<const L: usize, const FUSED: bool>(scores: &[f32], shift: &[f32], weights: &mut [f32]) {
    let (scores, scores_rest) = scores.as_chunks::<L>();
    let (shift, shift_rest) = shift.as_chunks::<L>();
    let (weights, weights_rest) = weights.as_chunks_mut::<L>();
    for ((weights, scores), shift) in weights.iter_mut().zip(scores).zip(shift) {
        let mut y = [0.0; L];
        for i in 0..L {
            y[i] = (scores[i] - shift[i]) * std::f32::consts::LOG2_E;
        }
        *weights = exp2::<L, FUSED>(y);
    }
    for ((weight, score), shift) in weights_rest.iter_mut().zip(scores_rest).zip(shift_rest) {
        [*weight] = exp2::<1, FUSED>([(score - shift) * std::f32::consts::LOG2_E]);
    }
}
