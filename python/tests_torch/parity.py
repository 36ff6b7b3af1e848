"""The modules beside the program's own models, for every value of every option, in single and in double precision.

    KNOCKOUT_PARITY=$PWD/parity.md python/test-torch     # writes the table of docs/results/python.md

Both sides compute the same sums in another order; tolerances are stated once, in `TOLERANCES`.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import astuple, dataclass
from pathlib import Path
from typing import Any

import numpy
import torch

import knockout
import knockout.torch
from knockout import _knockout
from knockout._keys import keys_of

MODELS = {"dango": knockout.torch.Dango, "hetero": knockout.torch.Hetero, "transformer": knockout.torch.Transformer}


@dataclass(frozen=True)
class Errors:
    """Largest differences of some batches."""

    #: In standard deviations of the scores; of a score above 1, as a part of it.
    score: float
    #: As a part of the loss, or of 1e-2 if that is larger.
    loss: float
    #: As a part of the parameter's largest gradient and `REST` of the model's largest.
    gradient: float

    def within(self, allowed: Errors) -> bool:
        return all(one <= other for one, other in zip(astuple(self), astuple(allowed), strict=True))

    def and_also(self, other: Errors) -> Errors:
        return Errors(*(max(pair) for pair in zip(astuple(self), astuple(other), strict=True)))


#: Rounding of a gradient is that of the larger ones that it is a sum of.
REST = 4e-4
TOLERANCES = {"f32": Errors(1e-4, 1e-4, 5e-3), "f64": Errors(1e-12, 1e-12, 1e-9)}

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
        "features": ["beside", "instead"],
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
        "features": ["beside", "instead"],
    },
    "transformer": {"layers": [0, 3], "heads": [2, 4], "dropout": [0.2], "penalty_layer": [0], "features": ["beside", "instead"]},
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


def sweep() -> Iterator[tuple[str, dict[str, Any]]]:
    """Yields a model and settings for every value of every option."""
    for name in MODELS:
        options = [{f"model.{key}": value} for key, values in CHOICES[name].items() for value in values]
        for settings in [{}, *options, *TOGETHER[name], *losses(name)]:
            yield name, settings


def usable(name: str, settings: dict[str, Any]) -> dict[str, Any]:
    """Returns the settings with those that they need."""
    found = {**SMALL[name], **settings}
    if name == "transformer" and found["model.layers"] == 0:
        found["model.loss.lambda_graph"] = 0.0
    if found.get("model.penalty_layer") is None and name == "transformer":
        found["model.penalty_layer"] = 0
    return found


def with_features(dataset: knockout.Dataset, folder: Path) -> knockout.Dataset:
    """Returns the same screen and networks, imported again with content features: the synthetic yeast has none."""
    folder.mkdir()
    names = dataset.genes("dict")["systematic"]
    samples = dataset.samples("dict")
    (folder / "genes.txt").write_text("".join(f"{name}\n" for name in names))
    rows = numpy.split(samples["genes"], samples["genes_offsets"][1:-1].astype(int))
    lines = ["a\tb\tc\tscore"]
    lines += ["\t".join([*(names[gene] for gene in genes), repr(float(score))]) for genes, score in zip(rows, samples["score"], strict=True)]
    (folder / "screen.tsv").write_text("\n".join(lines) + "\n")
    recipe = '[[genes]]\nformat = "list"\nfile = "genes.txt"\n'
    recipe += '[[features]]\nformat = "table"\nfile = "features.tsv"\n'
    for network in dataset.networks:
        edges = dataset.network(network)
        pairs = (f"{names[source]}\t{names[target]}\n" for source, target in zip(edges.sources, edges.targets, strict=True))
        (folder / f"{network}.tsv").write_text("from\tto\n" + "".join(pairs))
        recipe += f'[[networks]]\nformat = "edges"\nfile = "{network}.tsv"\nname = "{network}"\nsource = "from"\ntarget = "to"\ndirected = true\n'
    recipe += '[[screens]]\nformat = "table"\nfile = "screen.tsv"\ngenes = ["a", "b", "c"]\nscore = "score"\n'
    (folder / "recipe.toml").write_text(recipe)
    values = numpy.random.default_rng(4).normal(size=(len(names), 5)) * [1, 10, 0.1, 3, 1]
    lines = ["gene\tf0\tf1\tf2\tf3\tf4"]
    # Some values are unknown, and some genes have none.
    for row, (name, line) in enumerate(zip(names, values, strict=True)):
        if row % 11:
            lines.append("\t".join([name, *("" if (row + at) % 7 == 0 else repr(float(value)) for at, value in enumerate(line))]))
    (folder / "features.tsv").write_text("\n".join(lines) + "\n")
    return knockout.import_recipe(folder / "set", folder / "recipe.toml", folder)[0]


#: Epochs of the batches that are compared; schedules of losses follow them, and buffers fill.
EPOCHS = (0, 0, 1, 2, 5)


def compare(dataset: knockout.Dataset, name: str, settings: dict[str, Any], precision: str) -> Errors:
    """Returns how far scores, losses and gradients of some batches are from the program's."""
    settings = usable(name, settings)
    before = torch.get_default_dtype()
    try:
        # Constants, such as features and the weights of reactions, are kept in the precision in which they are made.
        torch.set_default_dtype(torch.float64 if precision == "f64" else torch.float32)
        model = MODELS[name].from_dataset(dataset, settings=settings)
    finally:
        torch.set_default_dtype(before)
    # Weights that training has moved, so that none is 0 or all alike.
    generator = torch.Generator().manual_seed(1)
    # Without norms, sums over neighbours grow from layer to layer, and rounding with them.
    spread = 0.005 if settings.get("model.norm") == "none" else 0.05
    with torch.no_grad():
        for value in model.parameters():
            value += spread * torch.randn(value.shape, generator=generator)
    weights = {key: value.detach().numpy() for key, value in model.named_parameters()}
    steps = []
    for step, epoch in enumerate(EPOCHS):
        batch = model.loader()[0, step]
        targets = model.targets({key: torch.from_numpy(value) for key, value in batch.items()}).numpy()
        steps.append((batch["genes"], batch["offsets"], targets.astype(numpy.float32), epoch, step))
    # In double precision only with the feature `parity` of the extension, as `test-torch` builds it.
    of_program = getattr(_knockout, "training_steps" if precision == "f32" else "training_steps_f64")
    expected = of_program(dataset._dataset, name, keys_of(settings), weights, steps)
    if precision == "f64":
        model.double()
    worst = Errors(0.0, 0.0, 0.0)
    for (genes, offsets, targets, epoch, step), (scores, loss, gradients) in zip(steps, expected, strict=True):
        tensors = [torch.from_numpy(genes), torch.from_numpy(offsets), torch.from_numpy(targets).to(next(model.parameters()).dtype)]
        found = model(tensors[0], tensors[1], step=step).detach().numpy()
        model.zero_grad()
        mine = model(*tensors, epoch=epoch, step=step)
        mine.backward()
        largest = max(float(numpy.abs(of).max()) for of in gradients.values())
        of_gradients = 0.0
        for key, value in model.named_parameters():
            assert value.grad is not None, f"{key} has no gradient"
            off = float(numpy.abs(value.grad.numpy() - gradients[key]).max())
            of_gradients = max(of_gradients, off / (float(numpy.abs(gradients[key]).max()) + REST * largest))
        here = Errors(
            float(numpy.abs(found - scores).max()) / max(1.0, float(numpy.abs(scores).max())),
            abs(mine.item() - loss) / max(abs(loss), 1e-2),
            of_gradients,
        )
        worst = worst.and_also(here)
    return worst


def title(settings: dict[str, Any]) -> str:
    """Returns settings as they are given to the program."""
    shown = ", ".join(f"{key.removeprefix('model.')}={value}" for key, value in settings.items())
    return shown or "defaults"


def table(rows: list[tuple[str, dict[str, Any], dict[str, Errors]]]) -> str:
    """Returns the errors as a table of Markdown, one row for every setting."""
    lines = ["| model | settings | scores, f32 | loss | gradients | scores, f64 | loss | gradients |", "|" + "---|" * 8]
    for name, settings, found in rows:
        figures = [f"{value:.0e}" for precision in TOLERANCES for value in astuple(found[precision])]
        lines.append(f"| {name} | `{title(settings)}` | " + " | ".join(figures) + " |")
    return "\n".join(lines) + "\n"
