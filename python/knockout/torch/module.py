"""Common base of the models: submodules with the names of checkpoints, gene rows, losses, and the run that a model belongs to."""

from __future__ import annotations

import json
from collections.abc import Mapping
from os import PathLike
from pathlib import Path
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
from ..run import Run, adopt
from .dropout import Dropout, stream_seed
from .losses import ScoreLoss
from .plan import Plan, Planner
from .scorer import Scorer
from .settings import check_settings
from .sparse import Adjacency
from .training import Training

#: Name of the merged STRING channels in DANGO and the hetero model.
MERGED = "string"
STRING_CHANNELS = ("neighborhood", "coexpression", "experimental", "fusion", "cooccurence", "database")

_M = TypeVar("_M", bound="Model")
Edges = tuple[NDArray[Any], NDArray[Any]]


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


class Block(nn.Module):
    """Layers and parameters by name."""

    def extra_repr(self) -> str:
        return ", ".join(f"{name}={list(value.shape)}" for name, value in self._parameters.items() if value is not None)


def _layer_of(parameters: Mapping[str, Tensor]) -> nn.Module:
    """Returns the layer of some parameters: a linear layer, a norm, or a block that just holds them."""
    names = set(parameters)
    weight = parameters.get("weight")
    layer: nn.Module = Block()
    # A reconstruction is a matrix product over all genes that is never formed: it is not called.
    if weight is not None and names <= {"weight", "bias"}:
        with torch.device("meta"):
            if weight.dim() == 2:
                layer = nn.Linear(weight.shape[1], weight.shape[0], bias="bias" in names)
            elif weight.dim() == 1 and "bias" in names:
                layer = nn.LayerNorm(weight.shape[0])
    for name, values in parameters.items():
        layer._parameters[name] = nn.Parameter(values)
    return layer


class Model(nn.Module):
    """Parameters with the names of checkpoints, networks and options.

    Built by `from_dataset`, with the initial weights of a run of the same configuration, or `from_run`, with trained weights.
    `forward(genes, offsets)` returns standardised scores, and `forward(genes, offsets, targets)` the loss of a batch, so that
    `DistributedDataParallel`, FSDP and `torch.compile` can wrap the module.
    """

    name: str
    #: Width of the representation of a sample, which some losses compare; 0 without one.
    representation_width = 0
    score_mean: Tensor
    score_sd: Tensor

    def __init__(
        self,
        weights: Mapping[str, Any],
        networks: Mapping[str, Edges],
        options: Mapping[str, Any],
        *,
        loss: Mapping[str, Any] | None = None,
        seed: int = 0,
        features: NDArray[Any] | None = None,
    ) -> None:
        super().__init__()
        self.options = dict(options)
        #: Settings of the model for `adopt`.
        self.settings: dict[str, Any] = {}
        #: The whole configuration, if the model belongs to one.
        self.config: dict[str, Any] = {}
        self.dataset: Dataset | None = None
        self._base: Tensor | None = None
        self._run: Run | None = None
        self._seen: _SeenRows | None = None
        self.seed = seed
        self._leaves: dict[str, tuple[nn.Module, str]] = {}
        self._build({name: torch.as_tensor(numpy.array(values, copy=True)) for name, values in weights.items()})
        table = self._leaves.get("gene_embedding")
        self.gene_count = len(features) if features is not None else self.weight("gene_embedding").shape[0]
        self._has_table = table is not None
        kept = None if features is None else torch.as_tensor(numpy.asarray(features)).to(torch.get_default_dtype())
        self.register_buffer("_features", kept, persistent=False)
        # Mean and standard deviation of the training scores: constants that move with the module.
        self.labels = (0.0, 1.0)
        self.register_buffer("score_mean", torch.tensor(0.0), persistent=False)
        self.register_buffer("score_sd", torch.tensor(1.0), persistent=False)
        self.network_names = list(networks)
        self.adjacencies = nn.ModuleList(Adjacency(*edges, self.gene_count) for edges in networks.values())
        width = int(self.options.get("width", 0))
        self.score_loss = ScoreLoss(loss or {"name": "log_cosh"}, self.representation_width * width, seed)
        self.rate = float(self.options.get("dropout", 0.0))

    @property
    def _ddp_params_and_buffers_to_ignore(self) -> list[str]:
        """Constants, which data parallelism need not broadcast before every step."""
        return [name for name, _ in self.named_buffers()]

    def _build(self, weights: Mapping[str, Tensor]) -> None:
        """Creates the submodules: a linear layer or a norm where the parameters are those of one."""
        leaves: dict[str, dict[str, Tensor]] = {}
        for name, values in weights.items():
            path, _, leaf = name.rpartition(".")
            leaves.setdefault(path, {})[leaf] = values
        for path, parameters in leaves.items():
            module: nn.Module = self
            if path:
                *parents, last = path.split(".")
                for parent in parents:
                    # Not `add_module`, because a network may have the name of a method.
                    module = module._modules.setdefault(parent, Block())  # type: ignore[assignment]
                built = _layer_of(parameters)
                # A block that exists already has submodules.
                existing = module._modules.get(last)
                if existing is not None:
                    existing._parameters.update(built._parameters)
                    built = existing
                module._modules[last] = built
                module = built
            else:
                module._parameters.update({leaf: nn.Parameter(values) for leaf, values in parameters.items()})
            self._leaves.update({f"{path}.{leaf}".lstrip("."): (module, leaf) for leaf in parameters})

    def weight(self, name: str) -> Tensor:
        """Returns a parameter by its full name."""
        module, leaf = self._leaves[name]
        return module._parameters[leaf]  # type: ignore[return-value]

    def linear(self, name: str, x: Tensor) -> Tensor:
        """Applies the linear layer of a name."""
        return self._leaves[f"{name}.weight"][0](x)

    def gene_rows(self) -> Tensor:
        """Returns the rows that genes start from, `[genes, width]`: a table, a linear map of their features, or both."""
        if self._features is None:
            return self.weight("gene_embedding")
        rows = self.linear("gene_features", self._features.to(self.weight("gene_features.weight").dtype))
        return rows + self.weight("gene_embedding") if self._has_table else rows

    def set_scores(
        self, name: str, rows: Tensor, plan: Plan, heads: int, layers: int, act: Any, dropout: Dropout | None = None, site: int = 0
    ) -> Tensor:
        """Returns the score of every set from the rows of its members `[sets, most, width]`.

        Members of a set attend to each other but not to themselves. The score is the mean over members of a linear function of the squared
        difference between their dynamic and static embeddings. Dropout is on the attention weights and after each layer.
        """
        (count, most, width), x = rows.shape, rows
        slots = torch.arange(most, device=x.device)
        allowed = (plan.mask.unsqueeze(1) & (slots != slots.unsqueeze(1))).unsqueeze(1)
        # A member is not among those that it attends to.
        others = slots - (slots > slots.unsqueeze(1)).long()
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
            if dropout is not None:
                weights = dropout.attention(weights, site + layers + layer - 1, plan.positions, others)
            mixed = (weights @ value).transpose(1, 2).reshape(count, most, width)
            x = x + self.weight(f"{part}.rezero") * self.linear(f"{part}.output", mixed)
            if dropout is not None:
                x = dropout.rows(x, site + layer - 1, plan.positions)
        static = act(self.linear(f"{name}.static", rows))
        members = self.linear(f"{name}.score", (x - static) ** 2).squeeze(-1)
        return (members * plan.mask).sum(1) / plan.mask.sum(1)

    def planner(self, training: bool = False) -> Planner:
        """Returns the planner of the model's batches, for training or for predictions."""
        return Planner(self.gene_count)

    # Shapes depend on values and nothing has a gradient, so this is not compiled.
    @torch.compiler.disable
    def plan(self, genes: Tensor, offsets: Tensor) -> Plan:
        """Plans a batch on the CPU and moves the plan to the device of `genes`. `dataloader(…, model=model)` plans in workers instead."""
        key = self.training and self.rate > 0.0
        planners: dict[bool, Planner] = self.__dict__.setdefault("_planners", {})
        if key not in planners:
            planners[key] = self.planner(key)
        plan = planners[key](genes, offsets)
        return plan if genes.device.type == "cpu" else plan.to(genes.device, non_blocking=True)

    @torch.compiler.disable
    def _dropout(self, step: int, device: torch.device) -> Dropout | None:
        """Returns the dropout of a step of training; `None` without any."""
        if not self.training or self.rate == 0.0:
            return None
        return Dropout(self.rate, torch.tensor(stream_seed(self.seed, step), device=device))

    def forward(
        self,
        genes: Tensor,
        offsets: Tensor,
        targets: Tensor | None = None,
        *,
        epoch: int = 0,
        step: int = 0,
        plan: Plan | None = None,
    ) -> Tensor:
        """Returns standardised scores `[sets]`, or the loss of the batch if `targets` are given.

        Set `i` is `genes[offsets[i]:offsets[i + 1]]`. `targets` are standardised scores: `model.targets(batch)`. `epoch` and `step`, the
        number of batches before this one in the run, are what schedules of losses and the masks of dropout follow. `plan` is the batch's
        plan, if a loader made it.
        """
        if plan is None:
            _refuse_export()
            plan = self.plan(genes, offsets)
        dropout = self._dropout(step, plan.index.device)
        if targets is None:
            return self._scores(plan, dropout)
        if self._seen is not None and self.training:
            self._seen.add(genes, offsets)
        return self._loss(plan, targets, dropout, epoch, step)

    def loss(self, genes: Tensor, offsets: Tensor, targets: Tensor, *, epoch: int = 0, step: int = 0, plan: Plan | None = None) -> Tensor:
        """Returns the loss of a batch, as `forward` with targets does."""
        return self.forward(genes, offsets, targets, epoch=epoch, step=step, plan=plan)

    def _scores(self, plan: Plan, dropout: Dropout | None) -> Tensor:
        raise NotImplementedError

    def _loss(self, plan: Plan, targets: Tensor, dropout: Dropout | None, epoch: int, step: int) -> Tensor:
        raise NotImplementedError

    def predict(self, genes: Tensor, offsets: Tensor, *, plan: Plan | None = None) -> Tensor:
        """Returns predictions in the units of the scores, with those of the run whose residuals the model was trained on."""
        scores = self(genes, offsets, plan=plan)
        scores = scores * self.score_sd.to(scores.dtype) + self.score_mean.to(scores.dtype)
        if self._base is None and self._run is None:
            return scores
        run = self._run or Run.open(self.config["from"]["residuals_of"])
        sets = genes.cpu().numpy().astype(numpy.uint32), offsets.cpu().numpy().astype(numpy.uint32)
        # The other run's own predictions, or those that this run kept of it.
        base = run._run.base(*sets) if self._run else run._run.predict(*sets)[0]
        return scores + torch.from_numpy(base).to(scores)

    def standardise(self, score: Tensor) -> Tensor:
        """Returns standardised scores. `targets` does the same for a batch, and takes off what another run predicts."""
        return ((score - self.score_mean) / self.score_sd).to(score.dtype)

    def targets(self, batch: Mapping[str, Tensor]) -> Tensor:
        """Returns the targets of a batch of `loader`: standardised scores, or what `from.residuals_of` leaves of them."""
        score = batch["score"]
        if self.config.get("from", {}).get("residuals_of"):
            score = score - self._base_of_rows(score.device)[batch["rows"]]
        return self.standardise(score).to(batch["score"].dtype)

    def _base_of_rows(self, device: torch.device) -> Tensor:
        """Returns the predictions for all rows of the run whose residuals the model is trained on."""
        if self._base is None:
            state = _knockout.first_state(self._dataset()._dataset, self.name, keys_of(self.settings))
            self._base = torch.from_numpy(state["base"]).float()
        if self._base.device != device:
            self._base = self._base.to(device)
        return self._base

    def _dataset(self) -> Dataset:
        if self.dataset is None:
            raise RequestError("this model belongs to no dataset; build it with from_dataset or from_run")
        return self.dataset

    def scorer(self) -> Scorer:
        """Returns a module that scores sets of equal size, whose shapes are fixed: `torch.export` and ONNX take it.

            program = torch.export.export(model.eval().scorer(), (genes,))       # genes: [sets, members]
        """
        if self._needs_run():
            raise RequestError("this model adds the predictions of the run in from.residuals_of, which no exported module can hold")
        return Scorer(self)

    def _needs_run(self) -> bool:
        return self._run is not None or bool(self.config.get("from", {}).get("residuals_of"))

    def loader(self, part: str = "train", **options: Any) -> Loader:
        """Returns the batches of a part of the split of this model's configuration, with its seed and batch size.

        It is the split that `adopt` records. `options` are those of `Loader.from_config`, such as `batch`, `rank` and `world`.
        """
        return Loader.from_config(self._dataset(), self.config, part, **options)

    def training_of(self) -> Training:
        """Returns the optimiser, schedules, accumulation and clipping of this model's configuration."""
        return Training(self, self.config)

    def rows_seen(self) -> NDArray[numpy.uint32]:
        """Returns the rows of the dataset whose gene sets this model was trained on, in this process and in those gathered."""
        return numpy.zeros(0, dtype=numpy.uint32) if self._seen is None else self._seen.rows()

    def gather_rows_seen(self) -> None:
        """Adds the rows that the other ranks were trained on, if there are any. All ranks must call it."""
        if self._seen is not None and torch.distributed.is_available() and torch.distributed.is_initialized():
            gathered: list[Any] = [None] * torch.distributed.get_world_size()
            torch.distributed.all_gather_object(gathered, self._seen.seen.cpu())
            self._seen.seen |= torch.stack(gathered).any(0).to(self._seen.seen.device)

    def adopt(
        self, *, train_loss: float | Tensor, out: str | PathLike[str] | None = None, weights: Mapping[str, Any] | None = None
    ) -> Run:
        """Creates a run from the weights, which `knockout evaluate`, `predict` and `explain` accept and `resume` continues.

        It is refused if the model was trained on a row of the test or validation part of its split. `train_loss` is the mean loss of the
        last epoch, and `weights` those of an earlier state; by default the present one. The weights of a model that FSDP has divided are
        gathered with `model.whole_weights()`, which all ranks call.
        """
        loss = float(train_loss.detach()) if isinstance(train_loss, Tensor) else float(train_loss)
        if weights is None:
            weights = self.state_dict()
            if any(hasattr(value, "full_tensor") for value in weights.values()):
                raise RequestError("FSDP has divided the weights between ranks; gather them with model.whole_weights() on all ranks, and give them as weights")
        return adopt(self._dataset(), self.name, weights, train_loss=loss, out=out, settings=self.settings, rows=self.rows_seen())

    def whole_weights(self) -> dict[str, Tensor]:
        """Returns copies of the weights on the CPU. All ranks must call it if FSDP has divided them."""
        return {name: getattr(value, "full_tensor", lambda value=value: value)().detach().cpu().clone() for name, value in self.state_dict().items()}

    def load_weights(self, path: str | PathLike[str]) -> None:
        """Loads a safetensors file, such as the `weights.safetensors` of a checkpoint, and the scale of its scores."""
        from safetensors import safe_open

        with safe_open(path, framework="pt") as file:
            self.load_state_dict({name: file.get_tensor(name) for name in file.keys()})  # noqa: SIM118
            kept = file.metadata() or {}
        card = Path(path).with_name("state.json")
        if "score_mean" not in kept and card.exists():
            kept = json.loads(card.read_text())["state"].get("card") or {}
        if "score_mean" in kept:
            self._set_labels(float(kept["score_mean"]), float(kept["score_sd"]))

    def save_weights(self, path: str | PathLike[str]) -> None:
        """Saves the parameters as a safetensors file, as in a checkpoint, with the scale of the scores."""
        from safetensors.torch import save_file

        weights = {name: value.contiguous() for name, value in self.whole_weights().items()}
        labels = {"score_mean": repr(self.labels[0]), "score_sd": repr(self.labels[1])}
        save_file(weights, path, metadata={"format": "pt", **labels})

    def _set_labels(self, mean: float, sd: float) -> None:
        self.labels = (mean, sd)
        self.score_mean.fill_(mean)
        self.score_sd.fill_(sd)

    def _apply(self: _M, fn: Any, *args: Any, **kwargs: Any) -> _M:
        super()._apply(fn, *args, **kwargs)
        # Half precision is for parameters; the scale of scores keeps its own.
        for name, value in zip(("score_mean", "score_sd"), self.labels, strict=True):
            moved = self._buffers[name]
            if moved is not None and moved.dtype not in (torch.float32, torch.float64):
                self._buffers[name] = torch.tensor(value, device=moved.device)
        return self

    @classmethod
    def from_dataset(cls: type[_M], dataset: Dataset, *, settings: Mapping[str, Any] | None = None) -> _M:
        """Builds the model with the initial weights of `knockout.train` for the same settings.

        Scores are standardised over the training part of the configured split. A setting that the module does not compute as the program
        does is refused.
        """
        check_settings(_knockout.configuration(dataset._dataset, cls.name, keys_of(settings)))
        state = _knockout.first_state(dataset._dataset, cls.name, keys_of(settings))
        model = cls._of(dataset, state["config"], state["weights"], state["loss"], state["labels"])
        model.settings = dict(settings or {})
        model._base = None if state["base"] is None else torch.from_numpy(state["base"]).float()
        return model

    @classmethod
    def from_run(cls: type[_M], run: Run | str | PathLike[str]) -> _M:
        """Builds the model of a run with its weights."""
        run = run if isinstance(run, Run) else Run.open(run)
        config = run.config
        if config["model"]["name"] != cls.name:
            raise RequestError(f"{run.folder} is a run of {config['model']['name']}, not of {cls.name}")
        check_settings(config)
        model = cls._of(run.dataset(), config, run.weights(), run._run.loss(), run.labels)
        model.settings = settings_of(config)
        model._run = run if config["from"]["residuals_of"] else None
        return model

    @classmethod
    def _of(
        cls: type[_M],
        dataset: Dataset,
        config: dict[str, Any],
        weights: Mapping[str, Any],
        loss: Mapping[str, Any],
        labels: tuple[float, float],
    ) -> _M:
        options = config["model"]
        features = None if options.get("features", "none") == "none" else _knockout.gene_features(dataset._dataset)
        parts = cls._parts(dataset, options)
        model = cls(weights, networks_of(dataset, options), options, loss=loss, seed=config["seed"], features=features, **parts)
        model._set_labels(*labels)
        model.config, model.dataset = config, dataset
        model._seen = _SeenRows(dataset, config)
        return model

    @classmethod
    def _parts(cls, dataset: Dataset, options: Mapping[str, Any]) -> dict[str, Any]:
        """Returns the parts of the cell that only this model reads."""
        return {}

    def __getstate__(self) -> dict[str, Any]:
        # Opened by the copy again when it predicts.
        return {**self.__dict__, "_planners": {}}


class _SeenRows:
    """The rows of a dataset that a model was trained on, found by their gene sets. Nothing waits for the device."""

    def __init__(self, dataset: Dataset, config: Mapping[str, Any]) -> None:
        samples = dataset.samples("dict")
        genes, offsets = samples["genes"].astype(numpy.int64), samples["genes_offsets"].astype(numpy.int64)
        keys = numpy.add.reduceat(_hash(torch.from_numpy(genes)).numpy(), offsets[:-1])
        # Of several records of the same genes, the one that may be trained on comes first.
        later = numpy.ones(len(keys), dtype=bool)
        later[dataset.split(**config["split"]).train] = False
        order = numpy.lexsort((later, keys))
        first = numpy.r_[True, keys[order][1:] != keys[order][:-1]]
        self.keys = torch.from_numpy(keys[order][first])
        self.order = order[first]
        self.seen = torch.zeros(len(self.keys), dtype=torch.bool)

    @torch.compiler.disable
    def add(self, genes: Tensor, offsets: Tensor) -> None:
        """Marks the sets of a batch."""
        if self.keys.device != genes.device:
            self.keys, self.seen = self.keys.to(genes.device), self.seen.to(genes.device)
        with torch.no_grad():
            sums = torch.cat([genes.new_zeros(1, dtype=torch.int64), _hash(genes.long()).cumsum(0)])
            keys = sums[offsets[1:].long()] - sums[offsets[:-1].long()]
            at = torch.searchsorted(self.keys, keys).clamp(max=len(self.keys) - 1)
            self.seen[at] |= self.keys[at] == keys

    def rows(self) -> NDArray[numpy.uint32]:
        return numpy.sort(self.order[self.seen.cpu().numpy()]).astype(numpy.uint32)


def _refuse_export() -> None:
    # Older releases of PyTorch have no such function.
    if getattr(torch.compiler, "is_exporting", bool)():
        raise RequestError("plans depend on the values of genes and offsets; export model.scorer(), whose shapes are fixed")


def _hash(genes: Tensor) -> Tensor:
    from .dropout import _mix

    return _mix(genes)


def settings_of(config: Mapping[str, Any]) -> dict[str, Any]:
    """Returns the settings that give a configuration."""
    settings = {key: value for key, value in config.items() if key not in ("model", "from")}
    settings["from"] = {key: value for key, value in config["from"].items() if value and key != "weights"}
    for key, value in config["model"].items():
        if not isinstance(value, Mapping):
            settings[f"model.{key}"] = value
            continue
        options = dict(value)
        if "name" in options:
            settings[f"model.{key}"] = options.pop("name")
        settings.update({f"model.{key}.{option}": of for option, of in options.items()})
    del settings["model.name"]
    return settings


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
