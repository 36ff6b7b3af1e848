"""Loaders for PyTorch: tensors, worker processes, ranks."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy
import torch
from torch.utils.data import DataLoader, IterableDataset, Sampler, get_worker_info

from ..loader import Loader
from .module import Model
from .plan import Planner

__all__ = ["IterableBatches", "dataloader"]


class _Epochs(Sampler[tuple[int, int]]):
    """Yields (epoch, index), so that persistent workers use the current epoch."""

    def __init__(self, loader: Loader) -> None:
        self.loader = loader

    def __len__(self) -> int:
        return len(self.loader)

    def set_epoch(self, epoch: int) -> None:
        """Sets the next epoch, as Lightning does before each."""
        self.loader.set_epoch(epoch)

    def __iter__(self) -> Iterator[tuple[int, int]]:
        # A generator: `DataLoader` creates more iterators than it uses, and only a used one may advance the epoch.
        epoch = self.loader.epoch
        self.loader.set_epoch(epoch + 1)
        for index in range(len(self.loader)):
            yield epoch, index


class _Planned:
    """The batches of a loader with their plans. It is pickled to worker processes without the model."""

    def __init__(self, loader: Loader, planner: Planner) -> None:
        self.loader, self.planner = loader, planner

    def __len__(self) -> int:
        return len(self.loader)

    def __getitem__(self, index: int | tuple[int, int]) -> dict[str, Any]:
        batch = self.loader[index]
        return {**batch, "plan": self.planner(batch["genes"], batch["offsets"])}


def _tensors(batch: dict[str, Any]) -> dict[str, Any]:
    return {key: torch.from_numpy(value) if isinstance(value, numpy.ndarray) else value for key, value in batch.items()}


def dataloader(loader: Loader, model: Model | None = None, **options: Any) -> DataLoader[Any]:
    """Returns a `DataLoader` of which each iteration is the next epoch of a loader, as tensors.

    With a model, batches have a `plan` for its `forward`, made in the worker processes: the plan of training in training mode. `options` are
    those of `DataLoader`, such as `num_workers`, `persistent_workers` and `pin_memory`. The first epoch is `loader.epoch`.
    """
    for option in ("batch_size", "sampler", "batch_sampler", "shuffle", "drop_last"):
        if option in options:
            raise TypeError(f"{option} is set on the loader: model.loader(batch=…)")
    if model is None:
        return DataLoader(loader, batch_size=None, sampler=_Epochs(loader), **options)  # type: ignore[arg-type]
    planned = _Planned(loader, model.planner(model.training))
    return DataLoader(planned, batch_size=None, sampler=_Epochs(loader), collate_fn=_tensors, **options)  # type: ignore[arg-type]


class IterableBatches(IterableDataset[dict[str, Any]]):
    """The batches of a loader as an `IterableDataset`: `DataLoader(IterableBatches(loader), batch_size=None)`.

    Batches are dealt to the worker processes in rotation, so every batch comes once. Set the epoch of the loader before iterating the `DataLoader`.
    """

    def __init__(self, loader: Loader) -> None:
        self.loader = loader

    def __len__(self) -> int:
        return len(self.loader)

    def __iter__(self) -> Iterator[dict[str, Any]]:
        worker = get_worker_info()
        first, step = (0, 1) if worker is None else (worker.id, worker.num_workers)
        for index in range(first, len(self.loader), step):
            yield {key: torch.as_tensor(value) for key, value in self.loader[index].items() if key != "graphs"}
