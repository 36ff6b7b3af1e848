//! Attention of rows to all rows, by its definition.

use crate::kernel::Real;
use crate::kernel::dense::{Head, HeadUpstream};
use crate::kernel::slices::{add_scaled, dot, softmax};
use std::ops::Range;

/// See [`crate::kernel::Scalar::attend`].
pub(crate) fn attend<T: Real>(head: &Head<'_, T>, out: &mut [T], log_sum: &mut [T]) {
    let width = head.width;
    let rows = head.query.chunks_exact(width).zip(out.chunks_exact_mut(width)).zip(log_sum);
    for ((query, out), log_sum) in rows {
        let mut weights: Vec<T> =
            head.key.chunks_exact(width).map(|key| dot(query, key) * head.scale).collect();
        let top = weights.iter().copied().fold(T::NEG_INFINITY, T::max);
        *log_sum = top + weights.iter().map(|&score| (score - top).exp()).sum::<T>().ln();
        softmax(&mut weights);
        out.fill(T::ZERO);
        for (&weight, value) in weights.iter().zip(head.value.chunks_exact(width)) {
            add_scaled(out, weight, value);
        }
    }
}

/// See [`crate::kernel::Scalar::attend_backward`].
pub(crate) fn attend_backward<T: Real>(
    head: &Head<'_, T>,
    upstream: &HeadUpstream<'_, T>,
    keys: Range<usize>,
    d_key: &mut [T],
    d_value: &mut [T],
    d_query: &mut [T],
) {
    let width = head.width;
    let of = |row: usize| row * width..(row + 1) * width;
    for (at, j) in keys.enumerate() {
        for i in 0..upstream.shift.len() {
            let score = dot(&head.query[of(i)], &head.key[of(j)]) * head.scale;
            let weight = (score - upstream.log_sum[i]).exp();
            let d_weight = dot(&upstream.rows[of(i)], &head.value[of(j)]);
            let d_score = weight * (d_weight - upstream.shift[i]) * head.scale;
            add_scaled(&mut d_value[of(at)], weight, &upstream.rows[of(i)]);
            add_scaled(&mut d_key[of(at)], d_score, &head.query[of(i)]);
            add_scaled(&mut d_query[of(i)], d_score, &head.key[of(j)]);
        }
    }
}
