"""Random calls with random arguments: an exception or a result, never the end of the interpreter."""

from pathlib import Path
from typing import Any

import numpy
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

import knockout

ANYTHING = st.one_of(
    st.none(),
    st.booleans(),
    st.integers(-(2**70), 2**70),
    st.floats(),
    st.text(max_size=8),
    st.binary(max_size=8),
    st.lists(st.one_of(st.integers(-5, 300), st.text(max_size=5), st.none()), max_size=4),
    st.lists(st.lists(st.one_of(st.integers(-5, 300), st.text(max_size=5)), max_size=4), max_size=3),
    st.sampled_from(
        [
            numpy.zeros(3),
            numpy.zeros((2, 3), dtype=numpy.int64),
            numpy.arange(12, dtype=numpy.uint32)[::2],
            numpy.zeros((0, 3), dtype=numpy.int32),
            numpy.array(["a"]),
            {},
            {"a": 1},
            object(),
            "physical",
            "random",
            "train",
            "genes",
        ]
    ),
)


@pytest.fixture(scope="module")
def subjects(tiny: str, tmp_path_factory: pytest.TempPathFactory) -> dict[str, Any]:
    dataset = knockout.Dataset(tiny)
    folder = tmp_path_factory.mktemp("wrong")
    run = knockout.train(dataset, "dango", out=folder / "run", max_steps=1, settings={"model.width": 8})
    return {"dataset": dataset, "run": run, "loader": knockout.Loader(dataset), "folder": folder, "batches": knockout.Loader(dataset)._batches}


CALLS = {
    "open": lambda s, a, b, c: knockout.Dataset(a),
    "find_genes": lambda s, a, b, c: s["dataset"].find_genes(a),
    "network": lambda s, a, b, c: s["dataset"].network(a),
    "samples": lambda s, a, b, c: s["dataset"].samples(a),
    "split": lambda s, a, b, c: s["dataset"].split(a, val=b, seed=c),
    "fold": lambda s, a, b, c: s["dataset"].split(fold=a, subset=b, file=c),
    "loader": lambda s, a, b, c: knockout.Loader(s["dataset"], a, b, c)[0],
    "ranks": lambda s, a, b, c: knockout.Loader(s["dataset"], 64, seed=a, rank=b, world=c)[0],
    "item": lambda s, a, b, c: s["loader"][a],
    "epoch": lambda s, a, b, c: s["loader"][a, b],
    "raw": lambda s, a, b, c: s["batches"].get(a, b, c),
    "order": lambda s, a, b, c: s["loader"].order(a),
    "predict": lambda s, a, b, c: s["run"].predict(a),
    "raw_predict": lambda s, a, b, c: s["run"]._run.predict(a, b),
    "raw_batches": lambda s, a, b, c: knockout._knockout.Batches(s["dataset"]._dataset, a, b, True, c, 0, 1),
    "explain": lambda s, a, b, c: s["run"].explain(a, neighbours=0, nearest=1),
    "evaluate": lambda s, a, b, c: s["run"].evaluate(a, resamples=b),
    "run": lambda s, a, b, c: knockout.Run.open(s["folder"] / "run", state=a),
    "runs": lambda s, a, b, c: knockout.Run.open(a),
    "adopt": lambda s, a, b, c: knockout.adopt(s["dataset"], a, {"x": b}, train_loss=c, out=s["folder"] / "no" / "no"),
    "train": lambda s, a, b, c: knockout.train(s["dataset"], "dango", out=s["folder"] / "no" / "no", epochs=a, settings=b),
    "config": lambda s, a, b, c: knockout.config(s["dataset"], a, settings=b),
    "synth": lambda s, a, b, c: knockout.synth(s["folder"] / "no" / "no", a, samples=b, seed=c),
    "analyze": lambda s, a, b, c: knockout.trace.analyze(a),
    "threads": lambda s, a, b, c: knockout.set_threads(a) if not isinstance(a, int) or a > 4 else None,
}


#: Random arguments for each of the calls.
EXAMPLES = 45


def test_there_are_a_thousand_random_calls() -> None:
    assert len(CALLS) * EXAMPLES >= 1000


@pytest.mark.parametrize("name", CALLS)
def test_no_call_ends_the_interpreter(name: str, subjects: dict[str, Any]) -> None:
    made = 0

    @given(ANYTHING, ANYTHING, ANYTHING)
    @settings(max_examples=EXAMPLES, deadline=None, suppress_health_check=list(HealthCheck), database=None)
    def call(a: Any, b: Any, c: Any) -> None:
        nonlocal made
        made += 1
        try:
            CALLS[name](subjects, a, b, c)
        except Exception as error:  # not BaseException: a panic of Rust must not be raised
            assert str(error), f"{type(error).__name__} has no message"
            assert not isinstance(error, knockout.FailureError), error

    call()
    assert made >= EXAMPLES


def test_errors_name_the_reason(subjects: dict[str, Any], tmp_path: Path) -> None:
    dataset, run = subjects["dataset"], subjects["run"]
    request = knockout.RequestError
    for call, message in [
        (lambda: run.predict([[0, 0, 1]]), "twice"),
        (lambda: run.predict([[0, 999_999]]), "999999"),
        (lambda: run.predict([["NOGENE"]]), "NOGENE"),
        (lambda: run.predict([[]]), "no gene"),
        (lambda: run.predict([[0.5]]), "float64"),
        (lambda: run.predict(numpy.zeros((2, 3))), "float64"),
        (lambda: run.predict("YAL001C"), "lists of genes"),
        (lambda: run.predict([[-1]]), "count from 0"),
        (lambda: run.evaluate("trian"), "train, val, test"),
        (lambda: dataset.network("nope"), "physical"),
        (lambda: dataset.split("randm"), "randm"),
        (lambda: knockout.Loader(dataset, 0), "at least one"),
        (lambda: knockout.Loader(dataset, form="graph"), "genes, masks"),  # type: ignore[arg-type]
        (lambda: knockout.Loader(dataset, rank=2, world=2), "ranks count from 0"),
        (lambda: knockout.Loader.from_config(dataset, {"split": {}}), "what knockout.config returns"),
        (lambda: knockout.Loader.from_config(str(dataset.path), {}), "needs a Dataset, not str"),  # type: ignore[arg-type]
        (lambda: knockout.Run.open(tmp_path), "not|no"),
    ]:
        with pytest.raises(request, match=message):
            call()
    weights = run.weights()
    for values, message in [(numpy.array(["a"]), "gene_embedding"), (numpy.array([1j]), "complex"), (None, "gene_embedding")]:
        with pytest.raises(request, match=message):
            knockout.adopt(dataset, "dango", {**weights, "gene_embedding": values}, train_loss=0.5, out=tmp_path / "adopted")
    assert not (tmp_path / "adopted").exists()
    with pytest.raises(TypeError):
        knockout._knockout.Batches(dataset._dataset, numpy.zeros(3), 1, True, 0, 0, 1)
