"""Batches in the order of training."""

from __future__ import annotations

import operator
from collections.abc import Iterator, Mapping, Sequence
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

    A batch is a dictionary of numpy arrays (which support DLPack):

    - `genes`, `offsets`: the deleted genes of sample `i` are `genes[offsets[i]:offsets[i + 1]]`, both int64;
    - `score`: the measured scores, float32; `rows`: the rows of the samples in the dataset;
    - with `form="masks"`: `gene_mask` `[batch, genes]` and `edge_masks`, by network `[batch, entries]`, True if kept;
    - with `form="packed"`: the same masks with one bit per value (`numpy.unpackbits(…, axis=1, bitorder="little")`);
    - with `form="graphs"`: `graphs`, for each sample the kept `genes` and, by network, the CSR arrays `(indptr, indices)` of the graph
      rebuilt without the deleted genes.

    The order is a pure function of (seed, epoch), and that of `knockout train` unless `loader.order` is set. Batch `i` of epoch `e` is
    `loader[e, i]` in any process. So a `torch.utils.data.DataLoader` can use it directly, with or without worker processes:

        DataLoader(loader, batch_size=None, num_workers=4)

    `loader[i]` and iteration use `loader.epoch`, which `set_epoch` sets; `knockout.torch.dataloader` advances it automatically. With
    ranks (`rank`, `world`) every sample goes to exactly one rank, and all have the same number of batches, unless the batch size is 1.

    `rows` replaces `split` and `part` by rows of your own; they keep their order unless `shuffle` is set. With `drop_last` a last batch that is
    smaller than the others is left out. `batch` is an earlier name of `batch_size`.

    To train a model that `knockout.adopt` turns into a run, use `from_config`: it uses the split, the seed and the batch size that the run
    records.

    >>> import knockout
    >>> loader = knockout.Loader(knockout.Dataset(tiny), batch_size=64)
    >>> len(loader), sorted(loader[0])
    (25, ['genes', 'offsets', 'rows', 'score'])
    >>> sum(len(batch["score"]) for batch in loader)
    1600
    >>> knockout.Loader(knockout.Dataset(tiny), batch_size=2, rows=[5, 3, 1], drop_last=True)[0]["rows"].tolist()
    [5, 3]
    """

    def __init__(
        self,
        dataset: Dataset,
        batch_size: int = 64,
        split: Split | str | None = None,
        part: str = "train",
        form: Form = "genes",
        *,
        rows: Sequence[int] | NDArray[Any] | None = None,
        seed: int = 0,
        shuffle: bool | None = None,
        drop_last: bool = False,
        rank: int = 0,
        world: int = 1,
        batch: int | None = None,
    ) -> None:
        if not isinstance(dataset, Dataset):
            raise RequestError(f"a loader needs a Dataset, not {type(dataset).__name__}")
        batch_size = batch_size if batch is None else batch
        if rows is not None:
            if split is not None:
                raise RequestError("pass either rows or a split, not both")
            self._set(dataset, row_array(rows), batch_size, form, seed, bool(shuffle), rank, world, drop_last)
            return
        if split is None or isinstance(split, str):
            split = dataset.split(split or "random")
        if not isinstance(split, Split):
            raise RequestError(f"split must be a Split or the name of a scheme, not {type(split).__name__}")
        # The training part is shuffled; other parts keep the order of the rows.
        shuffle = part == "train" if shuffle is None else shuffle
        self._set(dataset, split[part], batch_size, form, seed, shuffle, rank, world, drop_last)

    @classmethod
    def from_config(
        cls,
        dataset: Dataset,
        config: Mapping[str, Any],
        part: str = "train",
        form: Form = "genes",
        *,
        batch_size: int | None = None,
        shuffle: bool | None = None,
        drop_last: bool = False,
        rank: int = 0,
        world: int = 1,
        batch: int | None = None,
    ) -> Loader:
        """Returns a loader with the split, seed and batch size of a configuration.

        `config` is what `knockout.config` returns, or the `config` of a run. `batch_size` overrides that of the configuration.

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
            raise RequestError(f"config must be what knockout.config returns: {error}") from None
        chosen = [given for given in (batch_size, batch) if given is not None]
        size = chosen[0] if chosen else size
        return cls(
            dataset, size, split, part, form, seed=seed, shuffle=shuffle, drop_last=drop_last, rank=rank, world=world
        )

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
        drop_last: bool,
    ) -> None:
        self.dataset = dataset
        self.form = form
        self.epoch = 0
        batch, seed, rank, world = (
            _count(name, value, least)
            for name, value, least in (("batch_size", batch, 1), ("seed", seed, 0), ("rank", rank, 0), ("world", world, 1))
        )
        self._arguments = (rows, batch, form, seed, shuffle, rank, world, drop_last)
        if form not in ("genes", "masks", "packed", "graphs"):
            raise RequestError(f"unknown form {form!r}; choose from genes, masks, packed, graphs")
        self._batches = _knockout.Batches(dataset._dataset, rows, batch, shuffle, seed, rank, world, drop_last)

    def __reduce__(self) -> tuple[Any, ...]:
        """Pickles the arguments; the copy has the same rows in the same order."""
        return (_restore, (self.dataset, self._arguments, self.epoch))

    def set_epoch(self, epoch: int) -> None:
        """Sets the epoch of `loader[i]` and of iteration."""
        epoch = operator.index(epoch)
        if epoch < 0:
            raise RequestError(f"epoch {epoch} does not exist; epochs count from 0")
        self.epoch = epoch

    def __len__(self) -> int:
        """Returns the number of batches of an epoch on this rank."""
        return len(self._batches)

    def __getitem__(self, index: int | tuple[int, int]) -> dict[str, Any]:
        """Returns a batch of the current epoch; `loader[epoch, index]` returns one of any epoch."""
        self.dataset._dataset.sample_count  # raises if the dataset is closed
        epoch, index = index if isinstance(index, tuple) else (self.epoch, index)
        epoch, index = operator.index(epoch), operator.index(index)
        if index < 0:
            index += len(self)
        if index < 0 or epoch < 0:
            raise IndexError(f"no batch {index} in epoch {epoch}")
        return self._batches.get(epoch, index, self.form)

    def __iter__(self) -> Iterator[dict[str, Any]]:
        epoch = self.epoch
        for index in range(len(self)):
            yield self[epoch, index]

    def order(self, epoch: int | None = None) -> NDArray[numpy.uint32]:
        """Returns this rank's rows of an epoch, in order."""
        return self._batches.order(self.epoch if epoch is None else epoch)

    def __repr__(self) -> str:
        _, batch, form, seed, shuffle, rank, world, _ = self._arguments
        ranks = f", rank {rank} of {world}" if world > 1 else ""
        return f"Loader({len(self)} batches of {batch}, form={form!r}, seed={seed}, shuffle={shuffle}{ranks})"


def row_array(rows: Sequence[int] | NDArray[Any]) -> NDArray[numpy.uint32]:
    """Returns rows of the samples as an array."""
    array = numpy.asarray(rows)
    if array.ndim != 1 or (array.size and array.dtype.kind not in "iu"):
        raise RequestError(f"rows must be a list of whole numbers, not {array.dtype} of {array.ndim} dimensions")
    if array.size and (array.min() < 0 or array.max() > numpy.iinfo(numpy.uint32).max):
        raise RequestError("rows count from 0")
    return array.astype(numpy.uint32)


def _count(name: str, value: Any, least: int) -> int:
    try:
        number = operator.index(value)
    except TypeError:
        raise RequestError(f"{name} must be a whole number, not {value!r}") from None
    if not least <= number < 2**63:
        raise RequestError(f"{name} is {number}; it must be at least {'one' if least else 'zero'}")
    return number


def _restore(dataset: Dataset, arguments: tuple[Any, ...], epoch: int) -> Loader:
    loader = Loader.__new__(Loader)
    loader._set(dataset, *arguments)
    loader.epoch = epoch
    return loader
