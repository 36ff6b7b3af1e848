//! Tile kernels on every instruction set of this machine, against the reference kernels in `f64`.

mod attention;
mod block;
mod gemm;
mod lanes;
mod linear;
mod math;
mod pairwise;
mod threads;

use crate::kernel::testing::widen;
use crate::kernel::{Activation, Affine, Isa};
use knockout_base::random::Rng;

/// Functions whose derivative jumps: their inputs must be the same to the last bit in both float types.
fn jumps(activation: Activation) -> bool {
    matches!(activation, Activation::Relu | Activation::LeakyRelu)
}

/// Normal numbers times `scale`; on a coarse grid where sums must be exact.
fn numbers(rng: &mut Rng, count: usize, scale: f64, exact: bool) -> Vec<f32> {
    let value = |rng: &mut Rng| {
        let value = rng.normal() * scale;
        if exact { ((value * 8.0).round() / 8.0) as f32 } else { value as f32 }
    };
    (0..count).map(|_| value(rng)).collect()
}

/// Weight and bias of a layer, in both types.
struct Layer {
    narrow: [Vec<f32>; 2],
    wide: [Vec<f64>; 2],
}

impl Layer {
    fn new(rng: &mut Rng, inputs: usize, outputs: usize, exact: bool) -> Self {
        let scale = if exact { 0.3 } else { (1.0 / inputs as f64).sqrt() };
        let narrow = [numbers(rng, inputs * outputs, scale, exact), numbers(rng, outputs, 0.5, exact)];
        let wide = [widen(&narrow[0]), widen(&narrow[1])];
        Self { narrow, wide }
    }

    fn narrow(&self) -> Affine<'_, f32> {
        Affine { weight: &self.narrow[0], bias: &self.narrow[1] }
    }

    fn wide(&self) -> Affine<'_, f64> {
        Affine { weight: &self.wide[0], bias: &self.wide[1] }
    }
}

fn assert_near(what: &str, isa: Isa, value: &[f32], exact: &[f64], tolerance: f64) {
    assert_eq!(value.len(), exact.len());
    let size = exact.iter().fold(1.0, |size: f64, value| size.max(value.abs()));
    for (at, (&value, &exact)) in value.iter().zip(exact).enumerate() {
        let distance = (f64::from(value) - exact).abs() / size;
        assert!(distance < tolerance, "{what} {at} on {isa:?}: {value} {exact} in {size}");
    }
}

/// Where a function jumps, what is kept is doubled: any other factor would be rounded, and rounding would decide.
fn exact_dropout(dropout: f64, jumps: bool) -> f64 {
    if jumps && dropout > 0.0 { 0.5 } else { dropout }
}
