//! One name for each operation: fast where the type is `f32`, plain where it is `f64`.

use crate::{
    Activation, Affine, Block, EdgeTask, Isa, Met, Noise, Pairwise, PairwiseOutput, Pool, Real, SpmmTask,
    Store, SumGradients, Sums, Term, edges, fast, plain, spmm, sums,
};
use std::fmt::Debug;
use std::sync::LazyLock;

/// A float type with kernels.
pub trait Scalar: Real {
    /// Where operations keep what they need while they run: fresh memory for each of them is cleared page by page by the system, which
    /// took an eighth of the time of a way back.
    fn pool() -> &'static Pool<Self>;

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

    /// What arrives at `nodes` in one sample, on the thread of the caller; see [`Sums`].
    fn sums(task: &Sums<'_, Self>, input: &[Self], nodes: &[u32], output: &mut [Self]);

    /// Adds what the sums pass back; returns the gradient of the factor of the own rows.
    fn sums_backward(
        task: &Sums<'_, Self>,
        input: &[Self],
        nodes: &[u32],
        upstream: &[Self],
        gradients: &mut SumGradients<'_, Self>,
    ) -> f64;

    /// The part of it that concerns the own rows.
    fn own_backward(
        task: &Sums<'_, Self>,
        input: &[Self],
        nodes: &[u32],
        upstream: &[Self],
        gradients: &mut SumGradients<'_, Self>,
    ) -> f64;

    /// The weights of a block as its kernels want them.
    type PackedBlock: Clone + Debug + Send + Sync;

    /// The weights of pairs as their kernels want them.
    type PackedPairwise: Clone + Debug + Send + Sync;

    /// For [`Scalar::block_rows`] and its way back.
    fn pack_block(linears: &[Affine<'_, Self>]) -> Self::PackedBlock;

    /// [`Block::forward`] of one tile, with the noise of its rows: `input: [n, inputs]`, `output: [n, outputs]`.
    fn block_rows(block: &Block<'_, Self>, noise: Option<Noise<'_>>, input: &[Self], output: &mut [Self]);

    /// [`Block::backward`] of one tile.
    fn block_rows_backward(
        block: &Block<'_, Self>,
        noise: Option<Noise<'_>>,
        input: &[Self],
        upstream: &[Self],
        d_input: &mut [Self],
        gradient: &mut [Self],
    );

    /// For [`Scalar::pair_rows`] and its way back.
    fn pack_pairwise(
        graphs: usize,
        pairs: &[Vec<Affine<'_, Self>>],
        score: &[Affine<'_, Self>; 2],
    ) -> Self::PackedPairwise;

    /// [`Pairwise::forward`] of one tile.
    fn pair_rows(task: &Pairwise<'_, Self>, met: Met<'_, Self>, output: PairwiseOutput<'_, Self>);

    /// Values in a gradient as [`Scalar::pair_rows_backward`] adds to it.
    fn pair_gradient_len(task: &Pairwise<'_, Self>) -> usize;

    /// [`Pairwise::backward`] of one tile: `d_rows` of its rows of graphs, `forward`: values and logarithms of sums.
    fn pair_rows_backward(
        task: &Pairwise<'_, Self>,
        met: Met<'_, Self>,
        forward: (&[Self], &[Self]),
        upstream: &[Self],
        d_rows: &mut [Self],
        gradient: &mut [Self],
    );

    /// Adds to the gradient of the parameters what [`Scalar::pair_rows_backward`] has added up.
    fn add_pair_gradient(task: &Pairwise<'_, Self>, gradient: &[Self], sum: &mut [Self]);
}

impl Scalar for f32 {
    fn pool() -> &'static Pool<Self> {
        static POOL: LazyLock<Pool<f32>> = LazyLock::new(Pool::new);
        &POOL
    }

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
        fast::linear(Isa::current(), terms, bias, activation, store, output, width);
    }

    fn transposed_product(
        left: &[Self],
        right: &[Self],
        size: [usize; 2],
        sum: &mut [Self],
        left_sum: Option<&mut [Self]>,
    ) {
        fast::transposed_product(Isa::current(), left, right, size, sum, left_sum);
    }

    fn edges(task: &EdgeTask<'_, Self>, row_gradient: &mut [Self], bias_gradient: &mut [Self]) -> f64 {
        edges::edges(Isa::current(), task, row_gradient, bias_gradient)
    }

    fn sums(task: &Sums<'_, Self>, input: &[Self], nodes: &[u32], output: &mut [Self]) {
        sums::sums(Isa::current(), task, input, nodes, output);
    }

    fn sums_backward(
        task: &Sums<'_, Self>,
        input: &[Self],
        nodes: &[u32],
        upstream: &[Self],
        gradients: &mut SumGradients<'_, Self>,
    ) -> f64 {
        sums::sums_backward(Isa::current(), task, input, nodes, upstream, gradients)
    }

    fn own_backward(
        task: &Sums<'_, Self>,
        input: &[Self],
        nodes: &[u32],
        upstream: &[Self],
        gradients: &mut SumGradients<'_, Self>,
    ) -> f64 {
        sums::own_backward(Isa::current(), task, input, nodes, upstream, gradients)
    }

    type PackedBlock = fast::PackedBlock;
    type PackedPairwise = fast::PackedPairwise;

    fn pack_block(linears: &[Affine<'_, Self>]) -> Self::PackedBlock {
        fast::PackedBlock::new(Isa::current(), linears)
    }

    fn block_rows(block: &Block<'_, Self>, noise: Option<Noise<'_>>, input: &[Self], output: &mut [Self]) {
        fast::block_rows(block, &block.packed, noise, input, output);
    }

    fn block_rows_backward(
        block: &Block<'_, Self>,
        noise: Option<Noise<'_>>,
        input: &[Self],
        upstream: &[Self],
        d_input: &mut [Self],
        gradient: &mut [Self],
    ) {
        fast::block_rows_backward(block, &block.packed, noise, input, upstream, d_input, gradient);
    }

    fn pack_pairwise(
        graphs: usize,
        pairs: &[Vec<Affine<'_, Self>>],
        score: &[Affine<'_, Self>; 2],
    ) -> Self::PackedPairwise {
        fast::PackedPairwise::new(Isa::current(), graphs, pairs, score)
    }

    fn pair_rows(task: &Pairwise<'_, Self>, met: Met<'_, Self>, output: PairwiseOutput<'_, Self>) {
        fast::pair_rows(task, &task.packed, met, output);
    }

    fn pair_gradient_len(task: &Pairwise<'_, Self>) -> usize {
        task.packed.gradient_len().unwrap_or_else(|| task.number_count())
    }

    fn pair_rows_backward(
        task: &Pairwise<'_, Self>,
        met: Met<'_, Self>,
        forward: (&[Self], &[Self]),
        upstream: &[Self],
        d_rows: &mut [Self],
        gradient: &mut [Self],
    ) {
        fast::pair_rows_backward(task, &task.packed, met, forward, upstream, d_rows, gradient);
    }

    fn add_pair_gradient(task: &Pairwise<'_, Self>, gradient: &[Self], sum: &mut [Self]) {
        fast::add_pair_gradient(task, &task.packed, gradient, sum);
    }
}

impl Scalar for f64 {
    fn pool() -> &'static Pool<Self> {
        static POOL: LazyLock<Pool<f64>> = LazyLock::new(Pool::new);
        &POOL
    }

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

    fn sums(task: &Sums<'_, Self>, input: &[Self], nodes: &[u32], output: &mut [Self]) {
        plain::sums(task, input, nodes, output);
    }

    fn sums_backward(
        task: &Sums<'_, Self>,
        input: &[Self],
        nodes: &[u32],
        upstream: &[Self],
        gradients: &mut SumGradients<'_, Self>,
    ) -> f64 {
        plain::sums_backward(task, input, nodes, upstream, gradients)
    }

    fn own_backward(
        task: &Sums<'_, Self>,
        input: &[Self],
        nodes: &[u32],
        upstream: &[Self],
        gradients: &mut SumGradients<'_, Self>,
    ) -> f64 {
        plain::own_backward(task, input, nodes, upstream, gradients)
    }

    type PackedBlock = ();
    type PackedPairwise = ();

    fn pack_block(_: &[Affine<'_, Self>]) {}

    fn block_rows(block: &Block<'_, Self>, noise: Option<Noise<'_>>, input: &[Self], output: &mut [Self]) {
        plain::block_rows(block, noise, input, output);
    }

    fn block_rows_backward(
        block: &Block<'_, Self>,
        noise: Option<Noise<'_>>,
        input: &[Self],
        upstream: &[Self],
        d_input: &mut [Self],
        gradient: &mut [Self],
    ) {
        plain::block_rows_backward(block, noise, input, upstream, d_input, gradient);
    }

    fn pack_pairwise(_: usize, _: &[Vec<Affine<'_, Self>>], _: &[Affine<'_, Self>; 2]) {}

    fn pair_rows(task: &Pairwise<'_, Self>, met: Met<'_, Self>, output: PairwiseOutput<'_, Self>) {
        plain::pair_rows(task, met, output);
    }

    fn pair_gradient_len(task: &Pairwise<'_, Self>) -> usize {
        task.number_count()
    }

    fn pair_rows_backward(
        task: &Pairwise<'_, Self>,
        met: Met<'_, Self>,
        forward: (&[Self], &[Self]),
        upstream: &[Self],
        d_rows: &mut [Self],
        gradient: &mut [Self],
    ) {
        plain::pair_rows_backward(task, met, forward, upstream, d_rows, gradient);
    }

    fn add_pair_gradient(_: &Pairwise<'_, Self>, gradient: &[Self], sum: &mut [Self]) {
        sum.iter_mut().zip(gradient).for_each(|(sum, &value)| *sum += value);
    }
}
