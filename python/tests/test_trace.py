"""Traces: frames, pages, comparisons."""

import gzip
import json
from pathlib import Path

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


def test_what_is_no_trace_is_said(tmp_path: Path, small_trace: str) -> None:
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
