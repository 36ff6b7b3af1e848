//! Norms over the channels of a row, or over all rows.

use crate::layer::NormVars;
use knockout_engine::grad::{Parameters, Tape, Var};
use knockout_engine::kernel::{NORM_EPSILON, Scalar, StoreMode};
use rayon::prelude::*;
use serde::{Deserialize, Serialize};

/// Values that a norm takes its mean and standard deviation over.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum NormKind {
    /// The channels of a row: a sample's result does not depend on its batch.
    #[default]
    Node,
    /// All rows and channels of the wild type, and all of the batch: the reference system's `layer`.
    Graph,
    /// No norm.
    None,
}

/// A norm and its parameters.
#[derive(Debug, Clone, Copy)]
pub(super) enum Norm {
    None,
    Node(NormVars),
    Graph(NormVars),
}

impl Norm {
    /// Adds `name.scale` and `name.shift`, unless there is no norm.
    pub(super) fn new<T: Scalar>(
        parameters: &mut Parameters<T>,
        name: &str,
        width: usize,
        kind: NormKind,
    ) -> Self {
        if kind == NormKind::None {
            return Self::None;
        }
        let vars = NormVars {
            scale: parameters.add(format!("{name}.scale"), &[width], || 1.0),
            shift: parameters.add(format!("{name}.shift"), &[width], || 0.0),
        };
        if kind == NormKind::Node { Self::Node(vars) } else { Self::Graph(vars) }
    }

    /// The parameters of a norm over the channels of a row.
    pub(super) fn of_rows(self) -> Option<NormVars> {
        match self {
            Self::Node(vars) => Some(vars),
            Self::None | Self::Graph(_) => None,
        }
    }

    /// Records the norm of rows whose first `wild` are the wild type's.
    pub(super) fn forward<T: Scalar>(
        self,
        tape: &mut Tape<'_, T>,
        name: &'static str,
        x: Var,
        wild: usize,
    ) -> Var {
        match self {
            Self::None => x,
            Self::Node(vars) => node_norm(tape, name, x, vars),
            Self::Graph(vars) => graph_norm(tape, name, x, vars, wild),
        }
    }
}

/// Rows in a task.
const CHUNK_ROWS: usize = 512;

/// `y = (x − mean) / √(variance + ε) · scale + shift`, mean and variance over the channels of a row.
pub(super) fn node_norm<T: Scalar>(
    tape: &mut Tape<'_, T>,
    name: &'static str,
    x: Var,
    vars: NormVars,
) -> Var {
    let width = tape.value(vars.scale).len();
    tape.op(
        name,
        [tape.value(x).len() / width, width],
        |values, out| {
            let (scale, shift) = (values.of(vars.scale), values.of(vars.shift));
            let rows = CHUNK_ROWS * width;
            out.par_chunks_mut(rows).zip(values.of(x).par_chunks(rows)).for_each(|(out, x)| {
                for (out, x) in out.chunks_exact_mut(width).zip(x.chunks_exact(width)) {
                    let (mean, factor) = statistics(x);
                    for (channel, out) in out.iter_mut().enumerate() {
                        *out = (x[channel] - mean) * factor * scale[channel] + shift[channel];
                    }
                }
            });
        },
        move |step, (), gradients| {
            let (x_values, scale) = (step.values.of(x), step.values.of(vars.scale));
            let rows = CHUNK_ROWS * width;
            let one_over = T::of(1.0 / width as f64);
            let partials: Vec<(Vec<T>, Vec<T>)> = step
                .gradient
                .par_chunks_mut(rows)
                .zip(x_values.par_chunks(rows))
                .map(|(gradient, x)| {
                    let (mut d_scale, mut d_shift) = (vec![T::ZERO; width], vec![T::ZERO; width]);
                    for (gradient, x) in gradient.chunks_exact_mut(width).zip(x.chunks_exact(width)) {
                        let (mean, factor) = statistics(x);
                        let (mut sum, mut product) = (T::ZERO, T::ZERO);
                        for channel in 0..width {
                            let normal = (x[channel] - mean) * factor;
                            d_scale[channel] += gradient[channel] * normal;
                            d_shift[channel] += gradient[channel];
                            gradient[channel] *= scale[channel];
                            sum += gradient[channel];
                            product += gradient[channel] * normal;
                        }
                        let (sum, product) = (sum * one_over, product * one_over);
                        for channel in 0..width {
                            let normal = (x[channel] - mean) * factor;
                            gradient[channel] = (gradient[channel] - sum - normal * product) * factor;
                        }
                    }
                    (d_scale, d_shift)
                })
                .collect();
            for (d_scale, d_shift) in &partials {
                gradients.add(vars.scale, |sum| crate::layer::add_to(sum, d_scale));
                gradients.add(vars.shift, |sum| crate::layer::add_to(sum, d_shift));
            }
            gradients.put(x, |sum, store| put_rows(sum, step.gradient, store));
        },
    )
}

/// Mean and 1 / standard deviation of a row.
pub(super) fn statistics<T: Scalar>(row: &[T]) -> (T, T) {
    let one_over = T::of(1.0 / row.len() as f64);
    let mean = row.iter().copied().sum::<T>() * one_over;
    let variance = row.iter().map(|&value| (value - mean) * (value - mean)).sum::<T>() * one_over;
    (mean, T::ONE / (variance + T::of(NORM_EPSILON)).sqrt())
}

/// `sum (+)= values`, in parallel.
pub(super) fn put_rows<T: Scalar>(sum: &mut [T], values: &[T], store: StoreMode) {
    const CHUNK: usize = 1 << 14;
    sum.par_chunks_mut(CHUNK).zip(values.par_chunks(CHUNK)).for_each(|(sum, values)| match store {
        StoreMode::Set => sum.copy_from_slice(values),
        StoreMode::Add => crate::layer::add_to(sum, values),
    });
}

/// `y = (x − μ) / (σ + ε) · scale + shift`, one μ and one σ over all rows and channels of a group: the first `wild` rows are one
/// group, the others another.
pub(super) fn graph_norm<T: Scalar>(
    tape: &mut Tape<'_, T>,
    name: &'static str,
    x: Var,
    vars: NormVars,
    wild: usize,
) -> Var {
    let width = tape.value(vars.scale).len();
    let split = wild * width;
    tape.op(
        name,
        [tape.value(x).len() / width, width],
        |values, out| {
            let (scale, shift) = (values.of(vars.scale), values.of(vars.shift));
            let x = values.of(x);
            let groups = [(0..split), (split..x.len())].map(|range| (range.clone(), moments(&x[range])));
            for (range, (mean, deviation)) in groups.clone() {
                let factor = T::of(1.0 / (deviation + NORM_EPSILON));
                let rows = CHUNK_ROWS * width;
                out[range.clone()].par_chunks_mut(rows).zip(x[range].par_chunks(rows)).for_each(
                    |(out, x)| {
                        for (at, (out, &x)) in out.iter_mut().zip(x).enumerate() {
                            *out = (x - T::of(mean)) * factor * scale[at % width] + shift[at % width];
                        }
                    },
                );
            }
            groups
        },
        move |step, groups, gradients| {
            let (x_values, scale) = (step.values.of(x), step.values.of(vars.scale));
            for (range, (mean, deviation)) in groups {
                let (x, gradient) = (&x_values[range.clone()], &mut step.gradient[range.clone()]);
                let count = x.len() as f64;
                let (mean, factor) = (T::of(mean), T::of(1.0 / (deviation + NORM_EPSILON)));
                let (mut d_scale, mut d_shift) = (vec![0.0; width], vec![0.0; width]);
                let (mut sum, mut product) = (0.0, 0.0);
                for (at, (gradient, &x)) in gradient.iter_mut().zip(x).enumerate() {
                    let normal = (x - mean) * factor;
                    d_scale[at % width] += (*gradient * normal).to_f64();
                    d_shift[at % width] += gradient.to_f64();
                    *gradient *= scale[at % width];
                    sum += gradient.to_f64();
                    product += (*gradient * (x - mean)).to_f64();
                }
                // dσ/dx is (x − μ)/(nσ); with σ = 0 every x is μ, and no gradient propagates through it.
                let slope = if deviation > 0.0 {
                    product * factor.to_f64() * factor.to_f64() / (count * deviation)
                } else {
                    0.0
                };
                for (gradient, &x) in gradient.iter_mut().zip(x) {
                    *gradient = (*gradient - T::of(sum / count)) * factor - (x - mean) * T::of(slope);
                }
                for (var, values) in [(vars.scale, d_scale), (vars.shift, d_shift)] {
                    gradients.add(var, |sum| {
                        sum.iter_mut().zip(&values).for_each(|(sum, &value)| *sum += T::of(value));
                    });
                }
            }
            gradients.put(x, |sum, store| put_rows(sum, step.gradient, store));
        },
    )
}

/// Mean and population standard deviation, in `f64` and in a fixed order; (0, 0) of an empty slice.
fn moments<T: Scalar>(values: &[T]) -> (f64, f64) {
    const CHUNK: usize = 1 << 14;
    if values.is_empty() {
        return (0.0, 0.0);
    }
    let total = |term: &(dyn Fn(T) -> f64 + Sync)| -> f64 {
        let partials: Vec<f64> =
            values.par_chunks(CHUNK).map(|chunk| chunk.iter().map(|&value| term(value)).sum()).collect();
        partials.iter().sum()
    };
    let mean = total(&|value| value.to_f64()) / values.len() as f64;
    let variance = total(&|value| (value.to_f64() - mean).powi(2)) / values.len() as f64;
    (mean, variance.sqrt())
}
