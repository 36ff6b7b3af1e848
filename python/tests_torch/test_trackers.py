"""Real runs of Weights & Biases (offline) and MLflow (a database), read back with their own readers."""

from pathlib import Path

import pytest

import knockout

SETTINGS = {"model.width": 8, "batch": 256}


def test_mlflow_keeps_what_a_run_measured(tiny: str, tmp_path: Path) -> None:
    import mlflow

    uri = f"sqlite:///{tmp_path}/mlflow.db"
    settings = {**SETTINGS, "run.mlflow": uri, "run.project": "mine", "run.tags": ["a", "b"], "run.plot_every": 2}
    run = knockout.train(tiny, "dango", out=tmp_path / "run", epochs=3, settings=settings)
    client = mlflow.MlflowClient(uri)
    experiment = client.get_experiment_by_name("mine")
    assert experiment is not None
    [found] = client.search_runs([experiment.experiment_id])
    history = client.get_metric_history(found.info.run_id, "val/pearson")
    assert [point.value for point in history] == pytest.approx(run.metrics("dict")["val.pearson"])
    assert (found.data.params["model.width"], found.data.tags["tags"], found.info.status) == ("8", "a,b", "FINISHED")
    assert found.data.metrics["best/val/pearson"] == max(point.value for point in history)


def test_wandb_keeps_what_a_run_measured(tiny: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    settings = {**SETTINGS, "run.wandb": "offline", "run.group": "mine"}
    knockout.train(tiny, "dango", out="run", epochs=2, settings=settings)
    [log] = Path("wandb").glob("offline-run-*/run-*.wandb")
    kept = log.read_bytes()
    for word in (b"val/pearson", b"model.width", b"best/val/pearson", b"mine"):
        assert word in kept, word
