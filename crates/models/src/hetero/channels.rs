//! Neighbour sums of one network or of several channels side by side: a row has one sum for each.

use super::deletion::DeletedEdges;
use super::fanout::Edges;
use super::plan::LayerPlan;
use super::propagate::Propagation;
use knockout_engine::kernel::{Buffer, Pool, Scalar};
use rayon::prelude::*;
use std::sync::Arc;

/// `sums_i = [self_weight · x_i + Σ over edges j→i of channel c, both ends kept, of x_j] for each channel c`.
///
/// `x: [rows of the input stage, width]`, `sums: [genes + own rows of the network, channels · width]`. All channels have the rows of
/// the network that they are the edge types of.
#[derive(Clone)]
pub(super) struct ChannelSums<'a> {
    channels: Vec<Propagation<'a>>,
}

impl<'a> ChannelSums<'a> {
    pub(super) fn new(
        (edges, k): (&[Edges<'a>], usize),
        plan: &Arc<LayerPlan>,
        deletion: &Arc<DeletedEdges>,
    ) -> Self {
        Self { channels: edges.iter().map(|edges| Propagation::new((edges, k), plan, deletion)).collect() }
    }

    /// Returns the sums of every row of the network; `width` is that of a channel.
    pub(super) fn forward<T: Scalar>(
        &self,
        x: &[T],
        self_weight: T,
        width: usize,
        pool: &Pool<T>,
    ) -> Buffer<T> {
        if let [only] = &self.channels[..] {
            return only.forward(x, self_weight, width, pool);
        }
        let mut beside: Option<Buffer<T>> = None;
        let all = self.channels.len() * width;
        for (at, channel) in self.channels.iter().enumerate() {
            let sums = channel.forward(x, self_weight, width, pool);
            let beside = beside.get_or_insert_with(|| pool.scratch(sums.len() * self.channels.len()));
            beside.par_chunks_mut(all).zip(sums.par_chunks(width)).for_each(|(row, sums)| {
                row[at * width..(at + 1) * width].copy_from_slice(sums);
            });
        }
        beside.expect("a network has a channel")
    }

    /// Adds to `d_x`, given the gradient of the sums; returns the gradient of the self weight.
    pub(super) fn backward<T: Scalar>(
        &self,
        x: &[T],
        self_weight: T,
        width: usize,
        d_sums: &[T],
        d_x: &mut [T],
        pool: &Pool<T>,
    ) -> f64 {
        if let [only] = &self.channels[..] {
            return only.backward(x, self_weight, width, d_sums, d_x, pool);
        }
        let all = self.channels.len() * width;
        let mut d_self_weight = 0.0;
        let mut part = pool.scratch(d_sums.len() / self.channels.len());
        for (at, channel) in self.channels.iter().enumerate() {
            part.par_chunks_mut(width).zip(d_sums.par_chunks(all)).for_each(|(part, row)| {
                part.copy_from_slice(&row[at * width..(at + 1) * width]);
            });
            d_self_weight += channel.backward(x, self_weight, width, &part, d_x, pool);
        }
        d_self_weight
    }
}
