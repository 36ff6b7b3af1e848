//! Ranks that are threads of one process, without a launcher.

use crate::error::{ended, named, silent, wrong_length};
use crate::{Ranks, World};
use knockout_base::error::Result;
use std::sync::mpsc::{self, Receiver, RecvTimeoutError, Sender};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread;
use std::time::Duration;

/// One of several ranks in one process.
#[derive(Debug)]
pub struct LocalRank {
    rank: usize,
    /// To every rank.
    to: Vec<Sender<Vec<u8>>>,
    /// From every rank.
    from: Vec<Mutex<Receiver<Vec<u8>>>>,
}

impl LocalRank {
    /// Returns the ranks of a world, one for each thread.
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

    /// Runs `work` on every rank, each in a thread, and returns the results by rank.
    ///
    /// # Panics
    ///
    /// If `work` panics on a rank.
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
}

impl World for LocalRank {
    fn rank(&self) -> usize {
        self.rank
    }

    fn size(&self) -> usize {
        self.to.len()
    }

    fn host(&self, _: usize) -> &'static str {
        "this machine"
    }

    fn send(&self, to: usize, bytes: &[u8], _: Duration) -> Result<()> {
        let to = named(to, self.size())?;
        self.to[to].send(bytes.to_vec()).map_err(|mpsc::SendError(_)| ended(to, self.host(to)))
    }

    fn receive(&self, from: usize, bytes: &mut [u8], patience: Duration) -> Result<()> {
        let from = named(from, self.size())?;
        let receiver = self.from[from].lock().unwrap_or_else(PoisonError::into_inner);
        let message = receiver.recv_timeout(patience).map_err(|error| match error {
            RecvTimeoutError::Timeout => silent(from, self.host(from), patience),
            RecvTimeoutError::Disconnected => ended(from, self.host(from)),
        })?;
        if message.len() != bytes.len() {
            return Err(wrong_length(from, message.len(), bytes.len()));
        }
        bytes.copy_from_slice(&message);
        Ok(())
    }

    fn abort(&self, _: u8) {}

    fn leave(&self) {}
}
