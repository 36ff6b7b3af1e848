"""Pages from Python objects: the program's own, as text, Markdown and HTML."""

import copy
import json
import pickle
import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy
import pytest

import knockout

SMALL = {"model.width": 8, "batch": 256}


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("reports")


@pytest.fixture(scope="module")
def stack(tiny: str, folder: Path) -> knockout.Run:
    return knockout.train(tiny, out=folder / "stack")


@pytest.fixture(scope="module")
def dango(tiny: str, folder: Path) -> knockout.Run:
    return knockout.train(tiny, "dango", out=folder / "dango", epochs=2, settings=SMALL)


def printed(*arguments: str) -> str:
    answer = subprocess.run([sys.executable, "-m", "knockout", *arguments], capture_output=True, text=True, timeout=300)
    assert answer.returncode == 0, answer.stderr
    return answer.stdout


def is_page(page: str) -> bool:
    return page.startswith("<!doctype html>") and "</html>" in page and "<script src" not in page


def test_a_dataset_shows_what_the_command_prints(tiny: str, tmp_path: Path) -> None:
    dataset = knockout.Dataset(tiny)
    assert dataset.text() == printed("data", "show", tiny)
    assert is_page(dataset.html()) and dataset.markdown().startswith("# ")
    assert dataset._repr_html_().startswith("<iframe srcdoc=")
    gene = dataset.genes("dict")["systematic"][0]
    assert dataset.gene(gene).text() == printed("data", "show", tiny, "--gene", gene)
    removed = dataset.deletion([gene])["edges"]
    assert [name for name, _, _ in removed] == dataset.networks and sum(count for _, count, _ in removed) > 0
    for name, start in (("page.html", "<!doctype html>"), ("page.md", "# "), ("page.txt", "")):
        assert dataset.report(tmp_path / name).read_text().startswith(start)
    dataset.close()
    assert "closed" in dataset._repr_html_()


def test_training_leaves_the_page_that_a_notebook_shows(stack: knockout.Run, dango: knockout.Run) -> None:
    for run in (stack, dango):
        written = (run.folder / "report.html").read_text()
        assert is_page(written) and "Validation part" in written
        assert "Validation part" in run._repr_html_() and is_page(run.html())
    assert "tried" in (stack.folder / "report.html").read_text()
    assert "validation Pearson" in dango.text()


def test_an_evaluation_is_the_commands(stack: knockout.Run, dango: knockout.Run) -> None:
    evaluation = dango.evaluation(resamples=50)
    document = json.loads(printed("evaluate", str(dango.folder), "--resamples", "50", "--json"))
    unseen = evaluation.pop("unseen")
    assert unseen == {"genes": document["unseen_genes"], "records": document["unseen_records"]}
    assert dict(evaluation) == document
    assert evaluation.text() == printed("evaluate", str(dango.folder), "--resamples", "50")
    assert evaluation.to_frame("pandas").name.tolist()[0] == "dango"
    assert "coverage" in stack.evaluation(resamples=50)


def test_an_explanation_has_a_page(dango: knockout.Run) -> None:
    explanation = dango.explain(["ZAL001C", "ZAL004W"], neighbours=2, nearest=2)
    assert explanation.text() == printed(
        "explain", str(dango.folder), "ZAL001C", "ZAL004W", "--neighbours", "2", "--nearest", "2"
    )
    assert "<svg" in explanation.html() and explanation["parts"]


def test_a_prediction_has_names_and_a_page(stack: knockout.Run, dango: knockout.Run) -> None:
    predicted = stack.predict([[0, 1, 2], [3, 4, 5]])
    frame = predicted.to_frame("pandas")
    assert list(frame.columns) == ["genes", "mean", "sd"] and frame["mean"].tolist() == predicted.mean.tolist()
    assert frame.genes[0] == stack.gene_names[:3]
    assert list(dango.predict([[0, 1, 2]]).to_frame("dict")) == ["genes", "mean"]
    text = predicted.text()
    assert "2 predictions" in text and " ".join(stack.gene_names[:3]) in text and is_page(predicted.html())
    with pytest.raises(knockout.RequestError, match="Run.predict"):
        knockout.Prediction(numpy.zeros(1), None).html()


def test_runs_are_listed_and_compared(stack: knockout.Run, dango: knockout.Run, folder: Path) -> None:
    listed = knockout.runs(folder)
    assert {"stack", "dango"} <= set(listed.frame("runs", "dict")["model"])
    assert listed.text() == printed("runs", str(folder)) and "<svg" in listed.html()
    compared = knockout.compare(stack, dango.folder)
    assert compared["comparable"] and compared.text() == printed("compare", str(stack.folder), str(dango.folder))
    with pytest.raises(knockout.RequestError, match="not a folder"):
        knockout.runs(folder / "nowhere")


def test_hits_are_those_of_the_command(stack: knockout.Run, folder: Path, tmp_path: Path) -> None:
    found = knockout.hits(stack, tmp_path / "hits", not_measured=True, top=4, bottom=6)
    arguments = ["--pairs", "--not-measured", "--top", "4", "--bottom", "6", "--json", "-q"]
    document = json.loads(printed("predict", str(stack.folder), *arguments, "--out", str(tmp_path / "command")))
    assert found["bottom"] == document["bottom"] and found["top"] == document["top"] and found["scored"] == document["scored"]
    frame = found.to_frame("pandas")
    assert len(frame) == 10 and frame.prediction.is_monotonic_increasing
    # The run was trained on triples, so nothing is known of pairs.
    assert is_page(found.html()) and "figures of other sizes do not apply" in found.html()
    again = knockout.hits(stack, tmp_path / "hits", not_measured=True, top=4, bottom=6)
    assert again["top"] == found["top"]
    gene = stack.gene_names[0]
    with_one = knockout.hits([stack], tmp_path / "with", with_genes=[gene], genes="all", top=0, bottom=3)
    assert all(gene in hit["names"] for hit in with_one["bottom"])
    for wrong, message in (({"genes": "some"}, "measured"), ({"with_genes": "ZAL001C"}, "list"), ({"part": "none"}, "unknown part")):
        with pytest.raises(knockout.RequestError, match=message):
            knockout.hits(stack, tmp_path / "wrong", **wrong)  # type: ignore[arg-type]


def test_baselines_are_the_commands(tiny: str) -> None:
    ladder = knockout.baseline(tiny, resamples=50, splits=2)
    assert ladder.text() == printed("baseline", tiny, "--resamples", "50", "--splits", "2")
    assert "stack" in ladder.frame("rows", "dict")["name"] and ladder["spread"] and is_page(ladder.html())


def test_a_benchmark_and_a_sweep_have_pages(tiny: str, tmp_path: Path) -> None:
    board = knockout.benchmark(tiny, tmp_path / "board", models=["stack", "additive-ridge"], split="random", resamples=50)
    assert [row["name"] for row in board["boards"][0]["rows"]] and board["complete"]
    assert (tmp_path / "board" / "report.html").read_text() == board.html()
    assert (tmp_path / "board" / "table.md").read_text() == board.markdown()
    settings = {"model.width": [8, 16], "epochs": 1, "batch": 256}
    swept = knockout.sweep(tiny, "dango", tmp_path / "sweep", settings, budget=2.0)
    assert len(swept["candidates"]) == 2 and "<svg" in swept.html()
    with pytest.raises(knockout.RequestError, match="unknown model"):
        knockout.sweep(tiny, "none", tmp_path / "none", settings)


def test_a_report_is_a_dictionary(tiny: str) -> None:
    report = knockout.Dataset(tiny).summary()
    assert json.loads(json.dumps(report)) == dict(report)
    for copied in (pickle.loads(pickle.dumps(report)), copy.deepcopy(report)):
        assert type(copied) is dict and copied == dict(report)
    assert str(report) == report.text() and repr(report).startswith("Report(")
    with pytest.raises(knockout.RequestError, match="networks"):
        report.frame("nothing")
    assert report.frame("networks", "dict")["name"] == knockout.Dataset(tiny).networks


def test_a_trace_has_the_same_methods(small_trace: str, tmp_path: Path) -> None:
    analysis: Any = knockout.trace.analyze(small_trace)
    assert analysis.text() == str(analysis) and is_page(analysis.html())
    assert analysis.save(tmp_path / "a.html").read_text() == analysis.report(tmp_path / "b.html").read_text()
    with pytest.raises(knockout.RequestError, match="Markdown"):
        analysis.markdown()
