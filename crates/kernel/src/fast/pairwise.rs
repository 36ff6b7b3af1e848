//! Pairs of graphs on tiles.
//!
//! What is saved by algebra, with width d, hidden layers of b and scores of c values:
//! - a row of a graph that several rows of the tile read goes through its half of a first layer once, and two that meet more than once
//!   through the rest of their pair once; on the way back what comes from several rows is added up first, for all of it is linear;
//! - the first layer of a pair (i, i) is one product with the sum of its halves;
//! - the score's first layer is linear in the pair's hidden layer, `S (W h + b) + c = (S W) h + (S b + c)`: with `S W` composed once, options are
//!   not formed to be scored;
//! - on the way back `dy W` serves both the softmax's weight and the hidden layer, and the gradient of `S W` is led on to `S` and `W` once,
//!   after all rows.
//!
//! Pairs of more than two linear layers go the plain way.

use super::block::Places;
use super::tile::{Factor, Finish, Part, Rows, column_sums, outer, pack, product};
use super::{elementary, gather, padded, rows, scratch, stride};
use crate::block::TILE_ROWS;
use crate::slices::add_to;
use crate::{Affine, Buffer, Isa, Met, Noise, Pairwise, PairwiseOutput, Pool, plain};
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

    /// A pair's hidden layer before its activation, by meeting; `parts` is room for what each of its graphs adds.
    fn hidden(
        &self,
        pair: &Pair,
        tile: &Tile<'_>,
        (i, j): (usize, usize),
        meets: &Meets,
        parts: &mut [Buffer<f32>; 2],
        out: &mut [f32],
    ) {
        let (isa, wide) = (self.isa, stride(self.isa, pair.hidden));
        let bias = Some(&self.numbers[pair.first_bias.clone()]);
        let [left, right] = [(i, 0), (j, 1)]
            .map(|(graph, half)| self.term(tile.met.graph(graph), tile.width, &pair.halves[half]));
        if i == j {
            product(isa, &[left], bias, Finish::Set, out, wide);
        } else if tile.is_apart(i) && tile.is_apart(j) {
            product(isa, &[left, right], bias, Finish::Set, out, wide);
        } else {
            let [lefts, rights] = parts;
            let (lefts, rights) =
                (&mut lefts[..tile.sources(i) * wide], &mut rights[..tile.sources(j) * wide]);
            product(isa, &[left], bias, Finish::Set, lefts, wide);
            product(isa, &[right], None, Finish::Set, rights, wide);
            rows::add_pairs(isa, (lefts, meets.left()), (rights, meets.right()), wide, out);
        }
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
    met: Met<'a, f32>,
    width: usize,
}

impl Tile<'_> {
    /// Rows of a graph.
    fn sources(&self, graph: usize) -> usize {
        self.met.span(graph).len() / self.met.stride
    }

    /// Whether every row of the result reads a row of its own, which then has its number.
    fn is_apart(&self, graph: usize) -> bool {
        self.sources(graph) == self.met.count()
    }

    fn mean(&self, out: &mut [f32]) {
        out.fill(0.0);
        for graph in 0..self.met.graphs() {
            let (rows, stride) = (self.met.graph(graph), self.met.stride);
            for (out, &at) in out.chunks_exact_mut(stride).zip(self.met.local(graph)) {
                add_to(out, &rows[usize::from(at) * stride..][..stride]);
            }
        }
        let share = 1.0 / self.met.graphs() as f32;
        for value in out {
            *value *= share;
        }
    }

    fn meets(&self, i: usize, j: usize) -> Meets {
        Meets::new(self.met.local(i), self.met.local(j))
    }
}

/// Which rows of two graphs meet, each meeting once.
struct Meets {
    count: usize,
    /// The meeting that each row of the result reads.
    of_row: [u8; TILE_ROWS],
    rows: usize,
    left: [u8; TILE_ROWS],
    right: [u8; TILE_ROWS],
    /// How many rows of the result read it.
    readers: [u8; TILE_ROWS],
}

impl Meets {
    fn new(left: &[u8], right: &[u8]) -> Self {
        let none = [0; TILE_ROWS];
        let mut meets =
            Self { count: 0, of_row: none, rows: left.len(), left: none, right: none, readers: none };
        // By the row on the left: whom it met last, and where. It may meet the same one again after another; then that is one more.
        let mut last = [(u8::MAX, 0u8); TILE_ROWS];
        for (row, (&left, &right)) in left.iter().zip(right).enumerate() {
            let last = &mut last[usize::from(left)];
            if last.0 != right {
                *last = (right, meets.count as u8);
                meets.left[meets.count] = left;
                meets.right[meets.count] = right;
                meets.count += 1;
            }
            meets.of_row[row] = last.1;
            meets.readers[usize::from(last.1)] += 1;
        }
        meets
    }

    /// What noise does to rows by meeting; the key of a meeting is that of the rows that read it.
    fn drop_from<const N: usize>(
        &self,
        isa: Isa,
        noise: &Noise<'_>,
        site: usize,
        tiles: [&mut [f32]; N],
        stride: usize,
    ) {
        let mut keys = [0; TILE_ROWS];
        for (row, &meeting) in self.of_row().iter().enumerate() {
            keys[usize::from(meeting)] = noise.row(row);
        }
        let noise = noise.of(&keys[..self.count]);
        for tile in tiles {
            elementary::drop_from(isa, &noise, site, tile, stride);
        }
    }

    /// The scores of rows, given those of meetings.
    fn spread(&self, scores: &[f32], out: &mut [f32]) {
        for (out, &meeting) in out.iter_mut().zip(self.of_row()) {
            *out = scores[usize::from(meeting)];
        }
    }

    fn left(&self) -> &[u8] {
        &self.left[..self.count]
    }

    fn right(&self) -> &[u8] {
        &self.right[..self.count]
    }

    fn of_row(&self) -> &[u8] {
        &self.of_row[..self.rows]
    }

    /// Whether every row of the result has one of its own, which then has its number.
    fn is_apart(&self) -> bool {
        self.count == self.rows
    }
}

/// How far a score may rise above what its row is compared with before that is raised.
const RISE: f32 = 30.0;

/// See [`Pairwise::forward`].
///
/// The softmax runs along: what is added up is e^(score − shift) with the shift of a row being the score of its mean, until a score is far
/// above it.
pub(crate) fn pair_rows(
    task: &Pairwise<'_, f32>,
    packed: &PackedPairwise,
    met: Met<'_, f32>,
    output: PairwiseOutput<'_, f32>,
) {
    let Some(packed) = &packed.0 else {
        return plain::pair_rows(task, met, output);
    };
    let (isa, width, scored) = (packed.isa, task.width(), task.score()[0].outputs());
    let (wide, score_wide) = (stride(isa, width), stride(isa, scored));
    let (count, options) = (output.log_sum.len(), task.options());
    let noise = met.noise.and_then(|noise| noise.after(task.activation));
    let padded = padded(isa, width, met.rows);
    let tile = Tile { met: wider(met, padded.as_deref(), wide), width };
    let hidden_wide = packed.pairs.iter().map(|pair| stride(isa, pair.hidden)).max().unwrap_or(0);
    let (mut hidden, mut score_hidden) = (scratch(count * hidden_wide), scratch(count * score_wide));
    let mut parts = [(); 2].map(|()| scratch(count * hidden_wide));
    let [mut y, mut proposed] = [(); 2].map(|()| scratch(count * wide));
    let [mut scores, mut met_scores, mut shift, mut total] = [(); 4].map(|()| scratch(count));
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
        let meets = tile.meets(i, j);
        let hidden = &mut hidden[..meets.count * stride(isa, pair.hidden)];
        let score_hidden = &mut score_hidden[..meets.count * score_wide];
        packed.hidden(pair, &tile, (i, j), &meets, &mut parts, hidden);
        elementary::activate(isa, task.activation, hidden);
        if let Some(noise) = &noise {
            meets.drop_from(isa, noise, task.site(at, 0), [hidden], stride(isa, pair.hidden));
        }
        packed.composed(pair, scored, hidden, score_hidden);
        elementary::activate(isa, task.activation, score_hidden);
        rows::dots(isa, score_hidden, score_wide, second, constant, &mut met_scores);
        meets.spread(&met_scores, &mut scores);
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
        let bias = Some(&numbers[pair.second_bias.clone()]);
        if meets.is_apart() {
            product(isa, &[term], bias, Finish::AddScaled(weights), &mut y, wide);
        } else {
            let proposed = &mut proposed[..meets.count * wide];
            product(isa, &[term], bias, Finish::Set, proposed, wide);
            rows::add_from(isa, &mut y, (proposed, meets.of_row()), wide, weights);
        }
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

/// The same with rows of whole panels.
fn wider<'a>(met: Met<'a, f32>, padded: Option<&'a [f32]>, stride: usize) -> Met<'a, f32> {
    Met { rows: padded.unwrap_or(met.rows), stride, ..met }
}

/// See [`Pairwise::backward`]: a gradient of which [`add_pair_gradient`] makes the task's.
pub(crate) fn pair_rows_backward(
    task: &Pairwise<'_, f32>,
    packed: &PackedPairwise,
    met: Met<'_, f32>,
    (values, log_sum): (&[f32], &[f32]),
    upstream: &[f32],
    d_rows: &mut [f32],
    gradient: &mut [f32],
) {
    let Some(packed) = &packed.0 else {
        return plain::pair_rows_backward(task, met, (values, log_sum), upstream, d_rows, gradient);
    };
    let (isa, width) = (packed.isa, task.width());
    let wide = stride(isa, width);
    let [rows, values_wide, upstream_wide] =
        [met.rows, values, upstream].map(|rows| padded(isa, width, rows));
    let upstream = upstream_wide.as_deref().unwrap_or(upstream);
    let noise = met.noise.and_then(|noise| noise.after(task.activation));
    let mut all = scratch(log_sum.len());
    rows::dots(isa, upstream, wide, values_wide.as_deref().unwrap_or(values), 0.0, &mut all);
    let tile = Tile { met: wider(met, rows.as_deref(), wide), width };
    let given = Back { task, packed, noise, tile, log_sum, upstream, all };
    if wide == width {
        backward(&given, d_rows, gradient);
    } else {
        let mut d_wide = scratch(d_rows.len() / width * wide);
        backward(&given, &mut d_wide, gradient);
        gather(&d_wide, wide, width, d_rows);
    }
}

/// A tile on its way back, all rows padded.
struct Back<'a> {
    task: &'a Pairwise<'a, f32>,
    packed: &'a Packed,
    noise: Option<Noise<'a>>,
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
        outer(isa, d_score, Rows { values: &mean, stride: wide, width }, Part::Whole, d_first, width);
        let term = packed.term(&slopes, scored, &score.first_back);
        product(isa, &[term], None, Finish::Set, &mut back, wide);
        rows::add_scaled_rows(isa, &mut back, upstream, wide, &weights, 1.0 / task.graphs() as f32);
        d_rows.fill(0.0);
        for graph in 0..task.graphs() {
            let (met, d_graph) = (&self.tile.met, &mut d_rows[self.tile.met.span(graph)]);
            rows::add_to_each(isa, (d_graph, met.local(graph)), &back, wide, None);
        }
    }
}

/// What a pair's meetings get from the rows that read them: their gradient is `weights · upstream`, that of their score begins with
/// `weights · direct`.
struct Received<'a> {
    upstream: &'a [f32],
    weights: &'a [f32],
    direct: &'a [f32],
}

/// Room for what meetings receive.
struct Collected {
    upstream: Buffer<f32>,
    weights: Buffer<f32>,
    direct: Buffer<f32>,
    factors: Buffer<f32>,
}

impl Collected {
    fn new(count: usize, stride: usize) -> Self {
        let [weights, direct, factors] = [(); 3].map(|()| scratch(count));
        Self { upstream: scratch(count * stride), weights, direct, factors }
    }

    /// A meeting that one row reads gets what the row has; one that several read gets their weighted sums, with weight 1.
    fn of<'c>(&'c mut self, isa: Isa, stride: usize, meets: &Meets, rows: Received<'c>) -> Received<'c> {
        if meets.is_apart() {
            return rows;
        }
        let upstream = &mut self.upstream[..meets.count * stride];
        upstream.fill(0.0);
        self.direct[..meets.count].fill(0.0);
        for (row, &meeting) in meets.of_row().iter().enumerate() {
            let meeting = usize::from(meeting);
            let is_shared = meets.readers[meeting] > 1;
            let (factor, weight) =
                if is_shared { (rows.weights[row], 1.0) } else { (1.0, rows.weights[row]) };
            self.factors[row] = factor;
            self.weights[meeting] = weight;
            self.direct[meeting] += factor * rows.direct[row];
        }
        let factors = Some(&self.factors[..meets.rows]);
        rows::add_to_each(isa, (upstream, meets.of_row()), rows.upstream, stride, factors);
        let (weights, direct) = (&self.weights[..meets.count], &self.direct[..meets.count]);
        Received { upstream, weights, direct }
    }
}

/// The same with all rows padded.
fn backward(given: &Back<'_>, d_rows: &mut [f32], gradient: &mut [f32]) {
    let Back { task, packed, noise, tile, log_sum, upstream, all } = given;
    let (isa, width, scored) = (packed.isa, task.width(), task.score()[0].outputs());
    let (wide, score_wide) = (stride(isa, width), stride(isa, scored));
    let (count, pair_count) = (log_sum.len(), packed.pairs.len());
    let (numbers, activation) = (&packed.numbers, task.activation);
    let hidden_wide = packed.pairs.iter().map(|pair| stride(isa, pair.hidden)).max().unwrap_or(0);
    let [mut hidden, mut slopes, mut back, mut scaled, mut halves] =
        [(); 5].map(|()| scratch(count * hidden_wide));
    let mut parts = [(); 2].map(|()| scratch(count * hidden_wide));
    let [mut score_hidden, mut score_slopes] = [(); 2].map(|()| scratch(count * score_wide));
    let [mut scores, mut met_scores, mut weights, mut direct] = [(); 4].map(|()| scratch(count));
    let mut collected = Collected::new(count, wide);
    let (second, constant) = (&numbers[packed.score.second.clone()], task.score()[1].bias[0]);

    // upstream · bias of all pairs, and the weights of all pairs: one product each for what is the same for all.
    let pairs_wide = stride(isa, pair_count);
    let (mut by_bias, mut all_weights) = (scratch(count * pairs_wide), scratch(count * pairs_wide));
    all_weights.fill(0.0);
    let term = packed.term(upstream, width, &packed.biases);
    product(isa, &[term], None, Finish::Set, &mut by_bias, pairs_wide);

    given.mean(d_rows, gradient);

    for (at, ((i, j, _), pair)) in task.pairs().zip(&packed.pairs).enumerate() {
        let meets = tile.meets(i, j);
        let hidden_wide = stride(isa, pair.hidden);
        let [hidden, slopes, back, scaled] = [&mut hidden, &mut slopes, &mut back, &mut scaled]
            .map(|buffer| &mut buffer[..meets.count * hidden_wide]);
        let [score_hidden, score_slopes] =
            [&mut score_hidden, &mut score_slopes].map(|buffer| &mut buffer[..meets.count * score_wide]);
        packed.hidden(pair, tile, (i, j), &meets, &mut parts, hidden);
        elementary::activate_both(isa, activation, hidden, slopes);
        if let Some(noise) = noise {
            meets.drop_from(isa, noise, task.site(at, 0), [hidden, slopes], hidden_wide);
        }
        packed.composed(pair, scored, hidden, score_hidden);
        elementary::activate_both(isa, activation, score_hidden, score_slopes);
        rows::dots(isa, score_hidden, score_wide, second, constant, &mut met_scores);
        meets.spread(&met_scores, &mut scores);
        elementary::exp_above(isa, &scores, log_sum, &mut weights);
        for row in 0..count {
            all_weights[row * pairs_wide + at] = weights[row];
            direct[row] = by_bias[row * pairs_wide + at] - all[row];
        }
        let rows = Received { upstream, weights: &weights, direct: &direct };
        let received = collected.of(isa, wide, &meets, rows);
        let term = packed.term(received.upstream, width, &pair.second_back);
        product(isa, &[term], None, Finish::Set, back, hidden_wide);
        let option = rows::Weighed {
            weights: received.weights,
            direct: received.direct,
            back,
            hidden,
            stride: hidden_wide,
            score_hidden,
            score: second,
        };
        let d_second = &mut gradient[packed.score.second_gradient.clone()];
        rows::weigh(isa, &option, score_slopes, d_second, scaled);

        let d_score = Rows { values: score_slopes, stride: score_wide, width: scored };
        let (d_composed, d_bias) =
            gradient[pair.composed_gradient.clone()].split_at_mut(scored * pair.hidden);
        column_sums(isa, d_score, d_bias);
        let right = Rows { values: hidden, stride: hidden_wide, width: pair.hidden };
        outer(isa, d_score, right, Part::Whole, d_composed, pair.hidden);
        let term = packed.term(score_slopes, scored, &pair.composed_back);
        product(isa, &[term], None, Finish::Chain(received.weights, slopes), back, hidden_wide);

        let own = &mut gradient[pair.gradient..];
        let (d_first, own) = own.split_at_mut(pair.hidden * 2 * width);
        let (d_bias, own) = own.split_at_mut(pair.hidden);
        column_sums(isa, Rows { values: back, stride: hidden_wide, width: pair.hidden }, d_bias);
        let right = Rows { values: scaled, stride: hidden_wide, width: pair.hidden };
        let left = Rows { values: received.upstream, stride: wide, width };
        outer(isa, left, right, Part::Whole, &mut own[..width * pair.hidden], pair.hidden);
        for (graph, half, index) in [(i, 0, meets.left()), (j, 1, meets.right())] {
            if half == 1 && i == j {
                continue;
            }
            let sources = tile.sources(graph);
            let d_half = if sources == meets.count {
                &*back
            } else {
                let sums = &mut halves[..sources * hidden_wide];
                sums.fill(0.0);
                rows::add_to_each(isa, (sums, index), back, hidden_wide, None);
                sums
            };
            let left = Rows { values: d_half, stride: hidden_wide, width: pair.hidden };
            let right = Rows { values: tile.met.graph(graph), stride: wide, width };
            outer(isa, left, right, Part::Whole, &mut d_first[half * width..], 2 * width);
            let term = packed.term(d_half, pair.hidden, &pair.halves_back[half]);
            product(isa, &[term], None, Finish::Add, &mut d_rows[tile.met.span(graph)], wide);
        }
    }
    let left = Rows { values: &all_weights, stride: pairs_wide, width: pair_count };
    let biases = packed.pairs[0].bias_gradient.start;
    outer(
        isa,
        left,
        Rows { values: upstream, stride: wide, width },
        Part::Whole,
        &mut gradient[biases..],
        width,
    );
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
