"""Models as estimators of scikit-learn. Import them from `knockout`: `knockout.Stack`, `knockout.Regressor`.

>>> import knockout
>>> dataset = knockout.Dataset(tiny)
>>> X, y = knockout.estimators.samples_of(dataset)
>>> model = knockout.Stack(dataset).fit(X[:1500], y[:1500])
>>> model.predict(X[1500:]).shape
(500,)
"""

from __future__ import annotations

import io
import tarfile
import tempfile
from collections.abc import Mapping, Sequence
from os import PathLike, fspath
from pathlib import Path
from typing import Any

import numpy
from numpy.typing import NDArray

from ._extras import require

require("sklearn", "sklearn")
from sklearn.base import BaseEstimator, RegressorMixin
from sklearn.utils.validation import check_is_fitted

from . import _knockout
from .dataset import Dataset, GeneSets, ragged
from .errors import RequestError
from .run import Run, train

__all__ = ["Regressor", "Stack", "samples_of"]


class Regressor(RegressorMixin, BaseEstimator):  # type: ignore[misc]
    """A model of knockout that predicts the score of deleting genes together.

    `X` are gene sets: an array `[samples, genes]` of names or of rows of the gene table, lists of them, or a frame; `y` are their scores.
    `dataset` gives the genes and networks; its samples are not used. Without it there are no networks, and the genes are `genes`, a list of names,
    or else those named in the `X` of `fit`: no others can be predicted. A share `val` of the samples chooses the settings, as in every run of
    knockout; `split` sets what these must not share with the others (`random`, `pair-disjoint`, `gene-disjoint`). `seed`, `epochs` and `settings`
    are those of `knockout.train`.

    After `fit`, `run_` is the run, with its page and explanations. Its folder is removed with the estimator.
    """

    def __init__(
        self,
        dataset: Dataset | str | PathLike[str] | None = None,
        model: str = "stack",
        *,
        genes: Sequence[str] | None = None,
        val: float = 0.1,
        split: str = "random",
        seed: int = 0,
        epochs: int | None = None,
        settings: Mapping[str, Any] | None = None,
    ) -> None:
        self.dataset = dataset
        self.model = model
        self.genes = genes
        self.val = val
        self.split = split
        self.seed = seed
        self.epochs = epochs
        self.settings = settings

    def fit(self, X: GeneSets, y: Any) -> Regressor:
        """Fits the model to gene sets and their scores."""
        names: list[str] = []
        dataset: Dataset | None = None
        if self.dataset is None:
            genes, offsets, names = _named(X, self.genes)
        elif self.genes is not None:
            raise RequestError("the dataset has the genes; give dataset or genes, not both")
        else:
            dataset = self.dataset if isinstance(self.dataset, Dataset) else Dataset(self.dataset)
            genes, offsets = ragged(_listed(X), dataset._dataset.find_genes)
        scores = numpy.asarray(y, dtype=numpy.float64)
        if scores.ndim != 1 or len(scores) != len(offsets) - 1:
            raise RequestError(f"{len(offsets) - 1} gene sets and scores of shape {scores.shape}; there must be one score for each set")
        if not numpy.isfinite(scores).all():
            raise RequestError("a score is not finite; leave its sample out")
        self._folder = tempfile.TemporaryDirectory(prefix="knockout-estimator-")
        home = Path(self._folder.name)
        if dataset is None:
            _knockout.write_dataset(fspath(home / "screen"), [(name, None) for name in names], [], genes, offsets, scores)
        else:
            _knockout.write_samples(fspath(home / "screen"), dataset._dataset, genes, offsets, scores)
        # The run needs a test part; it takes one sample in a hundred, and nothing is measured on it.
        split = {"split.scheme": self.split, "split.val": self.val, "split.test": 0.01}
        settings = {**split, **(self.settings or {})}
        self.run_: Run = train(home / "screen", self.model, out=home / "run", seed=self.seed, epochs=self.epochs, settings=settings, progress=False)
        return self

    def predict(self, X: GeneSets) -> NDArray[numpy.float64]:
        """Returns the predicted score of every gene set."""
        check_is_fitted(self)
        if self.dataset is None:
            known = set(self.run_.gene_names)
            unknown = [name for name in _named(X, None)[2] if name not in known]
            if unknown:
                raise RequestError(
                    f"{unknown[0]} is in no sample that the model was fitted to ({len(unknown)} such genes); give all names, "
                    "knockout.Stack(genes=names), or a dataset with their networks, knockout.Stack(dataset)"
                )
        return self.run_.predict(_listed(X)).mean

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.string = tags.input_tags.two_d_array = True
        tags.no_validation = True
        return tags

    def __getstate__(self) -> dict[str, Any]:
        """Pickles the settings and, once fitted, the files of the run."""
        state: dict[str, Any] = dict(super().__getstate__())
        folder = state.pop("_folder", None)
        if folder is not None:
            del state["run_"]
            state["_files"] = _packed(folder.name)
        return state

    def __setstate__(self, state: dict[str, Any]) -> None:
        files = state.pop("_files", None)
        super().__setstate__(state)
        if files is not None:
            self._folder = tempfile.TemporaryDirectory(prefix="knockout-estimator-")
            with tarfile.open(fileobj=io.BytesIO(files)) as archive:
                archive.extractall(self._folder.name, filter="data")
            self.run_ = Run(Path(self._folder.name) / "run", data=Path(self._folder.name) / "screen")


class Stack(Regressor):
    """The stack as an estimator of scikit-learn: the most accurate model that is solved in seconds. See `Regressor`."""

    def __init__(
        self,
        dataset: Dataset | str | PathLike[str] | None = None,
        *,
        genes: Sequence[str] | None = None,
        val: float = 0.1,
        split: str = "random",
        seed: int = 0,
        settings: Mapping[str, Any] | None = None,
    ) -> None:
        super().__init__(dataset, "stack", genes=genes, val=val, split=split, seed=seed, settings=settings)


def samples_of(dataset: Dataset, order: int | None = None) -> tuple[NDArray[numpy.int64], NDArray[numpy.float64]]:
    """Returns the samples as `X` `[samples, genes]` of rows of the gene table, and `y`. `order` chooses one size of sets, if there are several."""
    columns = dataset.samples("dict")
    sizes = numpy.diff(columns["genes_offsets"].astype(numpy.int64))
    if order is None:
        found = numpy.unique(sizes).tolist()
        if len(found) != 1:
            raise RequestError(f"the samples have {', '.join(map(str, found))} genes; choose one with order")
        order = found[0]
    chosen = sizes == order
    starts = columns["genes_offsets"][:-1][chosen].astype(numpy.int64)
    rows = columns["genes"][starts[:, None] + numpy.arange(order)]
    return rows.astype(numpy.int64), numpy.array(columns["score"][chosen])


def _named(X: Any, genes: Sequence[str] | None) -> tuple[NDArray[numpy.uint32], NDArray[numpy.uint32], list[str]]:
    """Returns gene sets of names as rows of a table of names in alphabetical order, offsets, and the table: `genes`, or else all in the sets."""
    seen: dict[str, int] = {str(name): row for row, name in enumerate(dict.fromkeys([] if genes is None else genes))}
    named = False

    def rows(names: list[str]) -> NDArray[numpy.uint32]:
        nonlocal named
        named = True
        if genes is not None:
            unknown = [name for name in names if name not in seen]
            if unknown:
                raise RequestError(f"{unknown[0]} is not among the {len(seen)} names in genes")
        return numpy.array([seen.setdefault(name, len(seen)) for name in names], dtype=numpy.uint32)

    members, offsets = ragged(_listed(X), rows)
    if len(members) and not named:
        raise RequestError("X has rows of a gene table, but without a dataset these rows have no names; give names, or knockout.Stack(dataset)")
    names = sorted(seen)
    place = numpy.empty(len(seen), dtype=numpy.uint32)
    place[[seen[name] for name in names]] = numpy.arange(len(seen), dtype=numpy.uint32)
    return place[members], offsets, names


def _packed(folder: str) -> bytes:
    buffer = io.BytesIO()
    with tarfile.open(fileobj=buffer, mode="w:gz", compresslevel=1) as archive:
        archive.add(folder, arcname="")
    return buffer.getvalue()


def _listed(sets: Any) -> Any:
    """Returns an array of objects, such as names, as lists."""
    return sets.tolist() if isinstance(sets, numpy.ndarray) and sets.dtype == object else sets
