//! Exponentials and activations, to within a few ulp of 1, or of their argument where that is larger.
//!
//! They are written elementwise and without branches, so that the compiler vectorises them.
//!
//! GELU is the exact one: x Φ(x), with a quotient of polynomials for Φ(x) − ½ that errs by less than 3e-8. Its derivative needs an
//! exponential besides, and goes over a chunk of values twice, first for the exponentials: each pass has few enough constants for the
//! registers and a short enough dependency chain to overlap several vectors. With or without its derivative a value is the
//! same to the bit: backward passes that recompute scores compare them with what the forward pass saved.

#[cfg(target_arch = "x86_64")]
use super::avx512;
use super::isa::for_isa;
use crate::kernel::{Activation, DropoutMask};

/// `a * b + c`, in one rounding where the instruction set has it.
#[inline(always)]
fn multiply_add<const FUSED: bool>(a: f32, b: f32, c: f32) -> f32 {
    if FUSED { a.mul_add(b, c) } else { a * b + c }
}

/// Adding it leaves the nearest integer in the last bits.
const ROUND: f32 = 12_582_912.0;
/// 2^x on [−½, ½] to 1.1e-7.
#[expect(clippy::approx_constant, reason = "the second is not quite ln 2: the last ones are cut off")]
const POWER: [f32; 6] = [1.0, 6.931_47e-1, 2.402_224_2e-1, 5.550_733_7e-2, 9.671_513e-3, 1.326_472_7e-3];

/// 2^(x · factor), at most 2¹⁰⁰; exactly 0 below 2⁻⁶⁴, so that no subnormal number, which costs thirty times a normal one, results
/// from it.
#[inline(always)]
pub(super) fn exp2<const FUSED: bool>(x: f32, factor: f32) -> f32 {
    let shifted = multiply_add::<FUSED>(x, factor, ROUND);
    let whole = shifted - ROUND;
    let fraction = multiply_add::<FUSED>(x, factor, -whole);
    let square = fraction * fraction;
    let pair = |at: usize| multiply_add::<FUSED>(POWER[at + 1], fraction, POWER[at]);
    let upper = multiply_add::<FUSED>(pair(4), square, pair(2));
    let power = multiply_add::<FUSED>(upper, square, pair(0));
    let scaled = f32::from_bits(power.to_bits().wrapping_add(shifted.to_bits() << 23));
    // Written so that NaN stays NaN.
    if whole < -64.0 { 0.0 } else { scaled }
}

/// 2^x for attention's weights: 2⁻⁶⁴ below, so that no subnormal number results from it, and NaN where x is.
#[inline(always)]
pub(super) fn exp2_clamped<const L: usize, const FUSED: bool>(x: [f32; L]) -> [f32; L] {
    const LEAST: f32 = -64.0;
    let mut x = x;
    for i in 0..L {
        // One instruction, unlike `max`, which takes care of NaN.
        x[i] = if x[i] < LEAST { LEAST } else { x[i] };
    }
    #[cfg(target_arch = "x86_64")]
    if let Ok(lanes) = <&mut [f32; avx512::LANES]>::try_from(&mut x[..]) {
        // SAFETY: no other instruction set of this architecture has so many lanes, see `for_isa!`.
        #[expect(unsafe_code, reason = "calls a function compiled for instructions that are there")]
        unsafe {
            *lanes = avx512::exp2(*lanes);
        }
        return x;
    }
    for i in 0..L {
        let shifted = x[i] + ROUND;
        let fraction = x[i] - (shifted - ROUND);
        let mut power = POWER[5];
        for at in (0..5).rev() {
            power = multiply_add::<FUSED>(power, fraction, POWER[at]);
        }
        x[i] = f32::from_bits(power.to_bits().wrapping_add(shifted.to_bits() << 23));
    }
    x
}

/// e^(−x²/2).
#[inline(always)]
fn gaussian<const FUSED: bool>(x: f32) -> f32 {
    exp2::<FUSED>(x * x, -0.5 * std::f32::consts::LOG2_E)
}

/// Φ(x) = ½ + x P(x²) / Q(x²).
#[inline(always)]
fn normal_cdf<const FUSED: bool>(x: f32) -> f32 {
    const P: [f32; 6] =
        [3.989_419e-1, 3.584_718_3e-2, 4.805_418e-3, 1.901_550_4e-4, 6.590_554_7e-6, 2.171_046_5e-8];
    const Q: [f32; 6] = [1.0, 2.565_183e-1, 2.980_395_6e-2, 2.003_353_6e-3, 8.101_079e-5, 1.185_148e-6];
    /// Φ is 0 or 1 beyond it, to half an ulp of 1.
    const END: f32 = 5.6;
    let square = x * x;
    let (mut p, mut q) = (P[5], Q[5]);
    for i in (0..5).rev() {
        p = multiply_add::<FUSED>(p, square, P[i]);
        q = multiply_add::<FUSED>(q, square, Q[i]);
    }
    // Written so that NaN stays NaN.
    0.5 + if x.abs() > END { 0.5f32.copysign(x) } else { x * p / q }
}

/// The value and the derivative of GELU, given e^(−x²/2).
#[inline(always)]
fn gelu<const FUSED: bool>(x: f32, gaussian: f32) -> [f32; 2] {
    const DENSITY: f32 = 0.398_942_3;
    let below = normal_cdf::<FUSED>(x);
    [x * below, multiply_add::<FUSED>(x * DENSITY, gaussian, below)]
}

/// Value and derivative of an activation; what is not used is not computed.
#[inline(always)]
fn value_and_slope<const FUSED: bool>(activation: Activation, x: f32) -> [f32; 2] {
    match activation {
        Activation::None | Activation::Relu | Activation::LeakyRelu => {
            [activation.apply(x), activation.derivative(x)]
        }
        Activation::Gelu => gelu::<FUSED>(x, gaussian::<FUSED>(x)),
        Activation::Sigmoid => {
            let e = exp2::<FUSED>(x.abs(), -std::f32::consts::LOG2_E);
            let value = if x < 0.0 { e } else { 1.0 } / (1.0 + e);
            [value, value * (1.0 - value)]
        }
        Activation::Tanh => {
            let e = exp2::<FUSED>(x.abs(), -2.0 * std::f32::consts::LOG2_E);
            let value = ((1.0 - e) / (1.0 + e)).copysign(x);
            [value, 1.0 - value * value]
        }
    }
}

/// Values per chunk of the two passes of GELU.
const CHUNK: usize = 1024;

for_isa! {
    /// Applies an activation to all values.
    fn activate(activation: Activation, values: &mut [f32]) = activate_body
}

#[inline(always)]
fn activate_body<const L: usize, const FUSED: bool>(activation: Activation, values: &mut [f32]) {
    // The match is outside the loops, so that each is compiled for one function.
    match activation {
        Activation::None => {}
        Activation::Relu => each::<FUSED>(Activation::Relu, values),
        Activation::Gelu => {
            for value in values {
                *value *= normal_cdf::<FUSED>(*value);
            }
        }
        Activation::Sigmoid => each::<FUSED>(Activation::Sigmoid, values),
        Activation::LeakyRelu => each::<FUSED>(Activation::LeakyRelu, values),
        Activation::Tanh => each::<FUSED>(Activation::Tanh, values),
    }
}

#[inline(always)]
fn each<const FUSED: bool>(activation: Activation, values: &mut [f32]) {
    for value in values {
        [*value, _] = value_and_slope::<FUSED>(activation, *value);
    }
}

for_isa! {
    /// Applies an activation to all values and writes its derivatives.
    fn activate_with_slope(activation: Activation, values: &mut [f32], slopes: &mut [f32]) = activate_with_slope_body
}

#[inline(always)]
fn activate_with_slope_body<const L: usize, const FUSED: bool>(
    activation: Activation,
    values: &mut [f32],
    slopes: &mut [f32],
) {
    match activation {
        Activation::None => slopes.fill(1.0),
        Activation::Relu => each_with_slope::<FUSED>(Activation::Relu, values, slopes),
        Activation::Gelu => {
            // The exponentials are stored where the derivatives go.
            for (values, slopes) in values.chunks_mut(CHUNK).zip(slopes.chunks_mut(CHUNK)) {
                for (slope, &value) in slopes.iter_mut().zip(&*values) {
                    *slope = gaussian::<FUSED>(value);
                }
                for (value, slope) in values.iter_mut().zip(slopes) {
                    [*value, *slope] = gelu::<FUSED>(*value, *slope);
                }
            }
        }
        Activation::Sigmoid => each_with_slope::<FUSED>(Activation::Sigmoid, values, slopes),
        Activation::LeakyRelu => each_with_slope::<FUSED>(Activation::LeakyRelu, values, slopes),
        Activation::Tanh => each_with_slope::<FUSED>(Activation::Tanh, values, slopes),
    }
}

#[inline(always)]
fn each_with_slope<const FUSED: bool>(activation: Activation, values: &mut [f32], slopes: &mut [f32]) {
    for (value, slope) in values.iter_mut().zip(slopes) {
        [*value, *slope] = value_and_slope::<FUSED>(activation, *value);
    }
}

for_isa! {
    /// `weights = e^(scores − shift)`, elementwise.
    fn exp_shifted(scores: &[f32], shift: &[f32], weights: &mut [f32]) = exp_shifted_body
}

#[inline(always)]
fn exp_shifted_body<const L: usize, const FUSED: bool>(scores: &[f32], shift: &[f32], weights: &mut [f32]) {
    for ((weight, &score), &shift) in weights.iter_mut().zip(scores).zip(shift) {
        *weight = exp2::<FUSED>(score - shift, std::f32::consts::LOG2_E);
    }
}

for_isa! {
    /// See [`DropoutMask::apply`].
    fn apply_dropout(dropout: &DropoutMask<'_>, layer: usize, values: &mut [f32], stride: usize) = apply_dropout_body
}

#[inline(always)]
fn apply_dropout_body<const L: usize, const FUSED: bool>(
    dropout: &DropoutMask<'_>,
    layer: usize,
    values: &mut [f32],
    stride: usize,
) {
    dropout.apply(layer, values, stride);
}
