//! Attention of all rows to all rows, head by head, in tiles: the weights of a tile are computed where they are used, and recomputed in
//! the backward pass. No matrix of rows by rows is ever stored.

use super::block::{reduce_in_order, zeros};
use crate::kernel::{Buffer, Real, Scalar};
use rayon::prelude::*;
use std::ops::Range;

/// `y_i = Σ_j a_ij v_j`, where `a_ij` is the softmax over all rows j of `q_i · k_j / √(width / heads)`, head by head.
///
/// `q, k, v, y: [n, width]`; a head is a range of `width / heads` channels of each.
#[derive(Debug, Clone, Copy)]
pub struct SelfAttention<'a, T> {
    /// q.
    pub query: &'a [T],
    /// k.
    pub key: &'a [T],
    /// v.
    pub value: &'a [T],
    /// Channels of a row.
    pub width: usize,
    /// Heads; they divide the width.
    pub heads: usize,
}

/// The outputs of a forward pass, or their gradients.
#[derive(Debug, Clone, Copy)]
pub struct Attended<'a, T> {
    /// y.
    pub rows: &'a [T],
    /// The logarithm of each softmax's denominator, `[n, heads]`.
    pub log_sum: &'a [T],
}

/// Gradients of an attention's inputs, each `[n, width]`.
#[derive(Debug)]
pub struct AttentionGradients<T: Scalar> {
    /// Of q.
    pub query: Buffer<T>,
    /// Of k.
    pub key: Buffer<T>,
    /// Of v.
    pub value: Buffer<T>,
}

/// One head: its channels of all rows, `[n, width]` with the width of a head.
#[derive(Debug, Clone, Copy)]
pub struct Head<'a, T> {
    /// Rows of q in a tile, or of all.
    pub query: &'a [T],
    /// All rows of k.
    pub key: &'a [T],
    /// All rows of v.
    pub value: &'a [T],
    /// Channels of the head.
    pub width: usize,
    /// 1 / √width.
    pub scale: T,
}

/// Further inputs of the backward pass of a head.
#[derive(Debug, Clone, Copy)]
pub struct HeadUpstream<'a, T> {
    /// The gradient of y, `[n, width]`.
    pub rows: &'a [T],
    /// The logarithm of each softmax's denominator.
    pub log_sum: &'a [T],
    /// `Σ y · dy` of each row, less the gradient of its `log_sum`: what softmax's backward pass subtracts.
    pub shift: &'a [T],
}

/// Rows of a task of the forward pass.
const QUERIES: usize = 64;
/// Ranges of keys, each a task of the backward pass: partial sums of them are reduced in order.
const KEY_GROUPS: usize = 4;

impl<T: Scalar> SelfAttention<'_, T> {
    /// Number of rows.
    pub fn row_count(&self) -> usize {
        self.query.len() / self.width
    }

    fn head_width(&self) -> usize {
        self.width / self.heads
    }

    fn scale(&self) -> T {
        T::of(1.0 / (self.head_width() as f64).sqrt())
    }

    /// Writes `rows: [n, width]` and `log_sum: [n, heads]`.
    pub fn forward(&self, rows: &mut [T], log_sum: &mut [T]) {
        let (width, n) = (self.head_width(), self.row_count());
        let [key, value] = [self.key, self.value].map(|rows| self.by_head(rows));
        let key_norms: Vec<T> = key.par_chunks(n * width).map(|key| largest_norm(key, width)).collect();
        rows.par_chunks_mut(QUERIES * self.width)
            .zip(log_sum.par_chunks_mut(QUERIES * self.heads))
            .zip(self.query.par_chunks(QUERIES * self.width))
            .for_each(|((rows, log_sum), query)| {
                let count = query.len() / self.width;
                let mut part = T::pool().scratch(2 * count * width + count);
                let (query_part, part) = part.split_at_mut(count * width);
                let (out, sums) = part.split_at_mut(count * width);
                for head in 0..self.heads {
                    take_channels(query, self.width, head * width, width, query_part);
                    let of_head = head * n * width..(head + 1) * n * width;
                    let task = Head {
                        query: query_part,
                        key: &key[of_head.clone()],
                        value: &value[of_head],
                        width,
                        scale: self.scale(),
                    };
                    T::attend(&task, key_norms[head], out, sums);
                    for (row, out) in rows.chunks_exact_mut(self.width).zip(out.chunks_exact(width)) {
                        row[head * width..(head + 1) * width].copy_from_slice(out);
                    }
                    for (row, &sum) in log_sum.chunks_exact_mut(self.heads).zip(&*sums) {
                        row[head] = sum;
                    }
                }
            });
    }

    /// Returns the gradients of the inputs, given those of what the forward pass computed.
    pub fn backward(&self, forward: Attended<'_, T>, upstream: Attended<'_, T>) -> AttentionGradients<T> {
        let (width, n, heads) = (self.head_width(), self.row_count(), self.heads);
        let [query, key, value, d_rows] =
            [self.query, self.key, self.value, upstream.rows].map(|rows| self.by_head(rows));
        let (mut log_sum, mut shift) = (T::pool().scratch(n * heads), T::pool().scratch(n * heads));
        for row in 0..n {
            for head in 0..heads {
                let channels = row * self.width + head * width..row * self.width + (head + 1) * width;
                let product: T = forward.rows[channels.clone()]
                    .iter()
                    .zip(&upstream.rows[channels])
                    .map(|(&y, &dy)| y * dy)
                    .sum();
                log_sum[head * n + row] = forward.log_sum[row * heads + head];
                shift[head * n + row] = product - upstream.log_sum[row * heads + head];
            }
        }
        let (mut d_key, mut d_value) = (zeros(n * self.width), zeros(n * self.width));
        let group_len = n.div_ceil(KEY_GROUPS) * width;
        let d_query: Vec<Vec<Buffer<T>>> = d_key
            .par_chunks_mut(n * width)
            .zip(d_value.par_chunks_mut(n * width))
            .enumerate()
            .map(|(head, (d_key, d_value))| {
                let of_head = head * n * width..(head + 1) * n * width;
                let task = Head {
                    query: &query[of_head.clone()],
                    key: &key[of_head.clone()],
                    value: &value[of_head.clone()],
                    width,
                    scale: self.scale(),
                };
                let upstream = HeadUpstream {
                    rows: &d_rows[of_head],
                    log_sum: &log_sum[head * n..(head + 1) * n],
                    shift: &shift[head * n..(head + 1) * n],
                };
                d_key
                    .par_chunks_mut(group_len)
                    .zip(d_value.par_chunks_mut(group_len))
                    .enumerate()
                    .map(|(group, (d_key, d_value))| {
                        let first = group * group_len / width;
                        let keys = first..first + d_key.len() / width;
                        let mut d_query = zeros(n * width);
                        T::attend_backward(&task, &upstream, keys, d_key, d_value, &mut d_query);
                        d_query
                    })
                    .collect()
            })
            .collect();
        let mut query_sum = zeros(n * self.width);
        for (partials, sum) in d_query.iter().zip(query_sum.chunks_exact_mut(n * width)) {
            reduce_in_order(partials, sum);
        }
        AttentionGradients {
            query: self.by_row(&query_sum),
            key: self.by_row(&d_key),
            value: self.by_row(&d_value),
        }
    }

    /// `[n, width]` as `[heads, n, width / heads]`.
    fn by_head(&self, rows: &[T]) -> Buffer<T> {
        let (width, n) = (self.head_width(), self.row_count());
        let mut heads = T::pool().scratch(rows.len());
        heads.par_chunks_mut(n * width).enumerate().for_each(|(head, out)| {
            take_channels(rows, self.width, head * width, width, out);
        });
        heads
    }

    /// The inverse of [`Self::by_head`].
    fn by_row(&self, heads: &[T]) -> Buffer<T> {
        let (width, n) = (self.head_width(), self.row_count());
        let mut rows = T::pool().scratch(heads.len());
        rows.par_chunks_mut(self.width).enumerate().for_each(|(row, out)| {
            for (head, out) in out.chunks_exact_mut(width).enumerate() {
                out.copy_from_slice(&heads[(head * n + row) * width..][..width]);
            }
        });
        rows
    }
}

/// Copies `width` channels of every row, from `first` on.
fn take_channels<T: Copy>(rows: &[T], stride: usize, first: usize, width: usize, out: &mut [T]) {
    for (row, out) in rows.chunks_exact(stride).zip(out.chunks_exact_mut(width)) {
        out.copy_from_slice(&row[first..first + width]);
    }
}

/// The largest norm of a row.
pub(crate) fn largest_norm<T: Real>(rows: &[T], width: usize) -> T {
    let squares = rows.chunks_exact(width).map(|row| row.iter().map(|&value| value * value).sum());
    squares.fold(T::ZERO, T::max).sqrt()
}

/// Rows of `width` values.
pub(crate) fn rows_of<T>(values: &[T], width: usize, rows: Range<usize>) -> &[T] {
    &values[rows.start * width..rows.end * width]
}
