"""Training with Lightning, on any number of devices: `DataModule` and `Module`.

    model = knockout.torch.Dango.from_dataset(dataset)
    module = knockout.lightning.Module(model, out="runs/lightning")
    trainer = lightning.Trainer(max_epochs=20, use_distributed_sampler=False)
    trainer.fit(module, datamodule=knockout.lightning.DataModule(model, num_workers=4))

The loss, the optimiser, its schedules, accumulation and clipping are those of the model's configuration. Metrics are of the whole
validation part, whatever the number of ranks. At the end the best weights become a run in `out`, which `knockout evaluate` opens.

Ranks have the whole model each (`strategy="ddp"`), or FSDP divides it between them (`ModelParallelStrategy(data_parallel_size=ranks,
tensor_parallel_size=1)`).
"""

from __future__ import annotations

import math
from os import PathLike
from typing import Any

import numpy

from ._extras import require

require("lightning", "lightning", "torch")
import lightning
import torch
from lightning.pytorch.strategies import DeepSpeedStrategy, FSDPStrategy, ModelParallelStrategy
from torch import Tensor
from torch.utils.data import DataLoader

from ._trackers import flat
from .errors import RequestError
from .torch import Model, Plan, Training, dataloader, metrics

__all__ = ["DataModule", "Module"]


class DataModule(lightning.LightningDataModule):
    """The batches of a model's split, shared between the ranks, planned in worker processes.

    `options` are those of `DataLoader`, such as `num_workers` and `pin_memory`.
    """

    def __init__(self, model: Model, **options: Any) -> None:
        super().__init__()
        self.model = model
        self.options = options

    def _batches(self, part: str) -> DataLoader[Any]:
        rank, world = 0, 1
        if self.trainer is not None:
            rank, world = self.trainer.global_rank, self.trainer.world_size
            if world > 1 and self.trainer._accelerator_connector.use_distributed_sampler:
                raise RequestError("ranks share the batches already; create the trainer with use_distributed_sampler=False")
        size = None if part == "train" else self.model.config["run"]["predict_batch"]
        was_training = self.model.training
        try:
            self.model.train(part == "train")
            return dataloader(self.model.loader(part, rank=rank, world=world, batch=size), self.model, **self.options)
        finally:
            self.model.train(was_training)

    def train_dataloader(self) -> DataLoader[Any]:
        return self._batches("train")

    def val_dataloader(self) -> DataLoader[Any]:
        return self._batches("val")

    def test_dataloader(self) -> DataLoader[Any]:
        return self._batches("test")

    def transfer_batch_to_device(self, batch: dict[str, Any], device: torch.device, dataloader_idx: int) -> dict[str, Any]:
        moves = (Tensor, Plan)
        return {key: value.to(device, non_blocking=True) if isinstance(value, moves) else value for key, value in batch.items()}


class Module(lightning.LightningModule):
    """A model that Lightning trains as the program would; `out` is the folder of the run that the best weights become."""

    def __init__(self, model: Model, *, out: str | PathLike[str] | None = None) -> None:
        super().__init__()
        # Steps of the optimiser are of groups of batches, of which the last of an epoch may be smaller.
        self.automatic_optimization = False
        self.model = model
        self.out = out
        self._ddp_params_and_buffers_to_ignore = [f"model.{name}" for name, _ in model.named_buffers()]
        self._is_divided = False
        self._training: Training | None = None
        self._state: dict[str, Any] | None = None
        self._scored: list[tuple[Tensor, Tensor]] = []
        self._total = torch.zeros(2, dtype=torch.float64)
        self._val_mse = math.nan
        #: Best validation Pearson, its weights and the training loss of its epoch.
        self.best: tuple[float, dict[str, Tensor], float] | None = None

    def forward(self, genes: Tensor, offsets: Tensor, **more: Any) -> Tensor:
        return self.model(genes, offsets, **more)

    def configure_model(self) -> None:
        """Lets FSDP divide the weights between ranks, if the trainer's strategy is to divide the model."""
        strategy = self.trainer.strategy
        if isinstance(strategy, (FSDPStrategy, DeepSpeedStrategy)):
            raise RequestError(
                f"{type(strategy).__name__} replaces the parameters by others, and a run needs those of the model; "
                "use ModelParallelStrategy(data_parallel_size=RANKS, tensor_parallel_size=1), which divides each of them"
            )
        if not isinstance(strategy, ModelParallelStrategy) or self._is_divided:
            return
        ranks = strategy.device_mesh["data_parallel"]
        if ranks.size() < self.trainer.world_size:
            raise RequestError(
                "the layers of this model are not divided, only its weights; "
                f"use ModelParallelStrategy(data_parallel_size={self.trainer.world_size}, tensor_parallel_size=1)"
            )
        # PyTorch 2.6 or newer.
        from torch.distributed.fsdp import fully_shard

        fully_shard(self.model, mesh=ranks)
        self._is_divided = True

    def configure_optimizers(self) -> torch.optim.Optimizer:
        self._training = Training(self.model, self.model.config)
        if self._state is not None:
            self._training.load_state_dict(self._state)
        return self._training.optimiser

    def on_fit_start(self) -> None:
        for logger in self.trainer.loggers:
            logger.log_hyperparams(dict(flat(self.model.config)))

    def training_step(self, batch: dict[str, Any], index: int) -> Tensor:
        training = self._training
        assert training is not None
        loss = self.model(
            batch["genes"],
            batch["offsets"],
            self.model.targets(batch),
            epoch=training.epoch,
            step=training.steps,
            plan=batch.get("plan"),
        )
        training.step(loss, self.trainer.num_training_batches, self.manual_backward, self.optimizers())
        count = len(batch["score"])
        # Added up on the device, so that no step waits for it.
        self._total = self._total.to(loss.device) + torch.stack([loss.detach().double() * count, loss.new_tensor(count, dtype=torch.float64)])
        return loss.detach()

    def validation_step(self, batch: dict[str, Any], index: int) -> None:
        found = self.model.predict(batch["genes"], batch["offsets"], plan=batch.get("plan"))
        self._scored.append((found.detach(), batch["score"]))

    test_step = validation_step

    def _of_all_ranks(self) -> dict[str, float]:
        """Returns the metrics of the whole part."""
        parts = [torch.cat(values).cpu().numpy() for values in zip(*self._scored, strict=True)]
        self._scored = []
        if torch.distributed.is_available() and torch.distributed.is_initialized():
            gathered: list[Any] = [None] * torch.distributed.get_world_size()
            torch.distributed.all_gather_object(gathered, parts)
            parts = [numpy.concatenate(values) for values in zip(*gathered, strict=True)]
        return metrics(parts[0], parts[1])

    def on_validation_epoch_end(self) -> None:
        found = self._of_all_ranks()
        if self.trainer.sanity_checking:
            return
        self._val_mse = found["mse"]
        loss = self.train_loss()
        self.log_dict({"train_loss": loss, "val_pearson": found["pearson"], "val_mse": found["mse"]}, rank_zero_only=True)
        if not math.isnan(found["pearson"]) and (self.best is None or found["pearson"] > self.best[0]):
            self.best = (found["pearson"], self.model.whole_weights(), loss)

    def on_test_epoch_end(self) -> None:
        self.log_dict({f"test_{name}": value for name, value in self._of_all_ranks().items()}, rank_zero_only=True)

    def train_loss(self) -> float:
        """Returns the mean loss over the samples of the epoch so far, of all ranks."""
        total = self._total.clone()
        if torch.distributed.is_available() and torch.distributed.is_initialized():
            torch.distributed.all_reduce(total)
        return float(total[0] / total[1].clamp(min=1.0))

    def on_train_epoch_end(self) -> None:
        assert self._training is not None
        self._training.end_epoch(self._val_mse)
        self._total = torch.zeros_like(self._total)

    def on_fit_end(self) -> None:
        self.model.gather_rows_seen()
        if self.out is not None and self.trainer.is_global_zero and self.best is not None:
            _, weights, loss = self.best
            self.model.adopt(train_loss=loss, out=self.out, weights=weights)

    def on_save_checkpoint(self, checkpoint: dict[str, Any]) -> None:
        if self._training is not None:
            # Lightning keeps the state of the optimiser, of every rank's own parameters.
            checkpoint["knockout"] = {key: value for key, value in self._training.state_dict().items() if key != "optimiser"}

    def on_load_checkpoint(self, checkpoint: dict[str, Any]) -> None:
        self._state = checkpoint.get("knockout")
        if self._training is not None and self._state is not None:
            self._training.load_state_dict(self._state)
