//! The loader's memory over a day's worth of batches, counted byte by byte.
#![expect(unsafe_code, reason = "an allocator is unsafe by its nature")]

use super::home::tiny;
use knockout_data::batch::{Collation, ProcessorKind};
use knockout_train::loader::{Loader, LoaderOptions, LoaderPlan, Shards};
use std::alloc::{GlobalAlloc, Layout, System};
use std::process::Command;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

/// The system's allocator, counting what is alive and the most that ever was.
struct Counting;

static LIVE: AtomicUsize = AtomicUsize::new(0);
static PEAK: AtomicUsize = AtomicUsize::new(0);

// SAFETY: every call is handed to the system's allocator as it is; the counters allocate nothing.
unsafe impl GlobalAlloc for Counting {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        let live = LIVE.fetch_add(layout.size(), Ordering::Relaxed) + layout.size();
        PEAK.fetch_max(live, Ordering::Relaxed);
        // SAFETY: the caller's promise is ours.
        unsafe { System.alloc(layout) }
    }

    unsafe fn dealloc(&self, pointer: *mut u8, layout: Layout) {
        LIVE.fetch_sub(layout.size(), Ordering::Relaxed);
        // SAFETY: the caller's promise is ours.
        unsafe { System.dealloc(pointer, layout) }
    }
}

#[global_allocator]
static ALLOCATOR: Counting = Counting;

/// A step of the large model takes seconds and one of the small model tens of milliseconds: some ten thousand batches a day
/// of the one, a million of the other. The batches here stand for both: many small ones, fewer with masks.
const RUNS: [(ProcessorKind, Collation, usize, u64); 4] = [
    (ProcessorKind::Perturbation, Collation::Shared, 2, 1_500),
    (ProcessorKind::Perturbation, Collation::Shared, 0, 1_500),
    (ProcessorKind::Mask, Collation::Shared, 2, 200),
    (ProcessorKind::Subgraph, Collation::Replicated, 2, 30),
];

/// Channels hand their messages over in blocks and a batch may wait in the order of its arrival: a few kilobytes more or
/// less, by timing. Anything kept per batch or epoch would be far above it. The most that was ever alive may be a quarter
/// larger besides: which samples meet in a batch decides how far its buffers grow.
const SLACK: usize = 64 << 10;

/// Set in the process that counts.
const ALONE: &str = "KNOCKOUT_TEST_ALONE";

/// The counters count the whole process, so the test runs in a process of its own.
#[test]
fn a_day_of_batches_leaves_memory_as_it_was() {
    if std::env::var_os(ALONE).is_none() {
        let name = "loader_memory::a_day_of_batches_leaves_memory_as_it_was";
        let program = std::env::current_exe().unwrap();
        let output = Command::new(program).args(["--exact", name]).env(ALONE, "1").output().unwrap();
        let printed = String::from_utf8_lossy(&output.stdout);
        assert!(output.status.success() && printed.contains("1 passed"), "{printed}");
        return;
    }
    let dataset = Arc::new(tiny(0));
    let rows: Vec<u32> = (0..dataset.samples.len() as u32).collect();
    for (kind, collation, threads, epochs) in RUNS {
        let plan = LoaderPlan {
            options: LoaderOptions {
                processor: kind,
                collate: collation,
                threads,
                depth: threads + 2,
                ..LoaderOptions::default()
            },
            batch_size: 28,
            drop_last: false,
            shuffle: true,
            seed: 1,
            shards: Shards::whole(),
        };
        let loader = Loader::new(&dataset, &rows, plan);
        let mut batches = 0_usize;
        let mut run = |epochs: std::ops::Range<u64>| {
            PEAK.store(LIVE.load(Ordering::Relaxed), Ordering::Relaxed);
            for epoch in epochs {
                let mut epoch = loader.epoch(epoch, 0);
                while epoch.next_batch().unwrap().is_some() {
                    batches += 1;
                }
            }
            (LIVE.load(Ordering::Relaxed), PEAK.load(Ordering::Relaxed))
        };
        let (first_live, first_peak) = run(0..5);
        let (last_live, last_peak) = run(5..epochs);
        assert!(
            last_live <= first_live + SLACK && last_peak <= first_peak + first_peak / 4 + SLACK,
            "{kind:?}: {first_live} bytes alive and {first_peak} at most in the first epochs, then {last_live} and {last_peak}"
        );
        assert_eq!(batches, epochs as usize * rows.len().div_ceil(28));
    }
}
