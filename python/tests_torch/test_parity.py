"""Predictions, losses, gradients and optimiser steps against the program's own models, for every value of every option.

`parity.py` has the cases and the tolerances. With KNOCKOUT_PARITY the table of all errors is written to that file.
"""

import os
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy
import pytest
import torch

import knockout
import knockout.torch
from knockout import _knockout
from knockout.torch.settings import COMMON, OF_MODEL, keys_in
from parity import MODELS, TOLERANCES, Errors, compare, losses, sweep, table, title, usable, with_features

#: Error of a weight after ten steps, relative to what the steps changed.
WEIGHT = 2e-2


@pytest.fixture(scope="module")
def dataset(tiny: str) -> knockout.Dataset:
    return knockout.Dataset(tiny)


@pytest.fixture(scope="module")
def features(dataset: knockout.Dataset, tmp_path_factory: pytest.TempPathFactory) -> knockout.Dataset:
    return with_features(dataset, tmp_path_factory.mktemp("features") / "made")


@pytest.fixture(scope="module")
def errors() -> Iterator[dict[tuple[str, str], dict[str, Errors]]]:
    found: dict[tuple[str, str], dict[str, Errors]] = {}
    yield found
    if "KNOCKOUT_PARITY" in os.environ:
        rows = [(name, settings, found.get((name, title(settings)), {})) for name, settings in sweep()]
        Path(os.environ["KNOCKOUT_PARITY"]).write_text(table([row for row in rows if len(row[2]) == len(TOLERANCES)]))


@pytest.mark.parametrize("precision", TOLERANCES)
@pytest.mark.parametrize(("name", "settings"), [pytest.param(*case, id=f"{case[0]}-{title(case[1])[:60]}") for case in sweep()])
def test_scores_losses_and_gradients(
    dataset: knockout.Dataset,
    features: knockout.Dataset,
    errors: dict[tuple[str, str], dict[str, Errors]],
    name: str,
    settings: dict[str, Any],
    precision: str,
) -> None:
    found = compare(features if "model.features" in settings else dataset, name, settings, precision)
    errors.setdefault((name, title(settings)), {})[precision] = found
    assert found.within(TOLERANCES[precision]), f"{found}, allowed {TOLERANCES[precision]}"


OPTIMISERS: list[dict[str, Any]] = [
    {},
    {"optimiser.schedule": "constant", "optimiser.clip_norm": 0.05},
    {"optimiser.clip_norm": 0.0, "optimiser.weight_decay": 0.1},
    {"optimiser.schedule": "plateau"},
    {"optimiser.accumulate": ["0:3"]},
    {"optimiser.schedule": "cosine", "optimiser.cosine.first_cycle": 2, "optimiser.cosine.warmup": 1},
]
#: Added to all inputs of a softmax alike: the gradient is 0 but for rounding.
NO_EFFECT = ("score.out.bias", "gate.out.bias", "key.bias", "meta.score.bias")
#: Batches of about a third of the training part, so that ten steps are four epochs.
LARGE = {"dango": 500, "hetero": 40, "transformer": 500}


@pytest.mark.parametrize("optimiser", OPTIMISERS, ids=lambda options: ",".join(key[10:] for key in options) or "default")
@pytest.mark.parametrize("name", MODELS)
def test_ten_optimiser_steps(dataset: knockout.Dataset, tmp_path: Path, name: str, optimiser: dict[str, Any]) -> None:
    train_both(dataset, tmp_path, name, optimiser)


@pytest.mark.parametrize("name", MODELS)
def test_ten_optimiser_steps_on_the_small_yeast(tmp_path_factory: pytest.TempPathFactory, tmp_path: Path, name: str) -> None:
    folder = tmp_path_factory.getbasetemp() / "small"
    # Nine networks of 1,500 genes. Small parts to validate, because both sides predict them.
    train_both(knockout.synth(folder, "small", exist_ok=True), tmp_path, name, {"split.val": 0.01, "split.test": 0.01})


def train_both(dataset: knockout.Dataset, tmp_path: Path, name: str, optimiser: dict[str, Any]) -> None:
    """Trains the same model with the program and with PyTorch, and compares rates, losses and weights."""
    settings = usable(name, {**optimiser, "batch": LARGE[name], "model.dropout": 0.1} if name != "dango" else {**optimiser, "batch": LARGE[name]})
    if name == "hetero":
        settings["model.metabolism"] = "on"
    run = knockout.train(dataset, name, out=tmp_path / "run", max_steps=10, settings=settings)
    last = knockout.Run.open(run.folder, state="last")
    model = MODELS[name].from_dataset(dataset, settings=settings)
    begun = {key: value.detach().clone() for key, value in model.named_parameters()}
    training, loader = model.training_of(), model.loader()
    batches = knockout.torch.dataloader(loader, model)
    rates, epoch_losses = [], []
    while training.steps < 10:
        total, count = 0.0, 0
        rates.append(training.learning_rate)
        for batch in batches:
            loss = model(
                batch["genes"], batch["offsets"], model.targets(batch), epoch=training.epoch, step=training.steps, plan=batch["plan"]
            )
            total, count = total + training.step(loss, len(batches)).item() * len(batch["score"]), count + len(batch["score"])
            if training.steps == 10:
                break
        epoch_losses.append(total / count)
        model.eval()
        parts = [{key: torch.from_numpy(value) for key, value in part.items()} for part in model.loader("val")]
        with torch.no_grad():
            predictions = torch.cat([model.predict(part["genes"], part["offsets"]) for part in parts])
        model.train()
        training.end_epoch(knockout.torch.metrics(predictions.numpy(), torch.cat([part["score"] for part in parts]).numpy())["mse"])
    lines = run.metrics("dict")
    assert lines["learning_rate"] == pytest.approx(rates, rel=1e-9)
    assert lines["train_loss"] == pytest.approx(epoch_losses, rel=2e-4)
    for key, expected in last.weights().items():
        changed = numpy.abs(expected - begun[key].numpy()).max()
        off = numpy.abs(dict(model.named_parameters())[key].detach().numpy() - expected).max()
        # AdamW divides a gradient by its own size: where that is rounding, a step has any sign.
        steps = training.steps * 2 * max(rates)
        allowed = steps if key.endswith(NO_EFFECT) else max(WEIGHT * changed, 1e-5, 0.2 * steps if changed < steps else 0.0)
        assert off <= allowed, f"{key}: off by {off:.1e}, changed by {changed:.1e}"


@pytest.mark.parametrize("name", MODELS)
def test_residuals_and_starts(dataset: knockout.Dataset, tmp_path: Path, name: str) -> None:
    """A run that builds on others: the same start, targets, loss of the first step and predictions."""
    base = knockout.train(dataset, "low-rank", out=tmp_path / "base")
    settings = usable(name, {"from.residuals_of": str(base.folder)})
    if name != "transformer":
        settings["from.start"] = str(base.folder)
    run = knockout.train(dataset, name, out=tmp_path / "run", max_steps=2, settings=settings)
    model = MODELS[name].from_dataset(dataset, settings=settings)
    assert model.labels == pytest.approx(run.labels)
    batch = {key: torch.from_numpy(value) for key, value in model.loader()[0, 0].items()}
    one = knockout.train(dataset, name, out=tmp_path / "one", max_steps=1, settings=settings)
    expected = one.metrics("dict")["train_loss"][0]
    assert model(batch["genes"], batch["offsets"], model.targets(batch)).item() == pytest.approx(expected, rel=2e-5)
    trained = MODELS[name].from_run(run)
    part = {key: torch.from_numpy(value) for key, value in trained.loader("test", batch=40)[0].items()}
    sets = [part["genes"][begin:end].tolist() for begin, end in zip(part["offsets"][:-1], part["offsets"][1:])]
    with torch.no_grad():
        found = trained.eval().predict(part["genes"], part["offsets"]).numpy()
    assert numpy.abs(found - run.predict(sets).mean).max() <= 1e-4 * run.labels[1]


@pytest.mark.parametrize("name", MODELS)
def test_every_key_of_the_program_is_understood_or_refused(dataset: knockout.Dataset, name: str) -> None:
    keys = set(keys_in(knockout.config(dataset, name)))
    # Written only if it is not the default, or filled in when a run begins.
    optional = {"model.loss", "from.weights"}
    assert keys | optional == COMMON | {f"model.{key}" for key in OF_MODEL[name]} | optional


@pytest.mark.parametrize("name", MODELS)
def test_every_value_of_every_choice_is_compared(dataset: knockout.Dataset, name: str) -> None:
    defaults = {key: value for key, value in knockout.config(dataset, name)["model"].items() if isinstance(value, str) and key not in ("name", "loss")}
    compared = {(f"model.{key}", value) for key, value in defaults.items()}
    compared |= {item for model, settings in sweep() if model == name for item in settings.items() if isinstance(item[1], str)}
    compared = {(key, value.replace("-", "_")) for key, value in compared}
    for key in defaults:
        with pytest.raises(knockout.RequestError) as refused:
            knockout.config(dataset, name, settings={f"model.{key}": "none of them"})
        values = [value for value in re.findall(r"`([^`]+)`", str(refused.value)) if value != "none of them"]
        assert len(values) > 1
        missing = [value for value in values if (f"model.{key}", value.replace("-", "_")) not in compared]
        for value in missing:
            # What the program refuses for this model need not be compared.
            with pytest.raises(knockout.RequestError):
                MODELS[name].from_dataset(dataset, settings={f"model.{key}": value})


def test_every_loss_of_the_program_is_implemented(dataset: knockout.Dataset) -> None:
    swept = {name for name in _knockout.loss_names() if any(loss.get("model.loss") == name for loss in losses("hetero"))}
    assert swept == set(_knockout.loss_names())


def test_a_key_that_is_not_understood_is_refused(dataset: knockout.Dataset) -> None:
    config = knockout.config(dataset, "dango")
    config["model"]["new_option"] = 1
    with pytest.raises(knockout.RequestError, match="model.new_option is not supported by knockout.torch"):
        knockout.torch.settings.check_settings(config)
    for settings in ({"loader.order": "by-query"}, {"train.shards": 2, "train.gather_every": 2}):
        with pytest.raises(knockout.RequestError, match="not supported by knockout.torch"):
            knockout.torch.Dango.from_dataset(dataset, settings=settings)
