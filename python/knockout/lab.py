"""Work over many runs: lists, comparisons, hits, benchmarks and sweeps. Each returns a `Report`: a document with its page."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping, Sequence
from os import PathLike, fspath
from typing import Any, Literal

from . import _knockout
from ._frames import FrameKind, records
from ._keys import keys_of
from ._report import Report
from .dataset import Dataset, split_text
from .errors import RequestError
from .run import Run

__all__ = ["Hits", "baseline", "benchmark", "compare", "hits", "runs", "sweep"]

AnyRun = Run | str | PathLike[str]


def runs(folder: str | PathLike[str] = "runs") -> Report:
    """Lists the runs in a folder, three levels deep, as `knockout runs` does. `frame("runs")` has a row for each.

    >>> import knockout, tempfile
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     run = knockout.train(tiny, "dango", out=f"{folder}/first", epochs=1, settings={"model.width": 8})
    ...     knockout.runs(folder).frame("runs", "dict")["model"]
    ['dango']
    """
    return Report(_knockout.list_runs(fspath(folder)))


def compare(a: AnyRun, b: AnyRun) -> Report:
    """Compares two trained runs as `knockout compare` does: the settings that differ, and the best validation of each.

    `Run.evaluation` compares a run with the baselines on the test part; `knockout.trace.compare` compares traces.
    """
    return Report(_knockout.compare_runs(_folder(a), _folder(b)))


def baseline(
    dataset: Dataset | str | PathLike[str],
    *,
    split: str = "random",
    part: str = "test",
    seed: int = 0,
    splits: int = 1,
    seeds: int = 1,
    resamples: int = 2000,
) -> Report:
    """Fits the baselines that every network must beat, as `knockout baseline` does. `frame("rows")` has a row for each.

    `splits` splits are made, with seeds `seed`, `seed + 1`, …, and on each of them `seeds` networks over gene embeddings are trained; several
    show the spread over them.
    """
    opened = dataset if isinstance(dataset, Dataset) else Dataset(dataset)
    texts = [split_text(split, seed=seed + index) for index in range(splits)]
    return Report(_knockout.baseline(opened._dataset, texts, part, [seed + index for index in range(seeds)], resamples))


class Hits(Report):
    """The highest and lowest predictions of many gene sets: the document of `knockout predict --json` with its page."""

    def to_frame(self, kind: FrameKind | None = None) -> Any:
        """Returns a frame of the hits, lowest first: names, prediction, deviation, regime, and what to consider before a test."""
        unique = {hit["number"]: hit for hit in self["bottom"] + self["top"]}
        return records(sorted(unique.values(), key=lambda hit: hit["prediction"]), kind)


def hits(
    run: AnyRun | Sequence[AnyRun],
    out: str | PathLike[str],
    *,
    order: int = 2,
    genes: Literal["measured", "all"] | Sequence[str] = "measured",
    with_genes: Iterable[str] = (),
    part: str | None = None,
    not_measured: bool = False,
    exclude: Iterable[str] = (),
    min_degree: int = 0,
    top: int = 100,
    bottom: int = 100,
    keep_all: bool = False,
    data: str | PathLike[str] | None = None,
) -> Hits:
    """Predicts all sets of `order` genes and returns the highest and lowest, as `knockout predict` does.

    Several runs predict together: their mean, and the standard deviation over them. `genes` are the genes to choose from, `with_genes` those
    that every set has; `part` predicts the samples of a part of the split instead. `not_measured` leaves out sets with a score, `exclude`
    those with one of these genes, `min_degree` those with a gene of fewer edges. The folder `out` has the hits as tables, and with `keep_all`
    every prediction; the same call resumes one that was interrupted.

    >>> import knockout, tempfile
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     run = knockout.train(tiny, out=f"{folder}/stack")
    ...     found = knockout.hits(run, f"{folder}/hits", not_measured=True, bottom=5, top=0)
    >>> len(found["bottom"]), found["scored"] > 10_000
    (5, True)
    """
    several: Sequence[AnyRun] = [run] if isinstance(run, (Run, str, PathLike)) else run
    request = {
        "order": order,
        "part": part,
        "genes": genes if isinstance(genes, str) else list(genes),
        "with": _names("with_genes", with_genes),
        "not_measured": not_measured,
        "exclude": _names("exclude", exclude),
        "min_degree": min_degree,
        "top": top,
        "bottom": bottom,
        "keep_all": keep_all,
    }
    try:
        text = json.dumps(request)
    except TypeError as error:
        raise RequestError(f"cannot predict these sets: {error}") from None
    folders = [_folder(one) for one in several]
    return Hits(_knockout.hits(folders, fspath(out), None if data is None else fspath(data), text))


def benchmark(
    datasets: Dataset | str | PathLike[str] | Sequence[Dataset | str | PathLike[str]],
    out: str | PathLike[str],
    *,
    models: Sequence[str] = (),
    split: str | Sequence[str] = ("random", "gene-disjoint"),
    seeds: Sequence[int] = (0,),
    budget: float | None = 600.0,
    settings: Mapping[str, Mapping[str, Any]] | None = None,
    resamples: int = 2000,
) -> Report:
    """Trains every model on every split and compares them on the test part, as `knockout benchmark` does.

    `budget` is the CPU time of each network on each split in seconds; None means no limit. `settings` are those of a model, by its name. The
    same call resumes a benchmark that was interrupted.
    """
    several = [datasets] if isinstance(datasets, (Dataset, str, PathLike)) else datasets
    keys = [(model, key) for model, own in (settings or {}).items() for key in keys_of(own)]
    schemes = [split] if isinstance(split, str) else list(split)
    page = _knockout.benchmark(
        [_data(one) for one in several], fspath(out), schemes, list(seeds), list(models), keys, budget, resamples
    )
    return Report(page)


def sweep(
    dataset: Dataset | str | PathLike[str],
    model: str,
    out: str | PathLike[str],
    settings: Mapping[str, Any],
    *,
    budget: float = 1800.0,
    keep: int = 3,
) -> Report:
    """Searches settings of a model by successive halving on the validation part, as `knockout sweep` does.

    `settings` has values, or lists of values to try each; `budget` is the CPU time of all runs together in seconds; one in `keep` settings
    of a rung continues to the next. The same call resumes a sweep that was interrupted.
    """
    axes = []
    for key, values in settings.items():
        tried = values if isinstance(values, (list, tuple)) else [values]
        axes.append(f"{key}=" + ",".join(keys_of({key: value})[0].split("=", 1)[1] for value in tried))
    return Report(_knockout.sweep(_data(dataset), model, fspath(out), axes, budget, keep))


def _folder(run: AnyRun) -> str:
    return fspath(run.folder if isinstance(run, Run) else run)


def _data(dataset: Dataset | str | PathLike[str]) -> str:
    return fspath(dataset.path if isinstance(dataset, Dataset) else dataset)


def _names(argument: str, names: Iterable[str]) -> list[str]:
    if isinstance(names, str):
        raise RequestError(f"{argument} must be a list of gene names, not a string")
    return list(names)
