"""Common base of the models: parameters by dotted name, blocks, and loading of weights."""

from __future__ import annotations

import math
from collections.abc import Mapping
from os import PathLike
from typing import Any, TypeVar

import numpy
import torch
import torch.nn.functional as F
from numpy.typing import NDArray
from torch import Tensor, nn

from .. import _knockout
from .._keys import keys_of
from ..dataset import Dataset
from ..errors import RequestError
from ..loader import Loader
from ..run import Run
from .sparse import Adjacency

#: Name of the merged STRING channels in DANGO and the hetero model.
MERGED = "string"
STRING_CHANNELS = ("neighborhood", "coexpression", "experimental", "fusion", "cooccurence", "database")

_M = TypeVar("_M", bound="Model")
Edges = tuple[NDArray[Any], NDArray[Any]]


def check_loss(options: Mapping[str, Any], known: str) -> None:
    """Refuses a loss of the scores other than the one that a module computes."""
    chosen = options.get("loss", known)
    name = chosen.get("name", "point_dist") if isinstance(chosen, Mapping) else chosen
    if name.replace("-", "").replace("_", "") != known.replace("_", ""):
        raise RequestError(f"the loss {name} is not supported by knockout.torch, which has {known}; use `knockout train`")


def log_cosh(predictions: Tensor, targets: Tensor) -> Tensor:
    """Returns the mean log-cosh of the errors."""
    error = (predictions - targets).abs()
    return (error + F.softplus(-2.0 * error) - math.log(2.0)).mean()


def activation(name: str) -> Any:
    """Returns an activation by its name in configurations."""
    functions = {
        "relu": F.relu,
        "gelu": F.gelu,
        "sigmoid": torch.sigmoid,
        "leaky_relu": F.leaky_relu,
        "tanh": torch.tanh,
    }
    try:
        return functions[name.replace("-", "_")]
    except KeyError:
        raise RequestError(f"unknown activation {name!r}; choose from {', '.join(functions)}") from None


class Model(nn.Module):
    """Parameters with the names of checkpoints, networks and options.

    Built by `from_dataset`, with the initial weights of a run of the same configuration, or `from_run`, with trained weights.
    """

    name: str

    def __init__(
        self, weights: Mapping[str, Any], networks: Mapping[str, Edges], options: Mapping[str, Any]
    ) -> None:
        super().__init__()
        self.options = dict(options)
        if self.options.get("features", "none") != "none":
            raise RequestError("model.features is not supported by knockout.torch; use `knockout train`")
        self._parameters_by_name: dict[str, tuple[nn.Module, str]] = {}
        for name, values in weights.items():
            self._add(name, torch.as_tensor(numpy.array(values, copy=True)))
        self.gene_count = self.weight("gene_embedding").shape[0]
        #: Mean and standard deviation of the training scores, which standardise the targets of `loss`.
        self.score_mean, self.score_sd = 0.0, 1.0
        #: Settings of the model for `knockout.adopt`.
        self.settings: dict[str, Any] = {}
        self.network_names = list(networks)
        self.adjacencies = nn.ModuleList(Adjacency(*edges, self.gene_count) for edges in networks.values())

    def _add(self, name: str, values: Tensor) -> None:
        *path, leaf = name.split(".")
        module: nn.Module = self
        for part in path:
            # Not `add_module`, because a network may have the name of a method.
            module = module._modules.setdefault(part, nn.Module())  # type: ignore[assignment]
        module._parameters[leaf] = nn.Parameter(values)
        self._parameters_by_name[name] = (module, leaf)

    def weight(self, name: str) -> Tensor:
        """Returns a parameter by its full name."""
        module, leaf = self._parameters_by_name[name]
        return module._parameters[leaf]  # type: ignore[return-value]

    def linear(self, name: str, x: Tensor) -> Tensor:
        """Applies the linear layer of a name."""
        bias = self.weight(f"{name}.bias") if f"{name}.bias" in self._parameters_by_name else None
        return F.linear(x, self.weight(f"{name}.weight"), bias)

    def set_scores(self, name: str, rows: Tensor, sets: Sets, heads: int, layers: int, act: Any) -> Tensor:
        """Returns the score of every set from the rows of its members `[sets, most, width]`.

        Members of a set attend to each other but not to themselves. The score is the mean over members of a linear function of the squared
        difference between their dynamic and static embeddings.
        """
        (count, most, width), x = rows.shape, rows
        allowed = (sets.mask.unsqueeze(1) & ~torch.eye(most, dtype=torch.bool, device=x.device)).unsqueeze(1)
        for layer in range(1, layers + 1):
            part = f"{name}.layer{layer}"
            query, key, value = (
                self.linear(f"{part}.{what}", x).view(count, most, heads, -1).transpose(1, 2)
                for what in ("query", "key", "value")
            )
            scores = query @ key.transpose(2, 3) * (width // heads) ** -0.5
            scores = scores.masked_fill(~allowed, torch.finfo(scores.dtype).min / 2)
            # A single gene attends to nothing.
            weights = scores.softmax(-1) * allowed
            mixed = (weights @ value).transpose(1, 2).reshape(count, most, width)
            x = x + self.weight(f"{part}.rezero") * self.linear(f"{part}.output", mixed)
        static = act(self.linear(f"{name}.static", rows))
        members = self.linear(f"{name}.score", (x - static) ** 2).squeeze(-1)
        return (members * sets.mask).sum(1) / sets.mask.sum(1)

    def predict(self, genes: Tensor, offsets: Tensor) -> Tensor:
        """Returns predictions in the units of the scores."""
        return self(genes, offsets) * self.score_sd + self.score_mean

    def standardise(self, score: Tensor) -> Tensor:
        """Returns standardised scores, the targets of the loss."""
        return (score - self.score_mean) / self.score_sd

    def loader(self, dataset: Dataset, part: str = "train", **options: Any) -> Loader:
        """Returns the batches of a part of the split that `knockout.adopt` records for this model's `settings`, with their seed.

        `options` are those of `Loader.from_config`, such as `batch`, `rank` and `world`.
        """
        config = _knockout.configuration(dataset._dataset, self.name, keys_of(self.settings))
        return Loader.from_config(dataset, config, part, **options)

    def load_weights(self, path: str | PathLike[str]) -> None:
        """Loads a safetensors file, such as the `weights.safetensors` of a checkpoint."""
        from safetensors.torch import load_file

        self.load_state_dict(load_file(path))

    def save_weights(self, path: str | PathLike[str]) -> None:
        """Saves the parameters as a safetensors file, as in a checkpoint."""
        from safetensors.torch import save_file

        weights = {name: value.detach().cpu().contiguous() for name, value in self.state_dict().items()}
        save_file(weights, path, metadata={"format": "pt"})

    @classmethod
    def from_dataset(
        cls: type[_M], dataset: Dataset, *, settings: Mapping[str, Any] | None = None, part: str = "train"
    ) -> _M:
        """Builds the model with the initial weights of `knockout.train` for the same settings.

        Scores are standardised over the training part of the configured split.
        """
        keys = keys_of(settings)
        config = _knockout.configuration(dataset._dataset, cls.name, keys)
        weights = _knockout.initial_weights(dataset._dataset, cls.name, keys)
        model = cls(weights, networks_of(dataset, config["model"]), config["model"])
        options = {key: value for key, value in config["split"].items()}
        rows = dataset.split(options.pop("scheme"), **options)[part]
        scores = dataset.samples("dict")["score"][rows]
        model.score_mean, model.score_sd = float(scores.mean()), float(scores.std())
        model.settings = dict(settings or {})
        return model

    @classmethod
    def from_run(cls: type[_M], run: Run | str | PathLike[str]) -> _M:
        """Builds the model of a run with its weights."""
        run = run if isinstance(run, Run) else Run.open(run)
        config = run.config
        if config["model"]["name"] != cls.name:
            raise RequestError(f"{run.folder} is a run of {config['model']['name']}, not of {cls.name}")
        with run.dataset() as dataset:
            model = cls(run.weights(), networks_of(dataset, config["model"]), config["model"])
        model.score_mean, model.score_sd = run.labels
        model.settings = {key: value for key, value in config.items() if key in ("seed", "batch", "split")}
        model.settings["model"] = {key: value for key, value in config["model"].items() if key != "name"}
        return model


def networks_of(dataset: Dataset, options: Mapping[str, Any]) -> dict[str, Edges]:
    """Returns the edges of the networks of a model, in its order."""
    chosen = [choice if isinstance(choice, str) else choice["name"] for choice in options["networks"]]
    networks: dict[str, Edges] = {}
    merged: list[Edges] = []
    for name in chosen:
        network = dataset.network(name)
        edges = (network.sources.astype(numpy.int64), network.targets.astype(numpy.int64))
        if options.get("string_channels") == "merged" and _is_channel(name):
            merged.append(edges)
        else:
            networks[name] = edges
    if merged:
        pairs = numpy.unique(numpy.concatenate([numpy.stack(edges) for edges in merged], axis=1), axis=1)
        networks = {MERGED: (pairs[0], pairs[1]), **networks}
    if options.get("self_loops") == "add":
        every = numpy.arange(dataset.gene_count)
        networks = {
            name: (numpy.concatenate([sources, every]), numpy.concatenate([targets, every]))
            for name, (sources, targets) in networks.items()
        }
    return networks


def _is_channel(name: str) -> bool:
    return name.startswith("string") and name.endswith(STRING_CHANNELS)


class Sets:
    """Padded gene sets: `index` `[sets, largest set]`, and `mask`, True at members."""

    # Shapes depend on values, so this is not compiled.
    @torch.compiler.disable
    def __init__(self, genes: Tensor, offsets: Tensor) -> None:
        genes, offsets = _integers("genes", genes), _integers("offsets", offsets)
        if genes.device.type == "cpu":
            # Skipped on a GPU, where the check would wait for the device.
            _check(genes, offsets)
        lengths = offsets.diff()
        self.count = len(lengths)
        most = int(lengths.max()) if self.count else 0
        slots = torch.arange(most, device=genes.device)
        self.mask = slots < lengths.unsqueeze(1)
        at = (offsets[:-1].unsqueeze(1) + slots).clamp(max=max(len(genes) - 1, 0))
        self.index = torch.where(self.mask, genes[at], 0)
        self.genes = genes
        self.owners = torch.repeat_interleave(torch.arange(self.count, device=genes.device), lengths)

    def deleted(self, gene_count: int) -> Tensor:
        """Returns the mask of deleted genes, `[sets, genes]`."""
        mask = torch.zeros(self.count, gene_count, dtype=torch.bool, device=self.genes.device)
        mask[self.owners, self.genes] = True
        return mask


def _integers(name: str, values: Tensor) -> Tensor:
    if values.is_floating_point() or values.is_complex() or values.dtype == torch.bool or values.dim() != 1:
        raise RequestError(f"{name} must be a vector of integers, not {values.dtype} of {values.dim()} dimensions")
    return values.long()


def _check(genes: Tensor, offsets: Tensor) -> None:
    if len(genes) and int(genes.min()) < 0:
        raise RequestError("rows of the gene table count from 0")
    if not len(offsets) or int(offsets[0]) != 0 or int(offsets[-1]) != len(genes) or bool((offsets.diff() < 0).any()):
        raise RequestError("offsets must start at 0, never fall and end at the number of genes")
