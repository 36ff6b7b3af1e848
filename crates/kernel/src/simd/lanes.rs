//! Arithmetic on arrays of `L` floats, which the compiler keeps in vector registers.

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
