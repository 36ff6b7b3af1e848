"""The examples for MLflow and Weights & Biases, with fakes that record their calls.

Both were run with the programs themselves too, and what those had kept was read back: see `docs/results/python.md`.
"""

import re
import runpy
import sys
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

import knockout

HERE = Path(__file__).parents[1]
TRACK = HERE / "examples" / "track.py"
#: Next to the tests if these were copied from the sources, otherwise in the repository.
EXPORT = next(path for path in (HERE / "export", HERE.parent / "examples" / "export") if path.exists())


class Kept:
    """The calls that a tracker received for one run."""

    def __init__(self, **about: Any) -> None:
        self.about = about
        self.settings: dict[str, Any] = {}
        self.lines: list[tuple[int, dict[str, float]]] = []
        self.state = "running"

    def log(self, figures: dict[str, Any], *, step: int) -> str:
        assert self.state == "running"
        for name, value in figures.items():
            # The names that MLflow allows.
            assert re.fullmatch(r"[\w.\- :/]{1,250}", name) and isinstance(value, (int, float)), (name, value)
        assert not self.lines or self.lines[-1][0] < step, "Weights & Biases drops lines whose step falls"
        self.lines.append((step, figures))
        return "sent later"

    def finish(self) -> None:
        self.state = "finished"

    def __enter__(self) -> "Kept":
        return self

    def __exit__(self, kind: Any, *_: Any) -> None:
        self.state = "failed" if kind else "finished"


@pytest.fixture
def kept(monkeypatch: pytest.MonkeyPatch) -> list[Kept]:
    """The runs that fakes of both programs recorded."""
    runs: list[Kept] = []

    def begin(**about: Any) -> Kept:
        runs.append(Kept(**about))
        runs[-1].settings.update(about.get("config", {}))
        return runs[-1]

    wandb = SimpleNamespace(init=begin)
    mlflow = SimpleNamespace(
        set_experiment=lambda name: None,
        start_run=begin,
        log_params=lambda settings: runs[-1].settings.update(settings),
        log_dict=lambda settings, file: runs[-1].settings.update(settings),
        set_tags=lambda tags: runs[-1].about.update(tags),
        log_metrics=lambda figures, *, step: runs[-1].log(figures, step=step),
    )
    monkeypatch.setitem(sys.modules, "wandb", wandb)
    monkeypatch.setitem(sys.modules, "mlflow", mlflow)
    return runs


@pytest.fixture(scope="module")
def run(tiny: str, tmp_path_factory: pytest.TempPathFactory) -> knockout.Run:
    settings = {"model.width": 8, "batch": 256}
    return knockout.train(tiny, "dango", out=tmp_path_factory.mktemp("runs") / "dango", epochs=3, settings=settings)


def start(script: Path, monkeypatch: pytest.MonkeyPatch, *arguments: Any) -> None:
    monkeypatch.setattr(sys, "argv", [str(script), *map(str, arguments)])
    runpy.run_path(str(script), run_name="__main__")


@pytest.mark.skipif(sys.version_info < (3, 11), reason="the scripts read TOML with Python 3.11's own reader")
@pytest.mark.parametrize("tool", ["mlflow", "wandb"])
def test_runs_are_copied(
    tool: str, kept: list[Kept], run: knockout.Run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: Any
) -> None:
    (tmp_path / "no-run").mkdir()
    start(EXPORT / f"{tool}_runs.py", monkeypatch, tmp_path / "no-run", run.folder)
    assert "no-run: no run, left out" in capsys.readouterr().err
    assert len(kept) == 1 and kept[0].state == "finished"
    assert kept[0].settings["model.name"] == "dango" and kept[0].settings["batch"] == 256
    metrics = run.metrics("dict")
    for name, column in {"train/loss": "train_loss", "val/pearson": "val.pearson", "epoch/alpha": "loss_parts.alpha"}.items():
        assert [figures[name] for _, figures in kept[0].lines] == metrics[column]
    assert [step for step, _ in kept[0].lines] == metrics["step"]


@pytest.mark.skipif(sys.version_info < (3, 11), reason="the scripts read TOML with Python 3.11's own reader")
@pytest.mark.parametrize("tool", ["mlflow", "wandb"])
def test_a_torn_line_is_left_out(
    tool: str, kept: list[Kept], run: knockout.Run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name in ("config.toml", "manifest.json", "metrics.jsonl"):
        (tmp_path / name).write_bytes((run.folder / name).read_bytes())
    with (tmp_path / "metrics.jsonl").open("a") as lines:
        lines.write('{"schema":1,"step":')
    start(EXPORT / f"{tool}_runs.py", monkeypatch, tmp_path)
    assert len(kept[0].lines) == 3


@pytest.mark.parametrize("tool", ["mlflow", "wandb"])
def test_a_run_is_tracked_while_it_is_trained(
    tool: str, kept: list[Kept], tiny: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    start(TRACK, monkeypatch, tiny, "--to", tool, "--epochs", 2)
    (folder,) = (tmp_path / "runs").iterdir()
    metrics = knockout.Run(folder).metrics("dict")
    # Both epochs: the return values of the trackers' functions must not stop the run.
    assert [(step, figures["val/mse"]) for step, figures in kept[0].lines] == list(zip(metrics["step"], metrics["val.mse"]))
    assert len(kept[0].lines) == 2 and kept[0].state == "finished" and kept[0].settings["model"]["name"] == "dango"


@pytest.mark.parametrize("tool", ["mlflow", "wandb"])
def test_a_run_that_fails_has_failed_there_too(
    tool: str, kept: list[Kept], tiny: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)

    def fails(*_: Any, **__: Any) -> None:
        raise knockout.DivergedError("the loss is not finite")

    monkeypatch.setattr(knockout, "train", fails)
    with pytest.raises(knockout.DivergedError):
        start(TRACK, monkeypatch, tiny, "--to", tool)
    assert kept[0].state == "failed"
