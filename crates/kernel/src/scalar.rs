//! One name for each operation: fast where the type is `f32`, plain where it is `f64`.

use crate::{Activation, EdgeTask, Isa, Real, SpmmTask, Store, Term, dense, edges, plain, spmm};

/// A float type with kernels.
pub trait Scalar: Real {
    /// Sparse times dense; see [`SpmmTask`].
    fn spmm(task: &SpmmTask<'_, Self>, store: Store, output: &mut [Self]);

    /// `output (+)= activation(Σ over terms of rows · weight + bias)`, `output: [n, width]`.
    fn linear(
        terms: &[Term<'_, Self>],
        bias: Option<&[Self]>,
        activation: Activation,
        store: Store,
        output: &mut [Self],
        width: usize,
    );

    /// `sum[m, k] += leftᵀ right` with `left: [n, m]`, `right: [n, k]`: a weight's gradient, a Gram matrix; and
    /// `left_sum[m] += Σ over rows of left`: a bias's gradient.
    fn transposed_product(
        left: &[Self],
        right: &[Self],
        size: [usize; 2],
        sum: &mut [Self],
        left_sum: Option<&mut [Self]>,
    );

    /// Σ (R − A)² − λR² over the entries of a matrix, and its gradients; see [`EdgeTask`].
    fn edges(task: &EdgeTask<'_, Self>, row_gradient: &mut [Self], bias_gradient: &mut [Self]) -> f64;
}

impl Scalar for f32 {
    fn spmm(task: &SpmmTask<'_, Self>, store: Store, output: &mut [Self]) {
        spmm::spmm(Isa::current(), task, store, output);
    }

    fn linear(
        terms: &[Term<'_, Self>],
        bias: Option<&[Self]>,
        activation: Activation,
        store: Store,
        output: &mut [Self],
        width: usize,
    ) {
        dense::linear(Isa::current(), terms, bias, activation, store, output, width);
    }

    fn transposed_product(
        left: &[Self],
        right: &[Self],
        size: [usize; 2],
        sum: &mut [Self],
        left_sum: Option<&mut [Self]>,
    ) {
        dense::transposed_product(Isa::current(), left, right, size, sum, left_sum);
    }

    fn edges(task: &EdgeTask<'_, Self>, row_gradient: &mut [Self], bias_gradient: &mut [Self]) -> f64 {
        edges::edges(Isa::current(), task, row_gradient, bias_gradient)
    }
}

impl Scalar for f64 {
    fn spmm(task: &SpmmTask<'_, Self>, store: Store, output: &mut [Self]) {
        plain::spmm(task, store, output);
    }

    fn linear(
        terms: &[Term<'_, Self>],
        bias: Option<&[Self]>,
        activation: Activation,
        store: Store,
        output: &mut [Self],
        width: usize,
    ) {
        plain::linear(terms, bias, activation, store, output, width);
    }

    fn transposed_product(
        left: &[Self],
        right: &[Self],
        size: [usize; 2],
        sum: &mut [Self],
        left_sum: Option<&mut [Self]>,
    ) {
        plain::transposed_product(left, right, size, sum, left_sum);
    }

    fn edges(task: &EdgeTask<'_, Self>, row_gradient: &mut [Self], bias_gradient: &mut [Self]) -> f64 {
        plain::edges(task, row_gradient, bias_gradient)
    }
}
