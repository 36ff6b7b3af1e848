"""Fixtures of doctests and tests: a synthetic yeast and a trace, created once."""

import json
from pathlib import Path
from typing import Any

import pytest

import knockout


@pytest.fixture(scope="session")
def tiny(tmp_path_factory: pytest.TempPathFactory) -> str:
    """Folder of a synthetic yeast of 200 genes and 2,000 samples."""
    folder = tmp_path_factory.mktemp("data") / "tiny"
    knockout.synth(folder, "tiny").close()
    return str(folder)


@pytest.fixture(scope="session")
def small_trace(tmp_path_factory: pytest.TempPathFactory) -> str:
    """A trace of two operations, one inside the other, in two steps."""
    path: Path = tmp_path_factory.mktemp("traces") / "small.json"
    path.write_text(json.dumps(trace_of(5.5)))
    return str(path)


def trace_of(inner_us: float) -> dict[str, Any]:
    def event(cat: str, name: str, ts: float, dur: float) -> dict[str, Any]:
        return {"ph": "X", "cat": cat, "name": name, "pid": 1, "tid": 1, "ts": ts, "dur": dur}

    return {
        "traceEvents": [
            event("user_annotation", "ProfilerStep#1", 0, 10),
            event("cpu_op", "aten::linear", 0, 10),
            event("cpu_op", "aten::addmm", 2, inner_us),
            event("user_annotation", "ProfilerStep#2", 20, 10),
            event("cpu_op", "aten::linear", 20, 10),
            event("cpu_op", "aten::addmm", 22, inner_us),
        ]
    }


@pytest.fixture(autouse=True)
def _names(doctest_namespace: dict[str, Any], tiny: str, small_trace: str) -> None:
    doctest_namespace.update(tiny=tiny, small_trace=small_trace)
