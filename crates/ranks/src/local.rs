//! Ranks that are threads of one process: what ranks do, without a launcher.

use crate::{Ranks, World, WorldError};
use std::sync::mpsc::{self, Receiver, RecvTimeoutError, Sender};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread;
use std::time::Duration;

/// One of several ranks in one process.
#[derive(Debug)]
pub struct Local {
    rank: usize,
    /// To every rank.
    to: Vec<Sender<Vec<u8>>>,
    /// From every rank.
    from: Vec<Mutex<Receiver<Vec<u8>>>>,
}

impl Local {
    /// As many ranks, each to be given to a thread.
    fn ranks(size: usize) -> Vec<Self> {
        let mut ranks: Vec<Self> =
            (0..size).map(|rank| Self { rank, to: Vec::new(), from: Vec::new() }).collect();
        for from in 0..size {
            for to in 0..size {
                let (sender, receiver) = mpsc::channel();
                ranks[from].to.push(sender);
                ranks[to].from.push(Mutex::new(receiver));
            }
        }
        ranks
    }

    /// Runs `work` on as many ranks at once, a thread each, and gives what each returned, by rank.
    ///
    /// # Panics
    ///
    /// If one of them panics.
    pub fn on_ranks<T: Send>(size: usize, work: impl Fn(Ranks) -> T + Sync) -> Vec<T> {
        thread::scope(|scope| {
            let start = |rank| {
                let work = &work;
                scope.spawn(move || work(Ranks::new(Arc::new(rank))))
            };
            let threads: Vec<_> = Self::ranks(size).into_iter().map(start).collect();
            threads.into_iter().map(|thread| thread.join().expect("a rank panicked")).collect()
        })
    }

    fn named(&self, rank: usize) -> Result<usize, WorldError> {
        let size = self.size();
        if rank < size { Ok(rank) } else { Err(WorldError::NoSuchRank { rank, size }) }
    }
}

impl World for Local {
    fn rank(&self) -> usize {
        self.rank
    }

    fn size(&self) -> usize {
        self.to.len()
    }

    fn host(&self, _: usize) -> &'static str {
        "this machine"
    }

    fn send(&self, to: usize, bytes: &[u8], _: Duration) -> Result<(), WorldError> {
        let to = self.named(to)?;
        self.to[to]
            .send(bytes.to_vec())
            .map_err(|mpsc::SendError(_)| WorldError::Ended { rank: to, host: self.host(to).to_owned() })
    }

    fn receive(&self, from: usize, bytes: &mut [u8], patience: Duration) -> Result<(), WorldError> {
        let from = self.named(from)?;
        let receiver = self.from[from].lock().unwrap_or_else(PoisonError::into_inner);
        let host = || self.host(from).to_owned();
        let message = receiver.recv_timeout(patience).map_err(|error| match error {
            RecvTimeoutError::Timeout => WorldError::Silent { rank: from, host: host(), waited: patience },
            RecvTimeoutError::Disconnected => WorldError::Ended { rank: from, host: host() },
        })?;
        if message.len() != bytes.len() {
            return Err(WorldError::Length { rank: from, found: message.len(), expected: bytes.len() });
        }
        bytes.copy_from_slice(&message);
        Ok(())
    }

    fn abort(&self, _: u8) {}

    fn leave(&self) {}
}
