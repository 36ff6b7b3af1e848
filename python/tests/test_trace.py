"""Traces: frames, pages, comparisons."""

import gzip
import json
from pathlib import Path
from typing import Any

import pytest

import knockout
from conftest import trace_of


def test_frames_hold_the_documents_figures(small_trace: str) -> None:
    analysis = knockout.trace.analyze(small_trace)
    operations = analysis.operations.set_index("name")
    assert operations.self_us["aten::linear"] == pytest.approx(9.0)
    assert operations.self_us["aten::addmm"] == pytest.approx(11.0)
    assert operations["count"][["aten::linear", "aten::addmm"]].tolist() == [2, 2]
    assert analysis.steps.us.tolist() == [10.0, 10.0]
    assert analysis.categories.share.sum() == pytest.approx(1.0)
    assert len(analysis.gpu) == 0
    assert "aten::addmm" in str(analysis) and "aten::addmm" in analysis.collapsed()
    with pytest.raises(knockout.RequestError, match="no list"):
        analysis.frame("nothing")


def rank_of_two(rank: int) -> dict[str, Any]:
    def event(cat: str, name: str, pid: int, tid: int, ts: float, dur: float, **args: int) -> dict[str, Any]:
        return {"ph": "X", "cat": cat, "name": name, "pid": pid, "tid": tid, "ts": ts, "dur": dur, "args": args}

    return {
        "distributedInfo": {"backend": "nccl", "rank": rank, "world_size": 2},
        "deviceProperties": [{"id": 0, "name": "X"}],
        "traceEvents": [
            event("user_annotation", "ProfilerStep#1", 1, 1, 0, 100),
            event("user_annotation", "model", 1, 1, 0, 25),
            event("cpu_op", "aten::mm", 1, 1, 0, 20),
            event("cuda_runtime", "cudaLaunchKernel", 1, 1, 5, 5, correlation=7),
            event("kernel", "gemm", 0, 7, 40, 30, device=0, stream=7, correlation=7),
        ],
    }


def test_ranks_of_a_job_have_a_row_each_for_their_device(tmp_path: Path) -> None:
    paths = [tmp_path / f"rank{rank}.json" for rank in range(2)]
    for rank, path in enumerate(paths):
        path.write_text(json.dumps(rank_of_two(rank)))
    analysis = knockout.trace.analyze(paths)
    assert analysis.gpu["rank"].tolist() == [0, 1]
    operations = analysis.operations.set_index("name")
    assert operations["count"]["gemm"] == 2 and operations.self_us["gemm"] == pytest.approx(60.0)
    modules = analysis.modules.set_index("name")
    assert modules.calls["model"] == 2 and modules.device_us["model"] == pytest.approx(60.0)
    assert analysis.frame("module_tree").host_share.tolist() == [pytest.approx(0.25)]
    assert len(knockout.trace.analyze(paths[0]).gpu) == 1


def test_a_page_is_shown_inside_a_notebook(small_trace: str, tmp_path: Path) -> None:
    analysis = knockout.trace.analyze(small_trace)
    assert analysis.html().lstrip().lower().startswith("<!doctype html>")
    assert analysis._repr_html_().startswith("<iframe srcdoc=")
    assert analysis.save(tmp_path / "page.html").read_text() == analysis.html()


def test_two_traces_are_compared_per_step(tmp_path: Path) -> None:
    paths = []
    for name, inner in (("a", 2.0), ("b", 6.0)):
        path = tmp_path / f"{name}.json.gz"
        path.write_bytes(gzip.compress(json.dumps(trace_of(inner)).encode()))
        paths.append(path)
    comparison = knockout.trace.compare(*paths)
    rows = comparison.operations.set_index("name")
    assert rows.ratio["aten::addmm"] == pytest.approx(3.0)
    assert isinstance(comparison.comparable, bool) and "<" in comparison.html()
    per_sample = knockout.trace.compare(*paths, samples_per_step=(1, 3)).operations.set_index("name")
    assert per_sample.ratio["aten::addmm"] == pytest.approx(1.0)
    with pytest.raises(knockout.RequestError):
        knockout.trace.compare(*paths, samples_per_step=(0, 1))


def test_files_that_are_not_traces_are_rejected(tmp_path: Path, small_trace: str) -> None:
    with pytest.raises(knockout.RequestError, match="missing.json"):
        knockout.trace.analyze(tmp_path / "missing.json")
    with pytest.raises(knockout.RequestError, match="at least one"):
        knockout.trace.analyze([])
    (tmp_path / "bad.json").write_text("not a trace")
    with pytest.raises(knockout.DataError, match="bad.json"):
        knockout.trace.analyze(tmp_path / "bad.json")
    cut = tmp_path / "cut.json"
    cut.write_text(Path(small_trace).read_text()[:-120])
    assert knockout.trace.analyze(cut).warnings
    with pytest.raises(knockout.RequestError, match="one by one"):
        knockout.trace.analyze([small_trace, small_trace])
