//! DANGO with fixed weights: tables of the embeddings and of each gene's terms in the attention over a set.
//!
//! Tables are computed in `f64` and rounded once, so their error is smaller than that of the layers they replace.
//!
//! The embeddings do not depend on the set. Every quantity of the two attention layers that depends on one gene is a
//! table, computed in `f64` and rounded once: 1,408 numbers per gene at width 64 with 4 heads. A set then needs 48 short
//! products, 24 exponentials and one 64 x 64 product per gene. Candidates share all but their last gene with their
//! neighbours, so a block is scored in groups of last genes whose tables stay in the cache.

use super::Dango;
use crate::FixedScorer;
use crate::layer::{Linear, SetScorer};
use knockout_data::cell::{GeneSets, GeneSetsRef};
use knockout_engine::grad::{Tape, Var};
use knockout_engine::kernel::{Activation, Scalar, SetTables};
use rayon::prelude::*;

/// Genes whose tables fit the second-level cache together: sets are scored in the order of their last gene's group.
const GROUP_SHIFT: u32 = 6;

/// Tables of a trained model.
pub(super) struct FixedDango {
    tables: SetTables,
    gene_count: usize,
}

/// A matrix `[rows, columns]` in `f64`.
struct WeightMatrix {
    values: Vec<f64>,
    columns: usize,
}

impl WeightMatrix {
    fn row(&self, row: usize) -> &[f64] {
        &self.values[row * self.columns..(row + 1) * self.columns]
    }

    /// `self · x`.
    fn times(&self, x: &[f64], out: &mut Vec<f64>) {
        out.clear();
        out.extend(self.values.chunks_exact(self.columns).map(|row| dot(row, x)));
    }
}

fn dot(a: &[f64], b: &[f64]) -> f64 {
    a.iter().zip(b).map(|(a, b)| a * b).sum()
}

/// Everything that turns a gene's embedding into its row of the tables.
struct Algebra {
    width: usize,
    heads: usize,
    activation: Activation,
    /// The first layer's query, key and value, with their biases.
    first: [(WeightMatrix, Vec<f64>); 3],
    /// The second layer's query, key and value as they stand in the tables, and the identity for the difference.
    second: WeightMatrix,
    /// Contribution of the biases of both layers.
    constant: Vec<f64>,
    /// Contribution of a head's values in the first layer, for members that attend to them.
    moves: Vec<WeightMatrix>,
    /// The linear layer that attention is compared with.
    fixed: (WeightMatrix, Vec<f64>),
}

/// Where a channel of a head stands among interleaved heads.
fn interleaved(channel: usize, width: usize, heads: usize) -> usize {
    let head_width = width / heads;
    channel % head_width * heads + channel / head_width
}

impl Algebra {
    fn new<T: Scalar>(tape: &Tape<'_, T>, scorer: &SetScorer, width: usize, heads: usize) -> Self {
        let wide = |var: Var| tape.value(var).iter().map(|value| value.to_f64()).collect::<Vec<f64>>();
        let matrix = |linear: Linear| WeightMatrix { values: wide(linear.weight), columns: width };
        let [first, second] = [scorer.layers[0], scorer.layers[1]];
        let [rezero1, rezero2] = [first, second].map(|layer| wide(layer.rezero)[0]);
        let (mut linear, mut constant) = (vec![0.0; 4 * width * width], vec![0.0; 4 * width]);
        let scale = scale(width, heads);
        let layers = second.projections.inputs().into_iter().zip([scale, 1.0, 1.0]);
        for (part, (layer, factor)) in layers.enumerate() {
            let (weight, bias) = (matrix(layer), wide(layer.bias));
            for (channel, bias) in bias.iter().enumerate() {
                let row = part * width + interleaved(channel, width, heads);
                constant[row] = factor * bias;
                for (out, value) in linear[row * width..(row + 1) * width].iter_mut().zip(weight.row(channel))
                {
                    *out = factor * value;
                }
            }
        }
        for channel in 0..width {
            linear[(3 * width + channel) * width + channel] = 1.0;
        }
        let linear = WeightMatrix { values: linear, columns: width };
        let shift: Vec<f64> = wide(first.projections.output.bias).iter().map(|bias| rezero1 * bias).collect();
        for (row, constant) in constant.iter_mut().enumerate() {
            *constant += dot(linear.row(row), &shift);
        }
        for (constant, bias) in constant[3 * width..].iter_mut().zip(wide(second.projections.output.bias)) {
            *constant += rezero2 * bias;
        }
        let (output, head_width) = (matrix(first.projections.output), width / heads);
        let moved = |row: usize, column: usize| {
            let products =
                linear.row(row).iter().enumerate().map(|(at, value)| value * output.row(at)[column]);
            rezero1 * products.sum::<f64>()
        };
        let moves = (0..heads).map(|head| {
            let columns = head * head_width..(head + 1) * head_width;
            let values = (0..4 * width).flat_map(|row| columns.clone().map(move |column| (row, column)));
            WeightMatrix {
                values: values.map(|(row, column)| moved(row, column)).collect(),
                columns: head_width,
            }
        });
        Self {
            moves: moves.collect(),
            width,
            heads,
            activation: scorer.activation,
            first: first.projections.inputs().map(|linear| (matrix(linear), wide(linear.bias))),
            fixed: (matrix(scorer.fixed), wide(scorer.fixed.bias)),
            second: linear,
            constant,
        }
    }

    /// Fills the row of a gene.
    fn fill<T: Scalar>(&self, embedding: &[T], row: &mut [f32]) {
        let Self { width, heads, .. } = *self;
        let x: Vec<f64> = embedding.iter().map(|value| value.to_f64()).collect();
        let affine = |(matrix, bias): &(WeightMatrix, Vec<f64>)| -> Vec<f64> {
            let mut out = Vec::new();
            matrix.times(&x, &mut out);
            out.iter_mut().zip(bias).for_each(|(out, bias)| *out += bias);
            out
        };
        let (own, others) = row.split_at_mut(6 * width);
        let [query, key, values] = [0, 1, 2].map(|part| affine(&self.first[part]));
        for (part, (values, factor)) in [(query, scale(width, heads)), (key, 1.0)].into_iter().enumerate() {
            for (channel, value) in values.iter().enumerate() {
                own[part * width + interleaved(channel, width, heads)] = (factor * value) as f32;
            }
        }
        let mut out = Vec::new();
        self.second.times(&x, &mut out);
        out.iter_mut().zip(&self.constant).for_each(|(out, constant)| *out += constant);
        for (out, fixed) in out[3 * width..].iter_mut().zip(affine(&self.fixed)) {
            *out -= self.activation.apply(fixed);
        }
        own[2 * width..].iter_mut().zip(&out).for_each(|(own, &value)| *own = value as f32);
        let values = values.chunks_exact(width / heads);
        for ((moves, values), row) in self.moves.iter().zip(values).zip(others.chunks_exact_mut(4 * width)) {
            moves.times(values, &mut out);
            row.iter_mut().zip(&out).for_each(|(row, &value)| *row = value as f32);
        }
    }
}

/// The scale of the softmax's scores.
fn scale(width: usize, heads: usize) -> f64 {
    1.0 / ((width / heads) as f64).sqrt()
}

fn narrow<T: Scalar>(value: T) -> f32 {
    value.to_f64() as f32
}

impl FixedDango {
    /// Makes the tables; `None` for a shape that the kernels do not handle.
    pub(super) fn new<T: Scalar>(model: &Dango<T>) -> Option<Self> {
        let (scorer, width) = (&model.set, model.width);
        let heads = scorer.layers.first()?.heads;
        if scorer.layers.len() != 2 || !SetTables::supports(width, heads) {
            return None;
        }
        let mut tape = Tape::new(&model.parameters);
        let (.., meta) = model.embed(&mut tape);
        let gene_count = tape.value(meta).len() / (width + model.networks.len());
        let algebra = Algebra::new(&tape, scorer, width, heads);
        let stride = SetTables::stride(width, heads);
        let mut rows = vec![0.0_f32; gene_count * stride];
        let embeddings = &tape.value(meta)[..gene_count * width];
        rows.par_chunks_mut(stride)
            .zip(embeddings.par_chunks(width))
            .for_each(|(row, embedding)| algebra.fill(embedding, row));
        let (weight, rezero) =
            (tape.value(scorer.layers[1].projections.output.weight), tape.value(scorer.layers[1].rezero)[0]);
        let mut output = vec![0.0; width * width];
        for (at, value) in weight.iter().enumerate() {
            output[interleaved(at % width, width, heads) * width + at / width] = narrow(rezero * *value);
        }
        let score = tape.value(scorer.score.weight).iter().map(|&value| narrow(value)).collect();
        let bias = narrow(tape.value(scorer.score.bias)[0]);
        Some(Self { tables: SetTables::new(rows, &output, score, bias, heads), gene_count })
    }
}

impl FixedScorer for FixedDango {
    fn score(&self, sets: GeneSetsRef<'_>, out: &mut [f32]) {
        // Neighbours among many candidates share all but their last gene, which runs over the whole table: in groups of last
        // genes, its rows stay in the cache.
        let group = |set: &[u32]| set.last().map_or(0, |&gene| (gene >> GROUP_SHIFT) as usize);
        let mut starts = vec![0_u32; (self.gene_count >> GROUP_SHIFT) + 2];
        sets.iter().for_each(|set| starts[group(set) + 1] += 1);
        for at in 1..starts.len() {
            starts[at] += starts[at - 1];
        }
        let mut order = vec![0_u32; sets.len()];
        for (index, set) in sets.iter().enumerate() {
            let next = &mut starts[group(set)];
            order[*next as usize] = index as u32;
            *next += 1;
        }
        let (mut chunk, mut scores) = (GeneSets::default(), [0.0; 1024]);
        for indices in order.chunks(scores.len()) {
            chunk.clear();
            for &index in indices {
                chunk.push(sets.get(index as usize));
            }
            let scores = &mut scores[..indices.len()];
            self.tables.score(chunk.view().offsets(), chunk.view().genes(), scores);
            for (&index, &score) in indices.iter().zip(scores.iter()) {
                out[index as usize] = score;
            }
        }
    }
}
