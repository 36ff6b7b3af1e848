//! Arithmetic on arrays of `L` floats, which the compiler keeps in vector registers.

#[cfg(target_arch = "x86_64")]
use super::{avx2, avx512};

/// `a * b + c`, in one rounding where the instruction set has it.
#[inline(always)]
pub(crate) fn multiply_add<const L: usize, const FUSED: bool>(
    a: [f32; L],
    b: [f32; L],
    c: [f32; L],
) -> [f32; L] {
    let mut out = [0.0; L];
    for i in 0..L {
        out[i] = if FUSED { a[i].mul_add(b[i], c[i]) } else { a[i] * b[i] + c[i] };
    }
    out
}

/// `a · b`, elementwise.
#[inline(always)]
pub(crate) fn multiply<const L: usize>(a: [f32; L], b: [f32; L]) -> [f32; L] {
    let mut out = [0.0; L];
    for i in 0..L {
        out[i] = a[i] * b[i];
    }
    out
}

/// `a + b`.
#[inline(always)]
pub(crate) fn add<const L: usize>(a: [f32; L], b: [f32; L]) -> [f32; L] {
    let mut out = [0.0; L];
    for i in 0..L {
        out[i] = a[i] + b[i];
    }
    out
}

/// Sum of the lanes, by halves.
#[inline(always)]
pub(crate) fn sum<const L: usize>(a: [f32; L]) -> f32 {
    let mut a = a;
    let mut half = L / 2;
    while half > 0 {
        for i in 0..half {
            a[i] += a[i + half];
        }
        half /= 2;
    }
    a[0]
}

/// Exchanges rows and lanes of a block: one vector of the rows' two, to one of those of other rows.
#[inline(always)]
pub(super) fn transpose<const L: usize>(
    from: &[[[f32; L]; 2]],
    from_half: usize,
    to: &mut [[[f32; L]; 2]],
    to_half: usize,
) {
    // No two instruction sets of this architecture have as many lanes, see `for_isa!`.
    #[cfg(target_arch = "x86_64")]
    {
        if let (Some(from), Some(to)) = (block(from), block_mut(to)) {
            // SAFETY: with so many lanes the caller is compiled for AVX-512.
            #[expect(unsafe_code, reason = "calls a function compiled for instructions that are there")]
            return unsafe { avx512::transpose(from, from_half, to, to_half) };
        }
        if let (Some(from), Some(to)) = (block(from), block_mut(to)) {
            // SAFETY: with so many lanes the caller is compiled for AVX2.
            #[expect(unsafe_code, reason = "calls a function compiled for instructions that are there")]
            return unsafe { avx2::transpose(from, from_half, to, to_half) };
        }
    }
    let mut rows = [[0.0; L]; L];
    for i in 0..L {
        rows[i] = from[i][from_half];
    }
    for j in 0..L {
        let mut column = [0.0; L];
        for i in 0..L {
            column[i] = rows[i][j];
        }
        to[j][to_half] = column;
    }
}

/// A block of `N` lanes, where there are so many.
#[cfg(target_arch = "x86_64")]
#[inline(always)]
fn block<const L: usize, const N: usize>(rows: &[[[f32; L]; 2]]) -> Option<&[[[f32; N]; 2]; N]> {
    let values = rows.as_flattened().as_flattened();
    if L == N { values.as_chunks().0.as_chunks().0.as_chunks().0.first() } else { None }
}

/// A mutable view of rows.
#[cfg(target_arch = "x86_64")]
#[inline(always)]
fn block_mut<const L: usize, const N: usize>(rows: &mut [[[f32; L]; 2]]) -> Option<&mut [[[f32; N]; 2]; N]> {
    let values = rows.as_flattened_mut().as_flattened_mut();
    if L == N { values.as_chunks_mut().0.as_chunks_mut().0.as_chunks_mut().0.first_mut() } else { None }
}

/// Two vectors, aligned to a cache line: the width in which matrices are processed.
#[derive(Clone, Copy)]
#[repr(C, align(64))]
pub(crate) struct Panel<const L: usize>(pub(crate) [[f32; L]; 2]);

impl<const L: usize> Panel<L> {
    pub(crate) const WIDTH: usize = 2 * L;
    pub(crate) const ZERO: Self = Self([[0.0; L]; 2]);

    /// Loads the first values of `from`, padded with zeros.
    #[inline(always)]
    pub(crate) fn read(from: &[f32]) -> Self {
        let mut panel = Self::ZERO;
        let flat = panel.0.as_flattened_mut();
        if from.len() >= Self::WIDTH {
            flat.copy_from_slice(&from[..Self::WIDTH]);
        } else {
            flat[..from.len()].copy_from_slice(from);
        }
        panel
    }
}
