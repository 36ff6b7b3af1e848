//! Dispatch by float type: vectorised kernels for `f32`, reference kernels for `f64`.

use crate::kernel::sparse::{edge_loss, neighbour_sum, spmm};
use crate::kernel::{
    Activation, Affine, Block, DropoutMask, EdgeLoss, Head, HeadUpstream, Isa, LinearTerm, NeighbourSum,
    Pairwise, PairwiseOutput, Pool, Real, RowGradients, SourceTile, Spmm, StoreMode, reference, simd,
};
use std::fmt::Debug;
use std::ops::Range;
use std::sync::LazyLock;

/// A float type with kernels: the reference kernels, unless it has faster ones.
pub trait Scalar: Real {
    /// Scratch memory of the kernels: fresh memory is cleared page by page by the system, which took an eighth of a backward pass.
    fn pool() -> &'static Pool<Self>;

    /// Sparse-dense product; see [`Spmm`].
    fn spmm(task: &Spmm<'_, Self>, store: StoreMode, output: &mut [Self]) {
        reference::spmm(task, store, output);
    }

    /// `output (+)= activation(Σ over terms of rows · weight + bias)`, `output: [n, width]`.
    fn linear(
        terms: &[LinearTerm<'_, Self>],
        bias: Option<&[Self]>,
        activation: Activation,
        store: StoreMode,
        output: &mut [Self],
        width: usize,
    ) {
        reference::linear(terms, bias, activation, store, output, width);
    }

    /// `sum[m, k] += leftᵀ right` with `left: [n, m]`, `right: [n, k]`: a weight's gradient, a Gram matrix; and
    /// `left_sum[m] += Σ over rows of left`: a bias's gradient.
    fn transposed_product(
        left: &[Self],
        right: &[Self],
        size: [usize; 2],
        sum: &mut [Self],
        left_sum: Option<&mut [Self]>,
    ) {
        reference::transposed_product(left, right, size, sum, left_sum);
    }

    /// Returns Σ (R − A)² − λR² over the entries of a matrix and adds its gradients; see [`EdgeLoss`].
    fn edge_loss(task: &EdgeLoss<'_, Self>, row_gradient: &mut [Self], bias_gradient: &mut [Self]) -> f64 {
        reference::edge_loss(task, row_gradient, bias_gradient)
    }

    /// Sums over the neighbours of some nodes in one sample, on the calling thread; see [`NeighbourSum`].
    fn neighbour_sum(task: &NeighbourSum<'_, Self>, output: &mut [Self]) {
        reference::neighbour_sum(task, output);
    }

    /// Adds the gradients of the rows read; returns that of the self weight.
    fn neighbour_sum_backward(
        task: &NeighbourSum<'_, Self>,
        upstream: &[Self],
        gradients: &mut RowGradients<'_, Self>,
    ) -> f64 {
        reference::neighbour_sum_backward(task, upstream, gradients)
    }

    /// [`Scalar::neighbour_sum_backward`] of the self terms alone.
    fn self_term_backward(
        task: &NeighbourSum<'_, Self>,
        upstream: &[Self],
        gradients: &mut RowGradients<'_, Self>,
    ) -> f64 {
        reference::self_term_backward(task, upstream, gradients)
    }

    /// Weights of a block in the layout of its kernels.
    type PackedBlock: Clone + Debug + Send + Sync;

    /// Weights of pairs in the layout of their kernels.
    type PackedPairwise: Clone + Debug + Send + Sync;

    /// Packs weights for [`Scalar::block_rows`] and its backward pass.
    fn pack_block(linears: &[Affine<'_, Self>]) -> Self::PackedBlock;

    /// [`Block::forward`] of one tile, with the dropout mask of its rows: `input: [n, inputs]`, `output: [n, outputs]`.
    fn block_rows(
        block: &Block<'_, Self>,
        dropout: Option<DropoutMask<'_>>,
        input: &[Self],
        output: &mut [Self],
    ) {
        reference::block_rows(block, dropout, input, output);
    }

    /// [`Block::backward`] of one tile.
    fn block_rows_backward(
        block: &Block<'_, Self>,
        dropout: Option<DropoutMask<'_>>,
        input: &[Self],
        upstream: &[Self],
        d_input: &mut [Self],
        gradient: &mut [Self],
    ) {
        reference::block_rows_backward(block, dropout, input, upstream, d_input, gradient);
    }

    /// Packs weights for [`Scalar::pair_rows`] and its backward pass.
    fn pack_pairwise(
        graphs: usize,
        pairs: &[Vec<Affine<'_, Self>>],
        score: &[Affine<'_, Self>; 2],
    ) -> Self::PackedPairwise;

    /// [`Pairwise::forward`] of one tile.
    fn pair_rows(task: &Pairwise<'_, Self>, sources: SourceTile<'_, Self>, output: PairwiseOutput<'_, Self>) {
        reference::pair_rows(task, sources, output);
    }

    /// Length of the gradient that [`Scalar::pair_rows_backward`] adds to.
    fn pair_gradient_len(task: &Pairwise<'_, Self>) -> usize {
        task.parameter_count()
    }

    /// [`Pairwise::backward`] of one tile: `d_rows` of its source rows; `forward` has the values and the log-sum-exp.
    fn pair_rows_backward(
        task: &Pairwise<'_, Self>,
        sources: SourceTile<'_, Self>,
        forward: (&[Self], &[Self]),
        upstream: &[Self],
        d_rows: &mut [Self],
        gradient: &mut [Self],
    ) {
        reference::pair_rows_backward(task, sources, forward, upstream, d_rows, gradient);
    }

    /// Adds to the parameters' gradient what [`Scalar::pair_rows_backward`] has accumulated over all tiles.
    fn add_pair_gradient(_task: &Pairwise<'_, Self>, gradient: &[Self], sum: &mut [Self]) {
        sum.iter_mut().zip(gradient).for_each(|(sum, &value)| *sum += value);
    }

    /// [`crate::kernel::SelfAttention::forward`] of a tile of queries in one head: `out: [queries, width]`, `log_sum: [queries]`. `key_norm` is
    /// the largest norm of a row of k: with a query's it bounds all its scores.
    fn attend(head: &Head<'_, Self>, _key_norm: Self, out: &mut [Self], log_sum: &mut [Self]) {
        reference::attend(head, out, log_sum);
    }

    /// [`crate::kernel::SelfAttention::backward`] of a range of keys in one head: adds to `d_key, d_value: [keys, width]` and to
    /// `d_query: [n, width]`.
    fn attend_backward(
        head: &Head<'_, Self>,
        upstream: &HeadUpstream<'_, Self>,
        keys: Range<usize>,
        d_key: &mut [Self],
        d_value: &mut [Self],
        d_query: &mut [Self],
    ) {
        reference::attend_backward(head, upstream, keys, d_key, d_value, d_query);
    }
}

impl Scalar for f32 {
    fn pool() -> &'static Pool<Self> {
        static POOL: LazyLock<Pool<f32>> = LazyLock::new(Pool::new);
        &POOL
    }

    fn spmm(task: &Spmm<'_, Self>, store: StoreMode, output: &mut [Self]) {
        spmm::spmm(Isa::current(), task, store, output);
    }

    fn linear(
        terms: &[LinearTerm<'_, Self>],
        bias: Option<&[Self]>,
        activation: Activation,
        store: StoreMode,
        output: &mut [Self],
        width: usize,
    ) {
        simd::linear(Isa::current(), terms, bias, activation, store, output, width);
    }

    fn transposed_product(
        left: &[Self],
        right: &[Self],
        size: [usize; 2],
        sum: &mut [Self],
        left_sum: Option<&mut [Self]>,
    ) {
        simd::transposed_product(Isa::current(), left, right, size, sum, left_sum);
    }

    fn edge_loss(task: &EdgeLoss<'_, Self>, row_gradient: &mut [Self], bias_gradient: &mut [Self]) -> f64 {
        edge_loss::edge_loss(Isa::current(), task, row_gradient, bias_gradient)
    }

    fn neighbour_sum(task: &NeighbourSum<'_, Self>, output: &mut [Self]) {
        neighbour_sum::neighbour_sum(Isa::current(), task, output);
    }

    fn neighbour_sum_backward(
        task: &NeighbourSum<'_, Self>,
        upstream: &[Self],
        gradients: &mut RowGradients<'_, Self>,
    ) -> f64 {
        neighbour_sum::neighbour_sum_backward(Isa::current(), task, upstream, gradients)
    }

    fn self_term_backward(
        task: &NeighbourSum<'_, Self>,
        upstream: &[Self],
        gradients: &mut RowGradients<'_, Self>,
    ) -> f64 {
        neighbour_sum::self_term_backward(Isa::current(), task, upstream, gradients)
    }

    type PackedBlock = simd::PackedBlock;
    type PackedPairwise = simd::PackedPairwise;

    fn pack_block(linears: &[Affine<'_, Self>]) -> Self::PackedBlock {
        simd::PackedBlock::new(Isa::current(), linears)
    }

    fn block_rows(
        block: &Block<'_, Self>,
        dropout: Option<DropoutMask<'_>>,
        input: &[Self],
        output: &mut [Self],
    ) {
        simd::block_rows(block, &block.packed, dropout, input, output);
    }

    fn block_rows_backward(
        block: &Block<'_, Self>,
        dropout: Option<DropoutMask<'_>>,
        input: &[Self],
        upstream: &[Self],
        d_input: &mut [Self],
        gradient: &mut [Self],
    ) {
        simd::block_rows_backward(block, &block.packed, dropout, input, upstream, d_input, gradient);
    }

    fn pack_pairwise(
        graphs: usize,
        pairs: &[Vec<Affine<'_, Self>>],
        score: &[Affine<'_, Self>; 2],
    ) -> Self::PackedPairwise {
        simd::PackedPairwise::new(Isa::current(), graphs, pairs, score)
    }

    fn pair_rows(task: &Pairwise<'_, Self>, sources: SourceTile<'_, Self>, output: PairwiseOutput<'_, Self>) {
        simd::pair_rows(task, &task.packed, sources, output);
    }

    fn pair_gradient_len(task: &Pairwise<'_, Self>) -> usize {
        task.packed.gradient_len().unwrap_or_else(|| task.parameter_count())
    }

    fn pair_rows_backward(
        task: &Pairwise<'_, Self>,
        sources: SourceTile<'_, Self>,
        forward: (&[Self], &[Self]),
        upstream: &[Self],
        d_rows: &mut [Self],
        gradient: &mut [Self],
    ) {
        simd::pair_rows_backward(task, &task.packed, sources, forward, upstream, d_rows, gradient);
    }

    fn add_pair_gradient(task: &Pairwise<'_, Self>, gradient: &[Self], sum: &mut [Self]) {
        simd::add_pair_gradient(task, &task.packed, gradient, sum);
    }

    fn attend(head: &Head<'_, Self>, key_norm: Self, out: &mut [Self], log_sum: &mut [Self]) {
        simd::attention::attend(Isa::current(), head, key_norm, out, log_sum);
    }

    fn attend_backward(
        head: &Head<'_, Self>,
        upstream: &HeadUpstream<'_, Self>,
        keys: Range<usize>,
        d_key: &mut [Self],
        d_value: &mut [Self],
        d_query: &mut [Self],
    ) {
        simd::attention::attend_backward(Isa::current(), head, upstream, keys, d_key, d_value, d_query);
    }
}

impl Scalar for f64 {
    type PackedBlock = ();
    type PackedPairwise = ();

    fn pool() -> &'static Pool<Self> {
        static POOL: LazyLock<Pool<f64>> = LazyLock::new(Pool::new);
        &POOL
    }

    fn pack_block(_: &[Affine<'_, Self>]) {}

    fn pack_pairwise(_: usize, _: &[Vec<Affine<'_, Self>>], _: &[Affine<'_, Self>; 2]) {}
}
