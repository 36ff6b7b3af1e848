//! The two float types behind one trait, with the few functions that layers and losses need.

use std::fmt::{Debug, Display};
use std::iter::Sum;
use std::ops::{Add, AddAssign, Div, DivAssign, Mul, MulAssign, Neg, Sub, SubAssign};

/// `f32` or `f64`. Training runs in `f32`; the same code in `f64` is what finite differences and golden values test.
///
/// The functions are those of the `libm` crate, so that results do not depend on the C library of the machine.
#[expect(clippy::return_self_not_must_use, reason = "a dropped number is not a bug")]
pub trait Real:
    Copy
    + Default
    + PartialOrd
    + Debug
    + Display
    + Send
    + Sync
    + 'static
    + Add<Output = Self>
    + Sub<Output = Self>
    + Mul<Output = Self>
    + Div<Output = Self>
    + Neg<Output = Self>
    + AddAssign
    + SubAssign
    + MulAssign
    + DivAssign
    + Sum
{
    /// 0.
    const ZERO: Self;
    /// 1.
    const ONE: Self;
    /// Minus infinity.
    const NEG_INFINITY: Self;

    /// The nearest value of this type.
    fn of(value: f64) -> Self;
    /// Widened without loss.
    fn to_f64(self) -> f64;
    /// |x|
    fn abs(self) -> Self;
    /// The square root.
    fn sqrt(self) -> Self;
    /// e to the x.
    fn exp(self) -> Self;
    /// The natural logarithm.
    fn ln(self) -> Self;
    /// log(1 + x), accurate near 0.
    fn ln_1p(self) -> Self;
    /// The hyperbolic tangent.
    fn tanh(self) -> Self;
    /// The error function.
    fn erf(self) -> Self;
    /// The larger; the other one where one is NaN.
    fn max(self, other: Self) -> Self;
    /// Neither infinite nor NaN.
    fn is_finite(self) -> bool;
    /// NaN.
    fn is_nan(self) -> bool;
}

macro_rules! real {
    ($type:ident, $fabs:ident, $exp:ident, $log:ident, $log1p:ident, $tanh:ident, $erf:ident) => {
        impl Real for $type {
            const ZERO: Self = 0.0;
            const ONE: Self = 1.0;
            const NEG_INFINITY: Self = $type::NEG_INFINITY;

            #[inline]
            fn of(value: f64) -> Self {
                value as $type
            }
            #[inline]
            fn to_f64(self) -> f64 {
                self as f64
            }
            #[inline]
            fn abs(self) -> Self {
                libm::$fabs(self)
            }
            #[inline]
            fn sqrt(self) -> Self {
                self.sqrt()
            }
            #[inline]
            fn exp(self) -> Self {
                libm::$exp(self)
            }
            #[inline]
            fn ln(self) -> Self {
                libm::$log(self)
            }
            #[inline]
            fn ln_1p(self) -> Self {
                libm::$log1p(self)
            }
            #[inline]
            fn tanh(self) -> Self {
                libm::$tanh(self)
            }
            #[inline]
            fn erf(self) -> Self {
                libm::$erf(self)
            }
            #[inline]
            fn max(self, other: Self) -> Self {
                self.max(other)
            }
            #[inline]
            fn is_finite(self) -> bool {
                self.is_finite()
            }
            #[inline]
            fn is_nan(self) -> bool {
                self.is_nan()
            }
        }
    };
}

real!(f32, fabsf, expf, logf, log1pf, tanhf, erff);
real!(f64, fabs, exp, log, log1p, tanh, erf);
