"""Runs: training, prediction and evaluation of models."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from functools import cached_property
from os import PathLike, fspath
from pathlib import Path
from typing import Any

import numpy
from numpy.typing import NDArray

from . import _knockout
from ._frames import FrameKind, flat, frame, records
from ._keys import keys_of
from ._progress import Progress
from ._report import Report, Reported, framed
from ._trackers import TRACKER_KEYS, Tracking, split_settings
from .dataset import Dataset, GeneSets, _rows, ragged
from .errors import RequestError

__all__ = ["Evaluation", "Prediction", "Run", "adopt", "config", "resume", "train"]

#: Called after every epoch with its line of `metrics.jsonl`, as a dictionary. Returning True stops the run. An exception stops it too and is
#: raised again after the state is saved.
Callback = Callable[[dict[str, Any]], "bool | None"]


@dataclass(frozen=True, repr=False)
class Prediction(Reported):
    """Predictions in the units of the scores. A notebook shows them with their regimes and what to consider before a test."""

    mean: NDArray[numpy.float64]
    #: Standard deviation of a new measurement around each prediction; None if the model has none.
    sd: NDArray[numpy.float64] | None
    #: The predicted sets, as rows of the gene table: set `i` is `genes[offsets[i]:offsets[i + 1]]`.
    genes: NDArray[numpy.uint32] | None = None
    offsets: NDArray[numpy.uint32] | None = None
    #: The run that predicted.
    run: Run | None = None

    def __len__(self) -> int:
        return len(self.mean)

    def __repr__(self) -> str:
        return f"Prediction({len(self)} sets{'' if self.sd is None else ', with standard deviations'})"

    def to_frame(self, kind: FrameKind | None = None) -> Any:
        """Returns a frame: the standard names of each set, its mean and, where the model has one, its standard deviation.

        With `kind="dict"` the columns are a list of lists and arrays.
        """
        columns: dict[str, Any] = {}
        if self.run is not None and self.genes is not None and self.offsets is not None:
            names = self.run.gene_names
            sets = [self.genes[begin:end] for begin, end in zip(self.offsets[:-1], self.offsets[1:], strict=True)]
            columns["genes"] = [[names[gene] for gene in one] for one in sets]
        columns["mean"] = self.mean
        if self.sd is not None:
            columns["sd"] = self.sd
        return frame(columns, kind)

    def _page(self) -> _knockout.Page:
        if self.run is None or self.genes is None or self.offsets is None:
            raise RequestError("only predictions of Run.predict have a page")
        return self.run._run.prediction_page(self.genes, self.offsets, self.mean, self.sd)

    def __array__(self, dtype: Any = None, copy: bool | None = None) -> NDArray[Any]:
        return numpy.array(self.mean, dtype=dtype, copy=True if copy is None else copy)


class Evaluation(Report):
    """The evaluation of a run: the document of `knockout evaluate --json` with its page.

    `rows` has the metrics of every model, `comparisons` the paired differences, `regimes` the figures of known and of new genes.
    """

    def to_frame(self, kind: FrameKind | None = None) -> Any:
        """Returns the metrics of every model as a frame."""
        return records(self["rows"], kind)


class Run(Reported):
    """A run's folder and its trained model. A notebook shows the page of `knockout train`.

    >>> import knockout, tempfile
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     run = knockout.train(tiny, "dango", out=f"{folder}/run", epochs=1, settings={"model.width": 8})
    ...     len(run.metrics("dict")["epoch"]), run.predict([[0, 1, 2], [3, 4, 5]]).mean.shape
    (1, (2,))
    """

    def __init__(self, folder: str | PathLike[str], *, state: str | None = None, data: str | PathLike[str] | None = None) -> None:
        self._folder = Path(folder)
        self._state = state
        self._data = None if data is None else fspath(data)
        self._opened: _knockout.OpenRun | None = None
        #: Why training ended, if `train` or `resume` returned this run.
        self.ended: str | None = None
        # The model is opened lazily, but a folder that is not a run is rejected here.
        _knockout.read_metrics(fspath(self._folder))

    @classmethod
    def open(
        cls, folder: str | PathLike[str], *, state: str | None = None, data: str | PathLike[str] | None = None
    ) -> Run:
        """Opens a run.

        `state` is `best-pearson` (the default if it exists), `best-mse` or `last`; `data` is the folder of the dataset, if it has moved.
        """
        run = cls(folder, state=state, data=data)
        run._run  # noqa: B018 - rejects a run without a checkpoint
        return run

    @property
    def _run(self) -> _knockout.OpenRun:
        if self._opened is None:
            self._opened = _knockout.OpenRun(fspath(self._folder), self._state, self._data)
        return self._opened

    def __reduce__(self) -> tuple[Any, ...]:
        data = None if self._data is None else os.path.abspath(self._data)
        return (_open, (os.path.abspath(self._folder), self._state, data))

    def __repr__(self) -> str:
        return f"Run({str(self._folder)!r})"

    @property
    def folder(self) -> Path:
        """The run's folder."""
        return self._folder

    @property
    def checkpoint(self) -> Path:
        """The folder of the checkpoint in use; PyTorch can load its `weights.safetensors`."""
        return Path(self._run.checkpoint)

    @property
    def config(self) -> dict[str, Any]:
        """The resolved configuration."""
        return self._run.config()

    @property
    def labels(self) -> tuple[float, float]:
        """Mean and standard deviation of the training scores, which standardise the targets of models."""
        return self._run.labels()

    def info(self) -> dict[str, Any]:
        """Returns model, seed, state, step and hash of the weights."""
        return self._run.entry()

    def dataset(self) -> Dataset:
        """Opens the run's dataset."""
        return Dataset(self._run.dataset_folder)

    def weights(self) -> dict[str, NDArray[numpy.float32]]:
        """Returns the weights by name."""
        return self._run.weights()

    @cached_property
    def gene_names(self) -> list[str]:
        """Standard names of the genes, or systematic ones where there are none, in the order of the gene table."""
        systematic, standard = self.dataset()._dataset.gene_names()
        return [other or name for name, other in zip(systematic, standard, strict=True)]

    def metrics(self, kind: FrameKind | None = None) -> Any:
        """Returns the metrics of every epoch as a frame; nested values have dotted names (`val.pearson`)."""
        lines = _knockout.read_metrics(fspath(self._folder))
        return records([flat(line) for line in lines], kind)

    def predict(self, sets: GeneSets) -> Prediction:
        """Predicts the score of deleting each set of genes together.

        Sets are lists of gene names (systematic or standard) or of rows of the gene table, or an array `[sets, genes]` of either, or a frame
        with a column `genes` of lists or columns whose names begin with `gene`.
        """
        genes, offsets = ragged(sets, self._run.find_genes)
        return Prediction(*self._run.predict(genes, offsets), genes, offsets, self)

    def evaluate(self, part: str = "test", *, resamples: int = 2000, kind: FrameKind | None = None) -> Any:
        """Returns a frame of the metrics of the model, the stack and the additive ridge on a part of the split.

        `low` and `high` are the bootstrap interval of Pearson; `resampled` names what it resamples: records, genes or query strains. `evaluation` also has the paired differences.
        """
        return self.evaluation(part, resamples=resamples).to_frame(kind)

    def evaluation(self, part: str = "test", *, resamples: int = 2000) -> Evaluation:
        """Returns the whole evaluation with its page: `rows`, `comparisons`, `regimes`, `unseen`, `attainable_pearson`."""
        found = Evaluation(self._run.evaluate(part, resamples))
        found["unseen"] = {"genes": found["unseen_genes"], "records": found["unseen_records"]}
        return found

    def explain(self, genes: Iterable[str] | Iterable[int], *, neighbours: int = 8, nearest: int = 8) -> Report:
        """Explains a prediction, with a page: contributions of genes, networks and neighbours, and measurements of similar sets."""
        one: Any = list(genes)
        found, _ = ragged([one], self._run.find_genes)
        return Report(self._run.explain(found, neighbours, nearest))

    def _page(self) -> _knockout.Page:
        return self._run.page()

    def _repr_html_(self) -> str:
        # The page that training has written; a new one predicts the validation part, which may take minutes.
        written = self._folder / "report.html"
        return framed(written.read_text(encoding="utf-8") if written.is_file() else self.html())


def _open(folder: str, state: str | None, data: str | None) -> Run:
    return Run(folder, state=state, data=data)


def _dataset(dataset: Dataset | str | PathLike[str]) -> Dataset:
    return dataset if isinstance(dataset, Dataset) else Dataset(dataset)


def config(
    dataset: Dataset | str | PathLike[str], model: str = "stack", *, settings: Mapping[str, Any] | None = None
) -> dict[str, Any]:
    """Returns the configuration of a run: every key that `settings` can change.

    >>> import knockout
    >>> knockout.config(tiny, "hetero", settings={"model.layers": 2})["model"]["layers"]
    2
    """
    return _knockout.configuration(_dataset(dataset)._dataset, model, keys_of(settings))


def train(
    dataset: Dataset | str | PathLike[str],
    model: str = "stack",
    *,
    out: str | PathLike[str] | None = None,
    epochs: int | None = None,
    batch: int | None = None,
    seed: int | None = None,
    split: str | None = None,
    max_steps: int | None = None,
    settings: Mapping[str, Any] | None = None,
    callback: Callback | None = None,
    exist_ok: bool = False,
    progress: bool | None = None,
    batch_size: int | None = None,
) -> Run:
    """Trains a model in a new folder and returns its run.

    Some models are solved in one step, such as `stack`; others are trained, such as `dango` and `hetero`. `settings` are the keys of `config`,
    dotted or nested. Ctrl-C saves the state and raises `KeyboardInterrupt`; `resume` then continues to the same bits. With `exist_ok` a run of
    the same settings and data in the folder is continued, or returned if it has ended. `progress` shows a bar of tqdm; by default in notebooks.
    Every epoch is logged to the logger `knockout`. `batch` is an earlier name of `batch_size`. The keys `run.wandb` and `run.mlflow` log to
    trackers.

    >>> import knockout, tempfile
    >>> seen = []
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     run = knockout.train(tiny, "dango", out=f"{folder}/run", epochs=5, settings={"model": {"width": 8}},
    ...                          callback=lambda line: seen.append(line["epoch"]) or line["epoch"] >= 1)
    >>> seen, run.ended
    ([0, 1], 'stopped')
    """
    batch = batch if batch_size is None else batch_size
    tracked, settings = split_settings(settings)
    tracking = Tracking(tracked) if tracked else None
    keys = keys_of(settings, epochs=epochs, batch=batch, seed=seed, max_steps=max_steps, **{"split.scheme": split})
    target = None if out is None else fspath(out)
    opened = _dataset(dataset)
    training = _knockout.Training.create(opened._dataset, model, target, keys, exist_ok)
    if tracking is None:
        return _drive(training, None, callback, progress)
    about = {"dataset": str(opened.path), "data_hash": opened.data_hash}
    return _track(tracking, training, config(opened, model, settings=dict(_named(keys))), about, None, callback, progress)


def resume(
    folder: str | PathLike[str],
    *,
    data: str | PathLike[str] | None = None,
    epochs: int | None = None,
    max_steps: int | None = None,
    settings: Mapping[str, Any] | None = None,
    callback: Callback | None = None,
    progress: bool | None = None,
) -> Run:
    """Resumes a run that was stopped or killed, to the same bits as an uninterrupted one. `settings` may have keys of trackers alone."""
    tracked, others = split_settings(settings)
    if others:
        raise RequestError(f"{next(iter(others))} cannot change when a run is resumed; settings take {', '.join(TRACKER_KEYS)}")
    tracking = Tracking(tracked) if tracked else None
    dataset = None if data is None else fspath(data)
    keys = keys_of(None, epochs=epochs, max_steps=max_steps)
    resolved = {} if tracking is None else Run(folder, data=data).config
    training = _knockout.Training.resume(fspath(folder), dataset, keys)
    if tracking is None:
        return _drive(training, dataset, callback, progress)
    return _track(tracking, training, resolved, {}, dataset, callback, progress)


def _named(keys: list[str]) -> Iterable[tuple[str, str]]:
    """Splits `key=value`."""
    return ((name, value) for name, _, value in (key.partition("=") for key in keys))


def _track(
    tracking: Tracking,
    training: _knockout.Training,
    resolved: Mapping[str, Any],
    about: Mapping[str, str],
    data: str | None,
    callback: Callback | None,
    progress: bool | None,
) -> Run:
    """Trains, and logs every epoch to the trackers before the caller's own callback."""
    with tracking.of(Path(training.folder), resolved, about, lambda: Run(training.folder, data=data).html()) as log:

        def both(line: dict[str, Any]) -> bool | None:
            log(line)
            return None if callback is None else callback(line)

        return _drive(training, data, both, progress)


def _drive(training: _knockout.Training, data: str | None, callback: Callback | None, progress: bool | None) -> Run:
    shown = Progress(Path(training.folder).name, training.epochs, progress)
    try:
        while True:
            outcome = training.advance()
            if isinstance(outcome, str):
                break
            shown.epoch(outcome)
            if callback is None:
                continue
            try:
                if callback(outcome):
                    training.stop()
            except BaseException:
                # Save the state first.
                training.stop()
                training.advance()
                raise
    finally:
        shown.close()
        training.close()
    run = Run(training.folder, data=data)
    run.ended = outcome
    return run


def adopt(
    dataset: Dataset | str | PathLike[str],
    model: str,
    weights: Mapping[str, Any],
    *,
    train_loss: float,
    out: str | PathLike[str] | None = None,
    settings: Mapping[str, Any] | None = None,
    rows: NDArray[Any] | None = None,
) -> Run:
    """Creates a run from weights that were trained elsewhere, for example by `knockout.torch` on a GPU.

    `weights` are all arrays or tensors of the model by name (a `state_dict`), `settings` those that the model was built with, and
    `train_loss` is the mean loss of the last epoch on standardised scores. The weights are validated and saved as a run of one epoch,
    which `knockout evaluate`, `predict` and `explain` accept and `resume` continues.

    `rows` are the rows of the dataset that the model was trained on. One of the validation or test part of the run's split is refused.
    Without them, `knockout evaluate` notes that the model may have seen the records that it is tested on. `model.adopt` of
    `knockout.torch` knows them.
    """
    arrays = {name: _float32(name, value) for name, value in weights.items()}
    target = None if out is None else fspath(out)
    folder, _ = _knockout.adopt(
        _dataset(dataset)._dataset, model, target, keys_of(settings), arrays, float(train_loss), None if rows is None else _rows(rows)
    )
    return Run(folder)


def _float32(name: str, value: Any) -> NDArray[numpy.float32]:
    if hasattr(value, "detach"):
        value = value.detach().cpu()
        # numpy does not support bfloat16.
        value = value.float() if value.is_floating_point() else value
    array = numpy.asarray(value)
    if array.dtype.kind not in "fiu":
        raise RequestError(f"the weights {name!r} must be numbers, not {array.dtype}")
    # Not `ascontiguousarray`, which turns a scalar into an array of one element.
    return numpy.asarray(array, dtype=numpy.float32, order="C")
