"""Runs: training, stopping, resuming to the same bits, and predictions."""

import json
import os
import pickle
import signal
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import numpy
import optuna
import pytest

import knockout

SMALL = {"model.width": 8, "batch": 256}


@pytest.fixture(scope="module")
def dataset(tiny: str) -> knockout.Dataset:
    return knockout.Dataset(tiny)


@pytest.fixture(scope="module")
def run(dataset: knockout.Dataset, tmp_path_factory: pytest.TempPathFactory) -> knockout.Run:
    return knockout.train(dataset, "dango", out=tmp_path_factory.mktemp("runs") / "dango", epochs=2, settings=SMALL)


def test_metrics_are_a_line_per_epoch(run: knockout.Run) -> None:
    frame = run.metrics("pandas")
    assert frame.epoch.tolist() == [0, 1] and run.ended == "epochs"
    assert {"val.pearson", "val.mse", "train_loss", "times.cpu_seconds", "weights_hash"} <= set(frame.columns)
    lines = (run.folder / "metrics.jsonl").read_text().splitlines()
    assert [json.loads(line)["step"] for line in lines] == frame.step.tolist()


def test_a_stopped_run_goes_on_to_the_same_bits(dataset: knockout.Dataset, run: knockout.Run, tmp_path: Path) -> None:
    stopped = knockout.train(
        dataset, "dango", out=tmp_path / "run", epochs=2, settings=SMALL, callback=lambda line: True
    )
    assert stopped.ended == "stopped" and len(stopped.metrics("dict")["epoch"]) == 1
    resumed = knockout.resume(tmp_path / "run")
    assert resumed.metrics("dict")["weights_hash"] == run.metrics("dict")["weights_hash"]


def test_predictions_do_not_depend_on_how_sets_are_given(run: knockout.Run, dataset: knockout.Dataset) -> None:
    names = dataset.genes("dict")["systematic"]
    rows = [[3, 1, 2], [10, 20, 30]]
    by_rows = run.predict(rows)
    by_names = run.predict([[names[gene] for gene in one] for one in rows])
    by_array = run.predict(numpy.array(rows))
    assert by_rows.mean.tolist() == by_names.mean.tolist() == by_array.mean.tolist()
    assert numpy.asarray(by_rows).shape == (2,) and by_rows.sd is None
    ragged = run.predict([[3, 1, 2], [5, 6]])
    assert ragged.mean[0] == by_rows.mean[0]
    assert pickle.loads(pickle.dumps(run)).predict(rows).mean.tolist() == by_rows.mean.tolist()


def test_evaluation_stands_beside_the_baselines(run: knockout.Run, dataset: knockout.Dataset) -> None:
    frame = run.evaluate(resamples=50, kind="pandas")
    assert frame.name.tolist()[0] == "dango" and "stack" in frame.name.tolist()
    split = dataset.split()
    columns = dataset.samples("dict")
    sets = [columns["genes"][columns["genes_offsets"][row] : columns["genes_offsets"][row + 1]].tolist() for row in split.test]
    expected = numpy.corrcoef(run.predict(sets).mean, columns["score"][split.test])[0, 1]
    assert frame.pearson[0] == pytest.approx(expected, abs=1e-6)


def test_an_explanation_adds_up(run: knockout.Run, dataset: knockout.Dataset) -> None:
    names = dataset.genes("dict")["systematic"][:3]
    explanation = run.explain(names, neighbours=2, nearest=2)
    assert sum(term["contribution"] for term in explanation["parts"]) == pytest.approx(explanation["prediction"])
    assert explanation["prediction"] == pytest.approx(run.predict([names]).mean[0], abs=1e-6)


def test_a_solved_model_knows_its_deviation(dataset: knockout.Dataset, tmp_path: Path) -> None:
    seen: list[Any] = []
    run = knockout.train(dataset, out=tmp_path / "stack", callback=seen.append)
    assert run.ended == "solved" and len(seen) == 1
    predicted = run.predict([[0, 1, 2]])
    assert predicted.sd is not None and predicted.sd[0] > 0


def test_weights_come_back_as_a_run(run: knockout.Run, dataset: knockout.Dataset, tmp_path: Path) -> None:
    adopted = knockout.adopt(dataset, "dango", run.weights(), train_loss=0.5, out=tmp_path / "back", settings=SMALL)
    sets = [[0, 1, 2], [7, 8, 9]]
    assert adopted.predict(sets).mean.tolist() == run.predict(sets).mean.tolist()
    assert adopted.metrics("dict")["val.pearson"][0] == run.metrics("dict")["val.pearson"][-1]
    assert adopted.info()["weights_hash"] == run.info()["weights_hash"]
    on = knockout.resume(tmp_path / "back", epochs=2)
    assert on.metrics("dict")["epoch"] == [0, 1]
    weights = run.weights()
    wrong = [
        ({**weights, "strange": numpy.zeros(3)}, "strange"),
        ({name: value for name, value in weights.items() if name != "gene_embedding"}, "gene_embedding"),
        ({**weights, "gene_embedding": numpy.zeros((3, 3))}, "shape"),
        ({**weights, "gene_embedding": numpy.full_like(weights["gene_embedding"], numpy.nan)}, "finite"),
    ]
    for index, (broken, message) in enumerate(wrong):
        with pytest.raises(knockout.RequestError, match=message):
            knockout.adopt(dataset, "dango", broken, train_loss=0.5, out=tmp_path / f"wrong{index}", settings=SMALL)


def test_an_exception_of_the_callback_ends_the_run_and_loses_nothing(dataset: knockout.Dataset, tmp_path: Path) -> None:
    def boom(line: dict[str, Any]) -> None:
        raise ZeroDivisionError("mine")

    with pytest.raises(ZeroDivisionError, match="mine"):
        knockout.train(dataset, "dango", out=tmp_path / "run", epochs=3, settings=SMALL, callback=boom)
    assert len(knockout.resume(tmp_path / "run").metrics("dict")["epoch"]) == 3


def test_optuna_prunes(dataset: knockout.Dataset, tmp_path: Path) -> None:
    optuna.logging.set_verbosity(optuna.logging.ERROR)

    def objective(trial: Any) -> float:
        # The second trial hardly learns and is pruned.
        rate = 3e-3 if trial.number == 0 else 1e-9

        def report(line: dict[str, Any]) -> None:
            trial.report(line["val"]["mse"], line["epoch"])
            if trial.number == 1 and trial.should_prune():
                raise optuna.TrialPruned

        run = knockout.train(
            dataset, "dango", out=tmp_path / f"trial{trial.number}", epochs=4,
            settings={**SMALL, "optimiser.learning_rate": rate}, callback=report,
        )
        return min(run.metrics("dict")["val.mse"])

    pruner = optuna.pruners.ThresholdPruner(upper=0.0)
    study = optuna.create_study(pruner=pruner, sampler=optuna.samplers.RandomSampler(seed=0))
    study.optimize(objective, n_trials=2)
    assert [trial.state.name for trial in study.trials] == ["COMPLETE", "PRUNED"]
    assert len(knockout.Run(tmp_path / "trial1").metrics("dict")["epoch"]) == 1


def test_ctrl_c_saves(tiny: str, tmp_path: Path) -> None:
    """SIGINT in the middle of a run: KeyboardInterrupt, and a run that can be resumed."""
    code = f"""
import knockout, signal
# A background process ignores SIGINT by default.
signal.signal(signal.SIGINT, signal.default_int_handler)
print("ready", flush=True)
try:
    knockout.train({tiny!r}, "dango", out={str(tmp_path / "run")!r}, epochs=100000, settings={{"model.width": 8, "batch": 64}})
except KeyboardInterrupt:
    print("interrupted", flush=True)
"""
    process = subprocess.Popen([sys.executable, "-c", code], stdout=subprocess.PIPE, text=True)
    assert process.stdout is not None and process.stdout.readline().strip() == "ready"
    for _ in range(600):
        time.sleep(0.1)
        metrics = tmp_path / "run" / "metrics.jsonl"
        if metrics.exists() and metrics.stat().st_size > 0:
            break
    process.send_signal(signal.SIGINT)
    out, _ = process.communicate(timeout=60)
    assert out.strip() == "interrupted" and process.returncode == 0
    done = len(knockout.Run(tmp_path / "run").metrics("dict")["epoch"])
    resumed = knockout.resume(tmp_path / "run", epochs=done + 1)
    assert len(resumed.metrics("dict")["epoch"]) == done + 1


def test_two_processes_do_not_train_one_run(dataset: knockout.Dataset, tmp_path: Path) -> None:
    def other(line: dict[str, Any]) -> bool:
        code = f"import knockout\nknockout.resume({str(tmp_path / 'run')!r})"
        answer = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=60)
        assert answer.returncode != 0 and "RequestError" in answer.stderr, answer.stderr
        return True

    knockout.train(dataset, "dango", out=tmp_path / "run", epochs=3, settings=SMALL, callback=other)


def test_a_fork_cannot_go_on_with_the_parents_run(dataset: knockout.Dataset, tmp_path: Path) -> None:
    training = knockout._knockout.Training.create(
        dataset._dataset, "dango", str(tmp_path / "run"), ["epochs=2", "model.width=8"]
    )
    child = os.fork()
    if child == 0:
        try:
            training.advance()
        except knockout.RequestError:
            os._exit(0)
        os._exit(1)
    assert os.waitpid(child, 0)[1] == 0
    assert isinstance(training.advance(), dict)
    training.close()


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"model.wdth": 8}, "did you mean"),
        ({"model.width": "wide"}, "width"),
        ({"model.width": 7}, "even"),
        ({"batch": 0}, "batch"),
        ({1: 2}, "not a string"),
    ],
)
def test_wrong_settings_are_named(dataset: knockout.Dataset, tmp_path: Path, settings: dict, message: str) -> None:
    with pytest.raises(knockout.RequestError, match=message):
        knockout.train(dataset, "dango", out=tmp_path / "run", settings=settings)
    assert not (tmp_path / "run").exists()
