//! Linear layers and weight gradients, in parallel over tiles of rows.

use super::gemm::{Epilogue, GemmOperand, ProductPart, TileRows, column_sums, gemm, gemm_tn, pack};
use super::{math, padded_copy, scratch, stride, unpad};
use crate::kernel::dense::block::{TILE_ROWS, reduce_in_order, zeros};
use crate::kernel::slices::add_to;
use crate::kernel::{Activation, Buffer, Isa, Layout, LinearTerm, StoreMode};
use rayon::prelude::*;

/// Rows in a task, whole tiles: enough to hide the cost of handing it to a thread.
const TASK_ROWS: usize = 2 * TILE_ROWS;
/// Rows of one partial sum of a weight's gradient, whole tiles.
const SUM_ROWS: usize = 6 * TILE_ROWS;

/// `output (+)= activation(Σ terms + bias)`, `output: [n, width]`.
pub(crate) fn linear(
    isa: Isa,
    terms: &[LinearTerm<'_, f32>],
    bias: Option<&[f32]>,
    activation: Activation,
    store: StoreMode,
    output: &mut [f32],
    width: usize,
) {
    if output.is_empty() {
        return;
    }
    for term in terms {
        assert_eq!(term.weight.len(), term.depth * width, "a weight of {} x {width}", term.depth);
        assert_eq!(term.rows.len() * width, output.len() * term.depth, "one row in for every row out");
    }
    assert!(bias.is_none_or(|bias| bias.len() == width), "a bias of {width}");
    let wide = stride(isa, width);
    let weights: Vec<Buffer<f32>> = terms
        .iter()
        .map(|term| {
            let mut packed = scratch(term.depth * wide);
            let value = |k: usize, column: usize| match term.layout {
                Layout::OutIn => term.weight[column * term.depth + k],
                Layout::InOut => term.weight[k * width + column],
            };
            pack(isa, term.depth, width, value, &mut packed);
            packed
        })
        .collect();
    let wide_bias = bias.and_then(|bias| padded_copy(isa, width, bias));
    let bias = wide_bias.as_deref().or(bias);
    output.par_chunks_mut(TASK_ROWS * width).enumerate().for_each(|(task, output)| {
        for (tile, output) in output.chunks_mut(TILE_ROWS * width).enumerate() {
            let first = task * TASK_ROWS + tile * TILE_ROWS;
            let factors: Vec<GemmOperand<'_>> = terms
                .iter()
                .zip(&weights)
                .map(|(term, weight)| GemmOperand {
                    rows: &term.rows[first * term.depth..],
                    stride: term.depth,
                    depth: term.depth,
                    weight,
                    width,
                })
                .collect();
            let adds_activated = store == StoreMode::Add && activation != Activation::None;
            if wide == width && !adds_activated {
                let epilogue = if store == StoreMode::Add { Epilogue::Add } else { Epilogue::Set };
                gemm(isa, &factors, bias, epilogue, output, width);
                math::activate(isa, activation, output);
                continue;
            }
            let mut rows = scratch(output.len() / width * wide);
            gemm(isa, &factors, bias, Epilogue::Set, &mut rows, wide);
            math::activate(isa, activation, &mut rows);
            match store {
                StoreMode::Set => unpad(&rows, wide, width, output),
                StoreMode::Add => {
                    for (out, row) in output.chunks_exact_mut(width).zip(rows.chunks_exact(wide)) {
                        add_to(out, &row[..width]);
                    }
                }
            }
        }
    });
}

/// `sum[m, k] += leftᵀ right`: the gradient of a weight, or a Gram matrix. `left: [n, m]`, `right: [n, k]`. Where `left_sum` is
/// given, `left_sum[m] += Σ over rows of left`: the gradient of a bias, in the same pass over the rows.
pub(crate) fn transposed_product(
    isa: Isa,
    left: &[f32],
    right: &[f32],
    [m, k]: [usize; 2],
    sum: &mut [f32],
    left_sum: Option<&mut [f32]>,
) {
    assert_eq!(sum.len(), m * k, "a sum of {m} x {k}");
    assert_eq!(left.len() * k, right.len() * m, "as many rows on the left as on the right");
    if sum.is_empty() {
        return;
    }
    let part = if m == k && std::ptr::eq(left, right) { ProductPart::Upper } else { ProductPart::Whole };
    let with_sum = left_sum.is_some();
    let (products, row_sums): (Vec<Buffer<f32>>, Vec<Buffer<f32>>) = left
        .par_chunks(SUM_ROWS * m)
        .zip(right.par_chunks(SUM_ROWS * k))
        .map(|(left, right)| {
            let (mut product, mut row_sum) = (zeros::<f32>(m * k), zeros::<f32>(m));
            for (left, right) in left.chunks(TILE_ROWS * m).zip(right.chunks(TILE_ROWS * k)) {
                // Whole vectors are read from the right, and from the left where its rows are summed.
                let wide_right = padded_copy(isa, k, right);
                let right = wide_right.as_deref().unwrap_or(right);
                let right = TileRows { values: right, stride: stride(isa, k), width: k };
                if with_sum {
                    let wide_left = padded_copy(isa, m, left);
                    let left = wide_left.as_deref().unwrap_or(left);
                    column_sums(
                        isa,
                        TileRows { values: left, stride: stride(isa, m), width: m },
                        &mut row_sum,
                    );
                }
                gemm_tn(isa, TileRows { values: left, stride: m, width: m }, right, part, &mut product, k);
            }
            if part == ProductPart::Upper {
                for i in 0..m {
                    for j in 0..i {
                        product[i * k + j] = product[j * k + i];
                    }
                }
            }
            (product, row_sum)
        })
        .unzip();
    reduce_in_order(&products, sum);
    if let Some(left_sum) = left_sum {
        reduce_in_order(&row_sums, left_sum);
    }
}
