//! A count of the floating-point operations of matrix products.
//!
//! Counted are the products of the `f32` kernels as they are computed, without the zeros that pad rows: a backward pass that recomputes a
//! layer counts it again. Sums over neighbours, norms, activations, softmax and products of single rows are not counted.

use std::sync::atomic::{AtomicU64, Ordering};

/// Counters, each in cache lines of its own: threads of a pool have one each, up to so many.
const COUNTERS: usize = 64;

#[repr(align(128))]
struct Counter(AtomicU64);

static COUNTED: [Counter; COUNTERS] = [const { Counter(AtomicU64::new(0)) }; COUNTERS];

/// Counts operations of matrix products.
pub(crate) fn count(flops: usize) {
    let thread = rayon::current_thread_index().unwrap_or(0);
    COUNTED[thread % COUNTERS].0.fetch_add(flops as u64, Ordering::Relaxed);
}

/// Counts the product of a `rows × depth` and a `depth × width` matrix: a multiplication and an addition for each term.
pub(crate) fn count_product(rows: usize, depth: usize, width: usize) {
    count(2 * rows * depth * width);
}

/// Returns the floating-point operations of matrix products so far, of all threads of this process.
pub fn counted_flop() -> u64 {
    COUNTED.iter().map(|counter| counter.0.load(Ordering::Relaxed)).sum()
}
