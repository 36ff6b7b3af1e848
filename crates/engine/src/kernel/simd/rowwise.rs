//! Operations on each row of a tile: norms, dot products, gathers and scatters, and the backward pass of one softmax option.

use super::isa::for_isa;
use super::lanes::{add, multiply, multiply_add, sum};
use crate::kernel::NORM_EPSILON;

/// Rows that are reduced to their sums together: one alone would wait for each step of its reduction.
const ROWS: usize = 4;

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
    let (blocks, rest) = factors.as_chunks_mut::<ROWS>();
    let (rows, last) = rows.split_at_mut(blocks.len() * ROWS * stride);
    for (rows, factors) in rows.chunks_exact_mut(ROWS * stride).zip(blocks) {
        normalise_rows::<L, FUSED, ROWS>(rows, stride, width, factors);
    }
    for (row, factor) in last.chunks_exact_mut(stride).zip(rest) {
        normalise_rows::<L, FUSED, 1>(row, stride, width, std::array::from_mut(factor));
    }
}

/// Normalises `N` rows.
#[inline(always)]
fn normalise_rows<const L: usize, const FUSED: bool, const N: usize>(
    rows: &mut [f32],
    stride: usize,
    width: usize,
    factors: &mut [f32; N],
) {
    let (one_over, whole) = (1.0 / width as f32, width - width % L);
    let (mut totals, mut means) = ([[0.0; L]; N], [0.0; N]);
    for at in (0..whole).step_by(L) {
        for i in 0..N {
            totals[i] = add(totals[i], *lanes(rows, i * stride + at));
        }
    }
    for i in 0..N {
        let tail = &rows[i * stride + whole..i * stride + width];
        means[i] = (sum(totals[i]) + tail.iter().sum::<f32>()) * one_over;
    }
    let mut squares = [[0.0; L]; N];
    for at in (0..whole).step_by(L) {
        for i in 0..N {
            let vector = lanes_mut(rows, i * stride + at);
            *vector = add(*vector, [-means[i]; L]);
            squares[i] = multiply_add::<L, FUSED>(*vector, *vector, squares[i]);
        }
    }
    for i in 0..N {
        let mut tail_squares = 0.0;
        for value in &mut rows[i * stride + whole..i * stride + width] {
            *value -= means[i];
            tail_squares += *value * *value;
        }
        let variance = (sum(squares[i]) + tail_squares) * one_over;
        factors[i] = 1.0 / (variance + NORM_EPSILON as f32).sqrt();
    }
    for i in 0..N {
        for value in &mut rows[i * stride..i * stride + width] {
            *value *= factors[i];
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
    let whole = norm.factors.len() - norm.factors.len() % ROWS;
    let (rows, last) = gradient.split_at_mut(whole * norm.stride);
    for (block, rows) in rows.chunks_exact_mut(ROWS * norm.stride).enumerate() {
        norm_backward_rows::<L, FUSED, ROWS>(norm, block * ROWS, rows);
    }
    for (row, gradient) in (whole..norm.factors.len()).zip(last.chunks_exact_mut(norm.stride)) {
        norm_backward_rows::<L, FUSED, 1>(norm, row, gradient);
    }
}

/// The gradients of `N` rows from `first` on.
#[inline(always)]
fn norm_backward_rows<const L: usize, const FUSED: bool, const N: usize>(
    norm: &mut NormBackward<'_>,
    first: usize,
    gradient: &mut [f32],
) {
    let (width, stride) = (norm.scale.len(), norm.stride);
    let (one_over, whole) = (1.0 / width as f32, width - width % L);
    let rows = first * stride..(first + N) * stride;
    let (normal, slopes) = (&norm.normal[rows.clone()], &norm.slopes[rows]);
    let (mut totals, mut products) = ([[0.0; L]; N], [[0.0; L]; N]);
    for at in (0..whole).step_by(L) {
        let scale = *lanes::<L>(norm.scale, at);
        let (mut d_scale, mut d_shift) = (*lanes::<L>(norm.d_scale, at), *lanes::<L>(norm.d_shift, at));
        for i in 0..N {
            let gradient = lanes_mut::<L>(gradient, i * stride + at);
            let (normal, slopes) = (*lanes(normal, i * stride + at), *lanes(slopes, i * stride + at));
            let slope = multiply(*gradient, slopes);
            d_scale = multiply_add::<L, FUSED>(slope, normal, d_scale);
            d_shift = add(d_shift, slope);
            *gradient = multiply(slope, scale);
            totals[i] = add(totals[i], *gradient);
            products[i] = multiply_add::<L, FUSED>(*gradient, normal, products[i]);
        }
        *lanes_mut(norm.d_scale, at) = d_scale;
        *lanes_mut(norm.d_shift, at) = d_shift;
    }
    let (mut means, mut shares) = ([0.0; N], [0.0; N]);
    for i in 0..N {
        (means[i], shares[i]) = (sum(totals[i]), sum(products[i]));
    }
    for i in 0..N {
        let (gradient, normal, slopes) =
            (&mut gradient[i * stride..], &normal[i * stride..], &slopes[i * stride..]);
        for at in whole..width {
            let slope = gradient[at] * slopes[at];
            norm.d_scale[at] += slope * normal[at];
            norm.d_shift[at] += slope;
            gradient[at] = slope * norm.scale[at];
            means[i] += gradient[at];
            shares[i] += gradient[at] * normal[at];
        }
        let (mean, share, factor) = (means[i] * one_over, shares[i] * one_over, norm.factors[first + i]);
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
    let count = out.len().min(rows.len() / stride);
    let (blocks, rest) = out[..count].as_chunks_mut::<ROWS>();
    let whole = blocks.len() * ROWS;
    for (block, out) in blocks.iter_mut().enumerate() {
        let first = block * ROWS;
        *out =
            dots::<L, FUSED, ROWS>((&rows[first * stride..], stride), (&other[first * step..], step), stride);
        for out in out {
            *out += constant;
        }
    }
    for (row, out) in (whole..).zip(rest) {
        let [dot] =
            dots::<L, FUSED, 1>((&rows[row * stride..], stride), (&other[row * step..], step), stride);
        *out = dot + constant;
    }
}

/// Dot products of `N` rows.
#[inline(always)]
fn dots<const L: usize, const FUSED: bool, const N: usize>(
    (a, a_step): (&[f32], usize),
    (b, b_step): (&[f32], usize),
    width: usize,
) -> [f32; N] {
    let mut products = [[0.0; L]; N];
    for at in (0..width).step_by(L) {
        for i in 0..N {
            products[i] =
                multiply_add::<L, FUSED>(*lanes(a, i * a_step + at), *lanes(b, i * b_step + at), products[i]);
        }
    }
    let mut dots = [0.0; N];
    for i in 0..N {
        dots[i] = sum(products[i]);
    }
    dots
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
    let count = option.weights.len();
    let whole = count - count % ROWS;
    for row in (0..whole).step_by(ROWS) {
        option_backward_rows::<L, FUSED, ROWS>(option, row, slopes, d_score, scaled);
    }
    for row in whole..count {
        option_backward_rows::<L, FUSED, 1>(option, row, slopes, d_score, scaled);
    }
}

/// The part of `N` rows from `first` on.
#[inline(always)]
fn option_backward_rows<const L: usize, const FUSED: bool, const N: usize>(
    option: &OptionBackward<'_>,
    first: usize,
    slopes: &mut [f32],
    d_score: &mut [f32],
    scaled: &mut [f32],
) {
    let (stride, score_stride) = (option.stride, option.score.len());
    let rows = first * stride..(first + N) * stride;
    let (hidden, back, scaled) =
        (&option.hidden[rows.clone()], &option.back[rows.clone()], &mut scaled[rows]);
    let rows = first * score_stride..(first + N) * score_stride;
    let (score_hidden, slopes) = (&option.score_hidden[rows.clone()], &mut slopes[rows]);
    let (d_score, d_bias) = d_score.split_at_mut(score_stride);
    let mut products = [[0.0; L]; N];
    for at in (0..stride).step_by(L) {
        for i in 0..N {
            let (at, weight) = (i * stride + at, option.weights[first + i]);
            let hidden = *lanes::<L>(hidden, at);
            products[i] = multiply_add::<L, FUSED>(*lanes(back, at), hidden, products[i]);
            *lanes_mut(scaled, at) = multiply([weight; L], hidden);
        }
    }
    let mut row_slopes = [0.0; N];
    for i in 0..N {
        row_slopes[i] = option.weights[first + i] * (sum(products[i]) + option.direct[first + i]);
        d_bias[0] += row_slopes[i];
    }
    for at in (0..score_stride).step_by(L) {
        let (mut sum, score) = (*lanes::<L>(d_score, at), *lanes::<L>(option.score, at));
        for i in 0..N {
            let (slope, at) = ([row_slopes[i]; L], i * score_stride + at);
            sum = multiply_add::<L, FUSED>(slope, *lanes(score_hidden, at), sum);
            *lanes_mut(slopes, at) = multiply(multiply(slope, score), *lanes(slopes, at));
        }
        *lanes_mut(d_score, at) = sum;
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
