//! Dense products, by their definition.

use crate::kernel::{Activation, Layout, LinearTerm, Real, StoreMode};

/// `output (+)= activation(Σ terms + bias)`.
pub(crate) fn linear<T: Real>(
    terms: &[LinearTerm<'_, T>],
    bias: Option<&[T]>,
    activation: Activation,
    store: StoreMode,
    output: &mut [T],
    width: usize,
) {
    for (at, out) in output.iter_mut().enumerate() {
        let (row, column) = (at / width, at % width);
        let mut sum = bias.map_or(T::ZERO, |bias| bias[column]);
        for term in terms {
            for (k, &value) in term.rows[row * term.depth..(row + 1) * term.depth].iter().enumerate() {
                sum += value
                    * match term.layout {
                        Layout::OutIn => term.weight[column * term.depth + k],
                        Layout::InOut => term.weight[k * width + column],
                    };
            }
        }
        let value = activation.apply(sum);
        *out = match store {
            StoreMode::Set => value,
            StoreMode::Add => *out + value,
        };
    }
}

/// `sum[m, k] += leftᵀ right`, `left_sum[m] += Σ left`.
pub(crate) fn transposed_product<T: Real>(
    left: &[T],
    right: &[T],
    [m, k]: [usize; 2],
    sum: &mut [T],
    mut left_sum: Option<&mut [T]>,
) {
    // In `f64`, so that a sum over thousands of rows is rounded once: no worse than the partial sums of the tile kernels.
    let (mut product, mut total) = (vec![0.0; m * k], vec![0.0; m]);
    for (left, right) in left.chunks_exact(m).zip(right.chunks_exact(k)) {
        for ((product, total), &left) in product.chunks_exact_mut(k).zip(&mut total).zip(left) {
            *total += left.to_f64();
            for (product, &right) in product.iter_mut().zip(right) {
                *product += left.to_f64() * right.to_f64();
            }
        }
    }
    for (sum, value) in sum.iter_mut().zip(product) {
        *sum += T::of(value);
    }
    for (sum, value) in left_sum.iter_mut().flat_map(|sum| sum.iter_mut()).zip(total) {
        *sum += T::of(value);
    }
}
