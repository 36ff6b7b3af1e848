//! A loss that couples samples, over shards: computed by every rank from the rows of all samples.

use super::outcome::ShardLoss;
use super::tree::GradientTree;
use super::{WaitingShard, weight};
use crate::step::Mode;
use knockout_base::error::Result;
use knockout_engine::grad::{Gradients, Observer, Tape, Var};
use knockout_models::{LossPosition, Model};
use knockout_ranks::{Ranks, wrong_length};
use knockout_trace::meter::{Meter, StepPhase};
use std::cell::RefCell;

/// The rows of all samples of a batch, in their order.
struct AllRows {
    /// By kind of row.
    rows: Vec<Vec<f32>>,
    targets: Vec<f32>,
}

/// A coupled loss of one step.
pub(super) struct Coupled<'a> {
    pub(super) model: &'a dyn Model,
    pub(super) at: LossPosition,
    pub(super) mode: Mode,
    pub(super) observer: Option<&'a dyn Observer>,
}

impl<'a> Coupled<'a> {
    /// Computes the loss of all samples, and the gradients of this rank's shards where the mode wants them.
    pub(super) fn finish(
        &self,
        waiting: Vec<WaitingShard<'a>>,
        samples: usize,
        ranks: &Ranks,
        meter: &mut Meter,
        losses: &mut Vec<ShardLoss>,
        tree: &mut GradientTree<'_>,
    ) -> Result<()> {
        let mine: Vec<(Vec<Var>, &WaitingShard<'a>)> =
            waiting.iter().map(|shard| (self.model.coupled_rows(&shard.forward), shard)).collect();
        let all = meter.time(StepPhase::Barrier, || gather_rows(&mine, ranks))?;
        let (loss, slopes) = meter.time(StepPhase::Loss, || self.loss_and_slopes(&all))?;
        if ranks.is_first() {
            losses.push(loss);
        }
        for WaitingShard { mut tape, forward, position, targets } in waiting {
            let rest = self.model.loss_without_samples(&mut tape, &forward, self.at);
            let weight = weight(position, targets);
            if let Some(rest) = &rest {
                losses.push(ShardLoss::of(&tape, rest, position.shard, weight, self.at)?);
            }
            if self.mode < Mode::Backward {
                continue;
            }
            let vars = self.model.coupled_rows(&forward);
            let of_shard = |slope: &[f32]| {
                let width = slope.len() / samples;
                position.first_sample * width..(position.first_sample + targets.len()) * width
            };
            let seed = [weight as f32];
            let mut seeds: Vec<(Var, &[f32])> =
                vars.iter().zip(&slopes).map(|(var, slope)| (*var, &slope[of_shard(slope)])).collect();
            seeds.extend(rest.iter().map(|rest| (rest.total, &seed[..])));
            let mut gradients = Gradients::zeros(self.model.parameters());
            meter.time(StepPhase::Backward, || tape.backward_from(&seeds, &mut gradients));
            tree.insert(position.shard, gradients);
        }
        Ok(())
    }

    /// Computes the loss of all samples, and its gradients with respect to their rows.
    fn loss_and_slopes(&self, all: &AllRows) -> Result<(ShardLoss, Vec<Vec<f32>>)> {
        let slopes: Vec<RefCell<Vec<f32>>> =
            all.rows.iter().map(|rows| RefCell::new(vec![0.0; rows.len()])).collect();
        let mut tape = Tape::new(self.model.parameters()).observed(self.observer);
        let vars: Vec<Var> = all
            .rows
            .iter()
            .zip(&slopes)
            .map(|(rows, slope)| {
                tape.op(
                    "loss.rows",
                    rows.len(),
                    |_, out| out.copy_from_slice(rows),
                    |step, (), _| slope.borrow_mut().copy_from_slice(step.gradient),
                )
            })
            .collect();
        let loss = self.model.loss_of_rows(&mut tape, &vars, &all.targets, self.at);
        let value = ShardLoss::of(&tape, &loss, 0, 1.0, self.at)?;
        if self.mode >= Mode::Backward {
            // Parameters enter the loss only through the rows.
            tape.backward(loss.total, &mut Gradients::zeros(self.model.parameters()));
        } else {
            drop(tape);
        }
        Ok((value, slopes.into_iter().map(RefCell::into_inner).collect()))
    }
}

/// Puts the rows of all shards of all ranks together: shards are in the order of their samples, and ranks have consecutive ones.
fn gather_rows(mine: &[(Vec<Var>, &WaitingShard<'_>)], ranks: &Ranks) -> Result<AllRows> {
    let kinds = mine.iter().map(|(vars, _)| vars.len()).max().unwrap_or(0);
    let mut parts: Vec<Vec<f32>> = vec![Vec::new(); kinds + 1];
    for (vars, shard) in mine {
        parts[kinds].extend_from_slice(shard.targets);
        for (part, var) in parts.iter_mut().zip(vars) {
            part.extend_from_slice(shard.tape.value(*var));
        }
    }
    if !ranks.is_alone() {
        parts = all_parts(&parts, ranks)?;
    }
    let targets = parts.pop().unwrap_or_default();
    Ok(AllRows { rows: parts, targets })
}

/// The parts of all ranks, each joined in the order of the ranks. A rank without samples sends nothing.
fn all_parts(mine: &[Vec<f32>], ranks: &Ranks) -> Result<Vec<Vec<f32>>> {
    let mut bytes = Vec::new();
    if mine.len() > 1 {
        for part in mine {
            bytes.extend((part.len() as u64).to_le_bytes());
            bytes.extend(part.iter().flat_map(|value| value.to_le_bytes()));
        }
    }
    let mut joined: Vec<Vec<f32>> = Vec::new();
    for (rank, message) in ranks.all_gather(&bytes)?.iter().enumerate() {
        let mut rest = &message[..];
        let mut part = 0;
        while !rest.is_empty() {
            let cut = || wrong_length(rank, message.len(), message.len() + 1);
            let (length, after) = rest.split_first_chunk::<8>().ok_or_else(cut)?;
            let length = u64::from_le_bytes(*length) as usize;
            let (values, after) = after.split_at_checked(length.saturating_mul(4)).ok_or_else(cut)?;
            if joined.len() == part {
                joined.push(Vec::new());
            }
            joined[part].extend(values.as_chunks::<4>().0.iter().map(|bytes| f32::from_le_bytes(*bytes)));
            (rest, part) = (after, part + 1);
        }
    }
    Ok(joined)
}
