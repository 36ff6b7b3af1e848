//! The threads that train.

use rayon::{ThreadPool, ThreadPoolBuildError, ThreadPoolBuilder};

/// Threads whose subnormal numbers are zero; 0 means one per core. Train inside [`ThreadPool::install`]: the results are the
/// same for any number.
pub fn workers(threads: usize) -> Result<ThreadPool, ThreadPoolBuildError> {
    ThreadPoolBuilder::new()
        .num_threads(threads)
        .thread_name(|index| format!("train-{index}"))
        .start_handler(|_| knockout_kernel::flush_to_zero())
        .build()
}
