//! Aligned memory that is used again and again: allocating anew each step cost other engines more than half their time.

use crate::Real;
use rayon::prelude::*;
use std::collections::BTreeMap;
use std::fmt;
use std::ops::{Deref, DerefMut, RangeInclusive};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, PoisonError};

/// Sixteen values: one or two cache lines.
#[derive(Clone, Copy)]
#[repr(C, align(64))]
struct Line<T>([T; LINE]);

const LINE: usize = 16;

/// Values that one task clears.
const CLEAR_CHUNK: usize = 1 << 16;

type Shelf<T> = BTreeMap<usize, Vec<Vec<Line<T>>>>;

/// Where buffers come from and return to when dropped. Clones share one shelf.
#[derive(Clone)]
pub struct Pool<T> {
    shelf: Arc<Mutex<Shelf<T>>>,
    allocated: Arc<AtomicUsize>,
}

impl<T: Real> Pool<T> {
    /// An empty pool.
    pub fn new() -> Self {
        Self { shelf: Arc::default(), allocated: Arc::default() }
    }

    /// A buffer of zeros.
    pub fn zeros(&self, len: usize) -> Buffer<T> {
        let mut buffer = self.scratch(len);
        buffer.par_chunks_mut(CLEAR_CHUNK).for_each(|chunk| chunk.fill(T::ZERO));
        buffer
    }

    /// A buffer whose contents are whatever was there before: for results that overwrite every element.
    pub fn scratch(&self, len: usize) -> Buffer<T> {
        const { assert!(size_of::<Line<T>>() == LINE * size_of::<T>(), "a line is its values and nothing else") }
        let lines = self.take(len.div_ceil(LINE));
        Buffer { lines, len, pool: self.clone() }
    }

    /// The smallest buffer on the shelf that is large enough and not wastefully so. Where batches differ in size none may be: then
    /// a new one takes the place of one that has become too small, so that the pool grows with the largest batch and not with
    /// their number.
    fn take(&self, lines: usize) -> Vec<Line<T>> {
        let mut shelf = self.shelf.lock().unwrap_or_else(PoisonError::into_inner);
        let mut from = |range: RangeInclusive<usize>, last: bool| {
            let mut fitting = shelf.range_mut(range).filter(|(_, buffers)| !buffers.is_empty());
            let found = if last { fitting.next_back() } else { fitting.next() };
            found.and_then(|(_, buffers)| buffers.pop())
        };
        if let Some(buffer) = from(lines..=lines + lines / 2, false) {
            return buffer;
        }
        let outgrown = from(lines / 2..=lines, true).map_or(0, |buffer| buffer.len());
        drop(shelf);
        // A little room, so that a slightly larger batch finds this one large enough.
        let lines = if outgrown > 0 { lines + lines / 16 } else { lines };
        self.allocated.fetch_add(lines * size_of::<Line<T>>(), Ordering::Relaxed);
        self.allocated.fetch_sub(outgrown * size_of::<Line<T>>(), Ordering::Relaxed);
        vec![Line([T::ZERO; LINE]); lines]
    }

    /// A copy of a slice.
    pub fn copy(&self, values: &[T]) -> Buffer<T> {
        let mut buffer = self.scratch(values.len());
        buffer.copy_from_slice(values);
        buffer
    }

    /// Bytes allocated, in use or waiting.
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
    lines: Vec<Line<T>>,
    len: usize,
    pool: Pool<T>,
}

impl<T: Real> Drop for Buffer<T> {
    fn drop(&mut self) {
        let lines = std::mem::take(&mut self.lines);
        let mut shelf = self.pool.shelf.lock().unwrap_or_else(PoisonError::into_inner);
        shelf.entry(lines.len()).or_default().push(lines);
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
    fn buffers_are_aligned_and_used_again() {
        let pool = Pool::<f32>::new();
        let first = pool.zeros(100);
        assert_eq!(first.as_ptr() as usize % 64, 0);
        let place = first.as_ptr();
        drop(first);
        let mut second = pool.scratch(112);
        assert_eq!(second.as_ptr(), place, "112 and 100 values take seven lines each");
        second.fill(3.0);
        drop(second);
        assert!(pool.zeros(100).iter().all(|&value| value == 0.0));
        assert_eq!(pool.allocated_bytes(), 7 * 64);
    }

    #[test]
    fn batches_of_many_sizes_do_not_pile_up() {
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
