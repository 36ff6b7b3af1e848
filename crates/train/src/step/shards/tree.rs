//! The sum of the gradients of all shards, along a binary tree whose leaves are the shards.
//!
//! The order of the additions depends on the number of shards alone: a node is added up where its left child is, and a right child that
//! another rank has is sent there. MPI's own reductions choose an order by the number of ranks, their nodes and the library.

use super::Sharding;
use knockout_base::error::Result;
use knockout_engine::grad::Gradients;
use std::collections::BTreeMap;

/// Partial sums of the gradients of this rank's shards.
pub(super) struct GradientTree<'d> {
    sharding: &'d Sharding,
    /// Nodes by their first shard: number of shards and sum of their gradients.
    nodes: BTreeMap<usize, (usize, Gradients<f32>)>,
}

impl<'d> GradientTree<'d> {
    pub(super) fn new(sharding: &'d Sharding) -> Self {
        Self { sharding, nodes: BTreeMap::new() }
    }

    /// Adds the gradients of a shard; shards come in order.
    pub(super) fn insert(&mut self, shard: usize, gradients: Gradients<f32>) {
        let (mut start, mut span, mut sum) = (shard, 1, gradients);
        // A right child whose left sibling is complete and here.
        while !start.is_multiple_of(2 * span) {
            let Some((left_span, _)) = self.nodes.get(&(start - span)) else { break };
            if *left_span != span {
                break;
            }
            start -= span;
            let Some((_, mut left)) = self.nodes.remove(&start) else { break };
            left.add_all(&sum);
            (sum, span) = (left, 2 * span);
        }
        self.nodes.insert(start, (span, sum));
    }

    /// Adds the sum over all shards of a batch of `samples` to `total`, on every rank.
    pub(super) fn sum_into(mut self, samples: usize, total: &mut Gradients<f32>) -> Result<()> {
        let Sharding { ranks, shards, .. } = self.sharding;
        let is_empty = |shard: usize| shards.rows(samples, shard).is_empty();
        let (count, me) = (shards.count(), ranks.rank());
        let mut packed = Vec::new();
        let mut span = 1;
        while span < count {
            for left in (0..count).step_by(2 * span) {
                let right = left + span;
                if right >= count || is_empty(right) {
                    continue;
                }
                let (left_owner, right_owner) = (self.sharding.owner(left), self.sharding.owner(right));
                match (left_owner == me, right_owner == me) {
                    // A node that spans more already is done.
                    (true, true) => self.merge(left, right, span),
                    (true, false) => {
                        let Some((_, sum)) = self.nodes.get_mut(&left) else { continue };
                        packed.resize(packed_len(sum), 0.0);
                        ranks.receive_floats(right_owner, &mut packed)?;
                        add_packed(&packed, sum);
                    }
                    (false, true) => {
                        if let Some((_, sum)) = self.nodes.remove(&right) {
                            pack(&sum, &mut packed);
                            ranks.send_floats(left_owner, &packed)?;
                        }
                    }
                    (false, false) => {}
                }
            }
            span *= 2;
        }
        let root = self.nodes.remove(&0).map(|(_, sum)| sum);
        if ranks.is_alone() {
            if let Some(root) = root {
                total.add_all(&root);
            }
            return Ok(());
        }
        packed.resize(packed_len(total), 0.0);
        if let Some(root) = root {
            pack(&root, &mut packed);
        }
        ranks.broadcast_floats(&mut packed)?;
        add_packed(&packed, total);
        Ok(())
    }

    /// Adds a right child to its left sibling, unless that was done when it was inserted.
    fn merge(&mut self, left: usize, right: usize, span: usize) {
        if self.nodes.get(&left).is_some_and(|(spans, _)| *spans > span) {
            return;
        }
        let Some((_, other)) = self.nodes.remove(&right) else { return };
        if let Some((spans, sum)) = self.nodes.get_mut(&left) {
            sum.add_all(&other);
            *spans = 2 * span;
        }
    }
}

fn packed_len(gradients: &Gradients<f32>) -> usize {
    (0..gradients.parameter_count()).map(|index| gradients.parameter(index).len()).sum()
}

/// Returns all gradients one after the other, as one message.
fn pack(gradients: &Gradients<f32>, packed: &mut Vec<f32>) {
    packed.clear();
    for index in 0..gradients.parameter_count() {
        packed.extend_from_slice(gradients.parameter(index));
    }
}

fn add_packed(packed: &[f32], sum: &mut Gradients<f32>) {
    let mut rest = packed;
    for index in 0..sum.parameter_count() {
        let slots = sum.parameter_mut(index);
        let (values, after) = rest.split_at(slots.len());
        slots.iter_mut().zip(values).for_each(|(slot, value)| *slot += value);
        rest = after;
    }
}
