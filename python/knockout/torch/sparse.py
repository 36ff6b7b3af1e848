"""Sparse products over one shared adjacency. Independent of genes and models.

The products are custom operators, which are opaque to `torch.compile`: it does not support sparse tensors.
"""

from __future__ import annotations

import warnings
from typing import Any

import numpy
import torch
from numpy.typing import NDArray
from torch import Tensor, nn

# PyTorch warns once per process that CSR tensors are in beta; only their products are used here.
warnings.filterwarnings("ignore", message="Sparse CSR tensor support is in beta", category=UserWarning)

#: Edges per block of `products`.
EDGES_AT_ONCE = 1 << 16


def _csr(
    rows: NDArray[Any], columns: NDArray[Any], values: NDArray[Any], shape: tuple[int, int]
) -> tuple[NDArray[Any], NDArray[Any], NDArray[Any]]:
    """Returns the distinct entries by row, then column: row offsets, columns and sums of values."""
    keys, entry = numpy.unique(rows.astype(numpy.int64) * shape[1] + columns.astype(numpy.int64), return_inverse=True)
    starts = numpy.zeros(shape[0] + 1, dtype=numpy.int64)
    numpy.cumsum(numpy.bincount(keys // shape[1], minlength=shape[0]), out=starts[1:])
    return starts, keys % shape[1], numpy.bincount(entry, values, minlength=len(keys))


class Incidence(nn.Module):
    """Weighted edges from `sizes[0]` sources to `sizes[1]` targets. The arrays move with the module and are not part of its state."""

    def __init__(self, sources: NDArray[Any], targets: NDArray[Any], weights: NDArray[Any], sizes: tuple[int, int]) -> None:
        super().__init__()
        self.sizes = sizes
        self.edge_count = len(sources)
        both = {"incoming": (targets, sources, sizes[::-1]), "outgoing": (sources, targets, sizes)}
        for name, (rows, columns, shape) in both.items():
            starts, columns, values = _csr(rows, columns, weights, shape)
            self._keep(f"{name}_starts", starts)
            self._keep(f"{name}_columns", columns)
            self._keep(f"{name}_weights", _real(values))

    def extra_repr(self) -> str:
        return f"{self.sizes[0]} to {self.sizes[1]} nodes, {self.edge_count} edges"

    def _keep(self, name: str, values: NDArray[Any]) -> None:
        self.register_buffer(name, torch.from_numpy(numpy.ascontiguousarray(values)), persistent=False)

    def product(self, side: str, values: Tensor, x: Tensor) -> Tensor:
        """Returns the product of the `incoming` or `outgoing` matrix, with the given entries, and `x` `[nodes, width]`."""
        return _product(getattr(self, f"{side}_starts"), getattr(self, f"{side}_columns"), values, x)

    def sums(self, x: Tensor) -> Tensor:
        """Returns the weighted sum over incoming edges of `x` `[sources, …]`, `[targets, …]`."""
        flat = x.reshape(self.sizes[0], -1)
        # Not every backend has sparse products in half precision, and sums over many neighbours need more precision anyway.
        return _Sums.apply(_wide(flat), self).to(x.dtype).reshape(self.sizes[1], *x.shape[1:])


class Adjacency(Incidence):
    """Directed edges over `size` nodes, with multiplicity; messages flow from source to target."""

    def __init__(self, sources: NDArray[Any], targets: NDArray[Any], size: int) -> None:
        super().__init__(sources, targets, numpy.ones(len(sources)), (size, size))
        # Rows of the outgoing entries, and the permutation from outgoing to incoming order.
        rows = numpy.repeat(numpy.arange(size), numpy.diff(self.outgoing_starts.numpy()))
        self._keep("outgoing_rows", rows)
        self._keep("from_outgoing", numpy.lexsort((rows, self.outgoing_columns.numpy())))
        degrees = numpy.bincount(numpy.asarray(targets, dtype=numpy.int64), minlength=size)
        self._keep("degrees", _real(numpy.maximum(degrees, 1)))

    def means(self, x: Tensor) -> Tensor:
        """Returns the mean over incoming edges of `x` `[nodes, width]`; 0 without edges."""
        return self.sums(x) / self.degrees.to(x.dtype).unsqueeze(-1)

    def products(self, left: Tensor, right: Tensor) -> Tensor:
        """Returns `left[s] · right[t]` for every distinct edge s → t, in the order of `outgoing_*`."""
        return _Products.apply(_wide(left), _wide(right), self)

    def leaving(self, nodes: Tensor, count: int) -> tuple[Tensor, Tensor, Tensor]:
        """Returns the distinct edges that leave some nodes, `count` in all: the index into `nodes`, the target and the multiplicity."""
        begin = self.outgoing_starts[nodes]
        lengths = self.outgoing_starts[nodes + 1] - begin
        index = torch.repeat_interleave(torch.arange(len(nodes), device=nodes.device), lengths, output_size=count)
        first = lengths.cumsum(0) - lengths
        edge = torch.arange(count, device=nodes.device) - first[index] + begin[index]
        return index, self.outgoing_columns[edge], self.outgoing_weights[edge]


def _real(values: NDArray[Any]) -> NDArray[Any]:
    """Returns values in the precision in which PyTorch creates tensors."""
    return values.astype(torch.empty(0).numpy().dtype)


def _wide(x: Tensor) -> Tensor:
    return x if x.dtype in (torch.float32, torch.float64) else x.float()


def _exactly(x: Tensor) -> Any:
    """Disables autocast, which would use half precision for sparse products."""
    return torch.autocast(x.device.type, enabled=False)


@torch.library.custom_op("knockout::sparse_product", mutates_args=())
def _product(starts: Tensor, columns: Tensor, values: Tensor, x: Tensor) -> Tensor:
    """Returns the product of a CSR matrix and a dense matrix."""
    with _exactly(x):
        return torch.sparse_csr_tensor(starts, columns, values, (len(starts) - 1, len(x)), check_invariants=False) @ x


@_product.register_fake
def _(starts: Tensor, columns: Tensor, values: Tensor, x: Tensor) -> Tensor:
    return x.new_empty(len(starts) - 1, x.shape[1])


@torch.library.custom_op("knockout::edge_products", mutates_args=())
def _edge_products(rows: Tensor, columns: Tensor, left: Tensor, right: Tensor) -> Tensor:
    """Returns `left[row] · right[column]` for every entry."""
    out = left.new_empty(len(rows))
    for begin in range(0, len(rows), EDGES_AT_ONCE):
        some = slice(begin, begin + EDGES_AT_ONCE)
        out[some] = (left[rows[some]] * right[columns[some]]).sum(-1)
    return out


@_edge_products.register_fake
def _(rows: Tensor, columns: Tensor, left: Tensor, right: Tensor) -> Tensor:
    return left.new_empty(len(rows))


class _Sums(torch.autograd.Function):
    @staticmethod
    def forward(ctx: Any, x: Tensor, adjacency: Incidence) -> Tensor:
        ctx.adjacency = adjacency
        return adjacency.product("incoming", adjacency.incoming_weights.to(x.dtype), x)

    @staticmethod
    def backward(ctx: Any, gradient: Tensor) -> tuple[Tensor, None]:
        adjacency = ctx.adjacency
        return adjacency.product("outgoing", adjacency.outgoing_weights.to(gradient.dtype), gradient.contiguous()), None


class _Products(torch.autograd.Function):
    @staticmethod
    def forward(ctx: Any, left: Tensor, right: Tensor, adjacency: Adjacency) -> Tensor:
        ctx.save_for_backward(left, right)
        ctx.adjacency = adjacency
        return _edge_products(adjacency.outgoing_rows, adjacency.outgoing_columns, left, right)

    @staticmethod
    def backward(ctx: Any, gradient: Tensor) -> tuple[Tensor, Tensor, None]:
        left, right = ctx.saved_tensors
        adjacency = ctx.adjacency
        of_left = adjacency.product("outgoing", gradient.contiguous(), right)
        of_right = adjacency.product("incoming", gradient[adjacency.from_outgoing], left)
        return of_left, of_right, None
