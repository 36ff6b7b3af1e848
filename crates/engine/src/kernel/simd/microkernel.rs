//! Innermost loops of matrix products: portable ones, which also take the remainders of those in assembly ([`avx2`]).

use super::lanes::multiply_add;

#[cfg(target_arch = "x86_64")]
use super::avx2;

/// Unrolling over input channels: so few iterations that the branch predictor foresees the last one.
const STEPS: usize = 8;
/// Unrolling over rows of an outer product: with more the compiler spills the accumulators.
const OUTER_STEPS: usize = 2;

/// `sums[i] += Σ_k rows[i · stride + k] · weights[k]`.
#[inline(always)]
pub(super) fn add_products<const L: usize, const FUSED: bool, const ROWS: usize>(
    sums: &mut [[[f32; L]; 2]; ROWS],
    (rows, stride): (&[f32], usize),
    weights: &[[[f32; L]; 2]],
) {
    let depth = weights.len();
    #[cfg(not(target_arch = "x86_64"))]
    let done = 0;
    #[cfg(target_arch = "x86_64")]
    let done = for_avx2::<L, FUSED>(sums.as_flattened_mut().as_flattened_mut()).map_or(0, |sums| {
        let whole = depth - depth % avx2::STEPS;
        let weights = weights[..whole].as_flattened().as_flattened();
        // SAFETY: see `for_avx2`.
        #[expect(unsafe_code, reason = "calls a function compiled for instructions that are there")]
        unsafe {
            avx2::add_products(sums, (rows, stride), weights);
        }
        whole
    });
    if done == depth {
        return;
    }
    let mut rows_at: [&[f32]; ROWS] = [&[]; ROWS];
    for i in 0..ROWS {
        rows_at[i] = &rows[i * stride..][..depth];
    }
    let whole = depth - depth % STEPS;
    for start in (done..whole).step_by(STEPS) {
        let weights = &weights[start..start + STEPS];
        let mut values: [&[f32]; ROWS] = rows_at;
        for i in 0..ROWS {
            values[i] = &rows_at[i][start..start + STEPS];
        }
        for k in 0..STEPS {
            step::<L, FUSED, ROWS>(sums, &values, k, &weights[k]);
        }
    }
    for k in whole..depth {
        step::<L, FUSED, ROWS>(sums, &rows_at, k, &weights[k]);
    }
}

/// One input channel. Here and below loops over registers are written out: a closure over an array is not always inlined, and the
/// registers then go through memory.
#[inline(always)]
fn step<const L: usize, const FUSED: bool, const ROWS: usize>(
    sums: &mut [[[f32; L]; 2]; ROWS],
    rows: &[&[f32]; ROWS],
    k: usize,
    weights: &[[f32; L]; 2],
) {
    for i in 0..ROWS {
        for half in 0..2 {
            sums[i][half] = multiply_add::<L, FUSED>([rows[i][k]; L], weights[half], sums[i][half]);
        }
    }
}

/// Rows of which the columns from `first` on are read.
#[derive(Clone, Copy)]
pub(super) struct RowTails<'a> {
    pub(super) rows: &'a [f32],
    pub(super) stride: usize,
    pub(super) first: usize,
}

/// `sums[i] += Σ over rows of left[i] · right`, for one panel of `right`.
#[inline(always)]
pub(super) fn add_outer<const L: usize, const FUSED: bool, const COLUMNS: usize>(
    sums: &mut [[[f32; L]; 2]; COLUMNS],
    left: RowTails<'_>,
    right: RowTails<'_>,
) {
    #[cfg(not(target_arch = "x86_64"))]
    let done = 0;
    #[cfg(target_arch = "x86_64")]
    let done = for_avx2::<L, FUSED>(sums.as_flattened_mut().as_flattened_mut()).map_or(0, |sums| {
        let rows = left.rows.len() / left.stride;
        let whole = rows - rows % avx2::OUTER_STEPS;
        let [left, right] = [left, right].map(|side| (&side.rows[side.first..], side.stride));
        // SAFETY: see `for_avx2`.
        #[expect(unsafe_code, reason = "calls a function compiled for instructions that are there")]
        unsafe {
            avx2::add_outer(sums, left, right, whole);
        }
        whole
    });
    let lefts = left.rows[done * left.stride..].chunks_exact(OUTER_STEPS * left.stride);
    let rights = right.rows[done * right.stride..].chunks_exact(OUTER_STEPS * right.stride);
    let remainder =
        lefts.remainder().chunks_exact(left.stride).zip(rights.remainder().chunks_exact(right.stride));
    for (lefts, rights) in lefts.zip(rights) {
        for k in 0..OUTER_STEPS {
            let (left, right) =
                (&lefts[k * left.stride + left.first..], &rights[k * right.stride + right.first..]);
            outer_step::<L, FUSED, COLUMNS>(sums, left, right);
        }
    }
    for (lefts, rights) in remainder {
        outer_step::<L, FUSED, COLUMNS>(sums, &lefts[left.first..], &rights[right.first..]);
    }
}

/// One row of an outer product.
#[inline(always)]
fn outer_step<const L: usize, const FUSED: bool, const COLUMNS: usize>(
    sums: &mut [[[f32; L]; 2]; COLUMNS],
    left: &[f32],
    right: &[f32],
) {
    let (left, right) = (&left[..COLUMNS], &right[..2 * L].as_chunks::<L>().0.as_chunks::<2>().0[0]);
    for i in 0..COLUMNS {
        for half in 0..2 {
            sums[i][half] = multiply_add::<L, FUSED>([left[i]; L], right[half], sums[i][half]);
        }
    }
}

/// Prefetches a value that is soon added to.
#[inline(always)]
pub(super) fn prefetch(values: &[f32], at: usize) {
    let value = &values[at];
    #[cfg(target_arch = "x86_64")]
    {
        use std::arch::x86_64::{_MM_HINT_T0, _mm_prefetch};
        // SAFETY: the address of a value; nothing is read or written.
        #[expect(unsafe_code, reason = "takes a pointer")]
        unsafe {
            _mm_prefetch::<_MM_HINT_T0>(std::ptr::from_ref(value).cast());
        }
    }
    #[cfg(not(target_arch = "x86_64"))]
    let _ = value;
}

/// The accumulators in the shape that the AVX2 loops take, where the caller is compiled for AVX2: no other instruction set of this architecture
/// has eight lanes, see `for_isa!`.
#[cfg(target_arch = "x86_64")]
#[inline(always)]
fn for_avx2<const L: usize, const FUSED: bool>(sums: &mut [f32]) -> Option<&mut avx2::Accumulators> {
    if L == avx2::LANES && FUSED { sums.try_into().ok() } else { None }
}
