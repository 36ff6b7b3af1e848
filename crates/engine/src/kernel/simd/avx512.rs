//! Operations with an AVX-512 instruction that the compiler does not find by itself: parts of exponentials, transposed blocks.

use super::VectorBlock;
use std::arch::x86_64::{
    __m512, _mm512_castpd_ps, _mm512_castps_pd, _mm512_fmadd_ps, _mm512_reduce_ps, _mm512_scalef_ps,
    _mm512_set1_ps, _mm512_shuffle_f32x4, _mm512_unpackhi_pd, _mm512_unpackhi_ps, _mm512_unpacklo_pd,
    _mm512_unpacklo_ps,
};
use std::mem::transmute;

/// Floats in a vector.
pub(super) const LANES: usize = 16;

/// 2^f on [0, 1] to 1.5e-7, and 1 at 0.
const POWER: [f32; 6] = [1.0, 6.931_513e-1, 2.401_644_4e-1, 5.579_991_3e-2, 9.017_03e-3, 1.867_130_3e-3];

/// 2^x, and NaN where x is; x is so large that no subnormal number results from it.
#[target_feature(enable = "avx512f,avx512dq")]
#[inline]
#[expect(unsafe_code, reason = "vectors are arrays of floats")]
pub(super) fn exp2(x: [f32; LANES]) -> [f32; LANES] {
    /// Remainder of rounding down, in units of 1; the other bits concern exceptions, which are not read.
    const FRACTION: i32 = 0b1001;
    // SAFETY: arrays of floats, of the same size.
    let x: __m512 = unsafe { transmute(x) };
    let fraction = _mm512_reduce_ps::<FRACTION>(x);
    let mut power = _mm512_set1_ps(POWER[5]);
    for at in (0..5).rev() {
        power = _mm512_fmadd_ps(power, fraction, _mm512_set1_ps(POWER[at]));
    }
    // Multiplies by two to the power of x rounded down.
    let power = _mm512_scalef_ps(power, x);
    // SAFETY: as above.
    unsafe { transmute(power) }
}

/// Exchanges rows and lanes of one vector of the rows' two.
#[target_feature(enable = "avx512f")]
#[inline]
#[expect(unsafe_code, reason = "vectors are arrays of floats")]
pub(super) fn transpose(
    from: &VectorBlock<LANES>,
    from_half: usize,
    to: &mut VectorBlock<LANES>,
    to_half: usize,
) {
    /// Quarters 0 and 2, and 1 and 3, of both operands.
    const EVEN: i32 = 0x88;
    const ODD: i32 = 0xdd;
    // SAFETY: arrays of floats, of the same size.
    let rows: [__m512; LANES] = std::array::from_fn(|row| unsafe { transmute(from[row][from_half]) });
    let mut pairs = rows;
    for at in (0..LANES).step_by(2) {
        pairs[at] = _mm512_unpacklo_ps(rows[at], rows[at + 1]);
        pairs[at + 1] = _mm512_unpackhi_ps(rows[at], rows[at + 1]);
    }
    // Vector 4 i + c then has column 4 l + c of rows 4 i to 4 i + 3 in quarter l.
    let mut quads = pairs;
    for at in (0..LANES).step_by(4) {
        for half in 0..2 {
            let (low, high) = (_mm512_castps_pd(pairs[at + half]), _mm512_castps_pd(pairs[at + 2 + half]));
            quads[at + 2 * half] = _mm512_castpd_ps(_mm512_unpacklo_pd(low, high));
            quads[at + 2 * half + 1] = _mm512_castpd_ps(_mm512_unpackhi_pd(low, high));
        }
    }
    let mut columns = quads;
    for at in 0..4 {
        let [first, second, third, fourth] = [quads[at], quads[at + 4], quads[at + 8], quads[at + 12]];
        let upper = _mm512_shuffle_f32x4::<EVEN>(first, second);
        let lower = _mm512_shuffle_f32x4::<EVEN>(third, fourth);
        columns[at] = _mm512_shuffle_f32x4::<EVEN>(upper, lower);
        columns[at + 8] = _mm512_shuffle_f32x4::<ODD>(upper, lower);
        let upper = _mm512_shuffle_f32x4::<ODD>(first, second);
        let lower = _mm512_shuffle_f32x4::<ODD>(third, fourth);
        columns[at + 4] = _mm512_shuffle_f32x4::<EVEN>(upper, lower);
        columns[at + 12] = _mm512_shuffle_f32x4::<ODD>(upper, lower);
    }
    for at in 0..LANES {
        // SAFETY: as above.
        to[at][to_half] = unsafe { transmute::<__m512, [f32; LANES]>(columns[at]) };
    }
}
