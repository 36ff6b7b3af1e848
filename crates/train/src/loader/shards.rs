//! Shards: slices of a batch whose gradients are summed, wherever they are computed.

use knockout_data::screen::Samples;
use std::ops::Range;

/// The division of batches into shards, and the shards that one process loads.
///
/// A batch of n samples is cut into `count` runs of samples in order, the first `n mod count` of them one longer than the
/// others: the division depends on the batch alone, not on the number of processes.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Shards {
    count: usize,
    owned: Range<usize>,
}

/// A shard and its position in the batch.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct ShardPosition {
    /// Zero-based shard.
    pub shard: usize,
    /// Samples of the batch before it.
    pub first_sample: usize,
    /// Deleted genes of these samples.
    pub first_member: usize,
    /// Samples of the whole batch.
    pub batch_samples: usize,
    /// Samples that have a score; counted only if there are several shards.
    pub batch_scored: usize,
}

impl Shards {
    /// Batches as they are, all of each.
    pub fn whole() -> Self {
        Self { count: 1, owned: 0..1 }
    }

    /// The shards that one of `world` processes loads of batches cut into `count`. A `count` of 0 means 1, and surplus
    /// processes load none.
    pub fn of_rank(count: usize, rank: usize, world: usize) -> Self {
        let (count, world) = (count.max(1), world.max(1));
        Self { count, owned: rank * count / world..(rank + 1) * count / world }
    }

    /// Shards of a batch.
    pub fn count(&self) -> usize {
        self.count
    }

    /// Those that are loaded here.
    pub fn owned(&self) -> Range<usize> {
        self.owned.clone()
    }

    /// The samples of a shard in a batch of `samples`.
    pub fn rows(&self, samples: usize, shard: usize) -> Range<usize> {
        let (length, longer) = (samples / self.count, samples % self.count);
        let begin = |shard: usize| shard * length + shard.min(longer);
        begin(shard)..begin(shard + 1)
    }

    /// The position of a shard in a batch, which is given by its rows of the dataset.
    pub(super) fn position(&self, samples: &Samples, batch: &[u32], shard: usize) -> ShardPosition {
        if self.count == 1 {
            // A whole batch takes microseconds to load.
            return ShardPosition { batch_samples: batch.len(), ..ShardPosition::default() };
        }
        let first_sample = self.rows(batch.len(), shard).start;
        let is_scored = |row: &&u32| !samples.scores()[**row as usize].is_nan();
        ShardPosition {
            shard,
            first_sample,
            first_member: batch[..first_sample].iter().map(|&row| samples.genes(row as usize).len()).sum(),
            batch_samples: batch.len(),
            batch_scored: batch.iter().filter(is_scored).count(),
        }
    }
}
