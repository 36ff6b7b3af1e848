"""Analysis and comparison of traces of the PyTorch profiler.

>>> import knockout
>>> analysis = knockout.trace.analyze(small_trace)
>>> analysis.operations.name.tolist()[:2]
['aten::addmm', 'aten::linear']
"""

from __future__ import annotations

import gzip
import tempfile
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from os import PathLike, fspath
from pathlib import Path
from typing import Any

from . import _knockout
from ._frames import FrameKind, records
from ._report import Reported, scalars
from .errors import RequestError

__all__ = ["Analysis", "Comparison", "Recording", "analyze", "compare", "profile"]

Paths = str | PathLike[str] | Sequence[str | PathLike[str]]


class _Traces(Reported):
    """Base of results with the page of a trace."""

    def save(self, path: str | PathLike[str]) -> Path:
        """Writes the page to a file; an earlier name of `report`."""
        return self.report(path)


class Analysis(_Traces):
    """The analysis of a trace, or of the ranks of one job."""

    def __init__(self, analysis: _knockout.Analysis) -> None:
        self._analysis = analysis
        #: The document of `knockout trace analyze --json`.
        self.document: dict[str, Any] = analysis.document()

    def frame(self, key: str, kind: FrameKind | None = None) -> Any:
        """Returns a list of the document (`steps`, `operations`, `categories`, `lanes`, …) as a frame; nested lists are left out."""
        rows = self.document.get(key)
        if not isinstance(rows, list):
            raise RequestError(f"the document has no list {key!r}")
        return records([scalars(row) for row in rows], kind)

    @property
    def steps(self) -> Any:
        """Time of every step, as a frame."""
        return self.frame("steps")

    @property
    def operations(self) -> Any:
        """Self and total time of every operation, largest first, as a frame."""
        return self.frame("operations")

    @property
    def modules(self) -> Any:
        """Host and device time of every module and annotation by name, with its backward pass, longest first, as a frame.

        `frame("module_tree")` has the same as a tree: `parent` is the index of the row around a row.
        """
        return self.frame("modules")

    @property
    def categories(self) -> Any:
        """Self time by category, as a frame; the categories add up to the total."""
        return self.frame("categories")

    @property
    def gpu(self) -> Any:
        """Figures of the GPU by rank, as a frame; empty without a GPU."""
        ranks = self.document.get("ranks") or []
        rows = [{"file": rank.get("file"), "rank": rank.get("rank")} | scalars(rank["gpu"]) for rank in ranks if rank.get("gpu")]
        return records(rows)

    @property
    def warnings(self) -> list[str]:
        """Problems of the trace, as sentences."""
        return self.document["warnings"]

    @property
    def verdicts(self) -> list[str]:
        """Findings, as sentences."""
        return [verdict["text"] for verdict in self.document["verdicts"]]

    def _page(self) -> _knockout.Analysis:
        return self._analysis

    def collapsed(self) -> str:
        """Returns collapsed stacks for flame graphs, with the self time in nanoseconds."""
        return self._analysis.collapsed()

    def __str__(self) -> str:
        return self._analysis.text()

    def __repr__(self) -> str:
        document = self.document
        return f"Analysis({document['files']}, {document['events']} events, {document['span_us'] / 1e3:.3f} ms)"


class Comparison(_Traces):
    """The comparison of two traces; ratios are b / a."""

    def __init__(self, comparison: _knockout.Comparison) -> None:
        self._comparison = comparison
        #: The document of `knockout trace compare --json`.
        self.document: dict[str, Any] = comparison.document()

    @property
    def comparable(self) -> bool:
        """Whether the conditions are the same; `differences` lists those that are not."""
        return self.document["comparable"]

    @property
    def differences(self) -> list[dict[str, Any]]:
        """Conditions that differ."""
        return self.document["differences"]

    @property
    def rows(self) -> Any:
        """Time per step, in total and by category, with the interval of the ratio, as a frame."""
        return records([scalars(row) for row in self.document["rows"]])

    @property
    def operations(self) -> Any:
        """Time per step of every operation, with the interval of the ratio, as a frame."""
        return records([scalars(row) for row in self.document["operations"]])

    def _page(self) -> _knockout.Comparison:
        return self._comparison

    def __str__(self) -> str:
        return self._comparison.text()


def _paths(paths: Paths) -> list[str]:
    if isinstance(paths, (str, PathLike)):
        return [fspath(paths)]
    return [fspath(path) for path in paths]


def analyze(paths: Paths, *, rules: str | PathLike[str] | None = None) -> Analysis:
    """Analyses a trace (plain or packed), or the traces of the ranks of one job.

    `rules` is a TOML file that maps events to categories. Of a damaged trace the readable part is analysed, with a warning in `warnings`.
    """
    return Analysis(_knockout.analyze(_paths(paths), None if rules is None else fspath(rules)))


def compare(
    a: Analysis | Paths, b: Analysis | Paths, *, samples_per_step: tuple[float, float] | None = None
) -> Comparison:
    """Compares two traces per step, or per sample with the given samples per step of `a` and `b`."""
    first, second = (side if isinstance(side, Analysis) else analyze(side) for side in (a, b))
    return Comparison(_knockout.compare(first._analysis, second._analysis, samples_per_step))


class Recording:
    """A recording of `profile`: the profiler while it runs, and the analysis afterwards."""

    def __init__(self, profiler: Any, path: Path) -> None:
        #: The `torch.profiler.profile`; call `step()` after every step.
        self.profiler = profiler
        #: Path of the trace; a temporary one is removed once it is analysed.
        self.path = path
        #: Steps that have ended.
        self.steps = 0
        self._analysis: Analysis | None = None

    def step(self) -> None:
        """Ends a step."""
        self.steps += 1
        self.profiler.step()

    @property
    def analysis(self) -> Analysis:
        """The analysis of the recording."""
        if self._analysis is None:
            if not self.path.exists():
                raise RequestError("nothing is recorded yet; the analysis is available after the `with` block")
            self._analysis = analyze(self.path)
        return self._analysis


@contextmanager
def profile(path: str | PathLike[str] | None = None, **options: Any) -> Iterator[Recording]:
    """Records a block with `torch.profiler` and analyses it.

        with knockout.trace.profile() as recording:
            for batch in loader:
                train_step(batch)
                recording.step()
        recording.analysis

    `path` is the file of the trace (`.json` or `.json.gz`); without one the trace is analysed at the end of the block and removed. `options`
    are those of `torch.profiler.profile`. With a `schedule` of several cycles the last one is kept.
    """
    import torch

    on_ready = options.pop("on_trace_ready", None)
    # Without a schedule PyTorch marks no steps.
    own_schedule = "schedule" in options
    options.setdefault("schedule", lambda step: torch.profiler.ProfilerAction.RECORD)
    with tempfile.TemporaryDirectory(prefix="knockout-trace-") as folder:
        target = Path(folder) / "trace.json" if path is None else Path(path)

        def ready(profiler: Any) -> None:
            profiler.export_chrome_trace(str(target))
            if not own_schedule:
                _without_last_step(target, recording.steps)
            if on_ready is not None:
                on_ready(profiler)

        with torch.profiler.profile(on_trace_ready=ready, **options) as profiler:
            recording = Recording(profiler, target)
            yield recording
        if path is None and target.exists():
            recording._analysis = analyze(target)


def _without_last_step(path: Path, steps: int) -> None:
    """Renames the mark of the step that PyTorch begins after the last `step()` and that ends with the block: it is none."""
    if steps == 0:
        return
    mark, other = f'"ProfilerStep#{steps}"', '"after the last step"'
    changed = path.with_name(f"{path.name}.partial")
    opened: Any = gzip.open if path.suffix == ".gz" else open
    with opened(path, "rt", encoding="utf-8") as before, opened(changed, "wt", encoding="utf-8") as after:
        after.writelines(line.replace(mark, other) for line in before)
    changed.replace(path)
