//! Limits of the process: what the operating system refuses ends the program with a message.
//!
//! **Memory.** A request that is refused ends the program with exit code 2.
//! Stable Rust has no hook for a failed allocation: the standard library aborts. The allocator records the refused size, and a handler of
//! SIGABRT turns an abort after a refusal into an exit. The C library aborts too where it needs memory of its own; the handler then asks
//! for as much as it would have. Nothing else changes: `try_reserve` returns its error as before, and files take their names only when they
//! are complete, so that an exit at any moment loses nothing that was saved.
//!
//! **Files.** Beyond the limit of a file's size (`ulimit -f`) writing fails with an error instead of a signal.

#![expect(unsafe_code, reason = "an allocator and a signal handler have no safe interface")]

use crate::exit;
use std::alloc::{GlobalAlloc, Layout, System};
use std::sync::atomic::{AtomicUsize, Ordering};

/// The allocator of the system, which records what it refuses.
#[derive(Debug)]
pub struct RecordingAllocator;

/// Bytes of the last refused request; 0 if there was none.
static REFUSED: AtomicUsize = AtomicUsize::new(0);
/// Bytes that the C library requests at least when it has no memory left.
const C_LIBRARY_REQUEST: usize = 1 << 20;

fn recorded(found: *mut u8, size: usize) -> *mut u8 {
    if found.is_null() {
        REFUSED.store(size.max(1), Ordering::Relaxed);
    }
    found
}

// SAFETY: every request is passed on to the system's allocator unchanged.
unsafe impl GlobalAlloc for RecordingAllocator {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        // SAFETY: as the caller promises.
        recorded(unsafe { System.alloc(layout) }, layout.size())
    }

    unsafe fn alloc_zeroed(&self, layout: Layout) -> *mut u8 {
        // SAFETY: as the caller promises.
        recorded(unsafe { System.alloc_zeroed(layout) }, layout.size())
    }

    unsafe fn realloc(&self, memory: *mut u8, layout: Layout, size: usize) -> *mut u8 {
        // SAFETY: as the caller promises.
        recorded(unsafe { System.realloc(memory, layout, size) }, size)
    }

    unsafe fn dealloc(&self, memory: *mut u8, layout: Layout) {
        // SAFETY: as the caller promises.
        unsafe { System.dealloc(memory, layout) }
    }
}

/// Handles aborts, and ignores the signal of files that are too long, from now on.
pub fn install() {
    let on_abort = on_abort as extern "C" fn(libc::c_int) as libc::sighandler_t;
    // SAFETY: the handler calls nothing but functions that are safe in one.
    unsafe {
        libc::signal(libc::SIGABRT, on_abort);
        libc::signal(libc::SIGXFSZ, libc::SIG_IGN);
    }
}

/// Ends the program if memory was refused. Otherwise it returns, and the abort takes its course.
extern "C" fn on_abort(_: libc::c_int) {
    let refused = match REFUSED.load(Ordering::Relaxed) {
        0 if is_refused(C_LIBRARY_REQUEST) => C_LIBRARY_REQUEST,
        0 => return,
        refused => refused,
    };
    let mut digits = [0; 20];
    for text in [
        b"knockout: out of memory: a request for ",
        decimal(refused, &mut digits),
        b" bytes was refused; what was saved before is whole. Use a larger machine, raise the limit of memory (ulimit -v, ulimit -d, \
          the job's) or lower the sizes that the command names\n",
    ] as [&[u8]; 3] {
        // SAFETY: the bytes are those of a slice. A message that cannot be written is lost.
        unsafe { libc::write(libc::STDERR_FILENO, text.as_ptr().cast(), text.len()) };
    }
    // SAFETY: ends the process at once.
    unsafe { libc::_exit(i32::from(exit::REQUEST)) }
}

/// Returns whether the system refuses to map this many bytes.
fn is_refused(bytes: usize) -> bool {
    let (protection, flags) = (libc::PROT_READ | libc::PROT_WRITE, libc::MAP_PRIVATE | libc::MAP_ANONYMOUS);
    // SAFETY: a new mapping at an address of the system's choice, which nothing refers to when it is removed.
    unsafe {
        let mapped = libc::mmap(std::ptr::null_mut(), bytes, protection, flags, -1, 0);
        if mapped == libc::MAP_FAILED {
            return true;
        }
        libc::munmap(mapped, bytes);
    }
    false
}

/// Returns the digits of a number without allocating.
fn decimal(mut number: usize, digits: &mut [u8; 20]) -> &[u8] {
    let mut start = digits.len();
    loop {
        start -= 1;
        digits[start] = b'0' + (number % 10) as u8;
        number /= 10;
        if number == 0 || start == 0 {
            return &digits[start..];
        }
    }
}

#[cfg(test)]
mod tests {
    use super::{C_LIBRARY_REQUEST, decimal, is_refused};

    #[test]
    fn digits_are_those_of_the_number() {
        for number in [0, 7, 10, 4_294_967_296, usize::MAX] {
            assert_eq!(decimal(number, &mut [0; 20]), number.to_string().as_bytes());
        }
    }

    #[test]
    fn only_what_does_not_fit_is_refused() {
        assert!(!is_refused(C_LIBRARY_REQUEST));
        assert!(is_refused(1 << 60));
    }
}
