//! How many batches make one step of the optimiser, by epoch.

use super::refuse;
use knockout_base::error::Result;
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;

/// Batches per step from an epoch on. The last entry whose epoch has begun applies; 1 before the first.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct Accumulation {
    steps: BTreeMap<u32, u32>,
}

/// The position of a batch in its group of accumulated batches.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct AccumulationGroup {
    /// Batches in the group: what the gradient is divided by. The last group of an epoch may be smaller, and is divided by
    /// its own size.
    pub batches: u32,
    /// Whether the optimiser steps after this batch.
    pub ends: GroupEnd,
}

/// The action after a batch.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum GroupEnd {
    /// More batches of the group.
    Accumulate,
    /// A step of the optimiser.
    Step,
}

impl Accumulation {
    /// From `{epoch: batches}`.
    pub fn new(steps: BTreeMap<u32, u32>) -> Result<Self> {
        if let Some((epoch, _)) = steps.iter().find(|&(_, &batches)| batches == 0) {
            refuse("accumulation", format!("0 from epoch {epoch}"), "at least one batch makes a step")?;
        }
        Ok(Self { steps })
    }

    /// Batches per step in an epoch.
    pub(crate) fn batches_at(&self, epoch: u32) -> u32 {
        self.steps.range(..=epoch).next_back().map_or(1, |(_, &batches)| batches)
    }

    /// Returns the group of a batch (from 0) of an epoch that has `batches` in all.
    pub fn group(&self, epoch: u32, batch: u32, batches: u32) -> AccumulationGroup {
        let full = self.batches_at(epoch);
        let start = batch / full * full;
        let size = full.min(batches.saturating_sub(start)).max(1);
        let ends = if batch - start + 1 == size { GroupEnd::Step } else { GroupEnd::Accumulate };
        AccumulationGroup { batches: size, ends }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_last_threshold_that_has_come_applies() {
        let accumulation = Accumulation::new([(2, 4), (5, 8)].into()).unwrap();
        assert_eq!([0, 1, 2, 4, 5, 99].map(|epoch| accumulation.batches_at(epoch)), [1, 1, 4, 4, 8, 8]);
        assert_eq!(Accumulation::default().batches_at(3), 1);
    }

    #[test]
    fn an_incomplete_group_is_applied_with_its_own_divisor() {
        let accumulation = Accumulation::new([(0, 3)].into()).unwrap();
        let groups: Vec<(u32, GroupEnd)> = (0..8)
            .map(|batch| accumulation.group(0, batch, 8))
            .map(|group| (group.batches, group.ends))
            .collect();
        let (more, step) = (GroupEnd::Accumulate, GroupEnd::Step);
        assert_eq!(
            groups,
            [(3, more), (3, more), (3, step), (3, more), (3, more), (3, step), (2, more), (2, step)]
        );
    }

    #[test]
    fn no_batch_makes_no_step() {
        let error = Accumulation::new([(7, 0)].into()).unwrap_err();
        assert!(error.to_string().contains("0 from epoch 7"), "{error}");
    }
}
