//! Operations on each row of a tile: norms, dot products, gathers and scatters, and the backward pass of one softmax option.

use super::isa::for_isa;
use super::lanes::{add, multiply, multiply_add, sum};
use crate::kernel::NORM_EPSILON;

for_isa! {
    /// Layer norm without its affine part, in place; writes 1 / the standard deviation of every row to `factors`.
    fn normalise(rows: &mut [f32], stride: usize, width: usize, factors: &mut [f32]) = normalise_body
}

#[inline(always)]
fn normalise_body<const L: usize, const FUSED: bool>(
    rows: &mut [f32],
    stride: usize,
    width: usize,
    factors: &mut [f32],
) {
    let one_over = 1.0 / width as f32;
    for (row, factor) in rows.chunks_exact_mut(stride).zip(factors) {
        let (vectors, tail) = row[..width].as_chunks_mut::<L>();
        let mut total = [0.0; L];
        for vector in vectors.iter() {
            total = add(total, *vector);
        }
        let mean = (sum(total) + tail.iter().sum::<f32>()) * one_over;
        let mut squares = [0.0; L];
        for vector in vectors.iter_mut() {
            *vector = add(*vector, [-mean; L]);
            squares = multiply_add::<L, FUSED>(*vector, *vector, squares);
        }
        let mut tail_squares = 0.0;
        for value in tail.iter_mut() {
            *value -= mean;
            tail_squares += *value * *value;
        }
        let variance = (sum(squares) + tail_squares) * one_over;
        *factor = 1.0 / (variance + NORM_EPSILON as f32).sqrt();
        for value in &mut row[..width] {
            *value *= *factor;
        }
    }
}

for_isa! {
    /// `x̂ · scale + shift`, in place.
    fn scale_and_shift(rows: &mut [f32], stride: usize, scale: &[f32], shift: &[f32]) = scale_and_shift_body
}

#[inline(always)]
fn scale_and_shift_body<const L: usize, const FUSED: bool>(
    rows: &mut [f32],
    stride: usize,
    scale: &[f32],
    shift: &[f32],
) {
    for row in rows.chunks_exact_mut(stride) {
        for (value, (&scale, &shift)) in row.iter_mut().zip(scale.iter().zip(shift)) {
            *value = if FUSED { value.mul_add(scale, shift) } else { *value * scale + shift };
        }
    }
}

/// Operands of the backward pass of a norm.
pub(super) struct NormBackward<'a> {
    /// x̂, `[rows, stride]`.
    pub(super) normal: &'a [f32],
    /// Derivatives of the activation after the norm, `[rows, stride]`.
    pub(super) slopes: &'a [f32],
    pub(super) stride: usize,
    /// 1 / the standard deviation of each row.
    pub(super) factors: &'a [f32],
    pub(super) scale: &'a [f32],
    pub(super) d_scale: &'a mut [f32],
    pub(super) d_shift: &'a mut [f32],
}

for_isa! {
    /// Turns the gradient after a norm and its activation into that before the norm; adds to those of its parameters.
    fn norm_backward(norm: &mut NormBackward<'_>, gradient: &mut [f32]) = norm_backward_body
}

#[inline(always)]
fn norm_backward_body<const L: usize, const FUSED: bool>(norm: &mut NormBackward<'_>, gradient: &mut [f32]) {
    let (width, stride) = (norm.scale.len(), norm.stride);
    let whole = width - width % L;
    let one_over = 1.0 / width as f32;
    let rows = norm.normal.chunks_exact(stride).zip(norm.slopes.chunks_exact(stride));
    for ((gradient, (normal, slopes)), &factor) in
        gradient.chunks_exact_mut(stride).zip(rows).zip(norm.factors)
    {
        let (mut totals, mut products) = ([0.0; L], [0.0; L]);
        for at in (0..whole).step_by(L) {
            let gradient: &mut [f32; L] = lanes_mut(gradient, at);
            let (normal, slopes, scale) =
                (lanes::<L>(normal, at), lanes::<L>(slopes, at), lanes::<L>(norm.scale, at));
            let slope = multiply(*gradient, *slopes);
            let d_scale = lanes_mut::<L>(norm.d_scale, at);
            *d_scale = multiply_add::<L, FUSED>(slope, *normal, *d_scale);
            let d_shift = lanes_mut::<L>(norm.d_shift, at);
            *d_shift = add(*d_shift, slope);
            *gradient = multiply(slope, *scale);
            totals = add(totals, *gradient);
            products = multiply_add::<L, FUSED>(*gradient, *normal, products);
        }
        let (mut total, mut product) = (sum(totals), sum(products));
        for at in whole..width {
            let slope = gradient[at] * slopes[at];
            norm.d_scale[at] += slope * normal[at];
            norm.d_shift[at] += slope;
            gradient[at] = slope * norm.scale[at];
            total += gradient[at];
            product += gradient[at] * normal[at];
        }
        let (mean, share) = (total * one_over, product * one_over);
        for (gradient, &normal) in gradient[..width].iter_mut().zip(normal) {
            *gradient = (*gradient - mean - normal * share) * factor;
        }
    }
}

#[inline(always)]
fn lanes<const L: usize>(values: &[f32], at: usize) -> &[f32; L] {
    &values[at..at + L].as_chunks::<L>().0[0]
}

#[inline(always)]
fn lanes_mut<const L: usize>(values: &mut [f32], at: usize) -> &mut [f32; L] {
    &mut values[at..at + L].as_chunks_mut::<L>().0[0]
}

for_isa! {
    /// `values *= others`.
    fn scale_by(values: &mut [f32], others: &[f32]) = scale_by_body
}

#[inline(always)]
fn scale_by_body<const L: usize, const FUSED: bool>(values: &mut [f32], others: &[f32]) {
    values.iter_mut().zip(others).for_each(|(value, &other)| *value *= other);
}

for_isa! {
    /// `out = rows · other + constant`; `other` has one row for all, or one for each.
    fn row_dots(rows: &[f32], stride: usize, other: &[f32], constant: f32, out: &mut [f32]) = row_row_dots_body
}

#[inline(always)]
fn row_row_dots_body<const L: usize, const FUSED: bool>(
    rows: &[f32],
    stride: usize,
    other: &[f32],
    constant: f32,
    out: &mut [f32],
) {
    let step = if other.len() == stride { 0 } else { stride };
    for (at, (row, out)) in rows.chunks_exact(stride).zip(out).enumerate() {
        let other = &other[at * step..][..stride];
        *out = dot::<L, FUSED>(row, other) + constant;
    }
}

#[inline(always)]
fn dot<const L: usize, const FUSED: bool>(a: &[f32], b: &[f32]) -> f32 {
    let mut products = [0.0; L];
    for (a, b) in a.as_chunks::<L>().0.iter().zip(b.as_chunks::<L>().0) {
        products = multiply_add::<L, FUSED>(*a, *b, products);
    }
    sum(products)
}

/// Operands of the backward pass of one softmax option, for every row of a tile.
pub(super) struct OptionBackward<'a> {
    /// Softmax weight of the option in each row.
    pub(super) weights: &'a [f32],
    /// Gradient of the weight besides `back · hidden`, in each row.
    pub(super) direct: &'a [f32],
    /// Gradient of the hidden layer before it is multiplied by the weight, `[rows, stride]`.
    pub(super) back: &'a [f32],
    /// Hidden layer, `[rows, stride]`.
    pub(super) hidden: &'a [f32],
    pub(super) stride: usize,
    /// Hidden layer of the score, `[rows, score stride]`.
    pub(super) score_hidden: &'a [f32],
    /// Second weight of the score, padded.
    pub(super) score: &'a [f32],
}

for_isa! {
    /// Turns the derivatives of the score's hidden layer into its gradient, in place; adds to the gradient of the score's second weight and,
    /// as the value after it, of its bias; writes the hidden layer times the weight of its row.
    fn option_backward(option: &OptionBackward<'_>, slopes: &mut [f32], d_score: &mut [f32], scaled: &mut [f32]) = option_backward_body
}

#[inline(always)]
fn option_backward_body<const L: usize, const FUSED: bool>(
    option: &OptionBackward<'_>,
    slopes: &mut [f32],
    d_score: &mut [f32],
    scaled: &mut [f32],
) {
    let score_stride = option.score.len();
    let (d_score, d_bias) = d_score.split_at_mut(score_stride);
    let (d_score, score) = (d_score.as_chunks_mut::<L>().0, option.score.as_chunks::<L>().0);
    let hiddens = option.hidden.chunks_exact(option.stride).zip(option.back.chunks_exact(option.stride));
    let scores = option.score_hidden.chunks_exact(score_stride).zip(slopes.chunks_exact_mut(score_stride));
    let rows = hiddens.zip(scaled.chunks_exact_mut(option.stride)).zip(scores);
    let numbers = option.weights.iter().zip(option.direct);
    for ((((hidden, back), scaled), (score_hidden, slopes)), (&weight, &direct)) in rows.zip(numbers) {
        let d_weight = dot::<L, FUSED>(back, hidden) + direct;
        let slope = weight * d_weight;
        d_bias[0] += slope;
        let hidden_and_slopes = score_hidden.as_chunks::<L>().0.iter().zip(slopes.as_chunks_mut::<L>().0);
        for ((hidden, slopes), (d_score, &score)) in hidden_and_slopes.zip(d_score.iter_mut().zip(score)) {
            *d_score = multiply_add::<L, FUSED>([slope; L], *hidden, *d_score);
            *slopes = multiply(multiply([slope; L], score), *slopes);
        }
        for (scaled, &hidden) in scaled.as_chunks_mut::<L>().0.iter_mut().zip(hidden.as_chunks::<L>().0) {
            *scaled = multiply([weight; L], hidden);
        }
    }
}

for_isa! {
    /// `out = (out + rows · factor) · share`, one factor per row.
    fn add_scaled_rows(out: &mut [f32], rows: &[f32], stride: usize, factors: &[f32], share: f32) = add_scaled_rows_body
}

#[inline(always)]
fn add_scaled_rows_body<const L: usize, const FUSED: bool>(
    out: &mut [f32],
    rows: &[f32],
    stride: usize,
    factors: &[f32],
    share: f32,
) {
    for ((out, row), &factor) in out.chunks_exact_mut(stride).zip(rows.chunks_exact(stride)).zip(factors) {
        for (out, &value) in out.iter_mut().zip(row) {
            *out = (*out + value * factor) * share;
        }
    }
}

for_isa! {
    /// `out[n] = left[left index n] + right[right index n]`.
    fn gather_sum(left: (&[f32], &[u8]), right: (&[f32], &[u8]), stride: usize, out: &mut [f32]) = gather_sum_body
}

#[inline(always)]
fn gather_sum_body<const L: usize, const FUSED: bool>(
    left: (&[f32], &[u8]),
    right: (&[f32], &[u8]),
    stride: usize,
    out: &mut [f32],
) {
    for ((out, &at), &other) in out.chunks_exact_mut(stride).zip(left.1).zip(right.1) {
        let left = &left.0[usize::from(at) * stride..][..stride];
        let right = &right.0[usize::from(other) * stride..][..stride];
        for ((out, &left), &right) in out.iter_mut().zip(left).zip(right) {
            *out = left + right;
        }
    }
}

for_isa! {
    /// `out[n] += rows[index n] · factor n`.
    fn add_gathered(out: &mut [f32], rows: (&[f32], &[u8]), stride: usize, factors: &[f32]) = add_gathered_body
}

#[inline(always)]
fn add_gathered_body<const L: usize, const FUSED: bool>(
    out: &mut [f32],
    (rows, index): (&[f32], &[u8]),
    stride: usize,
    factors: &[f32],
) {
    for ((out, &at), &factor) in out.chunks_exact_mut(stride).zip(index).zip(factors) {
        let row = &rows[usize::from(at) * stride..][..stride];
        out.iter_mut().zip(row).for_each(|(out, &value)| *out += value * factor);
    }
}

for_isa! {
    /// `out[index n] += rows[n] · factor n`; without factors they are 1.
    fn scatter_add(out: (&mut [f32], &[u8]), rows: &[f32], stride: usize, factors: Option<&[f32]>) = scatter_add_body
}

#[inline(always)]
fn scatter_add_body<const L: usize, const FUSED: bool>(
    (out, index): (&mut [f32], &[u8]),
    rows: &[f32],
    stride: usize,
    factors: Option<&[f32]>,
) {
    for (n, (row, &at)) in rows.chunks_exact(stride).zip(index).enumerate() {
        let out = &mut out[usize::from(at) * stride..][..stride];
        let factor = factors.map_or(1.0, |factors| factors[n]);
        out.iter_mut().zip(row).for_each(|(out, &value)| *out += value * factor);
    }
}
