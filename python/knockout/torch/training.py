"""The optimiser, its schedules, accumulation and clipping, as a configuration of the program describes them."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any

import numpy
import torch
from numpy.typing import NDArray
from torch import Tensor, nn


def cosine_rate(options: Mapping[str, Any], highest: float, epoch: int) -> float:
    """Returns the learning rate of an epoch of cosine annealing with warm-up and restarts."""
    length, warmup, cycle, at = options["first_cycle"], options["warmup"], 0, epoch
    while at >= length:
        at, cycle = at - length, cycle + 1
        length = max(int((length - warmup) * options["cycle_factor"]), 1) + warmup
    lowest, top = options["lowest"], highest * options["gamma"] ** cycle
    if at < warmup:
        return float((top - lowest) * at / warmup + lowest)
    return float(lowest + (top - lowest) * (1.0 + math.cos(math.pi * (at - warmup) / (length - warmup))) / 2.0)


def accumulation_at(entries: list[str], epoch: int) -> int:
    """Returns the batches of an optimiser step in an epoch; `entries` are those of `optimiser.accumulate`."""
    steps = sorted((int(first), int(batches)) for first, batches in (entry.split(":") for entry in entries))
    return next((batches for first, batches in reversed(steps) if first <= epoch), 1)


class Training:
    """Trains a module as the program trains a model of the same configuration.

        training = model.training_of()
        for _ in range(epochs):
            for batch in batches:
                loss = model(batch["genes"], batch["offsets"], model.targets(batch), epoch=training.epoch, step=training.steps)
                training.step(loss, len(batches))
            training.end_epoch(val_mse)

    `module` is the model, or what wraps it. A plateau watches the mean squared error of the validation part.
    """

    def __init__(self, module: nn.Module, config: Mapping[str, Any]) -> None:
        options = config["optimiser"]
        self.module = module
        self.options = options
        #: Epoch, batches of it so far, and batches of the whole run so far.
        self.epoch = self.batch = self.steps = 0
        rate, decay = options["learning_rate"], options["weight_decay"]
        self.optimiser = torch.optim.AdamW(module.parameters(), lr=rate, weight_decay=decay, betas=(0.9, 0.999), eps=1e-8)
        plateau = options["plateau"]
        self.plateau: torch.optim.lr_scheduler.ReduceLROnPlateau | None = None
        if options["schedule"] == "plateau":
            self.plateau = torch.optim.lr_scheduler.ReduceLROnPlateau(
                self.optimiser,
                factor=plateau["factor"],
                patience=plateau["patience"],
                threshold=plateau["threshold"],
                cooldown=plateau["cooldown"],
                min_lr=plateau["lowest"],
                eps=plateau["epsilon"],
            )
        self._set_rate()

    def _set_rate(self) -> None:
        if self.options["schedule"] == "cosine":
            for group in self.optimiser.param_groups:
                group["lr"] = cosine_rate(self.options["cosine"], self.options["learning_rate"], self.epoch)

    @property
    def learning_rate(self) -> float:
        """The learning rate in force."""
        return float(self.optimiser.param_groups[0]["lr"])

    def group(self, batches: int) -> tuple[int, bool]:
        """Returns the batches of the optimiser step that the next batch belongs to, and whether it is the last of them.

        The last group of an epoch of `batches` may be smaller, and is divided by its own size.
        """
        full = accumulation_at(self.options["accumulate"], self.epoch)
        start = self.batch // full * full
        size = max(min(full, batches - start), 1)
        return size, self.batch - start + 1 == size

    def step(self, loss: Tensor, batches: int, backward: Any = None, optimiser: Any = None) -> Tensor:
        """Takes the gradients of a batch's loss and, at the end of a group, a step of the optimiser; returns the loss.

        `batches` is the number of batches of the epoch. `backward` and `optimiser` replace PyTorch's own, where something wraps them.
        """
        size, ends = self.group(batches)
        optimiser = optimiser or self.optimiser
        share = loss / size
        backward(share) if backward is not None else share.backward()
        if ends:
            if self.options["clip_norm"] > 0.0:
                torch.nn.utils.clip_grad_norm_(self.module.parameters(), self.options["clip_norm"])
            optimiser.step()
            optimiser.zero_grad(set_to_none=True)
        self.batch, self.steps = self.batch + 1, self.steps + 1
        return loss.detach()

    def end_epoch(self, val_mse: float = math.nan) -> None:
        """Ends an epoch after its validation: schedules are stepped."""
        self.epoch, self.batch = self.epoch + 1, 0
        if self.plateau is not None:
            self.plateau.step(val_mse)
        self._set_rate()

    def state_dict(self) -> dict[str, Any]:
        """Returns the state, to continue from."""
        plateau = None if self.plateau is None else self.plateau.state_dict()
        at = {"epoch": self.epoch, "batch": self.batch, "steps": self.steps}
        return {**at, "optimiser": self.optimiser.state_dict(), "plateau": plateau}

    def load_state_dict(self, state: Mapping[str, Any]) -> None:
        """Continues from a state. One without `optimiser` leaves the optimiser to the caller."""
        self.epoch, self.batch, self.steps = state["epoch"], state["batch"], state["steps"]
        if "optimiser" in state:
            self.optimiser.load_state_dict(state["optimiser"])
        if self.plateau is not None:
            self.plateau.load_state_dict(state["plateau"])


def metrics(predictions: NDArray[Any], scores: NDArray[Any]) -> dict[str, float]:
    """Returns Pearson's correlation and the mean squared error of predictions; NaN where they are undefined."""
    predictions, scores = numpy.asarray(predictions, dtype=float), numpy.asarray(scores, dtype=float)
    known = ~numpy.isnan(scores)
    predictions, scores = predictions[known], scores[known]
    if len(scores) == 0:
        return {"pearson": math.nan, "mse": math.nan}
    spread = predictions.std() * scores.std()
    product = ((predictions - predictions.mean()) * (scores - scores.mean())).mean()
    return {"pearson": float(product / spread) if spread > 0 else math.nan, "mse": float(((predictions - scores) ** 2).mean())}
