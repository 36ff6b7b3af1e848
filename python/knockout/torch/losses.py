"""The losses of scores, as the program computes them.

Losses of distributions and representations see earlier batches through circular buffers, which move with the module and are not part of its
state. They are computed in double precision, as in the program.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from typing import Any

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from .. import _knockout
from ..errors import RequestError

#: Added up in Sinkhorn's temperatures: their last root, and the factor from one to the next.
BLUR, SCALING = 0.05, 0.9
#: Norm below which a representation has no direction.
NO_DIRECTION = 1e-12
#: A logarithm of nothing that has no infinite gradient.
NOTHING = -1e30


def _wide(x: Tensor) -> Tensor:
    return x.float() if x.device.type == "mps" else x.double()


def _mean(values: Tensor, targets: Tensor) -> Tensor:
    """Returns the mean over rows whose target is not NaN; 0 without any."""
    known = ~targets.isnan()
    return torch.where(known, values, 0.0).sum() / known.sum().clamp(min=1)


def log_cosh(predictions: Tensor, targets: Tensor) -> Tensor:
    """Returns the mean log-cosh of the errors."""
    error = (predictions - targets.nan_to_num()).abs()
    return _mean(error + F.softplus(-2.0 * error) - math.log(2.0), targets)


def mse(predictions: Tensor, targets: Tensor) -> Tensor:
    """Returns the mean squared error."""
    return _mean((predictions - targets.nan_to_num()) ** 2, targets)


class _Sinkhorn(torch.autograd.Function):
    """The debiased Sinkhorn divergence in one dimension, as geomloss computes it: cost (x − y)²/2, blur 0.05, scaling 0.9."""

    @staticmethod
    def forward(ctx: Any, x: Tensor, y: Tensor) -> Tensor:
        count = len(x)
        both = torch.cat([x, y])
        # The number of temperatures depends on the diameter: the one value that a GPU is waited for.
        diameter = float(both.max() - both.min())
        if not math.isfinite(diameter) or diameter <= 0.0:
            ctx.save_for_backward(torch.zeros_like(x))
            return x.new_full((), 0.0 if diameter == 0.0 else math.nan)
        first, step = 2.0 * math.log(diameter), 2.0 * math.log(SCALING)
        falling = max(math.ceil((2.0 * math.log(BLUR) - first) / step), 0)
        steps = [diameter**2, *(math.exp(first + step * at) for at in range(falling)), BLUR**2]
        uniform = math.log(count)
        costs = {pair: 0.5 * (a.unsqueeze(1) - b) ** 2 for pair, (a, b) in {"xy": (x, y), "xx": (x, x), "yy": (y, y)}.items()}

        def soft(cost: Tensor, potential: Tensor, epsilon: float) -> Tensor:
            return epsilon * (uniform - torch.logsumexp((potential - cost) / epsilon, 1))

        def updated(potentials: tuple[Tensor, ...], epsilon: float) -> tuple[Tensor, ...]:
            f, g, p, q = potentials
            return (
                soft(costs["xy"], g, epsilon),
                soft(costs["xy"].T, f, epsilon),
                soft(costs["xx"], p, epsilon),
                soft(costs["yy"], q, epsilon),
            )

        zero = torch.zeros_like(x)
        potentials = updated((zero, zero, zero, zero), steps[0])
        for epsilon in steps:
            after = updated(potentials, epsilon)
            potentials = tuple((old + new) / 2.0 for old, new in zip(potentials, after, strict=True))
        _, g, p, _ = potentials
        f_end, g_end, p_end, q_end = updated(potentials, steps[-1])

        def pull(to: Tensor, cost: Tensor, potential: Tensor) -> Tensor:
            return x - ((potential - cost) / steps[-1]).softmax(1) @ to

        ctx.save_for_backward((pull(y, costs["xy"], g) - pull(x, costs["xx"], p)) / count)
        return (f_end - p_end).mean() + (g_end - q_end).mean()

    @staticmethod
    def backward(ctx: Any, gradient: Tensor) -> tuple[Tensor, None]:
        (slope,) = ctx.saved_tensors
        return gradient * slope, None


def _exact(x: Tensor, y: Tensor) -> Tensor:
    """Returns half the squared 2-Wasserstein distance of as many predictions as targets."""
    return 0.5 * ((x.sort(stable=True).values - y.sort().values) ** 2).mean()


def wasserstein(predictions: Tensor, targets: Tensor, transport: str = "sinkhorn") -> Tensor:
    """Returns the distance between the distributions of predictions and targets; 0 of fewer than two."""
    if bool(targets.isnan().any()) if targets.device.type == "cpu" else False:
        known = ~targets.isnan()
        predictions, targets = predictions[known], targets[known]
    if len(targets) < 2:
        return 0.0 * predictions.sum()
    distance = _Sinkhorn.apply if transport == "sinkhorn" else _exact
    return distance(_wide(predictions), _wide(targets)).to(predictions.dtype)


def supcr(embeddings: Tensor, labels: Tensor, temperature: float) -> Tensor:
    """Returns the supervised contrastive regression loss: representations of near labels should be nearer than those of far ones.

    The mean over pairs i ≠ j of log Σ exp(s_ik) − s_ij over k ≠ i whose label is at least as far from i's as j's; s is the cosine divided
    by the temperature.
    """
    z, y = _wide(embeddings), _wide(labels)
    known = ~y.isnan()
    length = torch.linalg.vector_norm(z, dim=1, keepdim=True)
    has_direction = length >= NO_DIRECTION
    directions = torch.where(has_direction, z / torch.where(has_direction, length, 1.0), 0.0)
    similarity = directions @ directions.T / temperature
    others = known & ~torch.eye(len(y), dtype=torch.bool, device=y.device)
    # What does not count is nearest, so that it is added last, as nothing.
    distance = torch.where(others, (y.nan_to_num().unsqueeze(1) - y.nan_to_num()).abs(), -1.0)
    near, order = (-distance).sort(dim=1)
    sums = torch.where(others, similarity, NOTHING).gather(1, order).logcumsumexp(1)
    # Labels at the same distance are all in the sum.
    last = torch.searchsorted(near, -distance, right=True) - 1
    pairs = others & known.unsqueeze(1)
    terms = torch.where(pairs, sums.gather(1, last.clamp(max=len(y) - 1)) - similarity, 0.0)
    return (terms.sum() / pairs.sum().clamp(min=1)).to(embeddings.dtype)


def temperature_at(schedule: Mapping[str, Any], epoch: int) -> float:
    """Returns the temperature of an epoch."""
    first = schedule["first"]
    if schedule["name"] == "constant":
        return float(first)
    last, epochs = schedule["last"], schedule["epochs"]
    progress = epoch / epochs if epoch < epochs else 1.0
    if schedule["name"] == "exponential":
        return float(first * (last / first) ** progress)
    return float(last + 0.5 * (first - last) * (1.0 + math.cos(math.pi * progress)))


def buffer_weight_at(schedule: Mapping[str, Any], epoch: int) -> float:
    """Returns the share of buffered rows in an epoch."""
    if schedule["name"] == "constant":
        return float(schedule["weight"])
    warm, stable = schedule["warmup_epochs"], schedule["stable_epoch"]
    if epoch < warm:
        return 0.1 + 0.2 * epoch / warm
    if epoch < stable:
        return 0.3 + 0.6 / (1.0 + math.exp(-10.0 * ((epoch - warm) / (stable - warm) - 0.5)))
    return 0.9


class RowBuffer(nn.Module):
    """The last rows of earlier batches, without gradients."""

    features: Tensor
    labels: Tensor

    def __init__(self, options: Mapping[str, Any], width: int) -> None:
        super().__init__()
        self.options = dict(options)
        self.size: int = options["size"]
        self.pointer = self.count = 0
        self.register_buffer("features", torch.zeros(self.size, width), persistent=False)
        self.register_buffer("labels", torch.zeros(self.size), persistent=False)

    def extra_repr(self) -> str:
        return f"{self.count} of {self.size} rows of {self.features.shape[1]}"

    def write(self, features: Tensor, labels: Tensor) -> None:
        """Writes rows over the oldest; of a batch larger than the buffer its last rows."""
        if len(labels) > self.size:
            self.pointer = 0
        features, labels = features[-self.size :].detach(), labels[-self.size :]
        positions = (torch.arange(len(labels), device=labels.device) + self.pointer) % self.size
        self.features[positions] = features.to(self.features.dtype)
        self.labels[positions] = labels.to(self.labels.dtype)
        self.pointer = (self.pointer + len(labels)) % self.size
        self.count = min(self.count + len(labels), self.size)

    def mix(
        self, features: Tensor, labels: Tensor, take: Callable[[int], Tensor | None], loss: Callable[[Tensor, Tensor], Tensor]
    ) -> Tensor:
        """Returns the loss of the batch and stored rows, 0 of too few, and stores the batch; `take` returns the rows, `None` for all."""
        seen = min(self.count + len(labels), self.size)
        if self.options["order"] == "write_first":
            self.write(features, labels)
        value = 0.0 * features.sum()
        if seen >= min(self.options["min_samples"], self.size):
            chosen = take(self.count)
            stored = (self.features[: self.count], self.labels[: self.count])
            if chosen is not None:
                stored = (self.features[chosen], self.labels[chosen])
            value = loss(torch.cat([features, stored[0].to(features.dtype)]), torch.cat([labels, stored[1].to(labels.dtype)]))
        if self.options["order"] == "mix_first":
            self.write(features, labels)
        return value


class ScoreLoss(nn.Module):
    """A loss of predicted scores with its options: `model.loss` of a configuration.

    `forward(predictions, targets, embeddings)` returns the loss. In training it mixes in earlier batches where the options say so.
    """

    def __init__(self, options: Mapping[str, Any], width: int, seed: int) -> None:
        super().__init__()
        self.kind: str = options["name"]
        #: Weights of the terms; a term of weight 0 is left out.
        self.lambdas: dict[str, float] = {}
        self.options = dict(options)
        self.seed = seed
        terms = {
            "log_cosh": {"log_cosh": 1.0},
            "mse": {"mse": 1.0},
            "wasserstein": {"wasserstein": 1.0},
            "supcr": {"supcr": 1.0},
            "mle_wass_supcr": {name: options.get(f"lambda_{name}", 0.0) for name in ("mse", "wasserstein", "supcr")},
            "point_dist": {options.get("point", "log_cosh"): options.get("lambda_point", 1.0), "wasserstein": options.get("lambda_dist", 0.0)},
        }
        if self.kind not in terms:
            raise RequestError(f"model.loss={self.kind} is not supported by knockout.torch; use `knockout train`")
        if len(options.get("dimension_weights", [1.0])) != 1:
            raise RequestError("model.loss.dimension_weights of several dimensions is not supported by knockout.torch; scores have one")
        self.lambdas = {name: float(weight) for name, weight in terms[self.kind].items() if weight != 0.0}
        buffer = options.get("buffer")
        self.scores = RowBuffer(buffer, 1) if buffer is not None and "wasserstein" in self.lambdas else None
        self.representations = RowBuffer(buffer, width) if buffer is not None and "supcr" in self.lambdas else None

    def extra_repr(self) -> str:
        return self.kind if list(self.lambdas) == [self.kind] else f"{self.kind}, {self.lambdas}"

    @property
    def couples_samples(self) -> bool:
        """Whether the loss of a batch is more than the mean of those of its samples."""
        return not {"wasserstein", "supcr"}.isdisjoint(self.lambdas)

    def forward(
        self, predictions: Tensor, targets: Tensor, embeddings: Tensor | None = None, *, epoch: int = 0, step: int = 0
    ) -> Tensor:
        """Returns the loss of a batch. `epoch` and `step`, the batches before this one in the run, are what schedules follow."""
        if not self.couples_samples:
            return self._of_samples(predictions, targets)
        return self._coupled(predictions, targets, embeddings, epoch, step)

    def _of_samples(self, predictions: Tensor, targets: Tensor) -> Tensor:
        # 0 times everything that has a gradient, so that no parameter is left without one.
        total = 0.0 * predictions.sum()
        for name, of in (("log_cosh", log_cosh), ("mse", mse)):
            if name in self.lambdas:
                total = total + self.lambdas[name] * of(predictions, targets)
        return total

    # The number of rows grows from step to step.
    @torch.compiler.disable
    def _coupled(self, predictions: Tensor, targets: Tensor, embeddings: Tensor | None, epoch: int, step: int) -> Tensor:
        total = self._of_samples(predictions, targets)
        if "wasserstein" in self.lambdas:
            total = total + self.lambdas["wasserstein"] * self._distance(predictions, targets, epoch, step)
        if "supcr" in self.lambdas:
            if embeddings is None:
                raise RequestError(f"the loss {self.kind} compares representations of samples, and this model has none")
            total = total + 0.0 * embeddings.sum() + self.lambdas["supcr"] * self._contrast(embeddings, targets, epoch)
        return total

    def _distance(self, predictions: Tensor, targets: Tensor, epoch: int, step: int) -> Tensor:
        transport = self.options.get("transport", "sinkhorn")
        memory = self.scores
        if memory is None or not self.training:
            return wasserstein(predictions, targets, transport)
        weight = buffer_weight_at(memory.options["weight"], epoch)

        def take(count: int) -> Tensor | None:
            rows = count if weight >= 1.0 else min(int(len(targets) * weight / (1.0 - weight)), count)
            if rows >= count:
                return None
            drawn = _knockout.shuffled(self.seed, f"loss buffer, step {step}", count)[:rows]
            return torch.from_numpy(drawn).to(targets.device, non_blocking=True)

        def loss(mixed: Tensor, labels: Tensor) -> Tensor:
            return wasserstein(mixed.squeeze(1), labels, transport)

        return memory.mix(predictions.unsqueeze(1), targets, take, loss)

    def _contrast(self, embeddings: Tensor, targets: Tensor, epoch: int) -> Tensor:
        temperature = temperature_at(self.options["temperature"], epoch)
        memory = self.representations
        if memory is None or not self.training:
            return supcr(embeddings, targets, temperature)
        weight = buffer_weight_at(memory.options["weight"], epoch)
        scale = 1.0 - weight + 0.5 * weight
        return memory.mix(embeddings, targets, lambda _: None, lambda z, labels: scale * supcr(z, labels, temperature))
