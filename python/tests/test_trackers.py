"""The keys of trackers, with fakes that record their calls. `tests_torch/test_trackers.py` reads back what the real packages kept."""

import sys
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

import knockout
from knockout._trackers import Tracking


class FakeRun:
    """A run of Weights & Biases."""

    def __init__(self, **about: Any) -> None:
        self.about, self.lines, self.summary, self.state = about, list[tuple[int, dict[str, Any]]](), dict[str, Any](), "running"

    def log(self, values: dict[str, Any], *, step: int) -> None:
        self.lines.append((step, values))

    def __enter__(self) -> "FakeRun":
        return self

    def __exit__(self, kind: Any, *_: Any) -> None:
        self.state = "failed" if kind else "finished"


@pytest.fixture
def runs(monkeypatch: pytest.MonkeyPatch) -> list[FakeRun]:
    found: list[FakeRun] = []

    def init(**about: Any) -> FakeRun:
        found.append(FakeRun(**about))
        return found[-1]

    monkeypatch.setitem(sys.modules, "wandb", SimpleNamespace(init=init, Html=lambda page: f"page of {len(page)} letters"))
    return found


SETTINGS = {"model.width": 8, "batch": 256}


def test_a_run_is_logged_while_it_trains(tiny: str, tmp_path: Path, runs: list[FakeRun]) -> None:
    settings = {**SETTINGS, "run": {"wandb": "offline", "tags": ["a"], "log_every": 2}}
    seen: list[int] = []
    run = knockout.train(tiny, "dango", out=tmp_path / "run", epochs=4, settings=settings, callback=lambda line: seen.append(line["epoch"]))
    [kept] = runs
    assert (kept.state, kept.about["mode"], kept.about["tags"], kept.about["group"]) == ("finished", "offline", ["a"], "dango")
    assert kept.about["config"]["model.width"] == 8 and kept.about["config"]["data_hash"] == knockout.Dataset(tiny).data_hash
    pearson = run.metrics("dict")["val.pearson"]
    # Every second epoch and the last one; then the report.
    logged = [values["val/pearson"] for _, values in kept.lines if "val/pearson" in values]
    assert logged == pytest.approx([pearson[0], pearson[2], pearson[3]])
    assert kept.lines[-1][1]["report"].startswith("page of")
    assert kept.summary["best/val/pearson"] == pytest.approx(max(pearson)) and kept.summary["epochs"] == 4
    assert seen == [0, 1, 2, 3], "the caller's own callback runs, too"


def test_an_error_marks_the_tracked_run_as_failed(tiny: str, tmp_path: Path, runs: list[FakeRun]) -> None:
    def fail(line: dict[str, Any]) -> None:
        raise ValueError("mine")

    with pytest.raises(ValueError, match="mine"):
        knockout.train(tiny, "dango", out=tmp_path / "run", settings={**SETTINGS, "run.wandb": "offline"}, callback=fail)
    assert runs[0].state == "failed"
    knockout.resume(tmp_path / "run", max_steps=8, settings={"run.wandb": "offline"})
    assert runs[1].state == "finished" and runs[1].about["config"]["model.width"] == 8
    with pytest.raises(knockout.RequestError, match="cannot change when a run is resumed"):
        knockout.resume(tmp_path / "run", settings={"model.width": 4})


@pytest.mark.parametrize(
    ("keys", "words"),
    [
        ({"run.wandb": "on"}, "must be offline or online"),
        ({"run.group": "mine"}, "no effect without run.wandb"),
        ({"run.wandb": "offline", "run.log_every": 0}, "whole number from 1 up"),
        ({"run.mlflow": "sqlite:///none.db"}, "mlflow is not installed"),
    ],
)
def test_wrong_keys_are_refused_before_training(
    keys: dict[str, Any], words: str, runs: list[FakeRun], monkeypatch: pytest.MonkeyPatch
) -> None:
    # As if MLflow were not installed.
    monkeypatch.setitem(sys.modules, "mlflow", None)
    with pytest.raises(knockout.RequestError, match=words):
        Tracking(keys)
    assert not runs
