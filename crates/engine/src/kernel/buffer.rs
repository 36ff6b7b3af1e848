//! A pool of aligned buffers: allocating them again in every step cost other engines more than half their time.

use crate::kernel::Real;
use rayon::prelude::*;
use std::collections::BTreeMap;
use std::fmt;
use std::ops::{Deref, DerefMut, RangeInclusive};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, PoisonError};

/// Sixteen values: one or two cache lines.
#[derive(Clone, Copy)]
#[repr(C, align(64))]
struct CacheLine<T>([T; LINE]);

const LINE: usize = 16;

/// Values zeroed by one task.
const CLEAR_CHUNK: usize = 1 << 16;

type FreeList<T> = BTreeMap<usize, Vec<Vec<CacheLine<T>>>>;

/// A pool that buffers are taken from and return to when dropped. Clones share one free list.
#[derive(Clone)]
pub struct Pool<T> {
    free: Arc<Mutex<FreeList<T>>>,
    allocated: Arc<AtomicUsize>,
}

impl<T: Real> Pool<T> {
    /// An empty pool.
    pub fn new() -> Self {
        Self { free: Arc::default(), allocated: Arc::default() }
    }

    /// Returns a buffer of zeros.
    pub fn zeros(&self, len: usize) -> Buffer<T> {
        let mut buffer = self.scratch(len);
        buffer.par_chunks_mut(CLEAR_CHUNK).for_each(|chunk| chunk.fill(T::ZERO));
        buffer
    }

    /// Returns a buffer with arbitrary contents, for results that overwrite every element.
    pub fn scratch(&self, len: usize) -> Buffer<T> {
        const {
            assert!(
                size_of::<CacheLine<T>>() == LINE * size_of::<T>(),
                "a line is its values and nothing else"
            );
        }
        let lines = self.take(len.div_ceil(LINE));
        Buffer { lines, len, pool: self.clone() }
    }

    /// Takes the smallest free buffer that fits without wasting half of it. If there is none, a new one replaces a free one that has
    /// become too small, so that the pool grows with the largest batch and not with the number of batch sizes.
    fn take(&self, lines: usize) -> Vec<CacheLine<T>> {
        let mut free = self.free.lock().unwrap_or_else(PoisonError::into_inner);
        let mut from = |range: RangeInclusive<usize>, last: bool| {
            let mut fitting = free.range_mut(range).filter(|(_, buffers)| !buffers.is_empty());
            let found = if last { fitting.next_back() } else { fitting.next() };
            found.and_then(|(_, buffers)| buffers.pop())
        };
        if let Some(buffer) = from(lines..=lines + lines / 2, false) {
            return buffer;
        }
        let outgrown = from(lines / 2..=lines, true).map_or(0, |buffer| buffer.len());
        drop(free);
        // A little room, so that a slightly larger batch finds this one large enough.
        let lines = if outgrown > 0 { lines + lines / 16 } else { lines };
        self.allocated.fetch_add(lines * size_of::<CacheLine<T>>(), Ordering::Relaxed);
        self.allocated.fetch_sub(outgrown * size_of::<CacheLine<T>>(), Ordering::Relaxed);
        vec![CacheLine([T::ZERO; LINE]); lines]
    }

    /// Returns a copy of a slice.
    pub fn copy(&self, values: &[T]) -> Buffer<T> {
        let mut buffer = self.scratch(values.len());
        buffer.copy_from_slice(values);
        buffer
    }

    /// Bytes allocated, in use or free.
    pub fn allocated_bytes(&self) -> usize {
        self.allocated.load(Ordering::Relaxed)
    }
}

impl<T: Real> Default for Pool<T> {
    fn default() -> Self {
        Self::new()
    }
}

impl<T: Real> fmt::Debug for Pool<T> {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        out.debug_struct("Pool").field("allocated_bytes", &self.allocated_bytes()).finish_non_exhaustive()
    }
}

/// A slice on cache-line boundaries, returned to its pool when dropped.
pub struct Buffer<T: Real> {
    lines: Vec<CacheLine<T>>,
    len: usize,
    pool: Pool<T>,
}

impl<T: Real> Drop for Buffer<T> {
    fn drop(&mut self) {
        let lines = std::mem::take(&mut self.lines);
        let mut free = self.pool.free.lock().unwrap_or_else(PoisonError::into_inner);
        free.entry(lines.len()).or_default().push(lines);
    }
}

#[expect(unsafe_code, reason = "lines of an array and nothing else are seen as one slice")]
impl<T: Real> Deref for Buffer<T> {
    type Target = [T];

    fn deref(&self) -> &[T] {
        // SAFETY: a `Line` is sixteen `T` without padding (checked where buffers are made), and there are at least `len` values.
        unsafe { std::slice::from_raw_parts(self.lines.as_ptr().cast(), self.len) }
    }
}

#[expect(unsafe_code, reason = "lines of an array and nothing else are seen as one slice")]
impl<T: Real> DerefMut for Buffer<T> {
    fn deref_mut(&mut self) -> &mut [T] {
        // SAFETY: as in `deref`; the borrow is exclusive.
        unsafe { std::slice::from_raw_parts_mut(self.lines.as_mut_ptr().cast(), self.len) }
    }
}

impl<T: Real> Clone for Buffer<T> {
    fn clone(&self) -> Self {
        self.pool.copy(self)
    }
}

impl<T: Real> fmt::Debug for Buffer<T> {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        out.debug_list().entries(self.iter().take(8)).finish()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn buffers_are_aligned_and_reused() {
        let pool = Pool::<f32>::new();
        let first = pool.zeros(100);
        assert_eq!(first.as_ptr() as usize % 64, 0);
        let address = first.as_ptr();
        drop(first);
        let mut second = pool.scratch(112);
        assert_eq!(second.as_ptr(), address, "112 and 100 values take seven lines each");
        second.fill(3.0);
        drop(second);
        assert!(pool.zeros(100).iter().all(|&value| value == 0.0));
        assert_eq!(pool.allocated_bytes(), 7 * 64);
    }

    #[test]
    fn batches_of_many_sizes_share_buffers() {
        let pool = Pool::<f32>::new();
        for batch in 0..200 {
            let len = 16 * (1000 + batch * 7919 % 300);
            let buffers = [pool.scratch(len), pool.scratch(len + 160)];
            assert!(buffers.iter().all(|buffer| buffer.len() >= len));
        }
        assert!(pool.allocated_bytes() < 2 * 1500 * 64, "{}", pool.allocated_bytes());
    }

    #[test]
    fn wide_floats_have_no_gaps() {
        let pool = Pool::<f64>::new();
        let mut buffer = pool.zeros(35);
        for (i, value) in buffer.iter_mut().enumerate() {
            *value = i as f64;
        }
        assert_eq!(buffer.clone().iter().sum::<f64>(), (0..35).map(f64::from).sum::<f64>());
    }
}
