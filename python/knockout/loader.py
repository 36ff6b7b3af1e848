"""Batches in the order in which training takes them."""

from __future__ import annotations

import operator
from collections.abc import Iterator, Mapping
from typing import Any, Literal

import numpy
from numpy.typing import NDArray

from . import _knockout
from .dataset import Dataset, Split
from .errors import RequestError

__all__ = ["Loader"]

Form = Literal["genes", "masks", "packed", "graphs"]


class Loader:
    """Batches of one part of a dataset.

    A batch is a mapping of numpy arrays (which speak DLPack):

    - `genes`, `offsets`: the deleted genes of sample `i` are `genes[offsets[i]:offsets[i + 1]]`, both int64;
    - `score`: what was measured, float32; `rows`: the samples' rows in the dataset;
    - with `form="masks"`: `gene_mask` `[batch, genes]` and `edge_masks`, by network `[batch, entries]`, True where kept;
    - with `form="packed"`: the same, one bit each (`numpy.unpackbits(…, axis=1, bitorder="little")`);
    - with `form="graphs"`: `graphs`, for each sample the kept `genes` and, by network, the CSR arrays `(indptr, indices)` of the graph
      rebuilt without the deleted genes.

    The order is a pure function of (seed, epoch), the same as `knockout train` takes unless `loader.order` was set: batch `i` of epoch `e` is `loader[e, i]` in any
    process. So a `torch.utils.data.DataLoader` works with it as it is, with worker processes or without:

        DataLoader(loader, batch_size=None, num_workers=4)

    `loader[i]` and iteration use `loader.epoch`, which `set_epoch` sets; `knockout.torch.dataloader` advances it by itself. With ranks
    (`rank`, `world`) every sample goes to exactly one of them, and all have the same number of batches (but for batches of one sample).

    The arguments alone choose rows and order. To train a model that `knockout.adopt` turns into a run, use `from_config`: it follows the
    split, the seed and the batch size that the run records.

    >>> import knockout
    >>> loader = knockout.Loader(knockout.Dataset(tiny), batch=64)
    >>> len(loader), sorted(loader[0])
    (25, ['genes', 'offsets', 'rows', 'score'])
    >>> sum(len(batch["score"]) for batch in loader)
    1600
    """

    def __init__(
        self,
        dataset: Dataset,
        batch: int = 64,
        split: Split | str | None = None,
        part: str = "train",
        form: Form = "genes",
        *,
        seed: int = 0,
        shuffle: bool | None = None,
        rank: int = 0,
        world: int = 1,
    ) -> None:
        if not isinstance(dataset, Dataset):
            raise RequestError(f"a loader needs a Dataset, not {type(dataset).__name__}")
        if split is None or isinstance(split, str):
            split = dataset.split(split or "random")
        if not isinstance(split, Split):
            raise RequestError(f"split is a Split or the name of a scheme, not {type(split).__name__}")
        # Training is shuffled; what is predicted comes in the order of the rows.
        shuffle = part == "train" if shuffle is None else shuffle
        self._set(dataset, split[part], batch, form, seed, shuffle, rank, world)

    @classmethod
    def from_config(
        cls,
        dataset: Dataset,
        config: Mapping[str, Any],
        part: str = "train",
        form: Form = "genes",
        *,
        batch: int | None = None,
        shuffle: bool | None = None,
        rank: int = 0,
        world: int = 1,
    ) -> Loader:
        """Returns the batches of a part of a configuration's own split, in the order of its seed.

        `config` is what `knockout.config` returns, or the `config` of a run. The batch size is the configuration's unless given.

        >>> import knockout
        >>> dataset = knockout.Dataset(tiny)
        >>> config = knockout.config(dataset, "dango", settings={"split.scheme": "gene-disjoint", "seed": 4})
        >>> loader = knockout.Loader.from_config(dataset, config)
        >>> sorted(loader.order()) == sorted(dataset.split("gene-disjoint").train)
        True
        """
        if not isinstance(dataset, Dataset):
            raise RequestError(f"a loader needs a Dataset, not {type(dataset).__name__}")
        try:
            options, seed, size = config["split"], config["seed"], config["batch"]
            split = dataset.split(**options)
        except (KeyError, TypeError) as error:
            raise RequestError(f"config is what knockout.config returns: {error}") from None
        size = size if batch is None else batch
        return cls(dataset, size, split, part, form, seed=seed, shuffle=shuffle, rank=rank, world=world)

    def _set(
        self,
        dataset: Dataset,
        rows: NDArray[numpy.uint32],
        batch: int,
        form: str,
        seed: int,
        shuffle: bool,
        rank: int,
        world: int,
    ) -> None:
        self.dataset = dataset
        self.form = form
        self.epoch = 0
        self._arguments = (rows, batch, form, seed, shuffle, rank, world)
        if form not in ("genes", "masks", "packed", "graphs"):
            raise RequestError(f"there is no form {form!r}; choose from genes, masks, packed, graphs")
        self._batches = _knockout.Batches(dataset._dataset, rows, batch, shuffle, seed, rank, world)

    def __reduce__(self) -> tuple[Any, ...]:
        """A copy in another process has the same rows in the same order."""
        return (_restore, (self.dataset, self._arguments, self.epoch))

    def set_epoch(self, epoch: int) -> None:
        """Chooses the epoch whose order `loader[i]` and iteration follow."""
        epoch = operator.index(epoch)
        if epoch < 0:
            raise RequestError(f"epoch {epoch}; epochs count from 0")
        self.epoch = epoch

    def __len__(self) -> int:
        """Batches of an epoch, on this rank."""
        return len(self._batches)

    def __getitem__(self, index: int | tuple[int, int]) -> dict[str, Any]:
        """Returns a batch of the current epoch, or `loader[epoch, index]` of any."""
        self.dataset._dataset.sample_count  # a closed dataset is closed for its loaders too
        epoch, index = index if isinstance(index, tuple) else (self.epoch, index)
        epoch, index = operator.index(epoch), operator.index(index)
        if index < 0:
            index += len(self)
        if index < 0 or epoch < 0:
            raise IndexError(f"batch {index} of epoch {epoch}")
        return self._batches.get(epoch, index, self.form)

    def __iter__(self) -> Iterator[dict[str, Any]]:
        epoch = self.epoch
        for index in range(len(self)):
            yield self[epoch, index]

    def order(self, epoch: int | None = None) -> NDArray[numpy.uint32]:
        """Returns this rank's rows of an epoch, in order."""
        return self._batches.order(self.epoch if epoch is None else epoch)

    def __repr__(self) -> str:
        _, batch, form, seed, shuffle, rank, world = self._arguments
        ranks = f", rank {rank} of {world}" if world > 1 else ""
        return f"Loader({len(self)} batches of {batch}, form={form!r}, seed={seed}, shuffle={shuffle}{ranks})"


def _restore(dataset: Dataset, arguments: tuple[Any, ...], epoch: int) -> Loader:
    loader = Loader.__new__(Loader)
    loader._set(dataset, *arguments)
    loader.epoch = epoch
    return loader
