"""Datasets: genes, networks, samples and splits as arrays, frames and sparse matrices."""

from __future__ import annotations

import json
import os
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from os import PathLike, fspath
from types import TracebackType
from typing import Any

import numpy
from numpy.typing import NDArray

from . import _knockout
from ._extras import require
from ._frames import FrameKind, frame
from ._keys import keys_of
from ._report import Report, Reported, framed
from .errors import RequestError

__all__ = ["Dataset", "Network", "Split", "import_recipe", "synth"]

PARTS = ("train", "val", "test")


@dataclass(frozen=True)
class Network:
    """A gene network: directed entries in the order (source, target), as read-only arrays without copies.

    >>> import knockout
    >>> network = knockout.Dataset(tiny).network("physical")
    >>> network.edge_index.shape == (2, len(network))
    True
    >>> network.csr().shape
    (200, 200)
    """

    name: str
    #: Row offsets: the targets of gene `i` are `targets[offsets[i]:offsets[i + 1]]`.
    offsets: NDArray[numpy.uint32]
    targets: NDArray[numpy.uint32]
    sources: NDArray[numpy.uint32]
    weights: NDArray[numpy.float32]

    def __len__(self) -> int:
        """Returns the number of entries."""
        return len(self.targets)

    @property
    def edge_index(self) -> NDArray[numpy.int64]:
        """Sources and targets `[2, entries]`, as PyG expects them; a copy."""
        return numpy.stack([self.sources, self.targets]).astype(numpy.int64)

    def csr(self) -> Any:
        """Returns the network as a `scipy.sparse.csr_array` `[genes, genes]`, row = source, without a copy."""
        require("scipy", "scipy")
        from scipy.sparse import csr_array

        # Reinterpreted as signed integers: scipy would copy unsigned ones.
        indices, indptr = self.targets.view(numpy.int32), self.offsets.view(numpy.int32)
        genes = len(self.offsets) - 1
        return csr_array((self.weights, indices, indptr), shape=(genes, genes), copy=False)


class Split:
    """The rows of the training, validation and test parts.

    >>> import knockout
    >>> split = knockout.Dataset(tiny).split()
    >>> [len(split[part]) for part in ("train", "val", "test")]
    [1600, 200, 200]
    """

    def __init__(self, rows: dict[str, NDArray[numpy.uint32]], scheme: str) -> None:
        self._rows = rows
        #: Scheme of the split: `random`, `pair-disjoint` or `gene-disjoint`.
        self.scheme = scheme

    def __getitem__(self, part: str) -> NDArray[numpy.uint32]:
        try:
            return self._rows[part]
        except (KeyError, TypeError):
            raise RequestError(f"unknown part {part!r}; choose from {', '.join(PARTS)}") from None

    @property
    def train(self) -> NDArray[numpy.uint32]:
        """Rows of the training part."""
        return self["train"]

    @property
    def val(self) -> NDArray[numpy.uint32]:
        """Rows of the validation part, on which settings are chosen."""
        return self["val"]

    @property
    def test(self) -> NDArray[numpy.uint32]:
        """Rows of the test part."""
        return self["test"]

    def __repr__(self) -> str:
        sizes = ", ".join(f"{part}={len(self[part])}" for part in PARTS)
        return f"Split({self.scheme}, {sizes})"


class Dataset(Reported):
    """An open dataset. The checksums of all files are verified on opening. A notebook shows the page of `knockout data show`.

    >>> import knockout
    >>> with knockout.Dataset(tiny) as dataset:
    ...     print(len(dataset), dataset.gene_count, dataset.networks)
    2000 200 ['physical', 'regulatory', 'string12_0_coexpression']
    """

    def __init__(self, path: str | PathLike[str]) -> None:
        self._dataset = _knockout.Dataset(fspath(path))

    def close(self) -> None:
        """Releases the memory. Existing arrays stay valid; everything else raises `ClosedError`."""
        self._dataset.close()

    def __enter__(self) -> Dataset:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def __reduce__(self) -> tuple[Any, ...]:
        """Pickles the absolute path; the copy opens the same folder again."""
        return (_reopen, (os.path.abspath(self.path), self.data_hash))

    def __deepcopy__(self, memo: dict[int, Any]) -> Dataset:
        """Returns the dataset itself, which never changes; scikit-learn copies the arguments of estimators."""
        return self

    def __len__(self) -> int:
        """Returns the number of samples."""
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
        """Name of the dataset."""
        return self._dataset.name

    @property
    def data_hash(self) -> str:
        """Content hash of all data files; runs record it."""
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
        """Returns the rows of genes by systematic or standard name, ignoring case. Unknown names raise an error that lists all of them."""
        return self._dataset.find_genes([_name(name) for name in names])

    @property
    def networks(self) -> list[str]:
        """Names of the networks, in their stored order."""
        return self._dataset.network_names()

    def network(self, name: str) -> Network:
        """Returns a network by name."""
        return Network(name, *self._dataset.network(name))

    def samples(self, kind: FrameKind | None = None) -> Any:
        """Returns the samples: gene sets, scores and further columns.

        In a frame, `genes` and `query` are columns of lists. With `kind="dict"` they are flat arrays with `genes_offsets` and
        `query_offsets`, and `genes`, `genes_offsets` and `score` are not copied. Unknown numbers are NaN.

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
        train_subset: int = 0,
        fold: str = "",
        file: str | PathLike[str] = "",
    ) -> Split:
        """Splits the samples as the keys `split.*` of a run do: the same arguments always give the same rows.

        `scheme` is `random`, `pair-disjoint` or `gene-disjoint`; `fold`, such as `"0/5"`, replaces `val` and `test`; `subset` shrinks all
        parts, `train_subset` the training part; `file` is a split file of `knockout data split`.
        """
        sizes = {"val": val, "test": test, "subset": subset, "train_subset": train_subset}
        split = self._dataset.split(split_text(scheme, **sizes, seed=seed, fold=fold, file=fspath(file)))
        return Split({part: split.rows(part) for part in PARTS}, split.scheme)

    def summary(self) -> Report:
        """Returns the document and the page of `knockout data show`."""
        return Report(self._dataset.summary())

    def gene(self, name: str) -> Report:
        """Returns the document and the page of a gene: its networks, annotations and samples, as `knockout data show --gene`."""
        return Report(self._dataset.gene(_name(name)))

    def deletion(self, genes: Iterable[str]) -> Report:
        """Returns the document and the page of a deletion: the edges and reactions it removes, as `knockout data delete`."""
        return Report(self._dataset.deletion([_name(name) for name in genes]))

    def _page(self) -> _knockout.Page:
        return self._dataset.summary()

    def _repr_html_(self) -> str:
        return f"<code>{self!r}</code>" if self._dataset.is_closed else framed(self.html())


def split_text(scheme: str, **options: Any) -> str:
    """Returns the keys `split.*` of a configuration as JSON; others have their defaults."""
    whole = {"scheme": scheme, "val": 0.1, "test": 0.1, "seed": 0, "subset": 0, "train_subset": 0, "fold": "", "file": "", **options}
    try:
        return json.dumps(whole)
    except TypeError as error:
        raise RequestError(f"cannot split the samples: {error}") from None


def _name(name: Any) -> str:
    if not isinstance(name, str):
        raise RequestError(f"gene names must be strings, not {name!r}")
    return name


def _ragged(values: NDArray[Any], offsets: NDArray[Any]) -> NDArray[numpy.object_]:
    lists = numpy.empty(len(offsets) - 1, dtype=object)
    for index, (begin, end) in enumerate(zip(offsets[:-1], offsets[1:], strict=True)):
        lists[index] = values[begin:end].tolist()
    return lists


def _reopen(path: str, data_hash: str) -> Dataset:
    dataset = Dataset(path)
    if dataset.data_hash != data_hash:
        raise RequestError(f"the contents of {path} have changed since the dataset was pickled")
    return dataset


def synth(
    out: str | PathLike[str],
    preset: str = "small",
    *,
    samples: int | None = None,
    seed: int = 0,
    settings: dict[str, Any] | None = None,
    exist_ok: bool = False,
) -> Dataset:
    """Creates a synthetic yeast in a new folder and opens it.

    `preset` is `tiny`, `small` or `yeast`; `settings` are keys of `knockout config show --preset`. The same arguments give the same
    bytes on any machine. With `exist_ok` a folder that the same arguments have made is opened instead of refused.

    >>> import knockout, tempfile
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     len(knockout.synth(f"{folder}/few", "tiny", samples=100))
    100
    """
    _knockout.synth(fspath(out), preset, samples, seed, keys_of(settings), exist_ok)
    return Dataset(out)


def import_recipe(
    out: str | PathLike[str], recipe: str | PathLike[str], data: str | PathLike[str] = ""
) -> tuple[Dataset, Report]:
    """Creates a dataset from public files with a recipe, such as `examples/real-yeast/recipe.toml`, and opens it.

    `data` is the folder of the recipe's files. Returns the dataset and the report of what was imported and skipped.
    """
    report = _knockout.import_recipe(fspath(out), fspath(recipe), fspath(data))
    return Dataset(out), Report(report)


#: Gene sets for `predict`: lists of names or of rows of the gene table, an array of either, or a pandas or polars frame.
GeneSets = Sequence[Sequence[str]] | Sequence[Sequence[int]] | NDArray[Any] | Any


def ragged(sets: GeneSets, find_genes: Callable[[list[str]], NDArray[numpy.uint32]]) -> tuple[NDArray[numpy.uint32], NDArray[numpy.uint32]]:
    """Returns gene sets as rows of the gene table and offsets. Independent of what the sets are for.

    Of a frame it takes the column `genes`, if its cells are lists, or all columns whose names begin with `gene`.

    >>> genes, offsets = ragged([[3, 1], [2]], find_genes=lambda names: names)
    >>> genes.tolist(), offsets.tolist()
    ([3, 1, 2], [0, 2, 3])
    """
    if _is_text(sets):
        raise RequestError("sets must be lists of genes, such as [['YAL001C', 'YBR102C']]")
    if hasattr(sets, "columns") and hasattr(sets, "to_numpy"):
        sets = _sets_of_frame(sets)
    if isinstance(sets, numpy.ndarray) and sets.dtype != object:
        if sets.ndim != 2 or sets.dtype.kind not in "iuU":
            raise RequestError(f"an array of sets must be [sets, genes] of rows or names, not {sets.dtype} of {sets.ndim} dimensions")
        offsets = numpy.arange(0, sets.size + 1, max(sets.shape[1], 1), dtype=numpy.uint32)
        flat = sets.reshape(-1)
        return (find_genes(flat.tolist()) if sets.dtype.kind == "U" else _rows(flat)), offsets
    lists = [list(one) for one in sets if not _is_text(one)]
    if len(lists) != len(sets):
        raise RequestError("a set must be a list of genes, not a string; write [['YAL001C', 'YBR102C']]")
    lengths = numpy.array([0, *(len(one) for one in lists)], dtype=numpy.int64)
    members: list[Any] = [gene for one in lists for gene in one]
    offsets = numpy.cumsum(lengths).astype(numpy.uint32)
    if any(isinstance(gene, str) for gene in members):
        if not all(isinstance(gene, str) for gene in members):
            raise RequestError("genes must be all names or all rows of the gene table")
        return find_genes(members), offsets
    return _rows(members), offsets


def _sets_of_frame(frame: Any) -> list[list[Any]]:
    names = [str(name) for name in frame.columns]
    if "genes" in names:
        column = list(frame["genes"])
        if not any(_is_text(cell) for cell in column):
            return [list(cell) for cell in column]
    chosen = [name for name in frame.columns if str(name).lower().startswith("gene")]
    if not chosen:
        raise RequestError(
            f"the frame has no columns of genes: name them gene_a, gene_b, … or pass one column `genes` of lists, not {', '.join(names)}"
        )
    columns = [list(frame[name]) for name in chosen]
    return [[gene for gene in row if not _is_missing(gene)] for row in zip(*columns, strict=True)]


def _is_missing(value: Any) -> bool:
    return value is None or value == "" or (isinstance(value, float) and value != value)


def _is_text(value: Any) -> bool:
    return isinstance(value, (str, bytes))


def _rows(genes: Any) -> NDArray[numpy.uint32]:
    rows = numpy.asarray(genes)
    if rows.size == 0:
        return numpy.zeros(0, dtype=numpy.uint32)
    if not numpy.issubdtype(rows.dtype, numpy.integer):
        raise RequestError(f"genes must be names or rows of the gene table, not {rows.dtype}")
    if rows.min() < 0 or rows.max() > numpy.iinfo(numpy.uint32).max:
        raise RequestError("rows of the gene table count from 0")
    return rows.astype(numpy.uint32)
