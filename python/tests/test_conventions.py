"""Conventions of Python's data tools: DataLoader's arguments, frames, pickles, notebooks, logging, scikit-learn and AnnData."""

import logging
import os
import pickle
import sys
from pathlib import Path
from typing import Any

import numpy
import pandas
import polars
import pytest
from sklearn.base import clone
from sklearn.exceptions import NotFittedError
from sklearn.model_selection import GridSearchCV, KFold, cross_val_score
from sklearn.utils import estimator_checks

import knockout
import knockout.anndata
from knockout.estimators import samples_of

SMALL = {"model.width": 8, "batch": 256}


@pytest.fixture(scope="module")
def dataset(tiny: str) -> knockout.Dataset:
    return knockout.Dataset(tiny)


@pytest.fixture(scope="module")
def run(dataset: knockout.Dataset, tmp_path_factory: pytest.TempPathFactory) -> knockout.Run:
    return knockout.train(dataset, "dango", out=tmp_path_factory.mktemp("runs") / "dango", epochs=1, settings=SMALL)


def test_batch_size_and_its_earlier_name(dataset: knockout.Dataset) -> None:
    assert len(knockout.Loader(dataset, batch_size=100)) == len(knockout.Loader(dataset, batch=100)) == len(knockout.Loader(dataset, 100)) == 16
    config = knockout.config(dataset, "dango")
    for loader in (knockout.Loader.from_config(dataset, config, batch_size=7), knockout.Loader.from_config(dataset, config, batch=7)):
        assert len(loader[0]["score"]) == 7


@pytest.mark.parametrize("world", [1, 3])
def test_drop_last_leaves_out_the_smaller_batch(dataset: knockout.Dataset, world: int) -> None:
    rows = list(range(100))
    loaders = [knockout.Loader(dataset, 16, rows=rows, drop_last=True, rank=rank, world=world) for rank in range(world)]
    assert {len(loader) for loader in loaders} == {100 // world // 16}
    batches = [batch["rows"].tolist() for loader in loaders for batch in loader]
    assert all(len(batch) == 16 for batch in batches)
    assert len({row for batch in batches for row in batch}) == 16 * len(batches)
    assert len(knockout.Loader(dataset, 101, rows=rows, drop_last=True)) == 0
    kept = knockout.Loader(dataset, 16, rows=rows)
    assert len(kept) == 7 and len(kept[6]["rows"]) == 4


def test_own_rows_keep_their_order(dataset: knockout.Dataset) -> None:
    rows = [5, 3, 1999, 3]
    loader = knockout.Loader(dataset, 3, rows=rows)
    assert [row for batch in loader for row in batch["rows"].tolist()] == rows
    shuffled = knockout.Loader(dataset, 3, rows=numpy.array(rows), shuffle=True)
    assert sorted(shuffled.order(0).tolist()) == sorted(rows)
    again = pickle.loads(pickle.dumps(loader))
    assert again[0]["rows"].tolist() == rows[:3]
    for wrong, message in (([2000], "2000"), ([-1], "count from 0"), ([0.5], "whole numbers"), ([[1]], "dimensions")):
        with pytest.raises(knockout.RequestError, match=message):
            knockout.Loader(dataset, 3, rows=wrong)  # type: ignore[arg-type]
    with pytest.raises(knockout.RequestError, match="not both"):
        knockout.Loader(dataset, 3, "random", rows=[1])


@pytest.mark.parametrize("name", ["batch_size", "batch", "seed", "rank", "world"])
def test_negative_numbers_are_value_errors(dataset: knockout.Dataset, name: str) -> None:
    with pytest.raises(ValueError, match="-1"):
        knockout.Loader(dataset, **{name: -1})  # type: ignore[arg-type]


def test_a_frame_is_predicted(dataset: knockout.Dataset, run: knockout.Run) -> None:
    names = dataset.genes("dict")["systematic"]
    sets = [[names[3], names[1], names[2]], [names[10], names[20], names[30]]]
    expected = run.predict(sets).mean.tolist()
    columns = {"gene_a": [one[0] for one in sets], "gene_b": [one[1] for one in sets], "gene_c": [one[2] for one in sets]}
    assert run.predict(pandas.DataFrame({**columns, "score": [0.1, 0.2]})).mean.tolist() == expected
    assert run.predict(polars.DataFrame(columns)).mean.tolist() == expected
    assert run.predict(numpy.array(sets)).mean.tolist() == expected
    assert len(run.predict(dataset.samples("pandas").head(5))) == len(run.predict(dataset.samples("polars").head(5))) == 5
    ragged = pandas.DataFrame({"gene_a": names[:2], "gene_b": names[2:4], "gene_c": [names[5], None]})
    assert len(run.predict(ragged)) == 2
    with pytest.raises(knockout.RequestError, match="no columns of genes.*a, b"):
        run.predict(pandas.DataFrame({"a": ["x"], "b": ["y"]}))


def test_pickles_survive_a_change_of_folder(tiny: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(Path(tiny).parent)
    dataset = knockout.Dataset(Path(tiny).name)
    run = knockout.train(dataset, "dango", out=os.path.relpath(tmp_path / "run"), epochs=1, settings=SMALL)
    sent = pickle.dumps((dataset, knockout.Loader(dataset, 4), run))
    monkeypatch.chdir(tmp_path)
    opened, loader, again = pickle.loads(sent)
    assert opened.data_hash == dataset.data_hash and len(loader[0]["score"]) == 4
    assert again.predict([[0, 1, 2]]).mean.tolist() == run.predict([[0, 1, 2]]).mean.tolist()


def test_a_cell_can_be_run_again(tmp_path: Path) -> None:
    for _ in range(2):
        dataset = knockout.synth(tmp_path / "set", "tiny", samples=200, exist_ok=True)
        run = knockout.train(dataset, "dango", out=tmp_path / "run", epochs=2, settings=SMALL, exist_ok=True)
        assert len(dataset) == 200 and run.metrics("dict")["epoch"] == [0, 1]
    with pytest.raises(knockout.RequestError, match="another dataset.*--samples 200"):
        knockout.synth(tmp_path / "set", "tiny", samples=300, exist_ok=True)
    with pytest.raises(knockout.RequestError, match="other settings"):
        knockout.train(dataset, "dango", out=tmp_path / "run", epochs=2, settings={"model.width": 16}, exist_ok=True)
    with pytest.raises(knockout.RequestError, match="exist_ok=True"):
        knockout.train(dataset, "dango", out=tmp_path / "run", epochs=2, settings=SMALL)
    other = knockout.synth(tmp_path / "other", "tiny", samples=200, seed=1)
    with pytest.raises(knockout.RequestError, match="other data"):
        knockout.train(other, "dango", out=tmp_path / "run", epochs=2, settings=SMALL, exist_ok=True)


def test_epochs_are_logged_and_shown(dataset: knockout.Dataset, tmp_path: Path, caplog: pytest.LogCaptureFixture, capfd: Any) -> None:
    with caplog.at_level(logging.INFO, logger="knockout"):
        knockout.train(dataset, "dango", out=tmp_path / "logged", epochs=2, settings=SMALL)
    lines = [record.getMessage() for record in caplog.records]
    assert len(lines) == 2 and lines[0].startswith("logged: epoch 1, train loss ") and "validation Pearson" in lines[1]
    assert capfd.readouterr().err == ""
    knockout.train(dataset, "dango", out=tmp_path / "shown", epochs=2, settings=SMALL, progress=True)
    assert "2/2" in capfd.readouterr().err


def test_a_bar_without_tqdm_is_none(dataset: knockout.Dataset, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    import importlib.util

    found = importlib.util.find_spec
    monkeypatch.setattr(importlib.util, "find_spec", lambda name, *rest: None if name == "tqdm" else found(name, *rest))
    assert knockout.train(dataset, "dango", out=tmp_path / "run", epochs=1, settings=SMALL, progress=True).ended == "epochs"


def test_the_step_after_the_last_one_is_none(tmp_path: Path) -> None:
    import gzip

    from knockout.trace import _without_last_step

    lines = "".join(f'{{"name": "ProfilerStep#{step}"}},\n' for step in range(3))
    plain, packed = tmp_path / "trace.json", tmp_path / "trace.json.gz"
    plain.write_text(lines)
    packed.write_bytes(gzip.compress(lines.encode()))
    for path, text in ((plain, plain.read_text), (packed, lambda: gzip.decompress(packed.read_bytes()).decode())):
        _without_last_step(path, 0)
        assert text() == lines
        _without_last_step(path, 2)
        assert text() == lines.replace("ProfilerStep#2", "after the last step")
    assert sorted(tmp_path.iterdir()) == [plain, packed]


def test_the_stack_is_an_estimator(dataset: knockout.Dataset) -> None:
    X, y = samples_of(dataset)
    assert X.shape == (2000, 3)
    model = knockout.Stack(dataset)
    with pytest.raises(NotFittedError):
        model.predict(X)
    split = dataset.split()
    fitted = model.fit(X[split.train], y[split.train])
    assert fitted is model and model.run_.info()["model"] == "stack"
    assert numpy.corrcoef(model.predict(X[split.test]), y[split.test])[0, 1] > 0.3
    names = numpy.array(dataset.genes("dict")["systematic"])[X]
    for sets in (names, names.astype(object), pandas.DataFrame(names, columns=["gene_a", "gene_b", "gene_c"]), names.tolist()):
        assert model.predict(sets[:10]).tolist() == model.predict(X[:10]).tolist()
    home = Path(model._folder.name)
    again = pickle.loads(pickle.dumps(model))
    assert again.predict(X[:10]).tolist() == model.predict(X[:10]).tolist()
    del model, fitted
    assert not home.exists(), "the files of an estimator go with it"


def test_estimators_work_in_cross_validation(dataset: knockout.Dataset) -> None:
    X, y = samples_of(dataset)
    scores = cross_val_score(knockout.Stack(dataset), X, y, cv=KFold(3, shuffle=True, random_state=0))
    assert len(scores) == 3 and min(scores) > 0.1
    search = GridSearchCV(knockout.Regressor(dataset, "dango", epochs=1, settings=SMALL), {"seed": [0, 1]}, cv=2)
    assert search.fit(X[:400], y[:400]).best_estimator_.run_.config["model"]["name"] == "dango"


def test_names_are_enough_for_an_estimator(dataset: knockout.Dataset) -> None:
    """Without a dataset there are no networks, and the genes are those of the samples."""
    X, y = samples_of(dataset)
    names = numpy.array(dataset.genes("dict")["systematic"])[X]
    every = numpy.unique(names)
    assert min(cross_val_score(knockout.Stack(genes=every), names, y, cv=KFold(3, shuffle=True, random_state=0))) > 0.05
    model = knockout.Stack().fit(names[:1500], y[:1500])
    assert model.run_.dataset().networks == [] and len(model.run_.gene_names) == len(set(names[:1500].flat))
    assert model.predict(names[:5].tolist()).tolist() == model.predict(pandas.DataFrame(names[:5], columns=["gene_a", "gene_b", "gene_c"])).tolist()
    with pytest.raises(knockout.RequestError, match=r"NEW1 is in no sample .*\(1 such genes\).*knockout.Stack\(genes=names\)"):
        model.predict([[names[0, 0], "NEW1"]])
    with pytest.raises(knockout.RequestError, match=f"{names[0, 0]} is not among the 2 names in genes"):
        knockout.Stack(genes=["NEW1", "NEW2"]).fit(names, y)
    with pytest.raises(knockout.RequestError, match="not both"):
        knockout.Stack(dataset, genes=every).fit(names, y)


@pytest.mark.parametrize("check", ["no_attributes_set_in_init", "parameters_default_constructible", "get_params_invariance", "set_params"])
@pytest.mark.parametrize("kind", [knockout.Stack, knockout.Regressor])
def test_estimators_pass_the_checks_of_parameters(check: str, kind: Any) -> None:
    """The other checks of scikit-learn fit to random numbers, which are not gene sets."""
    getattr(estimator_checks, f"check_{check}")(kind.__name__, kind())


def test_estimators_refuse_what_they_cannot_fit(dataset: knockout.Dataset) -> None:
    X, y = samples_of(dataset)
    for model, sets, scores, message in [
        (knockout.Stack(), X, y, r"without a dataset these rows have no names; give names, or knockout.Stack\(dataset\)"),
        (knockout.Stack(dataset), X, y[:5], "one score for each set"),
        (knockout.Stack(dataset), X[:2], [0.5, float("nan")], "not finite"),
        (knockout.Stack(dataset), [["NOGENE"]], [0.5], "NOGENE"),
    ]:
        with pytest.raises(knockout.RequestError, match=message):
            model.fit(sets, scores)
    assert clone(knockout.Stack(dataset, val=0.2)).get_params() == {"dataset": dataset, "genes": None, "seed": 0, "settings": None, "split": "random", "val": 0.2}


def test_anndata_there_and_back(dataset: knockout.Dataset, tmp_path: Path) -> None:
    data = knockout.anndata.to_anndata(dataset)
    columns = dataset.samples("dict")
    assert data.obs["score"].to_numpy().tolist() == columns["score"].tolist()
    assert data.X.sum() == len(columns["genes"]) and data.obs["perturbation"].iloc[0].count("+") == 2
    file = tmp_path / "screen.h5ad"
    data.write_h5ad(file)
    import anndata

    again = knockout.anndata.from_anndata(anndata.read_h5ad(file), tmp_path / "again")
    found = again.samples("dict")
    for name in ("genes", "genes_offsets", "score"):
        assert numpy.array_equal(found[name], columns[name]), name
    assert again.genes("dict") == dataset.genes("dict") and sorted(again.networks) == sorted(dataset.networks)
    for name in dataset.networks:
        ours, theirs = dataset.network(name), again.network(name)
        assert numpy.array_equal(ours.targets, theirs.targets) and numpy.array_equal(ours.weights, theirs.weights)
    few = data[:10].copy()
    few.obs.loc[few.obs_names[0], "score"] = float("nan")
    assert len(knockout.anndata.from_anndata(few, tmp_path / "few")) == 9
    with pytest.raises(knockout.RequestError, match="no column 'tau'.*score"):
        knockout.anndata.from_anndata(data, tmp_path / "none", score="tau")


def test_a_missing_package_is_named_with_its_command(dataset: knockout.Dataset, monkeypatch: pytest.MonkeyPatch) -> None:
    network = dataset.network("physical")
    assert network.csr().shape == (200, 200)
    monkeypatch.setattr("importlib.util.find_spec", lambda name: None)
    with pytest.raises(ModuleNotFoundError, match=r'the package scipy is not installed: pip install "knockout\[scipy\]"'):
        network.csr()


def test_importing_the_package_needs_numpy_alone() -> None:
    code = "import sys, knockout; print([n for n in ('sklearn', 'pandas', 'tqdm', 'scipy', 'anndata', 'torch') if n in sys.modules])"
    import subprocess

    assert subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=60).stdout.strip() == "[]"
