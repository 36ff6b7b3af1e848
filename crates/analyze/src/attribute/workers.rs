//! Pieces of work shared out among threads. Knows nothing of what the work is.

use crate::AnalyzeError;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Mutex, PoisonError};

/// Does every piece with the same `run`, the first ones first, on so many threads.
///
/// Each thread has a `desk` of its own that goes from piece to piece; which pieces it met is left to chance, so what
/// is kept on a desk must not depend on it. Results come in the order of the pieces.
pub(crate) fn share_out<Piece: Send, Desk: Send, Done: Send>(
    pieces: Vec<Piece>,
    threads: usize,
    desk: impl Fn() -> Desk + Sync,
    run: impl Fn(&mut Desk, Piece) -> Result<Done, AnalyzeError> + Sync,
) -> Result<(Vec<Done>, Vec<Desk>), AnalyzeError> {
    let threads = threads.clamp(1, pieces.len().max(1));
    let pieces: Vec<Mutex<Option<Piece>>> = pieces.into_iter().map(|piece| Mutex::new(Some(piece))).collect();
    let next = AtomicUsize::new(0);
    let work = || -> Result<(Vec<(usize, Done)>, Desk), AnalyzeError> {
        let (mut done, mut desk) = (Vec::new(), desk());
        loop {
            let number = next.fetch_add(1, Ordering::Relaxed);
            let Some(slot) = pieces.get(number) else { return Ok((done, desk)) };
            let piece = slot.lock().unwrap_or_else(PoisonError::into_inner).take();
            if let Some(piece) = piece {
                done.push((number, run(&mut desk, piece)?));
            }
        }
    };
    let by_thread = std::thread::scope(|scope| {
        let helpers: Vec<_> = (1..threads).map(|_| scope.spawn(work)).collect();
        let mut by_thread = vec![work()];
        for helper in helpers {
            by_thread.push(helper.join().unwrap_or_else(|panic| std::panic::resume_unwind(panic)));
        }
        by_thread
    });
    let (mut all, mut desks) = (Vec::new(), Vec::new());
    for result in by_thread {
        let (mut done, desk) = result?;
        all.append(&mut done);
        desks.push(desk);
    }
    all.sort_by_key(|&(number, _)| number);
    Ok((all.into_iter().map(|(_, done)| done).collect(), desks))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn results_come_in_order_and_desks_see_everything() {
        for threads in [0, 1, 2, 7] {
            for pieces in [0, 1, 5, 100] {
                let run = |desk: &mut u64, piece: u64| {
                    *desk += piece;
                    Ok(piece * 2)
                };
                let (done, desks) = share_out((0..pieces).collect(), threads, || 0, run).unwrap();
                assert_eq!(done, (0..pieces).map(|piece| piece * 2).collect::<Vec<_>>());
                assert_eq!(desks.iter().sum::<u64>(), (0..pieces).sum::<u64>());
            }
        }
    }

    #[test]
    fn one_failure_is_the_result() {
        let run = |(): &mut (), piece: u64| {
            if piece == 30 { Err(AnalyzeError::SpillDamaged) } else { Ok(piece) }
        };
        for threads in [1, 2, 7] {
            assert!(share_out((0..60).collect(), threads, || (), run).is_err());
        }
    }
}
