"""Loaders through PyTorch: worker processes, epochs, ranks; graphs for PyG; the profiler."""

from collections import Counter
from pathlib import Path

import pytest
import torch
from torch.utils.data import DataLoader

import knockout
import knockout.torch


@pytest.fixture(scope="module")
def dataset(tiny: str) -> knockout.Dataset:
    return knockout.Dataset(tiny)


@pytest.mark.parametrize(("workers", "context"), [(0, None), (2, "fork"), (2, "forkserver"), (2, "spawn")])
def test_workers_change_nothing(dataset: knockout.Dataset, workers: int, context: str | None) -> None:
    loader = knockout.Loader(dataset, batch=100)
    expected = [batch["rows"].tolist() for batch in loader]
    plain = DataLoader(loader, batch_size=None, num_workers=workers, multiprocessing_context=context)
    found = [batch for batch in plain]
    assert all(isinstance(batch["genes"], torch.Tensor) for batch in found)
    assert [batch["rows"].tolist() for batch in found] == expected


def test_arrays_become_tensors_without_a_copy(dataset: knockout.Dataset) -> None:
    batch = knockout.Loader(dataset, batch=8, form="masks")[0]
    for key in ("genes", "offsets", "score", "gene_mask"):
        tensor = torch.from_dlpack(batch[key])
        assert tensor.data_ptr() == batch[key].ctypes.data and tensor.tolist() == batch[key].tolist()


def test_persistent_workers_hear_of_epochs(dataset: knockout.Dataset) -> None:
    loader = knockout.Loader(dataset, batch=100)
    batches = knockout.torch.dataloader(loader, num_workers=2, persistent_workers=True)
    for epoch in range(3):
        rows = torch.cat([batch["rows"] for batch in batches])
        assert rows.tolist() == knockout.Loader(dataset, batch=100).order(epoch).tolist()
    with pytest.raises(TypeError, match="shuffle"):
        knockout.torch.dataloader(loader, shuffle=True)


@pytest.mark.parametrize("workers", [0, 3])
def test_an_iterable_dataset_gives_everything_once(dataset: knockout.Dataset, workers: int) -> None:
    seen: Counter[int] = Counter()
    for rank in range(2):
        batches = knockout.torch.IterableBatches(knockout.Loader(dataset, batch=33, rank=rank, world=2))
        for batch in DataLoader(batches, batch_size=None, num_workers=workers):
            seen.update(batch["rows"].tolist())
    assert seen == Counter(dataset.split().train.tolist())


def test_pyg_removes_what_the_loader_removes(dataset: knockout.Dataset) -> None:
    import knockout.pyg

    whole = knockout.pyg.cell(dataset)
    assert whole["gene"].num_nodes == dataset.gene_count
    loader = knockout.Loader(dataset, batch=3, form="graphs")
    batch = loader[0]
    for graph, expected, score in zip(knockout.pyg.graphs(loader, 0), batch["graphs"], batch["score"], strict=True):
        assert graph["gene"].kept.tolist() == expected["genes"].tolist()
        assert graph["gene"].score.item() == pytest.approx(float(score))
        for name in dataset.networks:
            starts, columns = expected["networks"][name]
            edges = graph["gene", name, "gene"].edge_index
            assert edges[1].tolist() == columns.tolist()
            assert torch.bincount(edges[0], minlength=len(starts) - 1).tolist() == (starts[1:] - starts[:-1]).tolist()
    names = dataset.genes("dict")["systematic"]
    assert knockout.pyg.sample(dataset, genes=names[:2])["gene"].num_nodes == dataset.gene_count - 2
    with pytest.raises(knockout.RequestError):
        knockout.pyg.sample(dataset)


@pytest.mark.parametrize("part", ["train", "val", "test"])
def test_pyg_loads_the_samples_of_a_part(dataset: knockout.Dataset, part: str) -> None:
    import torch_geometric.loader

    import knockout.pyg

    config = knockout.config(dataset, "dango", settings={"split.scheme": "gene-disjoint", "seed": 4})
    samples = knockout.pyg.Samples(knockout.Loader.from_config(dataset, config, part, rank=1, world=2, drop_last=True))
    whole = dataset.split(**config["split"])[part]
    rows = whole[:50].tolist()
    graphs = [graph for batch in torch_geometric.loader.DataLoader(samples[:50], batch_size=20) for graph in batch.to_data_list()]
    columns, begin = dataset.samples("dict"), dataset.samples("dict")["genes_offsets"]
    assert [graph["gene"].perturbation_indices.tolist() for graph in graphs] == [columns["genes"][begin[row] : begin[row + 1]].tolist() for row in rows]
    assert [graph["gene"].score.item() for graph in graphs] == pytest.approx(columns["score"][rows].tolist())
    assert len(samples) == len(whole)


def test_a_profile_ends_in_an_analysis(tmp_path: Path) -> None:
    x = torch.randn(64, 64)
    with knockout.trace.profile(tmp_path / "trace.json") as recording:
        with pytest.raises(knockout.RequestError, match="after the"):
            recording.analysis
        for _ in range(3):
            x = torch.relu(x @ x) / 100
            recording.step()
    names = recording.analysis.operations.name.tolist()
    assert "aten::mm" in names and len(recording.analysis.steps) >= 3
