//! Attention over the embeddings of several networks.

use super::{add_scaled, dot, forward_term, softmax, softmax_backward};
use crate::init::Init;
use crate::layer::Linear;
use knockout_engine::grad::{Parameters, Tape, Var};
use knockout_engine::kernel::{Activation, Scalar, StoreMode};
use rayon::prelude::*;

/// `s_ik = score · relu(hidden(H_k[i])) + b`, `w_i = softmax over k of s_ik`, `E_i = Σ_k w_ik H_k[i]`.
///
/// `H_k, E: [rows, width]`; the hidden layer is half as wide.
#[derive(Debug, Clone, Copy)]
pub(crate) struct MetaEmbedding {
    hidden: Linear,
    score: Linear,
}

/// Rows in a task.
const CHUNK_ROWS: usize = 256;

impl MetaEmbedding {
    /// Adds `meta.hidden` and `meta.score`.
    pub(crate) fn new<T: Scalar>(parameters: &mut Parameters<T>, width: usize, init: &mut Init) -> Self {
        let hidden = Linear::new(parameters, "meta.hidden", width, width / 2, init);
        let score = Linear::new(parameters, "meta.score", width / 2, 1, init);
        Self { hidden, score }
    }

    /// Records the weighted sum of the embeddings `h`; its weights `[rows, networks]` follow it in the same output.
    pub(crate) fn forward<T: Scalar>(self, tape: &mut Tape<'_, T>, h: &[Var]) -> Var {
        let (width, half, count) = (self.hidden.inputs, self.hidden.outputs, h.len());
        let rows = tape.value(h[0]).len() / width;
        let h = h.to_vec();
        let forward_h = h.clone();
        tape.op(
            "meta",
            [rows, width + count],
            |values, out| {
                let (embedding, weights) = out.split_at_mut(rows * width);
                let mut hidden = Vec::with_capacity(count);
                for &var in &forward_h {
                    let mut buffer = values.pool().scratch(rows * half);
                    let term = forward_term(values.of(var), width, values.of(self.hidden.weight));
                    let bias = values.of(self.hidden.bias);
                    T::linear(&[term], Some(bias), Activation::Relu, StoreMode::Set, &mut buffer, half);
                    hidden.push(buffer);
                }
                let (score, bias) = (values.of(self.score.weight), values.of(self.score.bias)[0]);
                embedding
                    .par_chunks_mut(CHUNK_ROWS * width)
                    .zip(weights.par_chunks_mut(CHUNK_ROWS * count))
                    .enumerate()
                    .for_each(|(chunk, (embedding, weights))| {
                        let rows = chunk * CHUNK_ROWS..;
                        for ((row, embedding), weights) in
                            rows.zip(embedding.chunks_exact_mut(width)).zip(weights.chunks_exact_mut(count))
                        {
                            for (weight, hidden) in weights.iter_mut().zip(&hidden) {
                                *weight = dot(score, &hidden[row * half..(row + 1) * half]) + bias;
                            }
                            softmax(weights);
                            embedding.fill(T::ZERO);
                            for (&weight, &var) in weights.iter().zip(&forward_h) {
                                add_scaled(
                                    embedding,
                                    weight,
                                    &values.of(var)[row * width..(row + 1) * width],
                                );
                            }
                        }
                    });
                hidden
            },
            move |step, hidden, gradients| {
                let (d_embedding, _) = step.gradient.split_at(rows * width);
                let weights = &step.output[rows * width..];
                let score = step.values.of(self.score.weight);
                // The gradient of every score s_ik: row by row, then network by network.
                let mut by_row = step.values.pool().scratch(rows * count);
                by_row.par_chunks_exact_mut(count).enumerate().for_each(|(row, d_score)| {
                    let upstream = &d_embedding[row * width..(row + 1) * width];
                    for (slot, &var) in d_score.iter_mut().zip(&h) {
                        *slot = dot(upstream, &step.values.of(var)[row * width..(row + 1) * width]);
                    }
                    softmax_backward(&weights[row * count..(row + 1) * count], d_score);
                });
                let mut d_score = step.values.pool().scratch(rows);
                for (k, (&var, hidden)) in h.iter().zip(hidden).enumerate() {
                    d_score.iter_mut().zip(by_row.chunks_exact(count)).for_each(|(slot, row)| *slot = row[k]);
                    gradients.add_pair([self.score.weight, self.score.bias], |weight, bias| {
                        T::transposed_product(&d_score, &hidden, [1, half], weight, Some(bias));
                    });
                    gradients.add(var, |sum| {
                        sum.par_chunks_exact_mut(width).enumerate().for_each(|(row, sum)| {
                            add_scaled(
                                sum,
                                weights[row * count + k],
                                &d_embedding[row * width..(row + 1) * width],
                            );
                        });
                    });
                    // The hidden layer's buffer takes its own gradient.
                    let mut d_hidden = hidden;
                    d_hidden.par_chunks_exact_mut(half).zip(&d_score[..]).for_each(|(hidden, &d_score)| {
                        for (slot, &score) in hidden.iter_mut().zip(score) {
                            *slot = if *slot > T::ZERO { d_score * score } else { T::ZERO };
                        }
                    });
                    let weight = step.values.of(self.hidden.weight);
                    self.hidden.backward(weight, step.values.of(var), &d_hidden, var, gradients);
                }
            },
        )
    }
}
