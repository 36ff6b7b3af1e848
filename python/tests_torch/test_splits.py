"""Models are trained only on rows outside the test part of their run."""

import json
import runpy
import sys
from pathlib import Path
from typing import Any

import pytest
import torch

import knockout
import knockout.torch

EXAMPLE = Path(__file__).parents[1] / "examples" / "train_torch.py"
SETTINGS = {"model.width": 8, "split.scheme": "gene-disjoint", "split.seed": 3, "seed": 5, "batch": 256}


@pytest.fixture(scope="module")
def dataset(tiny: str) -> knockout.Dataset:
    return knockout.Dataset(tiny)


def rows_tested(dataset: knockout.Dataset, run: knockout.Run) -> set[int]:
    """Rows of the test part of the split that a run records."""
    recorded = run.config["split"]
    assert (recorded["scheme"], recorded["seed"]) == ("gene-disjoint", 3)
    return set(dataset.split(**recorded).test.tolist())


def test_the_example_trains_on_nothing_that_its_run_is_tested_on(
    dataset: knockout.Dataset, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    loaders: list[knockout.Loader] = []
    dataloader = knockout.torch.dataloader

    def keep(loader: knockout.Loader, *model: Any, **options: Any) -> Any:
        loaders.append(loader)
        return dataloader(loader, *model, **options)

    monkeypatch.setattr(knockout.torch, "dataloader", keep)
    settings = [part for key, value in SETTINGS.items() for part in ("--set", f"{key}={value}")]
    arguments = [str(dataset.path), str(tmp_path / "run"), "--epochs", "1", *settings]
    monkeypatch.setattr(sys, "argv", [str(EXAMPLE), *arguments])
    runpy.run_path(str(EXAMPLE), run_name="__main__")
    tested = rows_tested(dataset, knockout.Run(tmp_path / "run"))
    assert len(loaders) == 2 and all(tested.isdisjoint(loader.order(0).tolist()) for loader in loaders)


@pytest.mark.parametrize("part", ["train", "val", "test"])
@pytest.mark.parametrize("model", [knockout.torch.Dango, knockout.torch.Hetero, knockout.torch.Transformer])
def test_a_loader_yields_its_part(dataset: knockout.Dataset, model: type[knockout.torch.Model], part: str) -> None:
    built = model.from_dataset(dataset, settings=SETTINGS)
    rows = dataset.split("gene-disjoint", seed=3)[part]
    for epoch in (0, 1):
        batches = [built.loader(part)[epoch, at] for at in range(len(built.loader(part)))]
        assert sorted(row for batch in batches for row in batch["rows"].tolist()) == sorted(rows.tolist())


def steps(model: knockout.torch.Model, loader: knockout.Loader, count: int = 2) -> None:
    for at in range(count):
        batch = {key: torch.from_numpy(value) for key, value in loader[0, at].items()}
        model(batch["genes"], batch["offsets"], model.targets(batch))


def test_a_model_knows_the_rows_that_it_was_trained_on(dataset: knockout.Dataset, tmp_path: Path) -> None:
    model = knockout.torch.Dango.from_dataset(dataset, settings=SETTINGS)
    assert len(model.rows_seen()) == 0
    model.eval()
    steps(model, model.loader("test"), 1)
    assert len(model.rows_seen()) == 0, "an evaluation is not training"
    model.train()
    steps(model, model.loader())
    expected = sorted(row for at in range(2) for row in model.loader()[0, at]["rows"].tolist())
    assert model.rows_seen().tolist() == expected
    run = model.adopt(train_loss=1.0, out=tmp_path / "run")
    assert json.loads((run.folder / "manifest.json").read_text())["conditions"]["adopted_rows"].startswith(f"{len(expected)} rows, blake3 ")


def test_a_model_that_saw_the_test_part_is_not_adopted(dataset: knockout.Dataset, tmp_path: Path) -> None:
    """A loader that does not follow the configuration leaks the test part, and `adopt` finds it."""
    model = knockout.torch.Dango.from_dataset(dataset, settings=SETTINGS)
    steps(model, knockout.Loader(dataset, batch=256), 6)
    with pytest.raises(knockout.RequestError, match="rows of the test part"):
        model.adopt(train_loss=1.0, out=tmp_path / "run")
    assert not (tmp_path / "run").exists()
    run = knockout.adopt(dataset, "dango", model.state_dict(), train_loss=1.0, out=tmp_path / "unknown", settings=SETTINGS)
    assert json.loads((run.folder / "manifest.json").read_text())["conditions"]["adopted_rows"] == "unknown"


def test_the_model_of_a_run_has_the_loader_of_the_run(dataset: knockout.Dataset, tmp_path: Path) -> None:
    run = knockout.train(dataset, "dango", out=tmp_path / "run", max_steps=1, settings=SETTINGS)
    expected = knockout.torch.Dango.from_dataset(dataset, settings=SETTINGS).loader()
    found = knockout.torch.Dango.from_run(run).loader()
    assert found.order(1).tolist() == expected.order(1).tolist() and len(found) == len(expected)
