"""Gene sets as tensors, and the rows that they change: everything of a batch that depends on values.

A plan is made on the CPU, in a loader's worker process if there is one, and then moved. Its shapes are known to the host, so a step on a
GPU waits for nothing.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy
import torch
from numpy.typing import NDArray
from torch import Tensor

from .. import _knockout
from ..errors import RequestError

#: Sample and gene indices of rows, ordered by sample, then gene.
RowIndices = tuple[Tensor, Tensor]


@dataclass
class Plan:
    """A batch of gene sets."""

    #: Genes of the members, `[sets, largest set]`, 0 after the last.
    index: Tensor
    #: True at members, `[sets, largest set]`.
    mask: Tensor
    #: Genes of all members, and the set of each.
    genes: Tensor
    owners: Tensor
    #: Position of a member among all members of the batch, `[sets, largest set]`.
    positions: Tensor
    #: Rows that differ from the wild type's, before the first layer and after each; empty for models without such rows.
    changes: list[RowIndices] = field(default_factory=list)
    #: By layer and network, the number of edges that leave the changed rows.
    edges: list[list[int]] = field(default_factory=list)

    @property
    def count(self) -> int:
        """Number of sets."""
        # Not `len`, which makes a number of a dimension that is symbolic in an exported graph.
        return self.mask.shape[0]

    def deleted(self, gene_count: int) -> Tensor:
        """Returns the mask of deleted genes, `[sets, genes]`."""
        mask = torch.zeros(self.count, gene_count, dtype=torch.bool, device=self.genes.device)
        return mask.index_put((self.owners, self.genes), mask.new_ones(()))

    def moved(self, how: Callable[[Tensor], Tensor]) -> Plan:
        """Returns a plan of other tensors."""
        changes = [(how(sample), how(gene)) for sample, gene in self.changes]
        return Plan(how(self.index), how(self.mask), how(self.genes), how(self.owners), how(self.positions), changes, self.edges)

    def to(self, device: Any, non_blocking: bool = False) -> Plan:
        """Moves the plan to a device."""
        return self.moved(lambda tensor: tensor.to(device, non_blocking=non_blocking))

    def pin_memory(self) -> Plan:
        """Copies the plan to pinned memory; `DataLoader(pin_memory=True)` calls it."""
        return self.moved(Tensor.pin_memory)


class Planner:
    """Plans batches for a model. It can be pickled and holds no parameters, so that worker processes can plan."""

    def __init__(self, gene_count: int, layers: int = 0) -> None:
        self.gene_count = gene_count
        self.layers = layers
        #: Whether all rows are computed.
        self.everything = False
        none = numpy.zeros(0, dtype=numpy.int64)
        self.sizes = [gene_count, 0, 0]
        self.passes: list[tuple[NDArray[Any], NDArray[Any]]] = [(none, none)] * 3
        #: Row offsets of the outgoing edges of each network.
        self.starts: list[NDArray[Any]] = []

    def add_networks(self, networks: Sequence[tuple[NDArray[Any], NDArray[Any]]], starts: list[NDArray[Any]]) -> None:
        """Adds the edges of gene networks: a row is reached if any of them does."""
        keys = [sources.astype(numpy.int64) * self.gene_count + targets for sources, targets in networks]
        distinct = numpy.unique(numpy.concatenate(keys))
        self.passes[0] = (distinct // self.gene_count, distinct % self.gene_count)
        self.starts = starts

    def __call__(self, genes: Any, offsets: Any) -> Plan:
        """Plans sets; refuses genes that do not exist, sets without a gene and genes that are twice in a set."""
        genes, offsets = (numpy.ascontiguousarray(_integers(name, of)) for name, of in (("genes", genes), ("offsets", offsets)))
        lengths = _checked(genes, offsets, self.gene_count)
        most = int(lengths.max()) if len(lengths) else 0
        slots = numpy.arange(most)
        mask = slots < lengths[:, None]
        positions = numpy.where(mask, offsets[:-1, None] + slots, 0)
        index = numpy.where(mask, genes[positions] if len(genes) else 0, 0)
        _check_members(index, mask)
        owners = numpy.repeat(numpy.arange(len(lengths)), lengths)
        changes = self._changes(genes, offsets)
        edges = [[int((starts[gene + 1] - starts[gene]).sum()) for starts in self.starts] for _, gene in changes[:-1]]
        tensor = torch.from_numpy
        changed = [(tensor(sample), tensor(gene)) for sample, gene in changes]
        return Plan(tensor(index), tensor(mask), tensor(genes), tensor(owners), tensor(positions), changed, edges)

    def _changes(self, genes: NDArray[Any], offsets: NDArray[Any]) -> list[tuple[NDArray[Any], NDArray[Any]]]:
        if self.layers == 0:
            return []
        if self.everything:
            count = len(offsets) - 1
            every = (numpy.repeat(numpy.arange(count), self.gene_count), numpy.tile(numpy.arange(self.gene_count), count))
            return [every] * (self.layers + 1)
        edges, needs, turns = self.passes
        return _knockout.changed_rows(self.sizes, edges, needs, turns, self.layers, genes, offsets)


def _integers(name: str, values: Any) -> NDArray[numpy.int64]:
    array = values.cpu().numpy() if isinstance(values, Tensor) else numpy.asarray(values)
    if array.dtype.kind not in "iu" or array.ndim != 1:
        raise RequestError(f"{name} must be a vector of integers, not {array.dtype} of {array.ndim} dimensions")
    return array.astype(numpy.int64, copy=False)


def _checked(genes: NDArray[Any], offsets: NDArray[Any], gene_count: int) -> NDArray[Any]:
    """Returns the lengths of the sets."""
    if not len(offsets) or offsets[0] != 0 or offsets[-1] != len(genes) or (numpy.diff(offsets) < 0).any():
        raise RequestError("offsets must start at 0, never fall and end at the number of genes")
    if len(genes) and genes.min() < 0:
        raise RequestError("rows of the gene table count from 0")
    if len(genes) and genes.max() >= gene_count:
        raise RequestError(f"gene {genes.max()} does not exist; the model has {gene_count} genes")
    lengths = numpy.diff(offsets)
    if (lengths == 0).any():
        raise RequestError(f"set {int(numpy.argmin(lengths))} has no gene")
    return lengths


def _check_members(index: NDArray[Any], mask: NDArray[Any]) -> None:
    # What is not a member gets a number of its own.
    members = numpy.sort(numpy.where(mask, index, -1 - numpy.arange(index.shape[1])), axis=1)
    twice = (members[:, 1:] == members[:, :-1]).any(axis=1) if members.shape[1] > 1 else numpy.zeros(len(index), dtype=bool)
    if twice.any():
        at = int(numpy.argmax(twice))
        row = members[at]
        raise RequestError(f"set {at} has gene {int(row[1:][row[1:] == row[:-1]][0])} twice")
