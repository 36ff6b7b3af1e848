//! Reconstruction loss over all pairs of rows, computed without forming them.

use super::{add_scaled, backward_term, dot};
use knockout_engine::grad::{Parameters, Tape, Var};
use knockout_engine::kernel::{Activation, Buffer, DistinctEdges, EdgeLoss, Scalar, StoreMode};
use rayon::prelude::*;

/// `R = H Vᵀ + 1 cᵀ` and its distance from a graph's adjacency A, where pairs without an edge count λ:
///
/// `L = [Σ over A≠0 of (R − A)² + λ Σ over A=0 of R²] / N² = [λ Σ R² + Σ over distinct edges of ((R − A)² − λR²)] / N²`
///
/// R has N × N entries, but `Σ R² = ⟨HᵀH, VᵀV⟩ + 2 (1ᵀH) · (Vᵀc) + N |c|²` needs only products of width × width, and the
/// second sum only the edges.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Reconstruction {
    /// V: `[rows, width]`.
    pub weight: Var,
    /// c: `[rows]`.
    pub bias: Var,
    /// Width of a row.
    pub width: usize,
}

/// Values in a task.
const CHUNK: usize = 1 << 14;

/// Values saved for the backward pass.
struct SavedRows<T: knockout_engine::kernel::Real> {
    /// `HᵀH`.
    gram_h: Vec<T>,
    /// `VᵀV`.
    gram_v: Vec<T>,
    /// 1ᵀH.
    sum_h: Vec<T>,
    /// Vᵀc.
    v_c: Vec<T>,
    /// The edges' part of dL/dH, computed with the loss.
    edges_h: Buffer<T>,
}

impl Reconstruction {
    /// Adds `name.weight` (normal, 0.1) and `name.bias` (zero).
    pub(crate) fn new<T: Scalar>(
        parameters: &mut Parameters<T>,
        name: &str,
        rows: usize,
        width: usize,
        init: &mut crate::init::Init,
    ) -> Self {
        let weight = parameters.add(format!("{name}.weight"), &[rows, width], || init.normal(0.1));
        let bias = parameters.add(format!("{name}.bias"), &[rows], || 0.0);
        Self { weight, bias, width }
    }

    /// Records the loss of rows `h`: one value.
    pub(crate) fn loss<'a, T: Scalar>(
        self,
        tape: &mut Tape<'a, T>,
        h: Var,
        target: &'a DistinctEdges,
        lambda: f64,
    ) -> Var {
        let rows = target.outgoing.row_count();
        let scale = 1.0 / (rows as f64 * rows as f64);
        tape.op(
            "loss.reconstruction",
            1,
            |values, out| {
                let (h, v, c) = (values.of(h), values.of(self.weight), values.of(self.bias));
                let mut edges_h = values.pool().zeros(rows * self.width);
                let mut unused = values.pool().zeros(rows);
                let task = EdgeLoss {
                    matrix: &target.outgoing,
                    target: &target.outgoing_count,
                    row_values: h,
                    column_values: v,
                    row_bias: None,
                    column_bias: Some(c),
                    width: self.width,
                    lambda: T::of(lambda),
                    scale: T::of(scale),
                };
                let edges = T::edge_loss(&task, &mut edges_h, &mut unused);
                let mut saved = SavedRows {
                    gram_h: vec![T::ZERO; self.width * self.width],
                    gram_v: vec![T::ZERO; self.width * self.width],
                    sum_h: vec![T::ZERO; self.width],
                    v_c: vec![T::ZERO; self.width],
                    edges_h,
                };
                let size = [self.width, self.width];
                T::transposed_product(h, h, size, &mut saved.gram_h, Some(&mut saved.sum_h));
                T::transposed_product(v, v, size, &mut saved.gram_v, None);
                T::transposed_product(c, v, [1, self.width], &mut saved.v_c, None);
                let squares = dot_f64(&saved.gram_h, &saved.gram_v)
                    + 2.0 * dot_f64(&saved.sum_h, &saved.v_c)
                    + rows as f64 * dot_f64(c, c);
                out[0] = T::of((lambda * squares + edges) * scale);
                saved
            },
            move |step, saved, gradients| {
                let (h_values, v, c) =
                    (step.values.of(h), step.values.of(self.weight), step.values.of(self.bias));
                let upstream = step.gradient[0].to_f64();
                let factor = T::of(2.0 * lambda * scale * upstream);
                let scaled = |gram: &[T]| -> Vec<T> { gram.iter().map(|&value| factor * value).collect() };
                let (gram_h, gram_v) = (scaled(&saved.gram_h), scaled(&saved.gram_v));
                let (sum_h, v_c) = (scaled(&saved.sum_h), scaled(&saved.v_c));
                gradients.put(h, |sum, store| {
                    let back = backward_term(h_values, self.width, &gram_v);
                    T::linear(&[back], Some(&v_c), Activation::None, store, sum, self.width);
                    sum.par_chunks_mut(CHUNK)
                        .zip(saved.edges_h.par_chunks(CHUNK))
                        .for_each(|(sum, edges)| add_scaled(sum, T::of(upstream), edges));
                });
                let mut d_bias = step.values.pool().zeros(rows);
                gradients.add(self.weight, |sum| {
                    let back = backward_term(v, self.width, &gram_h);
                    T::linear(&[back], None, Activation::None, StoreMode::Add, sum, self.width);
                    sum.par_chunks_exact_mut(self.width)
                        .zip(c)
                        .for_each(|(row, &c)| add_scaled(row, c, &sum_h));
                    let task = EdgeLoss {
                        matrix: &target.incoming,
                        target: &target.incoming_count,
                        row_values: v,
                        column_values: h_values,
                        row_bias: Some(c),
                        column_bias: None,
                        width: self.width,
                        lambda: T::of(lambda),
                        scale: T::of(scale * upstream),
                    };
                    T::edge_loss(&task, sum, &mut d_bias);
                });
                gradients.add(self.bias, |sum| {
                    let by_row = d_bias.par_iter().zip(v.par_chunks_exact(self.width).zip(c));
                    sum.par_iter_mut().zip(by_row).for_each(|(slot, (&edges, (row, &c)))| {
                        *slot += edges + dot(row, &sum_h) + factor * T::of(rows as f64) * c;
                    });
                });
            },
        )
    }
}

fn dot_f64<T: Scalar>(a: &[T], b: &[T]) -> f64 {
    a.iter().zip(b).map(|(a, b)| a.to_f64() * b.to_f64()).sum()
}
