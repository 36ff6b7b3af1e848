"""Datasets: genes, networks, samples and splits as arrays, frames and sparse matrices."""

from __future__ import annotations

import json
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from os import PathLike, fspath
from types import TracebackType
from typing import Any

import numpy
from numpy.typing import NDArray

from . import _knockout
from ._frames import FrameKind, frame
from ._keys import keys_of
from .errors import RequestError

__all__ = ["Dataset", "Network", "Split", "import_recipe", "synth"]

PARTS = ("train", "val", "test")


@dataclass(frozen=True)
class Network:
    """A gene network: directed entries in the order (source, target), as read-only arrays that copy nothing.

    >>> import knockout
    >>> network = knockout.Dataset(tiny).network("physical")
    >>> network.edge_index.shape == (2, len(network))
    True
    >>> network.csr().shape
    (200, 200)
    """

    name: str
    #: Row starts: the entries that leave gene `i` are `targets[offsets[i]:offsets[i + 1]]`.
    offsets: NDArray[numpy.uint32]
    targets: NDArray[numpy.uint32]
    sources: NDArray[numpy.uint32]
    weights: NDArray[numpy.float32]

    def __len__(self) -> int:
        """Number of entries."""
        return len(self.targets)

    @property
    def edge_index(self) -> NDArray[numpy.int64]:
        """Sources and targets `[2, entries]`, the form of PyG; a copy."""
        return numpy.stack([self.sources, self.targets]).astype(numpy.int64)

    def csr(self) -> Any:
        """Returns the network as a `scipy.sparse.csr_array` `[genes, genes]`, row = source, over the dataset's own memory."""
        from scipy.sparse import csr_array

        # The same bytes as signed numbers: scipy would copy unsigned ones.
        indices, indptr = self.targets.view(numpy.int32), self.offsets.view(numpy.int32)
        genes = len(self.offsets) - 1
        return csr_array((self.weights, indices, indptr), shape=(genes, genes), copy=False)


class Split:
    """Which samples train, validate and test: rows of the dataset by part.

    >>> import knockout
    >>> split = knockout.Dataset(tiny).split()
    >>> [len(split[part]) for part in ("train", "val", "test")]
    [1600, 200, 200]
    """

    def __init__(self, rows: dict[str, NDArray[numpy.uint32]], scheme: str) -> None:
        self._rows = rows
        #: What is kept apart: `random`, `pair-disjoint` or `gene-disjoint`.
        self.scheme = scheme

    def __getitem__(self, part: str) -> NDArray[numpy.uint32]:
        try:
            return self._rows[part]
        except (KeyError, TypeError):
            raise RequestError(f"there is no part {part!r}; choose from {', '.join(PARTS)}") from None

    @property
    def train(self) -> NDArray[numpy.uint32]:
        """Rows for fitting."""
        return self["train"]

    @property
    def val(self) -> NDArray[numpy.uint32]:
        """Rows for choosing."""
        return self["val"]

    @property
    def test(self) -> NDArray[numpy.uint32]:
        """Rows for the number that is reported."""
        return self["test"]

    def __repr__(self) -> str:
        sizes = ", ".join(f"{part}={len(self[part])}" for part in PARTS)
        return f"Split({self.scheme}, {sizes})"


class Dataset:
    """An open dataset. Every file's checksum is verified when it is opened.

    >>> import knockout
    >>> with knockout.Dataset(tiny) as dataset:
    ...     print(len(dataset), dataset.gene_count, dataset.networks)
    2000 200 ['physical', 'regulatory', 'string12_0_coexpression']
    """

    def __init__(self, path: str | PathLike[str]) -> None:
        self._dataset = _knockout.Dataset(fspath(path))

    def close(self) -> None:
        """Lets go of the memory. Arrays that were handed out stay valid; everything else raises `ClosedError`."""
        self._dataset.close()

    def __enter__(self) -> Dataset:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def __reduce__(self) -> tuple[Any, ...]:
        """A copy in another process opens the same folder again."""
        return (_reopen, (str(self.path), self.data_hash))

    def __len__(self) -> int:
        """Number of samples."""
        return self._dataset.sample_count

    def __repr__(self) -> str:
        if self._dataset.is_closed:
            return f"Dataset({str(self.path)!r}, closed)"
        return f"Dataset({str(self.path)!r}, {self.gene_count} genes, {len(self)} samples)"

    @property
    def path(self) -> Any:
        """The folder."""
        return self._dataset.path

    @property
    def name(self) -> str:
        """The dataset's own name."""
        return self._dataset.name

    @property
    def data_hash(self) -> str:
        """Content hash of all data files: what a run is tied to."""
        return self._dataset.data_hash

    @property
    def gene_count(self) -> int:
        """Number of genes."""
        return self._dataset.gene_count

    def genes(self, kind: FrameKind | None = None) -> Any:
        """Returns systematic and standard names in the order of the gene table, as a frame.

        >>> import knockout
        >>> sorted(knockout.Dataset(tiny).genes("dict"))
        ['standard', 'systematic']
        """
        systematic, standard = self._dataset.gene_names()
        return frame({"systematic": systematic, "standard": standard}, kind)

    def find_genes(self, names: Iterable[str]) -> NDArray[numpy.uint32]:
        """Returns the rows of genes by systematic or standard name, in any case; unknown names raise, all of them listed."""
        return self._dataset.find_genes([_name(name) for name in names])

    @property
    def networks(self) -> list[str]:
        """Names of the networks, in their stored order."""
        return self._dataset.network_names()

    def network(self, name: str) -> Network:
        """Returns a network by name."""
        return Network(name, *self._dataset.network(name))

    def samples(self, kind: FrameKind | None = None) -> Any:
        """Returns the samples: gene sets, scores and what else is known of each.

        As a frame `genes` and `query` are a list each; with `kind="dict"` they are flat arrays with `genes_offsets` and
        `query_offsets` beside them, and `genes`, `genes_offsets` and `score` are the dataset's own memory. An unknown number is NaN.

        >>> import knockout
        >>> columns = knockout.Dataset(tiny).samples("dict")
        >>> columns["score"].shape, columns["score"].flags.writeable
        ((2000,), False)
        """
        columns = self._dataset.samples()
        if kind == "dict":
            return columns
        for name in ("genes", "query"):
            columns[name] = _ragged(columns[name], columns.pop(f"{name}_offsets"))
        if kind == "polars":
            columns = {name: list(values) if name in ("genes", "query") else values for name, values in columns.items()}
        return frame(columns, kind)

    def split(
        self,
        scheme: str = "random",
        *,
        val: float = 0.1,
        test: float = 0.1,
        seed: int = 0,
        subset: int = 0,
        fold: str = "",
        file: str | PathLike[str] = "",
    ) -> Split:
        """Divides the samples, as the keys `split.*` of a run do: the same arguments give the same rows everywhere.

        `scheme` is `random`, `pair-disjoint` or `gene-disjoint`; `fold` such as `"0/5"` takes the place of `val` and `test`; `file` is
        a split file of `knockout data split`.
        """
        options = {
            "scheme": scheme,
            "val": val,
            "test": test,
            "seed": seed,
            "subset": subset,
            "fold": fold,
            "file": fspath(file),
        }
        try:
            text = json.dumps(options)
        except TypeError as error:
            raise RequestError(f"the samples cannot be divided so: {error}") from None
        split = self._dataset.split(text)
        return Split({part: split.rows(part) for part in PARTS}, split.scheme)

    def summary(self) -> dict[str, Any]:
        """Returns what `knockout data show --json` says."""
        return self._dataset.summary()


def _name(name: Any) -> str:
    if not isinstance(name, str):
        raise RequestError(f"a gene's name is a text, not {name!r}")
    return name


def _ragged(values: NDArray[Any], offsets: NDArray[Any]) -> NDArray[numpy.object_]:
    lists = numpy.empty(len(offsets) - 1, dtype=object)
    for place, (begin, end) in enumerate(zip(offsets[:-1], offsets[1:], strict=True)):
        lists[place] = values[begin:end].tolist()
    return lists


def _reopen(path: str, data_hash: str) -> Dataset:
    dataset = Dataset(path)
    if dataset.data_hash != data_hash:
        raise RequestError(f"{path} is not the dataset it was when this was sent here: its contents differ")
    return dataset


def synth(
    out: str | PathLike[str],
    preset: str = "small",
    *,
    samples: int | None = None,
    seed: int = 0,
    settings: dict[str, Any] | None = None,
) -> Dataset:
    """Makes a synthetic yeast in a new folder and opens it.

    `preset` is `tiny`, `small` or `yeast`; `settings` are keys of `knockout config show --preset`. The same arguments give the same
    bytes on any machine.

    >>> import knockout, tempfile
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     len(knockout.synth(f"{folder}/few", "tiny", samples=100))
    100
    """
    _knockout.synth(fspath(out), preset, samples, seed, keys_of(settings))
    return Dataset(out)


def import_recipe(
    out: str | PathLike[str], recipe: str | PathLike[str], data: str | PathLike[str] = ""
) -> tuple[Dataset, dict[str, Any]]:
    """Makes a dataset of public files by a recipe (`examples/real-yeast/recipe.toml` is one) and opens it.

    `data` is the folder that the recipe's files lie in. Returns the dataset and the report of what was read and left out.
    """
    report = _knockout.import_recipe(fspath(out), fspath(recipe), fspath(data))
    return Dataset(out), report


#: What `predict` takes for gene sets: names or rows, as many sets as wanted.
GeneSets = Sequence[Sequence[str]] | Sequence[Sequence[int]] | NDArray[numpy.integer[Any]]
