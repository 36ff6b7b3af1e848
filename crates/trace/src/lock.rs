//! Locks that outlive a panic elsewhere.

use std::sync::{Mutex, MutexGuard, PoisonError};

/// Locks; what is behind the locks of this crate is whole at every instant, so a panic elsewhere does not spoil it.
pub(crate) fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}
