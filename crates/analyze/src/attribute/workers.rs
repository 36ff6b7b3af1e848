//! A parallel map over items with scratch memory per thread. Independent of what is computed.

use knockout_base::error::Result;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Mutex, PoisonError};

/// Applies `run` to every item, in their order, on so many threads; results come in the order of the items.
///
/// Each thread has a `scratch` of its own that it passes from item to item. Which items a thread gets depends on timing,
/// so the reduction of all scratches must not depend on it.
pub(crate) fn map_in_order<Item: Send, Scratch: Send, Output: Send>(
    items: Vec<Item>,
    threads: usize,
    scratch: impl Fn() -> Scratch + Sync,
    run: impl Fn(&mut Scratch, Item) -> Result<Output> + Sync,
) -> Result<(Vec<Output>, Vec<Scratch>)> {
    let threads = threads.clamp(1, items.len().max(1));
    let items: Vec<Mutex<Option<Item>>> = items.into_iter().map(|item| Mutex::new(Some(item))).collect();
    let next = AtomicUsize::new(0);
    let work = || -> Result<(Vec<(usize, Output)>, Scratch)> {
        let (mut outputs, mut scratch) = (Vec::new(), scratch());
        loop {
            let number = next.fetch_add(1, Ordering::Relaxed);
            let Some(slot) = items.get(number) else { return Ok((outputs, scratch)) };
            let item = slot.lock().unwrap_or_else(PoisonError::into_inner).take();
            if let Some(item) = item {
                outputs.push((number, run(&mut scratch, item)?));
            }
        }
    };
    let by_thread = std::thread::scope(|scope| {
        let handles: Vec<_> = (1..threads).map(|_| scope.spawn(work)).collect();
        let mut by_thread = vec![work()];
        for handle in handles {
            by_thread.push(handle.join().unwrap_or_else(|panic| std::panic::resume_unwind(panic)));
        }
        by_thread
    });
    let (mut all, mut scratches) = (Vec::new(), Vec::new());
    for result in by_thread {
        let (mut outputs, scratch) = result?;
        all.append(&mut outputs);
        scratches.push(scratch);
    }
    all.sort_by_key(|&(number, _)| number);
    Ok((all.into_iter().map(|(_, output)| output).collect(), scratches))
}

#[cfg(test)]
mod tests {
    use super::*;
    use knockout_base::error::Error;

    #[test]
    fn results_come_in_order_and_scratches_see_every_item() {
        for threads in [0, 1, 2, 7] {
            for items in [0, 1, 5, 100] {
                let run = |scratch: &mut u64, item: u64| {
                    *scratch += item;
                    Ok(item * 2)
                };
                let (outputs, scratches) = map_in_order((0..items).collect(), threads, || 0, run).unwrap();
                assert_eq!(outputs, (0..items).map(|item| item * 2).collect::<Vec<_>>());
                assert_eq!(scratches.iter().sum::<u64>(), (0..items).sum::<u64>());
            }
        }
    }

    #[test]
    fn one_failure_is_the_result() {
        let run = |(): &mut (), item: u64| {
            if item == 30 { Err(Error::failure("planted")) } else { Ok(item) }
        };
        for threads in [1, 2, 7] {
            assert!(map_in_order((0..60).collect(), threads, || (), run).is_err());
        }
    }
}
