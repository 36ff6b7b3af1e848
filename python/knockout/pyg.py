"""Graphs for PyG: the cell as `HeteroData`, with the genes of a sample removed.

For code that uses PyG. Copying graphs is slow; `knockout.Loader` yields gene indices instead.

>>> import torch_geometric.loader
>>> import knockout.pyg
>>> dataset = knockout.Dataset(tiny)
>>> knockout.pyg.cell(dataset)["gene"].num_nodes, knockout.pyg.sample(dataset, 0)["gene"].num_nodes
(200, 197)
>>> loader = knockout.Loader.from_config(dataset, knockout.config(dataset, "dango"), "test")
>>> next(iter(torch_geometric.loader.DataLoader(knockout.pyg.Samples(loader), batch_size=4))).num_graphs
4
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from ._extras import require

require("pyg", "torch", "torch_geometric")
import torch
import torch_geometric.data
from torch_geometric.data import HeteroData

from .dataset import Dataset
from .errors import RequestError
from .loader import Loader

__all__ = ["Samples", "cell", "graphs", "sample"]


def cell(dataset: Dataset) -> HeteroData:
    """Returns the whole cell: nodes `gene`, and edges `("gene", network, "gene")` with `edge_weight`."""
    data = HeteroData()
    data["gene"].num_nodes = dataset.gene_count
    for name in dataset.networks:
        network = dataset.network(name)
        data["gene", name, "gene"].edge_index = torch.from_numpy(network.edge_index)
        data["gene", name, "gene"].edge_weight = torch.from_numpy(network.weights.copy())
    return data


def sample(dataset: Dataset, row: int | None = None, *, genes: Iterable[str] | None = None) -> HeteroData:
    """Returns the cell without the genes of a sample (`row`), or without `genes`: nodes and edges removed, genes renumbered.

    `data["gene"].kept` are the kept rows of the gene table, `data["gene"].perturbation_indices` the removed ones. A sample has its measured
    score in `data["gene"].score`.
    """
    if (row is None) == (genes is None):
        raise RequestError("pass either a sample's row or the genes to remove")
    score = None
    if genes is not None:
        gone = torch.from_numpy(dataset.find_genes(genes).astype("int64")).unique()
    else:
        columns = dataset.samples("dict")
        if not isinstance(row, int) or not 0 <= row < len(dataset):
            raise RequestError(f"row {row!r} does not exist; the dataset has {len(dataset)} samples")
        begin, end = columns["genes_offsets"][row : row + 2]
        gone = torch.from_numpy(columns["genes"][begin:end].astype("int64"))
        score = float(columns["score"][row])
    kept = torch.ones(dataset.gene_count, dtype=torch.bool)
    kept[gone] = False
    number = torch.cumsum(kept, 0) - 1
    data = HeteroData()
    data["gene"].num_nodes = int(kept.sum())
    data["gene"].kept = kept.nonzero().view(-1)
    data["gene"].perturbation_indices = gone
    if score is not None:
        data["gene"].score = torch.tensor([score], dtype=torch.float32)
    for name in dataset.networks:
        network = dataset.network(name)
        edges = torch.from_numpy(network.edge_index)
        stays = kept[edges[0]] & kept[edges[1]]
        data["gene", name, "gene"].edge_index = number[edges[:, stays]]
        data["gene", name, "gene"].edge_weight = torch.from_numpy(network.weights.copy())[stays]
    return data


def graphs(loader: Loader, index: int) -> list[Any]:
    """Returns the samples of a batch as graphs, each with its genes removed."""
    return [sample(loader.dataset, int(row)) for row in loader[index]["rows"]]


class Samples(torch_geometric.data.Dataset):
    """The samples of a loader as a dataset of PyG, for its `DataLoader`: each is the cell without its genes, made when it is read.

    The rows are those of the loader, such as `Loader.from_config(dataset, config, "train")`, of all ranks; order and batches are PyG's.
    """

    def __init__(self, loader: Loader) -> None:
        super().__init__()
        self.dataset = loader.dataset
        self.rows = loader._arguments[0]

    def len(self) -> int:
        return len(self.rows)

    def get(self, index: int) -> HeteroData:
        return sample(self.dataset, int(self.rows[index]))
