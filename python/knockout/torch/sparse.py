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


def _csr(rows: NDArray[Any], columns: NDArray[Any], size: int) -> tuple[NDArray[Any], NDArray[Any], NDArray[Any]]:
    """Returns the distinct entries by row, then column: row offsets, columns and multiplicities."""
    keys, counts = numpy.unique(rows.astype(numpy.int64) * size + columns.astype(numpy.int64), return_counts=True)
    starts = numpy.zeros(size + 1, dtype=numpy.int64)
    numpy.cumsum(numpy.bincount(keys // size, minlength=size), out=starts[1:])
    return starts, keys % size, counts


class Adjacency(nn.Module):
    """Directed edges over `size` nodes, with multiplicity; messages flow from source to target.

    The arrays move with the module and are not part of its state.
    """

    def __init__(self, sources: NDArray[Any], targets: NDArray[Any], size: int) -> None:
        super().__init__()
        self.size = size
        self.edge_count = len(sources)
        for name, (rows, columns) in {"incoming": (targets, sources), "outgoing": (sources, targets)}.items():
            starts, columns, counts = _csr(rows, columns, size)
            self._keep(f"{name}_starts", starts)
            self._keep(f"{name}_columns", columns)
            self._keep(f"{name}_counts", counts.astype(numpy.float32))
        # Rows of the outgoing entries, and the permutation from outgoing to incoming order.
        rows = numpy.repeat(numpy.arange(size), numpy.diff(self.outgoing_starts.numpy()))
        self._keep("outgoing_rows", rows)
        self._keep("from_outgoing", numpy.lexsort((rows, self.outgoing_columns.numpy())))
        degrees = numpy.bincount(numpy.asarray(targets, dtype=numpy.int64), minlength=size)
        self._keep("degrees", numpy.maximum(degrees, 1).astype(numpy.float32))

    def _keep(self, name: str, values: NDArray[Any]) -> None:
        self.register_buffer(name, torch.from_numpy(numpy.ascontiguousarray(values)), persistent=False)

    def product(self, side: str, values: Tensor, x: Tensor) -> Tensor:
        """Returns the product of the `incoming` or `outgoing` matrix, with the given entries, and `x` `[nodes, width]`."""
        return _product(getattr(self, f"{side}_starts"), getattr(self, f"{side}_columns"), values, x)

    def sums(self, x: Tensor) -> Tensor:
        """Returns the sum over incoming edges of `x` `[nodes, …]`."""
        flat = x.reshape(self.size, -1)
        # Not every backend has sparse products in half precision, and sums over many neighbours need more precision anyway.
        return _Sums.apply(_wide(flat), self).to(x.dtype).reshape(x.shape)

    def means(self, x: Tensor) -> Tensor:
        """Returns the mean over incoming edges of `x` `[nodes, width]`; 0 without edges."""
        return self.sums(x) / self.degrees.to(x.dtype).unsqueeze(-1)

    def products(self, left: Tensor, right: Tensor) -> Tensor:
        """Returns `left[s] · right[t]` for every distinct edge s → t, in the order of `outgoing_*`."""
        return _Products.apply(_wide(left), _wide(right), self)

    def reaches(self, changed: Tensor) -> Tensor:
        """Returns the nodes with an incoming edge from a marked node; `changed` is a mask `[nodes, samples]`."""
        return self.product("incoming", self.incoming_counts.float(), changed.float()) > 0


def _wide(x: Tensor) -> Tensor:
    return x if x.dtype in (torch.float32, torch.float64) else x.float()


def _exactly(x: Tensor) -> Any:
    """Disables autocast, which would use half precision for sparse products."""
    return torch.autocast(x.device.type, enabled=False)


@torch.library.custom_op("knockout::sparse_product", mutates_args=())
def _product(starts: Tensor, columns: Tensor, values: Tensor, x: Tensor) -> Tensor:
    """Returns the product of a square CSR matrix and a dense matrix."""
    size = len(x)
    with _exactly(x):
        return torch.sparse_csr_tensor(starts, columns, values, (size, size), check_invariants=False) @ x


@_product.register_fake
def _(starts: Tensor, columns: Tensor, values: Tensor, x: Tensor) -> Tensor:
    return x.new_empty(x.shape)


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
    def forward(ctx: Any, x: Tensor, adjacency: Adjacency) -> Tensor:
        ctx.adjacency = adjacency
        return adjacency.product("incoming", adjacency.incoming_counts.to(x.dtype), x)

    @staticmethod
    def backward(ctx: Any, gradient: Tensor) -> tuple[Tensor, None]:
        adjacency = ctx.adjacency
        return adjacency.product("outgoing", adjacency.outgoing_counts.to(gradient.dtype), gradient.contiguous()), None


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
