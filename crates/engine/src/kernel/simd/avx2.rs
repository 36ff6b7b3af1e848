//! Innermost loops of matrix products for AVX2, in assembly; transposed blocks.
//!
//! Twenty instructions for twelve fused multiply-adds are the minimum. The compiler's version of the same loop has half as many more, for
//! counters and addresses, or spills broadcast values to memory. On a core whose other hardware thread is busy the instruction rate
//! is the limit, and the loop takes that much longer.

use super::VectorBlock;
use std::arch::asm;
use std::arch::x86_64::{
    __m256, _mm256_castpd_ps, _mm256_castps_pd, _mm256_permute2f128_ps, _mm256_unpackhi_pd,
    _mm256_unpackhi_ps, _mm256_unpacklo_pd, _mm256_unpacklo_ps,
};
use std::mem::transmute;

/// Floats in a vector.
pub(super) const LANES: usize = 8;
/// Rows of accumulators, two vectors each.
const ROWS: usize = 6;
/// Input channels per iteration of [`add_products`].
pub(super) const STEPS: usize = 8;
/// Rows per iteration of [`add_outer`].
pub(super) const OUTER_STEPS: usize = 4;

/// Twelve accumulators: two consecutive vectors for each row.
pub(super) type Accumulators = [f32; ROWS * 2 * LANES];

/// Multiplies the two vectors at an address with one broadcast value at each of six.
#[rustfmt::skip]
macro_rules! step {
    ($vectors:expr; $x0:expr, $x1:expr, $x2:expr, $x3:expr, $x4:expr, $x5:expr) => {
        concat!(
            "vmovups {w0}, [", $vectors, "]\n",
            "vmovups {w1}, [", $vectors, " + 32]\n",
            "vbroadcastss {x0}, [", $x0, "]\n",
            "vbroadcastss {x1}, [", $x1, "]\n",
            "vfmadd231ps {s0}, {w0}, {x0}\n",
            "vfmadd231ps {s1}, {w1}, {x0}\n",
            "vbroadcastss {x0}, [", $x2, "]\n",
            "vfmadd231ps {s2}, {w0}, {x1}\n",
            "vfmadd231ps {s3}, {w1}, {x1}\n",
            "vbroadcastss {x1}, [", $x3, "]\n",
            "vfmadd231ps {s4}, {w0}, {x0}\n",
            "vfmadd231ps {s5}, {w1}, {x0}\n",
            "vbroadcastss {x0}, [", $x4, "]\n",
            "vfmadd231ps {s6}, {w0}, {x1}\n",
            "vfmadd231ps {s7}, {w1}, {x1}\n",
            "vbroadcastss {x1}, [", $x5, "]\n",
            "vfmadd231ps {s8}, {w0}, {x0}\n",
            "vfmadd231ps {s9}, {w1}, {x0}\n",
            "vfmadd231ps {s10}, {w0}, {x1}\n",
            "vfmadd231ps {s11}, {w1}, {x1}\n",
        )
    };
}

/// Runs a loop with all accumulators in registers.
macro_rules! with_sums {
    ($sums:ident, $($part:tt)*) => {{
        // SAFETY: arrays of floats, of the same size.
        let mut registers: [__m256; 2 * ROWS] = unsafe { transmute(*$sums) };
        let [s0, s1, s2, s3, s4, s5, s6, s7, s8, s9, s10, s11] = &mut registers;
        // SAFETY: the caller has checked the bounds of what is read. Only registers are written, and the instructions are those of
        // the features that the function is compiled for.
        unsafe {
            asm!(
                $($part)*
                w0 = out(ymm_reg) _,
                w1 = out(ymm_reg) _,
                x0 = out(ymm_reg) _,
                x1 = out(ymm_reg) _,
                s0 = inout(ymm_reg) *s0,
                s1 = inout(ymm_reg) *s1,
                s2 = inout(ymm_reg) *s2,
                s3 = inout(ymm_reg) *s3,
                s4 = inout(ymm_reg) *s4,
                s5 = inout(ymm_reg) *s5,
                s6 = inout(ymm_reg) *s6,
                s7 = inout(ymm_reg) *s7,
                s8 = inout(ymm_reg) *s8,
                s9 = inout(ymm_reg) *s9,
                s10 = inout(ymm_reg) *s10,
                s11 = inout(ymm_reg) *s11,
                options(readonly, nostack),
            );
        }
        // SAFETY: as above.
        *$sums = unsafe { transmute::<[__m256; 2 * ROWS], Accumulators>(registers) };
    }};
}

/// The step of input channel `$k`.
macro_rules! input {
    ($k:literal) => {
        step!(
            concat!("{weights} + 64 * ", $k);
            concat!("{upper} + 4 * ", $k),
            concat!("{upper} + {stride} + 4 * ", $k),
            concat!("{upper} + 2 * {stride} + 4 * ", $k),
            concat!("{lower} + 4 * ", $k),
            concat!("{lower} + {stride} + 4 * ", $k),
            concat!("{lower} + 2 * {stride} + 4 * ", $k)
        )
    };
}

/// `sums[i] += Σ_k rows[i · stride + k] · weights[k]`, for whole multiples of [`STEPS`] input channels.
///
/// # Panics
///
/// If rows are not as deep as weights: a bug of the caller.
#[target_feature(enable = "avx2,fma")]
#[inline]
#[expect(unsafe_code, reason = "assembly")]
pub(super) fn add_products(sums: &mut Accumulators, (rows, stride): (&[f32], usize), weights: &[f32]) {
    let iterations = weights.len() / (STEPS * 2 * LANES);
    if iterations == 0 {
        return;
    }
    let lower = &rows[3 * stride..];
    assert!(lower.len() >= 2 * stride + iterations * STEPS, "rows are as deep as weights");
    with_sums!(
        sums,
        "2:",
        input!("0"),
        input!("1"),
        input!("2"),
        input!("3"),
        input!("4"),
        input!("5"),
        input!("6"),
        input!("7"),
        "add {upper}, 32",
        "add {lower}, 32",
        "add {weights}, 512",
        "dec {iterations}",
        "jnz 2b",
        upper = inout(reg) rows.as_ptr() => _,
        lower = inout(reg) lower.as_ptr() => _,
        stride = in(reg) stride * size_of::<f32>(),
        weights = inout(reg) weights.as_ptr() => _,
        iterations = inout(reg) iterations => _,
    );
}

/// The step of one row.
macro_rules! row {
    () => {
        concat!(
            step!("{right}"; "{left}", "{left} + 4", "{left} + 8", "{left} + 12", "{left} + 16", "{left} + 20"),
            "add {left}, {left_stride}\n",
            "add {right}, {right_stride}\n",
        )
    };
}

/// `sums[i] += Σ_k left[k · stride + i] · right[k · stride]`, two vectors, over `rows` rounded down to a multiple of [`OUTER_STEPS`].
///
/// # Panics
///
/// If there are fewer rows: a bug of the caller.
#[target_feature(enable = "avx2,fma")]
#[inline]
#[expect(unsafe_code, reason = "assembly")]
pub(super) fn add_outer(
    sums: &mut Accumulators,
    (left, left_stride): (&[f32], usize),
    (right, right_stride): (&[f32], usize),
    rows: usize,
) {
    let iterations = rows / OUTER_STEPS;
    if iterations == 0 {
        return;
    }
    let last = iterations * OUTER_STEPS - 1;
    assert!(left.len() >= last * left_stride + ROWS, "as many rows on the left");
    assert!(right.len() >= last * right_stride + 2 * LANES, "as many rows on the right");
    with_sums!(
        sums,
        "2:",
        row!(),
        row!(),
        row!(),
        row!(),
        "dec {iterations}",
        "jnz 2b",
        left = inout(reg) left.as_ptr() => _,
        left_stride = in(reg) left_stride * size_of::<f32>(),
        right = inout(reg) right.as_ptr() => _,
        right_stride = in(reg) right_stride * size_of::<f32>(),
        iterations = inout(reg) iterations => _,
    );
}

/// Exchanges rows and lanes of one vector of the rows' two.
#[target_feature(enable = "avx2,fma")]
#[inline]
#[expect(unsafe_code, reason = "vectors are arrays of floats")]
pub(super) fn transpose(
    from: &VectorBlock<LANES>,
    from_half: usize,
    to: &mut VectorBlock<LANES>,
    to_half: usize,
) {
    // SAFETY: arrays of floats, of the same size.
    let rows: [__m256; LANES] = std::array::from_fn(|row| unsafe { transmute(from[row][from_half]) });
    let mut pairs = rows;
    for at in (0..LANES).step_by(2) {
        pairs[at] = _mm256_unpacklo_ps(rows[at], rows[at + 1]);
        pairs[at + 1] = _mm256_unpackhi_ps(rows[at], rows[at + 1]);
    }
    // Vector 4 i + c then has column 4 l + c of rows 4 i to 4 i + 3 in half l.
    let mut quads = pairs;
    for at in (0..LANES).step_by(4) {
        for half in 0..2 {
            let (low, high) = (_mm256_castps_pd(pairs[at + half]), _mm256_castps_pd(pairs[at + 2 + half]));
            quads[at + 2 * half] = _mm256_castpd_ps(_mm256_unpacklo_pd(low, high));
            quads[at + 2 * half + 1] = _mm256_castpd_ps(_mm256_unpackhi_pd(low, high));
        }
    }
    for at in 0..4 {
        let (upper, lower) = (quads[at], quads[at + 4]);
        let columns =
            [_mm256_permute2f128_ps::<0x20>(upper, lower), _mm256_permute2f128_ps::<0x31>(upper, lower)];
        for (half, column) in columns.into_iter().enumerate() {
            // SAFETY: as above.
            to[at + 4 * half][to_half] = unsafe { transmute::<__m256, [f32; LANES]>(column) };
        }
    }
}
