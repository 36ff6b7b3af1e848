"""Models are trained only on rows outside the test part of their run."""

import runpy
import sys
from pathlib import Path
from typing import Any

import pytest

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

    def keep(loader: knockout.Loader, **options: Any) -> Any:
        loaders.append(loader)
        return dataloader(loader, **options)

    monkeypatch.setattr(knockout.torch, "dataloader", keep)
    settings = [part for key, value in SETTINGS.items() for part in ("--set", f"{key}={value}")]
    arguments = [str(dataset.path), str(tmp_path / "run"), "--epochs", "1", *settings]
    monkeypatch.setattr(sys, "argv", [str(EXAMPLE), *arguments])
    runpy.run_path(str(EXAMPLE), run_name="__main__")
    (loader,) = loaders
    assert rows_tested(dataset, knockout.Run(tmp_path / "run")).isdisjoint(loader.order(0).tolist())


@pytest.mark.parametrize("part", ["train", "val"])
def test_a_models_loader_leaves_out_the_test_part_of_the_adopted_run(
    dataset: knockout.Dataset, tmp_path: Path, part: str
) -> None:
    model = knockout.torch.Dango.from_dataset(dataset, settings=SETTINGS)
    run = knockout.adopt(
        dataset, "dango", model.state_dict(), train_loss=1.0, out=tmp_path / "run", settings=model.settings
    )
    assert rows_tested(dataset, run).isdisjoint(model.loader(dataset, part).order(0).tolist())


def test_the_model_of_a_run_has_the_loader_of_the_run(dataset: knockout.Dataset, tmp_path: Path) -> None:
    run = knockout.train(dataset, "dango", out=tmp_path / "run", max_steps=1, settings=SETTINGS)
    expected = knockout.torch.Dango.from_dataset(dataset, settings=SETTINGS).loader(dataset)
    found = knockout.torch.Dango.from_run(run).loader(dataset)
    assert found.order(1).tolist() == expected.order(1).tolist() and len(found) == len(expected)
