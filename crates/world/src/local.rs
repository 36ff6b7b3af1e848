//! Ranks that are threads of one process: what ranks do, without a launcher.

use crate::{World, WorldError};
use std::sync::mpsc::{self, Receiver, RecvTimeoutError, Sender};
use std::sync::{Mutex, PoisonError};
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
    pub fn ranks(size: usize) -> Vec<Self> {
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
