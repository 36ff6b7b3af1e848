//! The thread pool that kernels run on: its threads flush subnormal numbers to zero.
//!
//! A subnormal operand costs some thirty times a normal one, and gradients that die out produce many. The CPU can treat them as zero,
//! but that is a setting of a thread (MXCSR, FPCR), and Rust assumes everywhere else that it is off. So no function of this crate
//! changes it for its caller: it is set in threads that the crate starts itself, and restored before they end.
//!
//! Kernels do not depend on it for their results but where a value is subnormal; what the compiler folds at build time is never flushed.

use rayon::{ThreadPool, ThreadPoolBuildError, ThreadPoolBuilder};
use std::marker::PhantomData;

/// Returns a pool of `threads` threads named `name-0`, `name-1`, … that flush subnormal numbers to zero; 0 means one per core.
///
/// Work runs there inside [`ThreadPool::install`]. The calling thread keeps its floating-point settings.
pub fn worker_pool(threads: usize, name: &str) -> Result<ThreadPool, ThreadPoolBuildError> {
    let name = name.to_owned();
    ThreadPoolBuilder::new()
        .num_threads(threads)
        .thread_name(move |index| format!("{name}-{index}"))
        .spawn_handler(|worker| {
            let mut builder = std::thread::Builder::new();
            if let Some(name) = worker.name() {
                builder = builder.name(name.to_owned());
            }
            if let Some(bytes) = worker.stack_size() {
                builder = builder.stack_size(bytes);
            }
            builder.spawn(|| {
                let _flush = FlushToZero::enter();
                worker.run();
            })?;
            Ok(())
        })
        .build()
}

/// While it lives, the current thread flushes subnormal numbers to zero; dropping it restores the setting that it found.
struct FlushToZero {
    found: ControlWord,
    /// Not `Send`: the setting is that of the thread that entered.
    thread: PhantomData<*const ()>,
}

impl FlushToZero {
    fn enter() -> Self {
        let found = control::read();
        control::write(found | control::FLUSH);
        Self { found, thread: PhantomData }
    }
}

impl Drop for FlushToZero {
    fn drop(&mut self) {
        control::write(self.found);
    }
}

/// The contents of the register that controls how a thread treats subnormal numbers.
type ControlWord = u64;

/// MXCSR, the control and status register of SSE and AVX.
#[cfg(target_arch = "x86_64")]
#[expect(unsafe_code, reason = "the control register has no safe accessor")]
mod control {
    use super::ControlWord;

    /// Flush results to zero (bit 15), take subnormal inputs as zero (bit 6).
    pub(super) const FLUSH: ControlWord = 1 << 15 | 1 << 6;

    pub(super) fn read() -> ControlWord {
        let mut word = 0_u32;
        // SAFETY: writes the register of this thread to a local variable.
        unsafe { std::arch::asm!("stmxcsr [{}]", in(reg) &raw mut word, options(nostack)) };
        word.into()
    }

    pub(super) fn write(word: ControlWord) {
        let word = word as u32;
        // SAFETY: reads a local variable; the word is one that was read, with [`FLUSH`] or without, so no reserved bit is set and no
        // exception unmasked.
        unsafe { std::arch::asm!("ldmxcsr [{}]", in(reg) &raw const word, options(nostack)) };
    }
}

/// FPCR, the floating-point control register of 64-bit ARM.
#[cfg(target_arch = "aarch64")]
#[expect(unsafe_code, reason = "the control register has no safe accessor")]
mod control {
    use super::ControlWord;

    /// Flush to zero: bit 24.
    pub(super) const FLUSH: ControlWord = 1 << 24;

    pub(super) fn read() -> ControlWord {
        let word;
        // SAFETY: reads the register of this thread.
        unsafe { std::arch::asm!("mrs {}, fpcr", out(reg) word, options(nomem, nostack)) };
        word
    }

    pub(super) fn write(word: ControlWord) {
        // SAFETY: the word is one that was read, with [`FLUSH`] or without.
        unsafe { std::arch::asm!("msr fpcr, {}", in(reg) word, options(nomem, nostack)) };
    }
}

/// Other CPUs keep their subnormal numbers.
#[cfg(not(any(target_arch = "x86_64", target_arch = "aarch64")))]
mod control {
    use super::ControlWord;

    pub(super) const FLUSH: ControlWord = 0;

    pub(super) fn read() -> ControlWord {
        0
    }

    pub(super) fn write(_: ControlWord) {}
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::hint::black_box;

    const CAN_FLUSH: bool = cfg!(any(target_arch = "x86_64", target_arch = "aarch64"));

    /// A product below the smallest normal `f32`.
    fn subnormal_product() -> f32 {
        black_box(1e-30f32) * black_box(1e-10f32)
    }

    /// The settings without the exception flags, which any operation may raise.
    fn settings() -> ControlWord {
        control::read() & control::FLUSH
    }

    #[test]
    fn workers_flush_subnormals_and_the_caller_keeps_its_own() {
        let before = settings();
        let pool = worker_pool(2, "flush").unwrap();
        for product in pool.broadcast(|_| subnormal_product()) {
            assert_eq!(product == 0.0, CAN_FLUSH);
        }
        assert_eq!(pool.install(subnormal_product) == 0.0, CAN_FLUSH);
        assert!(subnormal_product() > 0.0);
        assert_eq!(settings(), before);
    }

    #[test]
    fn the_guard_restores_what_it_found_also_on_a_panic() {
        let before = settings();
        let outer = FlushToZero::enter();
        drop(FlushToZero::enter());
        assert_eq!(settings(), control::FLUSH, "an inner guard ends, the outer one remains");
        drop(outer);
        assert_eq!(settings(), before);
        let panicked = std::panic::catch_unwind(|| {
            let _flush = FlushToZero::enter();
            panic!("inside");
        });
        assert!(panicked.is_err());
        assert_eq!(settings(), before);
        assert!(subnormal_product() > 0.0);
    }

    #[test]
    fn threads_have_names() {
        let pool = worker_pool(2, "train").unwrap();
        let mut names = pool.broadcast(|_| std::thread::current().name().map(str::to_owned));
        names.sort();
        assert_eq!(names, [Some("train-0".to_owned()), Some("train-1".to_owned())]);
    }
}
