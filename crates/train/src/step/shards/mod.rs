//! A step whose batch is cut into shards, on one rank or on several: the same bits for any number of ranks.
//!
//! Every rank computes the gradients of its shards; they are added up along a binary tree over the shards ([`tree`]), which does not depend on
//! the rank that computed them, and all ranks take the same step of the optimiser. A loss that couples samples is computed on all ranks from the rows of
//! all samples ([`rows`]), and its gradients continue in each shard.

mod outcome;
mod rows;
mod tree;

use super::{Mode, Spans, StepOutcome, StepPlan, Trainer};
use crate::config::GatherEvery;
use crate::loader::{EpochBatches, ShardPosition, Shards};
use crate::schedule::GroupEnd;
use knockout_base::error::{Error, Result};
use knockout_data::cell::GeneSets;
use knockout_engine::grad::{Gradients, Observer, Tape};
use knockout_models::{Forward, Input, LossPosition, Model, ShardAt};
use knockout_ranks::Ranks;
use knockout_trace::meter::{Meter, StepPhase};
use outcome::ShardLoss;
use rows::Coupled;
use std::cell::OnceCell;
use tree::GradientTree;

/// How batches are cut into shards, and which rank computes which.
#[derive(Debug, Clone)]
pub(crate) struct Sharding {
    pub(crate) ranks: Ranks,
    pub(crate) shards: Shards,
    pub(crate) gather_every: GatherEvery,
}

impl Sharding {
    /// The shards of one rank; every rank must have one.
    pub(crate) fn new(count: usize, gather_every: GatherEvery, ranks: Ranks) -> Result<Self> {
        if ranks.size() > count {
            let ranks = ranks.size();
            return Err(Error::request(format!(
                "{ranks} ranks share the work of {count} shard(s): set train.shards={ranks} or a multiple of it. It is a part of what \
                 the run is: a run with train.shards={ranks} then gives the same weights on any number of ranks up to {ranks}"
            )));
        }
        Ok(Self { shards: Shards::of_rank(count, ranks.rank(), ranks.size()), gather_every, ranks })
    }

    /// Whether batches are taken as they are.
    pub(crate) fn is_whole(&self) -> bool {
        self.shards.count() == 1
    }

    /// The rank that computes a shard.
    fn owner(&self, shard: usize) -> usize {
        let (count, size) = (self.shards.count(), self.ranks.size());
        (0..size).find(|&rank| Shards::of_rank(count, rank, size).owned().contains(&shard)).unwrap_or(0)
    }
}

/// The samples of a shard, kept as long as its tape.
#[derive(Default)]
struct ShardSamples {
    sets: OnceCell<GeneSets>,
    targets: OnceCell<Vec<f32>>,
}

/// A shard whose loss waits for the rows of the others.
struct WaitingShard<'a> {
    tape: Tape<'a, f32>,
    forward: Forward,
    position: ShardPosition,
    targets: &'a [f32],
}

/// Outcome of a step, and the size of its batch.
pub(crate) struct StepResult {
    pub(crate) outcome: StepOutcome,
    /// Samples of the whole batch.
    pub(crate) samples: usize,
}

impl Trainer {
    /// Takes the next batch of an epoch as far as the mode goes; `None` when the epoch has no more.
    pub(crate) fn step_in_shards(
        &mut self,
        model: &mut dyn Model,
        batches: &mut EpochBatches,
        plan: StepPlan,
        sharding: &Sharding,
        meter: &mut Meter,
    ) -> Result<Option<StepResult>> {
        let owned = sharding.shards.owned().len();
        let gathers = model.couples_samples() && sharding.gather_every.is_due(plan.at.step);
        let held: Vec<ShardSamples> = (0..owned).map(|_| ShardSamples::default()).collect();
        let spans = Spans::new(meter.recorder().clone());
        let observer = spans.as_ref().map(|spans| spans as &dyn Observer);
        let (mut losses, mut waiting, mut samples) = (Vec::new(), Vec::new(), 0);
        let mut tree = GradientTree::new(sharding);
        for held in &held {
            let Some(loaded) = batches.next_batch()? else { return Ok(None) };
            meter.load(loaded.times());
            let (position, batch) = (loaded.position(), loaded.batch());
            samples = position.batch_samples;
            if plan.mode == Mode::Data || batch.is_empty() {
                continue;
            }
            let sets = held.sets.get_or_init(|| batch.genes.clone()).view();
            let standardised = || batch.scores.iter().map(|&score| plan.labels.standardise(score) as f32);
            let targets = held.targets.get_or_init(|| standardised().collect());
            let at = LossPosition { shard: shard_at(position), ..plan.at };
            let mut tape = Tape::new(model.parameters()).observed(observer);
            let input = Input { sets, graphs: &loaded.graphs(), training: Some(at) };
            let forward = meter.time(StepPhase::Forward, || model.forward(&mut tape, input));
            if gathers {
                waiting.push(WaitingShard { tape, forward, position, targets });
                continue;
            }
            let loss = meter.time(StepPhase::Loss, || model.loss(&mut tape, &forward, targets, at));
            let weight = weight(position, targets);
            losses.push(ShardLoss::of(&tape, &loss, position.shard, weight, plan.at)?);
            if plan.mode >= Mode::Backward {
                let mut gradients = Gradients::zeros(model.parameters());
                meter.time(StepPhase::Backward, || {
                    tape.backward_from(&[(loss.total, &[weight as f32])], &mut gradients);
                });
                tree.insert(position.shard, gradients);
            }
        }
        if plan.mode == Mode::Data {
            // A batch is loaded when the slowest rank has its part. Without this barrier, ranks would drift apart.
            meter.time(StepPhase::Barrier, || sharding.ranks.any(false))?;
            return Ok(Some(StepResult { outcome: StepOutcome::default(), samples }));
        }
        let coupled = Coupled { model: &*model, at: plan.at, mode: plan.mode, observer };
        if gathers {
            coupled.finish(waiting, samples, &sharding.ranks, meter, &mut losses, &mut tree)?;
        } else {
            drop(waiting);
        }
        let ranks = &sharding.ranks;
        let losses = meter.time(StepPhase::Barrier, || outcome::gather_losses(&losses, ranks))?;
        let mut outcome = outcome::combined(&losses);
        if plan.mode == Mode::Forward {
            return Ok(Some(StepResult { outcome, samples }));
        }
        meter.time(StepPhase::Exchange, || -> Result<()> {
            if plan.begins_group {
                self.gradients.clear();
            }
            tree.sum_into(samples, &mut self.gradients)
        })?;
        if plan.mode == Mode::Full && plan.group.ends != GroupEnd::Accumulate {
            outcome.gradient_norm = Some(self.update(model, plan, meter)?);
        }
        Ok(Some(StepResult { outcome, samples }))
    }
}

fn shard_at(position: ShardPosition) -> ShardAt {
    ShardAt {
        first_sample: position.first_sample as u32,
        first_member: position.first_member as u32,
        is_part: true,
    }
}

/// Returns the weight of a shard's mean loss in that of the batch: its share of the samples that have a score.
fn weight(position: ShardPosition, targets: &[f32]) -> f64 {
    let scored = targets.iter().filter(|target| !target.is_nan()).count();
    match position.batch_scored {
        0 => targets.len() as f64 / position.batch_samples as f64,
        all => scored as f64 / all as f64,
    }
}
