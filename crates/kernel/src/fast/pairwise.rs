//! Pairs of graphs on tiles.
//!
//! What is saved by algebra, with width d, hidden layers of b and scores of c values:
//! - the first layer of a pair (i, i) is one product with the sum of its halves;
//! - the score's first layer is linear in the pair's hidden layer, `S (W h + b) + c = (S W) h + (S b + c)`: with `S W` composed once, options are
//!   not formed to be scored;
//! - on the way back `dy W` serves both the softmax's weight and the hidden layer, and the gradient of `S W` is led on to `S` and `W` once,
//!   after all rows.
//!
//! Pairs of more than two linear layers go the plain way.

use super::block::Places;
use super::tile::{Factor, Finish, Rows, column_sums, outer, pack, product};
use super::{elementary, gather, rows, scratch, spread, stride};
use crate::{Affine, Buffer, Isa, Pairwise, PairwiseOutput, Pool, plain};
use std::ops::Range;

/// The weights of pairs and score in panels, for both directions; `None` where a pair has not two linear layers.
#[derive(Debug, Clone)]
pub struct PackedPairwise(Option<Packed>);

#[derive(Debug, Clone)]
struct Packed {
    isa: Isa,
    pairs: Vec<Pair>,
    score: Score,
    /// Second biases of all pairs as one matrix: `dy · bias` of all of them is one product.
    biases: Range<usize>,
    numbers: Buffer<f32>,
    /// Values of a gradient as [`pair_rows_backward`] adds to it: as the task says, then what is led on.
    gradient_len: usize,
}

/// Where the numbers of a pair are.
#[derive(Debug, Clone)]
struct Pair {
    hidden: usize,
    /// The halves of the first layer, and back; of a pair (i, i) the first is the sum of both.
    halves: [Range<usize>; 2],
    halves_back: [Range<usize>; 2],
    first_bias: Range<usize>,
    second: Range<usize>,
    second_back: Range<usize>,
    second_bias: Range<usize>,
    /// S W and S b + c.
    composed: Range<usize>,
    composed_back: Range<usize>,
    composed_bias: Range<usize>,
    /// In a gradient: the pair's own numbers, then those of the composed layer.
    gradient: usize,
    composed_gradient: Range<usize>,
    /// In a gradient: what the bias of the second layer gets from the weighted sum.
    bias_gradient: Range<usize>,
}

#[derive(Debug, Clone)]
struct Score {
    first: Range<usize>,
    first_back: Range<usize>,
    first_bias: Range<usize>,
    second: Range<usize>,
    /// In a gradient.
    gradient: usize,
    second_gradient: Range<usize>,
}

impl PackedPairwise {
    pub(crate) fn new(
        isa: Isa,
        graphs: usize,
        pairs: &[Vec<Affine<'_, f32>>],
        score: &[Affine<'_, f32>; 2],
    ) -> Self {
        if pairs.iter().any(|linears| linears.len() != 2) || score[1].outputs() != 1 {
            return Self(None);
        }
        let (width, scored) = (score[0].inputs(), score[0].outputs());
        let (wide, score_wide) = (stride(isa, width), stride(isa, scored));
        let (mut places, mut in_gradient) = (Places(0), Places(0));
        let mut placed: Vec<Pair> = pairs
            .iter()
            .map(|linears| {
                let hidden = linears[0].outputs();
                let hidden_wide = stride(isa, hidden);
                let gradient = in_gradient.take(linears[0].number_count() + linears[1].number_count()).start;
                Pair {
                    hidden,
                    halves: [0, 1].map(|_| places.take(width * hidden_wide)),
                    halves_back: [0, 1].map(|_| places.take(hidden * wide)),
                    first_bias: places.take(hidden_wide),
                    second: places.take(hidden * wide),
                    second_back: places.take(width * hidden_wide),
                    second_bias: places.take(wide),
                    composed: places.take(hidden * score_wide),
                    composed_back: places.take(scored * hidden_wide),
                    composed_bias: places.take(score_wide),
                    gradient,
                    composed_gradient: 0..0,
                    bias_gradient: 0..0,
                }
            })
            .collect();
        let score_gradient = in_gradient.take(score.iter().map(Affine::number_count).sum::<usize>()).start;
        for pair in &mut placed {
            pair.composed_gradient = in_gradient.take(scored * pair.hidden + scored);
        }
        for pair in &mut placed {
            pair.bias_gradient = in_gradient.take(width);
        }
        let placed_score = Score {
            first: places.take(width * score_wide),
            first_back: places.take(scored * wide),
            first_bias: places.take(score_wide),
            second: places.take(score_wide),
            gradient: score_gradient,
            second_gradient: in_gradient.take(score_wide + 1),
        };
        let biases = places.take(width * stride(isa, pairs.len()));
        let mut packed = Packed {
            isa,
            pairs: placed,
            score: placed_score,
            biases,
            numbers: Pool::new().zeros(places.0),
            gradient_len: in_gradient.0,
        };
        let mut at = 0;
        for i in 0..graphs {
            for j in i..graphs {
                packed.fill_pair(at, i == j, &pairs[at], &score[0]);
                at += 1;
            }
        }
        packed.fill_score(pairs, score);
        Self(Some(packed))
    }

    /// Values of a gradient as [`pair_rows_backward`] adds to it.
    pub(crate) fn gradient_len(&self) -> Option<usize> {
        self.0.as_ref().map(|packed| packed.gradient_len)
    }
}

impl Packed {
    fn fill_pair(&mut self, at: usize, same: bool, linears: &[Affine<'_, f32>], score: &Affine<'_, f32>) {
        let (isa, width, scored) = (self.isa, score.inputs(), score.outputs());
        let (pair, numbers) = (&self.pairs[at], &mut self.numbers);
        let (first, second, hidden) = (linears[0], linears[1], pair.hidden);
        for half in 0..2 {
            let value = |out: usize, k: usize| {
                let row = &first.weight[out * 2 * width..(out + 1) * 2 * width];
                if same { row[k] + row[width + k] } else { row[half * width + k] }
            };
            let halves = [pair.halves[half].clone(), pair.halves_back[half].clone()];
            pack(isa, width, hidden, |k, column| value(column, k), &mut numbers[halves[0].clone()]);
            pack(isa, hidden, width, value, &mut numbers[halves[1].clone()]);
        }
        numbers[pair.first_bias.clone()][..hidden].copy_from_slice(first.bias);
        let value = |out: usize, k: usize| second.weight[out * hidden + k];
        pack(isa, hidden, width, |k, column| value(column, k), &mut numbers[pair.second.clone()]);
        pack(isa, width, hidden, value, &mut numbers[pair.second_back.clone()]);
        numbers[pair.second_bias.clone()][..width].copy_from_slice(second.bias);
        let mut composed = vec![0.0; scored * hidden];
        for (composed, score) in composed.chunks_exact_mut(hidden).zip(score.weight.chunks_exact(width)) {
            for (&score, weight) in score.iter().zip(second.weight.chunks_exact(hidden)) {
                composed.iter_mut().zip(weight).for_each(|(sum, &weight)| *sum += score * weight);
            }
        }
        let value = |out: usize, k: usize| composed[out * hidden + k];
        pack(isa, hidden, scored, |k, column| value(column, k), &mut numbers[pair.composed.clone()]);
        pack(isa, scored, hidden, value, &mut numbers[pair.composed_back.clone()]);
        let bias = &mut numbers[pair.composed_bias.clone()];
        for ((bias, row), &own) in bias.iter_mut().zip(score.weight.chunks_exact(width)).zip(score.bias) {
            *bias = own + row.iter().zip(second.bias).map(|(&a, &b)| a * b).sum::<f32>();
        }
    }

    fn fill_score(&mut self, pairs: &[Vec<Affine<'_, f32>>], [first, second]: &[Affine<'_, f32>; 2]) {
        let (isa, width, scored) = (self.isa, first.inputs(), first.outputs());
        let (score, numbers) = (&self.score, &mut self.numbers);
        let value = |out: usize, k: usize| first.weight[out * width + k];
        pack(isa, width, scored, |k, column| value(column, k), &mut numbers[score.first.clone()]);
        pack(isa, scored, width, value, &mut numbers[score.first_back.clone()]);
        numbers[score.first_bias.clone()][..scored].copy_from_slice(first.bias);
        numbers[score.second.clone()][..scored].copy_from_slice(second.weight);
        let value = |k: usize, pair: usize| pairs[pair][1].bias[k];
        pack(isa, width, pairs.len(), value, &mut numbers[self.biases.clone()]);
    }

    /// `out = act. (Σ terms + bias)` before the activation, on rows of `width` values.
    fn term<'t>(&'t self, rows: &'t [f32], width: usize, weight: &Range<usize>) -> Factor<'t> {
        let stride = stride(self.isa, width);
        Factor { rows, stride, depth: width, weight: &self.numbers[weight.clone()] }
    }

    /// A pair's hidden layer before its activation.
    fn hidden(&self, pair: &Pair, tile: &Tile<'_>, (i, j): (usize, usize), out: &mut [f32]) {
        let terms = [(i, 0), (j, 1)]
            .map(|(graph, half)| self.term(tile.graph(graph), tile.width, &pair.halves[half]));
        let terms = if i == j { &terms[..1] } else { &terms };
        product(
            self.isa,
            terms,
            Some(&self.numbers[pair.first_bias.clone()]),
            Finish::Set,
            out,
            stride(self.isa, pair.hidden),
        );
    }

    /// The score's hidden layer before its activation, given a pair's.
    fn composed(&self, pair: &Pair, scored: usize, hidden: &[f32], out: &mut [f32]) {
        let term = self.term(hidden, pair.hidden, &pair.composed);
        product(
            self.isa,
            &[term],
            Some(&self.numbers[pair.composed_bias.clone()]),
            Finish::Set,
            out,
            stride(self.isa, scored),
        );
    }
}

/// The rows of all graphs, padded.
struct Tile<'a> {
    rows: &'a [f32],
    graphs: usize,
    width: usize,
}

impl Tile<'_> {
    fn graph(&self, graph: usize) -> &[f32] {
        let size = self.rows.len() / self.graphs;
        &self.rows[graph * size..(graph + 1) * size]
    }

    fn mean(&self, out: &mut [f32]) {
        out.copy_from_slice(self.graph(0));
        for graph in 1..self.graphs {
            out.iter_mut().zip(self.graph(graph)).for_each(|(sum, &value)| *sum += value);
        }
        let share = 1.0 / self.graphs as f32;
        for value in out {
            *value *= share;
        }
    }
}

/// How far a score may rise above what its row is compared with before that is raised.
const RISE: f32 = 30.0;

/// See [`Pairwise::forward`]; `input: [graphs, n, width]`.
///
/// The softmax runs along: what is added up is e^(score − shift) with the shift of a row being the score of its mean, until a score is far
/// above it.
pub(crate) fn pair_rows(
    task: &Pairwise<'_, f32>,
    packed: &PackedPairwise,
    input: &[f32],
    output: PairwiseOutput<'_, f32>,
) {
    let Some(packed) = &packed.0 else {
        return plain::pair_rows(task, input, output);
    };
    let (isa, width, scored) = (packed.isa, task.width(), task.score()[0].outputs());
    let (wide, score_wide) = (stride(isa, width), stride(isa, scored));
    let (count, options) = (output.log_sum.len(), task.options());
    let padded = padded(isa, width, input);
    let tile = Tile { rows: padded.as_deref().unwrap_or(input), graphs: task.graphs(), width };
    let hidden_wide = packed.pairs.iter().map(|pair| stride(isa, pair.hidden)).max().unwrap_or(0);
    let (mut hidden, mut score_hidden) = (scratch(count * hidden_wide), scratch(count * score_wide));
    let (mut y, mut scores, mut shift, mut total) =
        (scratch(count * wide), scratch(count), scratch(count), scratch(count));
    // By option, then by row.
    let mut weights = scratch(options * count);
    let numbers = &packed.numbers;
    let (second, constant) = (&numbers[packed.score.second.clone()], task.score()[1].bias[0]);

    tile.mean(&mut y);
    let term = packed.term(&y, width, &packed.score.first);
    let bias = &numbers[packed.score.first_bias.clone()];
    product(isa, &[term], Some(bias), Finish::Set, &mut score_hidden, score_wide);
    elementary::activate(isa, task.activation, &mut score_hidden);
    rows::dots(isa, &score_hidden, score_wide, second, constant, &mut shift);
    weights[(options - 1) * count..].fill(1.0);
    total.fill(1.0);

    for (at, ((i, j, _), pair)) in task.pairs().zip(&packed.pairs).enumerate() {
        let hidden = &mut hidden[..count * stride(isa, pair.hidden)];
        packed.hidden(pair, &tile, (i, j), hidden);
        elementary::activate(isa, task.activation, hidden);
        packed.composed(pair, scored, hidden, &mut score_hidden);
        elementary::activate(isa, task.activation, &mut score_hidden);
        rows::dots(isa, &score_hidden, score_wide, second, constant, &mut scores);
        for row in 0..count {
            if scores[row] - shift[row] > RISE {
                let fall = elementary::exp2::<false>(shift[row] - scores[row], std::f32::consts::LOG2_E);
                shift[row] = scores[row];
                total[row] *= fall;
                y[row * wide..(row + 1) * wide].iter_mut().for_each(|value| *value *= fall);
                weights[row..].iter_mut().step_by(count).take(at).for_each(|weight| *weight *= fall);
                weights[(options - 1) * count + row] *= fall;
            }
        }
        let weights = &mut weights[at * count..(at + 1) * count];
        elementary::exp_above(isa, &scores, &shift, weights);
        total.iter_mut().zip(&*weights).for_each(|(total, &weight)| *total += weight);
        let term = packed.term(hidden, pair.hidden, &pair.second);
        product(
            isa,
            &[term],
            Some(&numbers[pair.second_bias.clone()]),
            Finish::AddScaled(weights),
            &mut y,
            wide,
        );
    }

    for row in 0..count {
        output.log_sum[row] = shift[row] + total[row].ln();
        total[row] = 1.0 / total[row];
        y[row * wide..(row + 1) * wide].iter_mut().for_each(|value| *value *= total[row]);
    }
    gather(&y, wide, width, output.values);
    if let Some(out) = output.weights {
        for (row, out) in out.chunks_exact_mut(options).enumerate() {
            for (option, out) in out.iter_mut().enumerate() {
                *out = weights[option * count + row] * total[row];
            }
        }
    }
}

/// The input in rows of whole panels, where it is not.
fn padded(isa: Isa, width: usize, input: &[f32]) -> Option<Buffer<f32>> {
    let wide = stride(isa, width);
    (wide != width).then(|| {
        let mut padded = scratch(input.len() / width * wide);
        spread(input, width, wide, &mut padded);
        padded
    })
}

/// See [`Pairwise::backward`]; `input` and `d_input: [graphs, n, width]`, and a gradient of which [`add_pair_gradient`] makes the task's.
pub(crate) fn pair_rows_backward(
    task: &Pairwise<'_, f32>,
    packed: &PackedPairwise,
    input: &[f32],
    (values, log_sum): (&[f32], &[f32]),
    upstream: &[f32],
    d_input: &mut [f32],
    gradient: &mut [f32],
) {
    let Some(packed) = &packed.0 else {
        return plain::pair_rows_backward(task, input, (values, log_sum), upstream, d_input, gradient);
    };
    let (isa, width, graphs) = (packed.isa, task.width(), task.graphs());
    let wide = stride(isa, width);
    let [rows, values_wide, upstream_wide] = [input, values, upstream].map(|rows| padded(isa, width, rows));
    let upstream = upstream_wide.as_deref().unwrap_or(upstream);
    let mut all = scratch(log_sum.len());
    rows::dots(isa, upstream, wide, values_wide.as_deref().unwrap_or(values), 0.0, &mut all);
    let tile = Tile { rows: rows.as_deref().unwrap_or(input), graphs, width };
    let given = Back { task, packed, tile, log_sum, upstream, all };
    if wide == width {
        backward(&given, d_input, gradient);
    } else {
        let mut d_rows = scratch(graphs * log_sum.len() * wide);
        backward(&given, &mut d_rows, gradient);
        gather(&d_rows, wide, width, d_input);
    }
}

/// A tile on its way back, all rows padded.
struct Back<'a> {
    task: &'a Pairwise<'a, f32>,
    packed: &'a Packed,
    tile: Tile<'a>,
    log_sum: &'a [f32],
    upstream: &'a [f32],
    /// upstream · y, which every option's score loses.
    all: Buffer<f32>,
}

impl Back<'_> {
    /// The option that is the mean; sets what the pairs add to.
    fn mean(&self, d_rows: &mut [f32], gradient: &mut [f32]) {
        let Self { task, packed, upstream, .. } = self;
        let (isa, width, scored) = (packed.isa, task.width(), task.score()[0].outputs());
        let (wide, score_wide) = (stride(isa, width), stride(isa, scored));
        let (score, numbers, count) = (&packed.score, &packed.numbers, self.log_sum.len());
        let [mut mean, mut scaled, mut back] = [(); 3].map(|()| scratch(count * wide));
        let [mut hidden, mut slopes] = [(); 2].map(|()| scratch(count * score_wide));
        let [mut scores, mut weights, mut direct] = [(); 3].map(|()| scratch(count));
        let second = &numbers[score.second.clone()];

        self.tile.mean(&mut mean);
        let term = packed.term(&mean, width, &score.first);
        let bias = &numbers[score.first_bias.clone()];
        product(isa, &[term], Some(bias), Finish::Set, &mut hidden, score_wide);
        elementary::activate_both(isa, task.activation, &mut hidden, &mut slopes);
        rows::dots(isa, &hidden, score_wide, second, task.score()[1].bias[0], &mut scores);
        elementary::exp_above(isa, &scores, self.log_sum, &mut weights);
        direct.iter_mut().zip(&*self.all).for_each(|(direct, &all)| *direct = -all);
        let option = rows::Weighed {
            weights: &weights,
            direct: &direct,
            back: upstream,
            hidden: &mean,
            stride: wide,
            score_hidden: &hidden,
            score: second,
        };
        rows::weigh(isa, &option, &mut slopes, &mut gradient[score.second_gradient.clone()], &mut scaled);
        let d_score = Rows { values: &slopes, stride: score_wide, width: scored };
        let (d_first, d_bias) =
            gradient[score.gradient..][..scored * width + scored].split_at_mut(scored * width);
        column_sums(isa, d_score, d_bias);
        outer(isa, d_score, Rows { values: &mean, stride: wide, width }, d_first, width);
        let term = packed.term(&slopes, scored, &score.first_back);
        product(isa, &[term], None, Finish::Set, &mut back, wide);
        rows::add_scaled_rows(isa, &mut back, upstream, wide, &weights, 1.0 / task.graphs() as f32);
        d_rows.chunks_exact_mut(count * wide).for_each(|d_graph| d_graph.copy_from_slice(&back));
    }
}

/// The same with all rows padded.
fn backward(given: &Back<'_>, d_rows: &mut [f32], gradient: &mut [f32]) {
    let Back { task, packed, tile, log_sum, upstream, all } = given;
    let (isa, width, scored) = (packed.isa, task.width(), task.score()[0].outputs());
    let (wide, score_wide) = (stride(isa, width), stride(isa, scored));
    let (count, pair_count) = (log_sum.len(), packed.pairs.len());
    let (numbers, activation) = (&packed.numbers, task.activation);
    let hidden_wide = packed.pairs.iter().map(|pair| stride(isa, pair.hidden)).max().unwrap_or(0);
    let [mut hidden, mut slopes, mut back, mut scaled] = [(); 4].map(|()| scratch(count * hidden_wide));
    let [mut score_hidden, mut score_slopes] = [(); 2].map(|()| scratch(count * score_wide));
    let [mut scores, mut weights, mut direct] = [(); 3].map(|()| scratch(count));
    let (second, constant) = (&numbers[packed.score.second.clone()], task.score()[1].bias[0]);

    // upstream · bias of all pairs, and the weights of all pairs: one product each for what is the same for all.
    let pairs_wide = stride(isa, pair_count);
    let (mut by_bias, mut all_weights) = (scratch(count * pairs_wide), scratch(count * pairs_wide));
    all_weights.fill(0.0);
    let term = packed.term(upstream, width, &packed.biases);
    product(isa, &[term], None, Finish::Set, &mut by_bias, pairs_wide);

    given.mean(d_rows, gradient);

    for (at, ((i, j, _), pair)) in task.pairs().zip(&packed.pairs).enumerate() {
        let hidden_wide = stride(isa, pair.hidden);
        let size = count * hidden_wide;
        let (hidden, slopes, back, scaled) =
            (&mut hidden[..size], &mut slopes[..size], &mut back[..size], &mut scaled[..size]);
        packed.hidden(pair, tile, (i, j), hidden);
        elementary::activate_both(isa, activation, hidden, slopes);
        packed.composed(pair, scored, hidden, &mut score_hidden);
        elementary::activate_both(isa, activation, &mut score_hidden, &mut score_slopes);
        rows::dots(isa, &score_hidden, score_wide, second, constant, &mut scores);
        elementary::exp_above(isa, &scores, log_sum, &mut weights);
        for row in 0..count {
            all_weights[row * pairs_wide + at] = weights[row];
            direct[row] = by_bias[row * pairs_wide + at] - all[row];
        }
        let term = packed.term(upstream, width, &pair.second_back);
        product(isa, &[term], None, Finish::Set, back, hidden_wide);
        let option = rows::Weighed {
            weights: &weights,
            direct: &direct,
            back,
            hidden,
            stride: hidden_wide,
            score_hidden: &score_hidden,
            score: second,
        };
        let d_second = &mut gradient[packed.score.second_gradient.clone()];
        rows::weigh(isa, &option, &mut score_slopes, d_second, scaled);

        let d_score = Rows { values: &score_slopes, stride: score_wide, width: scored };
        let (d_composed, d_bias) =
            gradient[pair.composed_gradient.clone()].split_at_mut(scored * pair.hidden);
        column_sums(isa, d_score, d_bias);
        let right = Rows { values: hidden, stride: hidden_wide, width: pair.hidden };
        outer(isa, d_score, right, d_composed, pair.hidden);
        let term = packed.term(&score_slopes, scored, &pair.composed_back);
        product(isa, &[term], None, Finish::Chain(&weights, slopes), back, hidden_wide);

        let own = &mut gradient[pair.gradient..];
        let (d_first, own) = own.split_at_mut(pair.hidden * 2 * width);
        let (d_bias, own) = own.split_at_mut(pair.hidden);
        let d_hidden = Rows { values: back, stride: hidden_wide, width: pair.hidden };
        column_sums(isa, d_hidden, d_bias);
        let right = Rows { values: scaled, stride: hidden_wide, width: pair.hidden };
        let left = Rows { values: upstream, stride: wide, width };
        outer(isa, left, right, &mut own[..width * pair.hidden], pair.hidden);
        for (graph, half) in [(i, 0), (j, 1)] {
            if half == 1 && i == j {
                continue;
            }
            let right = Rows { values: tile.graph(graph), stride: wide, width };
            outer(isa, d_hidden, right, &mut d_first[half * width..], 2 * width);
            let term = packed.term(back, pair.hidden, &pair.halves_back[half]);
            product(
                isa,
                &[term],
                None,
                Finish::Add,
                &mut d_rows[graph * count * wide..(graph + 1) * count * wide],
                wide,
            );
        }
    }
    let left = Rows { values: &all_weights, stride: pairs_wide, width: pair_count };
    let biases = packed.pairs[0].bias_gradient.start;
    outer(isa, left, Rows { values: upstream, stride: wide, width }, &mut gradient[biases..], width);
}

/// `sum +=` the task's gradient, made of what [`pair_rows_backward`] has added up over all rows.
pub(crate) fn add_pair_gradient(
    task: &Pairwise<'_, f32>,
    packed: &PackedPairwise,
    gradient: &[f32],
    sum: &mut [f32],
) {
    for (sum, &value) in sum.iter_mut().zip(gradient) {
        *sum += value;
    }
    let Some(packed) = &packed.0 else {
        return;
    };
    let (width, scored) = (task.width(), task.score()[0].outputs());
    let (sum, sum_score) = sum.split_at_mut(packed.score.gradient);
    let score = task.score()[0].weight;
    for ((i, j, linears), pair) in task.pairs().zip(&packed.pairs) {
        let (own, hidden) = (&mut sum[pair.gradient..], pair.hidden);
        let (first, own) = own.split_at_mut(hidden * 2 * width);
        if i == j {
            let found = gradient[pair.gradient..].chunks_exact(2 * width);
            for (row, found) in first.chunks_exact_mut(2 * width).zip(found) {
                for (sum, &value) in row[width..].iter_mut().zip(&found[..width]) {
                    *sum += value;
                }
            }
        }
        let (second, own) = own[hidden..].split_at_mut(width * hidden);
        let (composed, composed_bias) = gradient[pair.composed_gradient.clone()].split_at(scored * hidden);
        for (bias, &value) in own.iter_mut().zip(&gradient[pair.bias_gradient.clone()]) {
            *bias += value;
        }
        for (out, (composed, &d_bias)) in composed.chunks_exact(hidden).zip(composed_bias).enumerate() {
            sum_score[scored * width + out] += d_bias;
            for channel in 0..width {
                let factor = score[out * width + channel];
                let weight = &linears[1].weight[channel * hidden..(channel + 1) * hidden];
                let second = &mut second[channel * hidden..(channel + 1) * hidden];
                let mut found = linears[1].bias[channel] * d_bias;
                for ((second, &d), &weight) in second.iter_mut().zip(composed).zip(weight) {
                    *second += factor * d;
                    found += d * weight;
                }
                own[channel] += factor * d_bias;
                sum_score[out * width + channel] += found;
            }
        }
    }
    let (second, score_start) = (&gradient[packed.score.second_gradient.clone()], scored * width + scored);
    for (sum, &value) in sum_score[score_start..score_start + scored].iter_mut().zip(second) {
        *sum += value;
    }
    if let Some(bias) = sum_score.get_mut(score_start + scored) {
        *bias += second[second.len() - 1];
    }
}
