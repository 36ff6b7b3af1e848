"""Predictions, losses, gradients and optimiser steps against the program's own models, for every value of every option.

Both sides compute in single precision, in another order of sums. Tolerances are stated once, below.
"""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy
import pytest
import torch

import knockout
import knockout.torch
from knockout import _knockout
from knockout._keys import keys_of
from knockout.torch.settings import COMMON, OF_MODEL, keys_in

MODELS = {"dango": knockout.torch.Dango, "hetero": knockout.torch.Hetero, "transformer": knockout.torch.Transformer}
#: Relative error of a loss; error of a prediction in standard deviations; error of a gradient relative to the parameter's largest.
LOSS, SCORE, GRADIENT = 1e-4, 1e-4, 5e-3
#: Part of a gradient that is rounding, relative to the largest gradient of the model.
ROUNDING = 2e-6
#: Error of a weight after ten steps, relative to what the steps changed.
WEIGHT = 2e-2

SMALL: dict[str, dict[str, Any]] = {
    "dango": {"model.width": 8, "model.transition_epoch": 3, "batch": 48},
    "hetero": {"model.width": 8, "model.gin_hidden": 6, "model.gin_linears": 2, "model.pair_hidden": 4, "model.layers": 2, "batch": 12},
    "transformer": {"model.width": 16, "model.layers": 2, "model.dropout": 0.0, "batch": 24},
}
BUFFER = {"buffer.size": 60, "buffer.min_samples": 10, "buffer.weight.warmup_epochs": 1, "buffer.weight.stable_epoch": 3}
FEW = {**BUFFER, "buffer.size": 20, "buffer.weight.warmup_epochs": 10, "buffer.weight.stable_epoch": 20}


def losses(name: str) -> Iterator[dict[str, Any]]:
    """Every loss, with every value of its options that the command line can set: a buffer is an option of `mle_wass_supcr` alone there.

    Other temperatures and shares of a buffer are compared with the golden case of the schedules.
    """
    alone = {"lambda_mse": 0.0, "lambda_wasserstein": 1.0}
    mine: list[tuple[str, dict[str, Any]]] = [
        ("log_cosh", {}),
        ("mse", {}),
        ("wasserstein", {}),
        ("wasserstein", {"transport": "exact"}),
        ("point_dist", {"point": "log_cosh", "lambda_point": 0.7, "lambda_dist": 0.3}),
        ("point_dist", {"point": "mse", "lambda_dist": 0.2, "transport": "exact"}),
        ("mle_wass_supcr", {"lambda_mse": 0.5, "lambda_wasserstein": 0.2}),
        ("mle_wass_supcr", {**alone, **BUFFER}),
        ("mle_wass_supcr", {**alone, **FEW, "transport": "exact"}),
        ("mle_wass_supcr", {**alone, **BUFFER, "buffer.order": "write_first"}),
    ]
    if name != "dango":
        mine += [
            ("supcr", {}),
            ("supcr", {"temperature.first": 0.5}),
            ("mle_wass_supcr", {"lambda_mse": 1.0, "lambda_wasserstein": 0.1, "lambda_supcr": 0.4, **BUFFER}),
            ("mle_wass_supcr", {"lambda_mse": 0.0, "lambda_wasserstein": 0.0, "lambda_supcr": 1.0, **FEW, "buffer.order": "write_first"}),
        ]
    if name == "transformer":
        # Options of its default, and the names of the others: the command line has no more.
        yield {"model.loss.point": "log_cosh", "model.loss.lambda_point": 0.7, "model.loss.lambda_dist": 0.3}
        yield {"model.loss.lambda_dist": 0.2, "model.loss.transport": "exact", "model.loss.lambda_graph": 0.0}
        mine = [(loss, options) for loss, options in mine if not options]
    for loss, options in mine:
        yield {"model.loss": loss, **{f"model.loss.{key}": value for key, value in options.items()}}


CHOICES: dict[str, dict[str, list[Any]]] = {
    "dango": {
        "heads": [2],
        "self_loops": ["add"],
        "alpha": ["pre-then-post", "linear-until-flipped"],
        "transition_epoch": [0],
        "string_channels": ["merged"],
    },
    "hetero": {
        "layers": [1, 3],
        "gin_linears": [1, 3],
        "activation": ["relu", "sigmoid", "leaky_relu", "tanh"],
        "norm": ["graph", "none"],
        "aggregation": ["sum", "mean", "cross_attention"],
        "pair_linears": [3],
        "combination": ["gating", "global-only"],
        "local_layers": [0, 1],
        "self_loops": ["add"],
        "dropout": [0.3],
        "init": ["scaled"],
        "difference": ["total"],
        "route": ["node-mask", "edge-mask", "rebuilt"],
        "string_channels": ["merged"],
        "metabolism": ["on"],
    },
    "transformer": {"layers": [0, 3], "heads": [2, 4], "dropout": [0.2], "penalty_layer": [0]},
}
TOGETHER: dict[str, list[dict[str, Any]]] = {
    "dango": [{"model.self_loops": "add", "model.string_channels": "merged", "seed": 5}],
    "hetero": [
        {"model.dropout": 0.2, "model.noise": "independent"},
        {"model.dropout": 0.2, "model.norm": "graph"},
        {"model.dropout": 0.2, "model.norm": "none", "model.metabolism": "on", "model.pair_linears": 3},
        {"model.metabolism": "on", "model.norm": "graph", "model.aggregation": "cross_attention"},
        {"model.metabolism": "on", "model.init": "scaled", "model.difference": "total", "model.string_channels": "merged"},
    ],
    "transformer": [{"model.layers": 0, "model.loss.lambda_graph": 0.0}, {"model.dropout": 0.3, "seed": 7, "model.loss.lambda_graph": 0.0}],
}


def sweep() -> Iterator[Any]:
    for name in MODELS:
        options = [{f"model.{key}": value} for key, values in CHOICES[name].items() for value in values]
        for settings in [{}, *options, *TOGETHER[name], *losses(name)]:
            yield pytest.param(name, settings, id=f"{name}-" + (",".join(f"{key[6:]}={value}" for key, value in settings.items())[:60] or "default"))


@pytest.fixture(scope="module")
def dataset(tiny: str) -> knockout.Dataset:
    return knockout.Dataset(tiny)


def usable(name: str, settings: dict[str, Any]) -> dict[str, Any]:
    """Returns the settings with those that they need."""
    found = {**SMALL[name], **settings}
    if name == "transformer" and found["model.layers"] == 0:
        found["model.loss.lambda_graph"] = 0.0
    if found.get("model.penalty_layer") is None and name == "transformer":
        found["model.penalty_layer"] = 0
    return found


@pytest.mark.parametrize(("name", "settings"), list(sweep()))
def test_predictions_losses_and_gradients(dataset: knockout.Dataset, name: str, settings: dict[str, Any]) -> None:
    settings = usable(name, settings)
    model = MODELS[name].from_dataset(dataset, settings=settings)
    # Weights that training has moved, so that none is 0 or all alike.
    generator = torch.Generator().manual_seed(1)
    # Without norms, sums over neighbours grow from layer to layer, and rounding with them.
    spread = 0.005 if settings.get("model.norm") == "none" else 0.05
    with torch.no_grad():
        for value in model.parameters():
            value += spread * torch.randn(value.shape, generator=generator)
    weights = {key: value.detach().numpy() for key, value in model.named_parameters()}
    steps = []
    for step, epoch in enumerate((0, 0, 1, 2, 5)):
        batch = model.loader()[0, step]
        targets = model.targets({key: torch.from_numpy(value) for key, value in batch.items()}).numpy()
        steps.append((batch["genes"], batch["offsets"], targets, epoch, step))
    expected = _knockout.training_steps(dataset._dataset, name, keys_of(settings), weights, steps)
    for (genes, offsets, targets, epoch, step), (scores, loss, gradients) in zip(steps, expected, strict=True):
        tensors = [torch.from_numpy(array) for array in (genes, offsets, targets)]
        found = model(tensors[0], tensors[1], step=step)
        worst = numpy.abs(found.detach().numpy() - scores).max()
        assert worst <= SCORE * max(1.0, numpy.abs(scores).max()), f"step {step}: a score is off by {worst:.1e}"
        model.zero_grad()
        mine = model(*tensors, epoch=epoch, step=step)
        mine.backward()
        assert mine.item() == pytest.approx(loss, rel=LOSS, abs=1e-6), f"step {step}"
        largest = max(float(numpy.abs(of).max()) for of in gradients.values())
        for key, value in model.named_parameters():
            assert value.grad is not None, f"{key} has no gradient"
            off = numpy.abs(value.grad.numpy() - gradients[key]).max()
            allowed = GRADIENT * numpy.abs(gradients[key]).max() + ROUNDING * largest
            assert off <= allowed, f"step {step}: the gradient of {key} is off by {off:.1e}, allowed {allowed:.1e}"


OPTIMISERS: list[dict[str, Any]] = [
    {},
    {"optimiser.schedule": "constant", "optimiser.clip_norm": 0.05},
    {"optimiser.clip_norm": 0.0, "optimiser.weight_decay": 0.1},
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
