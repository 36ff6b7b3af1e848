//! Losses of shards, and the loss of the batch that they are parts of.

use crate::step::{StepOutcome, diverged_at};
use knockout_base::error::Result;
use knockout_engine::grad::Tape;
use knockout_models::{LossPosition, RecordedLoss};
use knockout_ranks::Ranks;

/// The loss of one shard and its share in that of the batch.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct ShardLoss {
    shard: u64,
    weight: f64,
    loss: f64,
    parts: Vec<(String, f64)>,
}

impl ShardLoss {
    pub(super) fn of(
        tape: &Tape<'_, f32>,
        loss: &RecordedLoss,
        shard: usize,
        weight: f64,
        at: LossPosition,
    ) -> Result<Self> {
        let value = f64::from(tape.scalar(loss.total));
        if !value.is_finite() {
            return Err(diverged_at(at, "the loss"));
        }
        Ok(Self { shard: shard as u64, weight, loss: value, parts: loss.parts.clone() })
    }

    /// Appends one number after the other; names follow their length.
    fn write(&self, out: &mut Vec<u8>) {
        let numbers = [self.shard, self.weight.to_bits(), self.loss.to_bits(), self.parts.len() as u64];
        for number in numbers {
            out.extend(number.to_le_bytes());
        }
        for (name, value) in &self.parts {
            out.extend((name.len() as u64).to_le_bytes());
            out.extend(name.as_bytes());
            out.extend(value.to_bits().to_le_bytes());
        }
    }

    /// Reads what `write` wrote; `None` at the end.
    fn read(bytes: &mut &[u8]) -> Option<Self> {
        let [shard, weight, loss, count] = [number(bytes)?, number(bytes)?, number(bytes)?, number(bytes)?];
        let parts = (0..count).map(|_| {
            let length = number(bytes)? as usize;
            let (name, rest) = bytes.split_at_checked(length)?;
            *bytes = rest;
            Some((String::from_utf8_lossy(name).into_owned(), f64::from_bits(number(bytes)?)))
        });
        let parts = parts.collect::<Option<Vec<_>>>()?;
        Some(Self { shard, weight: f64::from_bits(weight), loss: f64::from_bits(loss), parts })
    }
}

fn number(bytes: &mut &[u8]) -> Option<u64> {
    let (number, rest) = bytes.split_first_chunk::<8>()?;
    *bytes = rest;
    Some(u64::from_le_bytes(*number))
}

/// Gathers the losses of all shards on every rank, in the order of the shards; also a barrier.
pub(super) fn gather_losses(mine: &[ShardLoss], ranks: &Ranks) -> Result<Vec<ShardLoss>> {
    if ranks.is_alone() {
        return Ok(mine.to_vec());
    }
    let mut bytes = Vec::new();
    for loss in mine {
        loss.write(&mut bytes);
    }
    let parts = ranks.all_gather(&bytes)?;
    let of_rank = |part: &Vec<u8>| {
        let mut bytes = &part[..];
        std::iter::from_fn(move || ShardLoss::read(&mut bytes)).collect::<Vec<_>>()
    };
    let mut losses: Vec<ShardLoss> = parts.iter().flat_map(of_rank).collect();
    losses.sort_by_key(|loss| loss.shard);
    Ok(losses)
}

/// Returns the loss of the batch and its parts: means over the shards, in their order.
pub(super) fn combined(losses: &[ShardLoss]) -> StepOutcome {
    let mut outcome = StepOutcome::default();
    for shard in losses {
        outcome.loss += shard.weight * shard.loss;
        for (name, value) in &shard.parts {
            match outcome.parts.iter_mut().find(|(known, _)| known == name) {
                Some((_, sum)) => *sum += shard.weight * value,
                None => outcome.parts.push((name.clone(), shard.weight * value)),
            }
        }
    }
    outcome
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn losses_arrive_as_they_were_sent() {
        let losses = [0.1 + 0.2, f64::MIN_POSITIVE].map(|loss| ShardLoss {
            shard: 3,
            weight: 0.25,
            loss,
            parts: vec![("α".to_owned(), 0.5), (String::new(), -0.0)],
        });
        let mut bytes = Vec::new();
        for loss in &losses {
            loss.write(&mut bytes);
        }
        let mut rest = &bytes[..];
        let read: Vec<ShardLoss> = std::iter::from_fn(|| ShardLoss::read(&mut rest)).collect();
        assert_eq!(read, losses);
        assert_eq!(ShardLoss::read(&mut &bytes[..40]), None, "cut in the middle");
    }

    #[test]
    fn the_loss_of_a_batch_is_the_mean_of_its_shards() {
        let of =
            |weight, loss, part| ShardLoss { shard: 0, weight, loss, parts: vec![("part".to_owned(), part)] };
        let outcome = combined(&[of(0.75, 2.0, 4.0), of(0.25, 6.0, 0.0)]);
        assert_eq!((outcome.loss, &outcome.parts[..]), (3.0, &[("part".to_owned(), 3.0)][..]));
    }
}
