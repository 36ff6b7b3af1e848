//! Collectives of one rank, and how much data the algorithms of NCCL move for them.

use serde::Serialize;
use std::sync::Arc;

/// Communication events of one rank by start.
#[derive(Debug, Clone, Default)]
pub struct CollectiveTable {
    /// Events by start.
    pub rows: Vec<CollectiveRow>,
    /// Events that were not kept because there were too many.
    pub left_out: u64,
}

/// One communication event of a rank.
#[derive(Debug, Clone)]
pub struct CollectiveRow {
    /// Operation.
    pub kind: CollectiveKind,
    /// Name of the process group; empty where the trace names none.
    pub group: Arc<str>,
    /// Start on the clock of the rank.
    pub start_nanos: i64,
    /// End on the clock of the rank.
    pub end_nanos: i64,
    /// Number of the collective in its group.
    pub sequence: Option<i64>,
    /// Ranks of the group.
    pub group_size: Option<u64>,
    /// Bytes of the input tensors of the rank.
    pub bytes_in: Option<u64>,
    /// Bytes of the output tensors of the rank.
    pub bytes_out: Option<u64>,
}

/// Operation of a collective.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum CollectiveKind {
    /// Every rank has the sum.
    AllReduce,
    /// Every rank has the parts of all.
    AllGather,
    /// Every rank has its part of the sum.
    ReduceScatter,
    /// Every rank sends a part to every other.
    AllToAll,
    /// One rank sends to all.
    Broadcast,
    /// One rank has the sum.
    Reduce,
    /// Ranks wait for each other.
    Barrier,
    /// `SendRecv` kernels without a name: an all-to-all, or pairs of ranks.
    Exchange,
    /// A message between two ranks, which is not a collective.
    PointToPoint,
    /// Anything else.
    Other,
}

impl CollectiveKind {
    /// Returns the operation by the name of a collective or of its kernel.
    pub(crate) fn of(name: &str) -> Self {
        // The arguments of a kernel may name other operations.
        let name = name.split(['(', '<']).next().unwrap_or(name);
        let name: String = name.chars().filter(char::is_ascii_alphanumeric).collect();
        let name = name.to_ascii_lowercase();
        let is = |word: &str| name.contains(word);
        if is("allreduce") || is("crossdevicereduce") {
            Self::AllReduce
        } else if is("allgather") {
            Self::AllGather
        } else if is("reducescatter") {
            Self::ReduceScatter
        } else if is("alltoall") || is("all2all") {
            Self::AllToAll
        } else if is("broadcast") {
            Self::Broadcast
        } else if is("barrier") {
            Self::Barrier
        } else if is("sendrecv") {
            Self::Exchange
        } else if is("send") || is("recv") {
            Self::PointToPoint
        } else if is("reduce") {
            Self::Reduce
        } else {
            Self::Other
        }
    }

    /// Whether no rank can finish before all have arrived.
    pub(crate) fn ends_together(self) -> bool {
        matches!(
            self,
            Self::AllReduce
                | Self::AllGather
                | Self::ReduceScatter
                | Self::AllToAll
                | Self::Barrier
                | Self::Exchange
        )
    }

    /// Returns the size of a message as nccl-tests counts it: the whole vector, not one rank's part of it.
    pub(crate) fn message_bytes(self, bytes_in: Option<u64>, bytes_out: Option<u64>) -> Option<u64> {
        match self {
            Self::AllGather => bytes_out,
            _ => bytes_in,
        }
    }

    /// Returns the factor from algorithm bandwidth to bus bandwidth for `ranks` ranks, as nccl-tests defines it.
    pub(crate) fn bus_factor(self, ranks: u64) -> Option<f64> {
        let ranks = ranks as f64;
        match self {
            Self::AllReduce => Some(2.0 * (ranks - 1.0) / ranks),
            Self::AllGather | Self::ReduceScatter | Self::AllToAll => Some((ranks - 1.0) / ranks),
            Self::Broadcast | Self::Reduce => Some(1.0),
            Self::Barrier | Self::Exchange | Self::PointToPoint | Self::Other => None,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_of_collectives_and_of_kernels_give_the_operation() {
        for (name, kind) in [
            ("allreduce", CollectiveKind::AllReduce),
            ("_allgather_base", CollectiveKind::AllGather),
            ("_reduce_scatter_base", CollectiveKind::ReduceScatter),
            ("all_to_allv", CollectiveKind::AllToAll),
            (
                "ncclDevKernel_AllReduce_Sum_f32_RING_LL(ncclDevKernelArgsStorage<4096ul>)",
                CollectiveKind::AllReduce,
            ),
            ("ncclKernel_SendRecv_RING_SIMPLE_Sum_int8_t(ncclDevComm*)", CollectiveKind::Exchange),
            (
                "void vllm::cross_device_reduce_1stage<__nv_bfloat16, 8>(vllm::RankData*)",
                CollectiveKind::AllReduce,
            ),
            ("send", CollectiveKind::PointToPoint),
            ("reduce", CollectiveKind::Reduce),
            ("deep_ep::internode::dispatch<false>", CollectiveKind::Other),
        ] {
            assert_eq!(CollectiveKind::of(name), kind, "{name}");
        }
    }

    /// nccl-tests' doc/PERFORMANCE.md.
    #[test]
    fn bus_bandwidth_follows_nccl_tests() {
        assert_eq!(CollectiveKind::AllReduce.bus_factor(8), Some(1.75));
        assert_eq!(CollectiveKind::AllGather.bus_factor(8), Some(0.875));
        assert_eq!(CollectiveKind::Broadcast.bus_factor(8), Some(1.0));
        assert_eq!(CollectiveKind::AllGather.message_bytes(Some(1), Some(8)), Some(8));
        assert_eq!(CollectiveKind::ReduceScatter.message_bytes(Some(8), Some(1)), Some(8));
    }
}
