//! Collective operations over a world: broadcast, gather, logical OR.

use crate::error::wrong_length;
use crate::{Alone, World};
use knockout_base::error::{Error, Result};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

/// Time limit for another rank, beyond the time that this one needed, unless `KNOCKOUT_RANK_PATIENCE` is set. The others wait half as
/// long again for the first rank as it does for them, so that its error names the missing rank.
const PATIENCE: Duration = Duration::from_secs(18);
/// Ranks do equal parts of a step, on machines that are not quite equal.
const SLOWER: u32 = 4;
/// Time limit for the start of a rank: all ranks load the program and the dataset at once.
const START: Duration = Duration::from_mins(10);
/// Longest message; a longer length is an error.
const LONGEST_PART: usize = 64 << 20;

/// The ranks of a run, from the view of one of them.
#[derive(Debug, Clone)]
pub struct Ranks {
    world: Arc<dyn World>,
    patience: Duration,
    shared: Arc<RankActivity>,
}

#[derive(Debug)]
struct RankActivity {
    /// Time of the last message.
    met: Mutex<Instant>,
    /// The step under way, for messages.
    step: AtomicU64,
}

impl Default for Ranks {
    fn default() -> Self {
        Self::alone()
    }
}

impl Ranks {
    /// A process that trains by itself.
    pub fn alone() -> Self {
        Self::new(Arc::new(Alone))
    }

    /// The ranks of a world.
    pub fn new(world: Arc<dyn World>) -> Self {
        let shared = RankActivity { met: Mutex::new(Instant::now()), step: AtomicU64::new(0) };
        let asked = std::env::var("KNOCKOUT_RANK_PATIENCE").ok().and_then(|text| text.parse().ok());
        let patience = asked.and_then(|seconds| Duration::try_from_secs_f64(seconds).ok());
        Self { world, patience: patience.unwrap_or(PATIENCE), shared: Arc::new(shared) }
    }

    /// Sets the time to wait for another rank.
    #[must_use]
    pub fn with_patience(mut self, patience: Duration) -> Self {
        self.patience = patience;
        self
    }

    /// Zero-based number of this process.
    pub fn rank(&self) -> usize {
        self.world.rank()
    }

    /// Number of processes.
    pub fn size(&self) -> usize {
        self.world.size()
    }

    /// Returns whether this is the only rank.
    pub fn is_alone(&self) -> bool {
        self.size() == 1
    }

    /// Returns whether this is the rank that writes files and prints.
    pub fn is_first(&self) -> bool {
        self.rank() == 0
    }

    /// Ranks on the machine of this one.
    pub fn on_this_host(&self) -> usize {
        let here = self.world.host(self.rank());
        (0..self.size()).filter(|&rank| self.world.host(rank) == here).count()
    }

    /// Number of machines.
    pub fn host_count(&self) -> usize {
        let mut hosts: Vec<&str> = (0..self.size()).map(|rank| self.world.host(rank)).collect();
        hosts.sort_unstable();
        hosts.dedup();
        hosts.len()
    }

    /// Records the step under way, for messages.
    pub fn note_step(&self, step: u64) {
        self.shared.step.store(step, Ordering::Relaxed);
    }

    /// Describes this rank, its machine and its step: the beginning of a message.
    pub fn label(&self) -> String {
        let (rank, size, host) = (self.rank(), self.size(), self.world.host(self.rank()));
        match self.shared.step.load(Ordering::Relaxed) {
            0 => format!("rank {rank} of {size} on {host}"),
            step => format!("rank {rank} of {size} on {host}, step {step}"),
        }
    }

    /// Ends all ranks with this exit code; see [`World::abort`].
    pub fn abort(&self, code: u8) {
        self.world.abort(code);
    }

    /// Waits until all ranks are done; see [`World::leave`].
    pub fn leave(&self) {
        self.world.leave();
    }

    /// Waits until all ranks have started.
    pub fn start(&self) -> Result<()> {
        self.with_patience_of(START).any(false).map(|_| ())
    }

    /// Copies the bytes of the first rank to all.
    pub fn broadcast(&self, bytes: &mut [u8]) -> Result<()> {
        self.exchange(|world, patience| spread(world, bytes, patience))
    }

    /// Copies the numbers of the first rank to all.
    pub fn broadcast_floats(&self, values: &mut [f32]) -> Result<()> {
        if self.is_alone() {
            return Ok(());
        }
        let mut bytes = bytes_of(values);
        self.broadcast(&mut bytes)?;
        floats_from(&bytes, values);
        Ok(())
    }

    /// Returns the bytes of every rank, by rank, on the first rank; `None` on the others.
    pub fn gather(&self, mine: &[u8]) -> Result<Option<Vec<Vec<u8>>>> {
        self.exchange(|world, patience| collect(world, mine, patience))
    }

    /// Returns the bytes of every rank, by rank, on every rank.
    pub fn all_gather(&self, mine: &[u8]) -> Result<Vec<Vec<u8>>> {
        let Some(parts) = self.gather(mine)? else {
            return self.exchange(|world, patience| {
                let mut parts = Vec::with_capacity(world.size());
                for _ in 0..world.size() {
                    parts.push(spread_part(world, Vec::new(), patience)?);
                }
                Ok(parts)
            });
        };
        self.exchange(|world, patience| {
            parts.into_iter().map(|part| spread_part(world, part, patience)).collect()
        })
    }

    /// Returns the logical OR over all ranks; also a barrier.
    pub fn any(&self, is_so: bool) -> Result<bool> {
        if self.is_alone() {
            return Ok(is_so);
        }
        let parts = self.gather(&[u8::from(is_so)])?;
        let mut outcome = [parts.is_some_and(|parts| parts.iter().any(|part| part[..] == [1])).into()];
        self.broadcast(&mut outcome)?;
        Ok(outcome == [1])
    }

    /// Checks that something is the same on all ranks.
    pub fn all_same(&self, what: &str, mine: &str, advice: &str) -> Result<()> {
        if self.is_alone() {
            return Ok(());
        }
        let parts = self.all_gather(mine.as_bytes())?;
        let other = parts.iter().position(|part| *part != parts[0]);
        other.map_or(Ok(()), |rank| {
            let text = |part: &[u8]| String::from_utf8_lossy(part).into_owned();
            let host = self.world.host(rank);
            let (here, there) = (text(&parts[0]), text(&parts[rank]));
            let difference =
                format!("rank {rank} on {host} has another {what} than rank 0: {there} and {here}");
            Err(Error::request(format!("{difference}; {advice}")))
        })
    }

    /// Sends numbers to another rank.
    pub fn send_floats(&self, to: usize, values: &[f32]) -> Result<()> {
        self.exchange(|world, patience| world.send(to, &bytes_of(values), patience))
    }

    /// Receives as many numbers from another rank.
    pub fn receive_floats(&self, from: usize, values: &mut [f32]) -> Result<()> {
        let mut bytes = vec![0; size_of_val(values)];
        self.exchange(|world, patience| world.receive(from, &mut bytes, patience))?;
        floats_from(&bytes, values);
        Ok(())
    }

    fn with_patience_of(&self, patience: Duration) -> Self {
        self.clone().with_patience(patience)
    }

    /// Sends or receives with the time limit that applies.
    fn exchange<T>(&self, talk: impl FnOnce(&dyn World, Duration) -> Result<T>) -> Result<T> {
        let mut met = self.shared.met.lock().unwrap_or_else(PoisonError::into_inner);
        let mut patience = self.patience.saturating_add(met.elapsed().saturating_mul(SLOWER));
        if !self.is_first() {
            patience = patience.saturating_add(patience / 2);
        }
        let outcome = talk(&*self.world, patience);
        *met = Instant::now();
        outcome
    }
}

/// Copies bytes from the first rank to all, along a binary tree: rank r sends to 2r + 1 and 2r + 2.
fn spread(world: &dyn World, bytes: &mut [u8], patience: Duration) -> Result<()> {
    let (rank, size) = (world.rank(), world.size());
    if rank > 0 {
        world.receive((rank - 1) / 2, bytes, patience)?;
    }
    for to in [2 * rank + 1, 2 * rank + 2] {
        if to < size {
            world.send(to, bytes, patience)?;
        }
    }
    Ok(())
}

/// Copies bytes whose number only the first rank has.
fn spread_part(world: &dyn World, part: Vec<u8>, patience: Duration) -> Result<Vec<u8>> {
    let mut length = (part.len() as u64).to_le_bytes();
    spread(world, &mut length, patience)?;
    let mut bytes = part;
    bytes.resize(checked_length(0, length)?, 0);
    spread(world, &mut bytes, patience)?;
    Ok(bytes)
}

/// Copies bytes from every rank to the first, one by one, so that an error names the missing rank.
fn collect(world: &dyn World, mine: &[u8], patience: Duration) -> Result<Option<Vec<Vec<u8>>>> {
    if world.rank() > 0 {
        world.send(0, &(mine.len() as u64).to_le_bytes(), patience)?;
        world.send(0, mine, patience)?;
        return Ok(None);
    }
    let mut parts = vec![mine.to_vec()];
    for rank in 1..world.size() {
        let mut length = [0; 8];
        world.receive(rank, &mut length, patience)?;
        let mut part = vec![0; checked_length(rank, length)?];
        world.receive(rank, &mut part, patience)?;
        parts.push(part);
    }
    Ok(Some(parts))
}

/// Checks a length that another rank announced; another program may announce anything.
fn checked_length(rank: usize, length: [u8; 8]) -> Result<usize> {
    let found = u64::from_le_bytes(length) as usize;
    if found > LONGEST_PART { Err(wrong_length(rank, found, LONGEST_PART)) } else { Ok(found) }
}

fn bytes_of(values: &[f32]) -> Vec<u8> {
    values.iter().flat_map(|value| value.to_le_bytes()).collect()
}

fn floats_from(bytes: &[u8], values: &mut [f32]) {
    for (value, bytes) in values.iter_mut().zip(bytes.as_chunks::<4>().0) {
        *value = f32::from_le_bytes(*bytes);
    }
}
