"""Settings that the modules understand. All others are refused, so that none is ignored."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from ..errors import RequestError

#: Keys of every model. `loader.*`, `run.*`, `epochs` and `max_steps` are about the program's own loop, or what a caller's loop reads.
COMMON = {
    "seed",
    "batch",
    "epochs",
    "max_steps",
    *(f"split.{key}" for key in ("scheme", "val", "test", "subset", "train_subset", "seed", "fold", "file")),
    *(f"loader.{key}" for key in ("processor", "store", "collate", "threads", "depth", "order", "queries")),
    *(f"optimiser.{key}" for key in ("learning_rate", "schedule", "weight_decay", "clip_norm", "accumulate")),
    *(f"optimiser.plateau.{key}" for key in ("factor", "patience", "threshold", "cooldown", "lowest", "epsilon")),
    *(f"optimiser.cosine.{key}" for key in ("first_cycle", "cycle_factor", "lowest", "warmup", "gamma")),
    *(f"train.{key}" for key in ("shards", "gather_every")),
    *(f"run.{key}" for key in ("patience", "checkpoint_every", "predict_batch")),
    *(f"from.{key}" for key in ("residuals_of", "start", "with", "weights")),
    "residuals.folds",
    "model.name",
}

#: Keys of each model; options below `model.loss` are those of the loss, which refuses what it does not know.
OF_MODEL = {
    "dango": {"width", "heads", "self_loops", "alpha", "transition_epoch", "string_channels", "features", "networks", "loss"},
    "hetero": {
        "width",
        "layers",
        "gin_linears",
        "gin_hidden",
        "activation",
        "norm",
        "aggregation",
        "cross_heads",
        "pair_hidden",
        "pair_linears",
        "combination",
        "local_layers",
        "local_heads",
        "self_loops",
        "dropout",
        "noise",
        "init",
        "difference",
        "route",
        "networks",
        "string_channels",
        "merge_networks",
        "fanout",
        "metabolism",
        "features",
        "loss",
        "mle_wass_supcr",
    },
    "transformer": {"width", "layers", "heads", "dropout", "penalty_layer", "networks", "features", "loss"},
}


def keys_in(config: Mapping[str, Any], prefix: str = "") -> Iterator[str]:
    """Yields the dotted keys of a configuration; a loss and the copies of other runs are one key each."""
    for key, value in config.items():
        name = f"{prefix}{key}"
        if isinstance(value, Mapping) and name not in ("model.loss", "model.mle_wass_supcr", "from.weights"):
            yield from keys_in(value, f"{name}.")
        else:
            yield name


def check_settings(config: Mapping[str, Any]) -> None:
    """Refuses a configuration that the modules do not compute as the program does, and names the key."""
    model = config["model"]["name"]
    understood = COMMON | {f"model.{key}" for key in OF_MODEL[model]}
    unknown = sorted(set(keys_in(config)) - understood)
    if unknown:
        raise RequestError(f"{unknown[0]} is not supported by knockout.torch; use `knockout train`")
    for key in ("merge_networks", "fanout"):
        if config["model"].get(key):
            raise RequestError(f"model.{key} is not supported by knockout.torch; use `knockout train`")
    if config["loader"]["order"] != "shuffled":
        raise RequestError(f"loader.order={config['loader']['order']} is not supported by knockout.torch; use `knockout train`")
    if config["train"]["shards"] > 1:
        if config["model"].get("norm") == "graph":
            raise RequestError("train.shards with model.norm=graph is not supported by knockout.torch; use `knockout train`")
        if config["train"]["gather_every"] != 1:
            raise RequestError("train.gather_every is not supported by knockout.torch; use `knockout train`")
