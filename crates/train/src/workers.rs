//! The threads that train.

use rayon::{ThreadPool, ThreadPoolBuildError};

/// Threads whose subnormal numbers are zero; 0 means one per core. Train inside [`ThreadPool::install`]: the results are the
/// same for any number.
pub fn workers(threads: usize) -> Result<ThreadPool, ThreadPoolBuildError> {
    knockout_engine::kernel::worker_pool(threads, "train")
}
