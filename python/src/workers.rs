//! Runs long calls on a thread pool with the interpreter released, so that Ctrl-C works.
//!
//! Threads do not survive a `fork`, and a pool without its threads would wait forever. So every process has its own pool, and the global
//! pool of rayon is never used.

use crate::error::Fault;
use knockout_engine::kernel::Isa;
use pyo3::prelude::*;
use rayon::ThreadPool;
use std::any::Any;
use std::panic::{AssertUnwindSafe, catch_unwind, resume_unwind};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{self, RecvTimeoutError};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

/// Interval at which a long call checks for Ctrl-C.
const SIGNAL_INTERVAL: Duration = Duration::from_millis(50);
/// Maximum number of threads.
const MAX_THREADS: usize = 1024;

struct Pool {
    process: u32,
    threads: usize,
    workers: Arc<ThreadPool>,
}

/// Locked only while attached to the interpreter, so that no other thread can fork meanwhile.
static POOL: Mutex<Option<Pool>> = Mutex::new(None);

/// Cancellation flag of a call.
#[derive(Debug, Clone, Default)]
pub(crate) struct Cancel(Arc<AtomicBool>);

/// Panic payload of a cancelled call.
struct Cancelled;

impl Cancel {
    /// Returns whether the call was cancelled.
    pub(crate) fn is_set(&self) -> bool {
        self.0.load(Ordering::Relaxed)
    }

    /// Unwinds if the call was cancelled; for callbacks that cannot return an error. Unwinding removes incomplete output, as an error does.
    pub(crate) fn check(&self) {
        if self.is_set() {
            resume_unwind(Box::new(Cancelled));
        }
    }
}

/// Returns the number of threads of long calls: one per core unless `set_threads` was called.
#[pyfunction]
pub(crate) fn threads(_py: Python<'_>) -> PyResult<usize> {
    Ok(pool()?.current_num_threads())
}

/// Sets the number of threads of long calls; 0 means one per core. Results do not depend on it.
#[pyfunction]
pub(crate) fn set_threads(_py: Python<'_>, count: usize) -> PyResult<()> {
    if count > MAX_THREADS {
        return Err(
            Fault::request(format!("cannot use {count} threads; the maximum is {MAX_THREADS}")).into()
        );
    }
    let mut slot = POOL.lock().unwrap_or_else(PoisonError::into_inner);
    put(&mut slot, make(count)?);
    Ok(())
}

fn make(threads: usize) -> Result<Pool, Fault> {
    Isa::from_environment()?;
    let pool = knockout_train::workers(threads)
        .map_err(|error| Fault::failure(format!("could not start the worker threads: {error}")))?;
    Ok(Pool { process: std::process::id(), threads, workers: Arc::new(pool) })
}

/// Replaces the pool. A pool of the parent process is leaked, because dropping it would wait for threads of that process.
fn put(slot: &mut Option<Pool>, pool: Pool) {
    if let Some(old) = slot.replace(pool)
        && old.process != std::process::id()
    {
        std::mem::forget(old);
    }
}

fn pool() -> Result<Arc<ThreadPool>, Fault> {
    let mut slot = POOL.lock().unwrap_or_else(PoisonError::into_inner);
    match &*slot {
        Some(pool) if pool.process == std::process::id() => return Ok(Arc::clone(&pool.workers)),
        other => {
            let threads = other.as_ref().map_or(0, |pool| pool.threads);
            put(&mut slot, make(threads)?);
        }
    }
    slot.as_ref()
        .map(|pool| Arc::clone(&pool.workers))
        .ok_or_else(|| Fault::failure("there are no worker threads"))
}

/// Runs `work` on the worker threads with the interpreter released. Ctrl-C cancels the work and raises the exception of the signal
/// handler. A panic becomes an error.
pub(crate) fn run<T: Send>(
    py: Python<'_>,
    work: impl FnOnce(&Cancel) -> Result<T, Fault> + Send,
) -> PyResult<T> {
    let (pool, cancel) = (pool()?, Cancel::default());
    let (outcome, signal) = py.detach(|| {
        std::thread::scope(|scope| {
            let (done, waiting) = mpsc::channel::<()>();
            let (pool, cancel) = (&pool, &cancel);
            let worker = scope.spawn(move || {
                // Dropped at the end, also after a panic, which ends the wait.
                let _done = done;
                catch_unwind(AssertUnwindSafe(|| pool.install(|| work(cancel))))
            });
            let mut signal = None;
            while let Err(RecvTimeoutError::Timeout) = waiting.recv_timeout(SIGNAL_INTERVAL) {
                if signal.is_none()
                    && let Some(Err(error)) = Python::try_attach(look_for_signals)
                {
                    cancel.0.store(true, Ordering::Relaxed);
                    signal = Some(error);
                }
            }
            (worker.join().and_then(|outcome| outcome), signal)
        })
    });
    match (outcome, signal) {
        (_, Some(signal)) => Err(signal),
        (Ok(outcome), None) => Ok(outcome?),
        (Err(panic), None) => {
            Err(Fault::failure(format!("internal error; please report it: {}", text_of(&*panic))).into())
        }
    }
}

/// Runs the handlers of pending signals, as the interpreter does between bytecode instructions.
fn look_for_signals(py: Python<'_>) -> PyResult<()> {
    py.check_signals()
}

fn text_of(panic: &(dyn Any + Send)) -> &str {
    let text = panic.downcast_ref::<&str>().copied();
    text.or_else(|| panic.downcast_ref::<String>().map(String::as_str)).unwrap_or("(no message)")
}
