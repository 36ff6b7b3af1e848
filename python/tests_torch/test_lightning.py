"""Training with Lightning: the numbers of the program, ranks, checkpoints and runs."""

import json
import os
import re
import socket
import warnings
from pathlib import Path
from typing import Any

import lightning
import numpy
import pytest
import torch
import torch.multiprocessing
import wandb
from lightning.pytorch.loggers import WandbLogger
from lightning.pytorch.strategies import FSDPStrategy, ModelParallelStrategy
from torch.distributed.tensor import DTensor

import knockout
import knockout.lightning
import knockout.torch


SETTINGS = {"model.width": 8, "model.transition_epoch": 2, "batch": 300, "split.scheme": "gene-disjoint", "seed": 2}
QUIET: dict[str, Any] = {"accelerator": "cpu", "logger": False, "enable_progress_bar": False, "enable_model_summary": False}


def trained(data: str, folder: Path, ranks: int, **options: Any) -> Any:
    model = knockout.torch.Dango.from_dataset(knockout.Dataset(data), settings=SETTINGS)
    module = knockout.lightning.Module(model, out=folder / "run")
    strategy = {"strategy": "ddp_spawn", "devices": ranks} if ranks > 1 else {"devices": 1}
    trainer = lightning.Trainer(
        use_distributed_sampler=False, default_root_dir=folder, **{"max_epochs": 3, **QUIET, **strategy, **options}
    )
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        trainer.fit(module, datamodule=knockout.lightning.DataModule(model))
    return trainer, module


def test_one_process_trains_as_the_program(tiny: str, tmp_path: Path) -> None:
    trainer, module = trained(tiny, tmp_path, 1, enable_checkpointing=False)
    run = knockout.train(tiny, "dango", out=tmp_path / "program", epochs=3, settings=SETTINGS)
    lines = run.metrics("dict")
    assert module.best is not None
    best = int(numpy.argmax(lines["val.pearson"]))
    assert module.best[0] == pytest.approx(lines["val.pearson"][best], abs=1e-3)
    assert module.best[2] == pytest.approx(lines["train_loss"][best], rel=1e-3)
    assert trainer.global_step == 3 * len(module.model.loader())
    adopted = knockout.Run.open(tmp_path / "run")
    found, expected = (of.evaluate(resamples=20, kind="dict")["pearson"][0] for of in (adopted, run))
    assert found == pytest.approx(expected, abs=0.02)


def test_two_ranks(tiny: str, tmp_path: Path) -> None:
    """Two processes over gloo share every epoch, and rank 0 leaves a run."""
    trained(tiny, tmp_path, 2, enable_checkpointing=False)
    run = knockout.Run.open(tmp_path / "run")
    assert run.config["split"]["scheme"] == "gene-disjoint"
    # The metrics that Lightning saw are those of the whole validation part: the run's own validation has the same.
    assert run.metrics("dict")["val.count"][0] == len(knockout.Dataset(tiny).split(**run.config["split"]).val)
    begun = knockout.torch.Dango.from_dataset(knockout.Dataset(tiny), settings=SETTINGS).state_dict()
    assert not numpy.array_equal(run.weights()["gene_embedding"], begun["gene_embedding"].numpy())
    # The rows of both ranks.
    assert rows_of(run) == len(knockout.Dataset(tiny).split(**run.config["split"]).train)


def rows_of(run: knockout.Run) -> int:
    """Returns the number of rows that the manifest of an adopted run has."""
    return int(json.loads((Path(run.folder) / "manifest.json").read_text())["conditions"]["adopted_rows"].split()[0])


def divided(rank: int, data: str, folder: str, port: int) -> None:
    """Trains two epochs, and a third with a model that starts from the checkpoint."""
    torch.set_num_threads(1)
    # The variables that `torchrun` sets.
    ranks = {"RANK": rank, "LOCAL_RANK": rank, "GROUP_RANK": 0, "WORLD_SIZE": 2, "LOCAL_WORLD_SIZE": 2}
    about = {"MASTER_ADDR": "127.0.0.1", "MASTER_PORT": port, "TORCHELASTIC_RUN_ID": "test"}
    os.environ.update({key: str(value) for key, value in {**ranks, **about}.items()})
    path = Path(folder)
    for epochs, checkpoint in ((2, None), (3, path / "state.ckpt")):
        strategy = ModelParallelStrategy(data_parallel_size=2, tensor_parallel_size=1)
        model = knockout.torch.Dango.from_dataset(knockout.Dataset(data), settings=SETTINGS)
        module = knockout.lightning.Module(model, out=path / f"run-{epochs}")
        trainer = lightning.Trainer(
            max_epochs=epochs, devices=2, strategy=strategy, use_distributed_sampler=False, default_root_dir=folder, **QUIET,
            enable_checkpointing=False,
        )
        trainer.fit(module, datamodule=knockout.lightning.DataModule(model), ckpt_path=checkpoint)
        table = model.weight("gene_embedding")
        assert isinstance(table, DTensor) and len(table.to_local()) == len(table) // 2
        if epochs == 2:
            trainer.save_checkpoint(path / "state.ckpt")
    torch.save(module.model.whole_weights(), path / f"{rank}.pt")
    torch.distributed.destroy_process_group()


def test_fsdp_trains_as_whole_models_do(tiny: str, tmp_path: Path) -> None:
    """FSDP divides the weights between two ranks over gloo; a checkpoint continues to what three epochs of DDP give."""
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    torch.multiprocessing.spawn(divided, (tiny, str(tmp_path), port), nprocs=2)
    ranks = [torch.load(tmp_path / f"{rank}.pt") for rank in range(2)]
    trained(tiny, tmp_path / "whole", 2, callbacks=[Kept(str(tmp_path / "ddp.pt"))], enable_checkpointing=False)
    expected = torch.load(tmp_path / "ddp.pt")
    for name, value in ranks[0].items():
        assert torch.equal(value, ranks[1][name]), name
        assert torch.allclose(value, expected[name], rtol=1e-4, atol=1e-6), name
    begun = knockout.torch.Dango.from_dataset(knockout.Dataset(tiny), settings=SETTINGS).state_dict()
    assert (ranks[0]["gene_embedding"] - begun["gene_embedding"]).abs().max() > 1e-3
    run = knockout.Run.open(tmp_path / "run-3")
    assert rows_of(run) == rows_of(knockout.Run.open(tmp_path / "whole" / "run"))
    assert len(run.predict([[0, 1, 2]]).mean) == 1


class Kept(lightning.Callback):
    """Keeps the weights of the end of training, of a process that ends with it."""

    def __init__(self, path: str) -> None:
        self.path = path

    def on_fit_end(self, trainer: Any, module: Any) -> None:
        if trainer.is_global_zero:
            torch.save(module.model.whole_weights(), self.path)


@pytest.mark.parametrize(
    ("strategy", "reason"),
    [
        (FSDPStrategy(), "FSDPStrategy replaces the parameters"),
        (ModelParallelStrategy(data_parallel_size=1, tensor_parallel_size=2), "data_parallel_size=2"),
    ],
    ids=["flattened parameters", "tensor parallelism"],
)
def test_strategies_that_a_run_cannot_come_from_are_refused(tiny: str, strategy: Any, reason: str) -> None:
    class Trainer:
        world_size = 2

    class Mesh:
        def size(self) -> int:
            return 1

    module = knockout.lightning.Module(knockout.torch.Dango.from_dataset(knockout.Dataset(tiny), settings=SETTINGS))
    module._trainer = Trainer()
    module._trainer.strategy = strategy
    strategy._device_mesh = {"data_parallel": Mesh()}
    with pytest.raises(knockout.RequestError, match=reason):
        module.configure_model()


def test_a_sampler_of_lightning_is_refused(tiny: str) -> None:
    model = knockout.torch.Dango.from_dataset(knockout.Dataset(tiny), settings=SETTINGS)
    data = knockout.lightning.DataModule(model)
    trainer = lightning.Trainer(**QUIET, enable_checkpointing=False, devices=2, strategy="ddp_spawn")
    data.trainer = trainer
    with pytest.raises(knockout.RequestError, match="use_distributed_sampler=False"):
        data.train_dataloader()


def test_a_checkpoint_continues_to_the_same_weights(tiny: str, tmp_path: Path) -> None:
    _, whole = trained(tiny, tmp_path / "whole", 1, enable_checkpointing=False)
    trainer, _ = trained(tiny, tmp_path / "first", 1, max_epochs=1)
    trainer.save_checkpoint(tmp_path / "state.ckpt")
    model = knockout.torch.Dango.from_dataset(knockout.Dataset(tiny), settings=SETTINGS)
    module = knockout.lightning.Module(model)
    again = lightning.Trainer(max_epochs=3, enable_checkpointing=False, default_root_dir=tmp_path, **QUIET)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        again.fit(module, datamodule=knockout.lightning.DataModule(model), ckpt_path=tmp_path / "state.ckpt")
    for name, value in whole.model.state_dict().items():
        assert torch.equal(value, module.model.state_dict()[name]), name


def test_weights_and_biases_receive_configuration_and_metrics(tiny: str, tmp_path: Path) -> None:
    """An offline run of Weights & Biases, read back from its file."""
    logger = WandbLogger(project="yeast", offline=True, save_dir=tmp_path)
    seen: list[dict[str, float]] = []

    class Keep(lightning.Callback):
        def on_validation_end(self, trainer: Any, module: Any) -> None:
            if not trainer.sanity_checking:
                seen.append({name: float(value) for name, value in trainer.callback_metrics.items()})

    _, module = trained(tiny, tmp_path, 1, enable_checkpointing=False, logger=logger, callbacks=[Keep()])
    logger.experiment.finish()
    # The file is complete when the process that writes it has ended.
    wandb.teardown()
    [file] = (tmp_path / "wandb").glob("offline-run-*/run-*.wandb")
    kept = file.read_bytes()
    assert len(seen) == 3 and module.best is not None
    for name in ("train_loss", "val_pearson", "val_mse"):
        # The key of an item of the history, then its value as JSON.
        written = [float(value) for value in re.findall(name.encode() + rb"\x82\x01.([-+.e0-9]+)", kept)]
        for line in seen:
            assert any(value == pytest.approx(line[name], rel=1e-6) for value in written), (name, line, written)
    assert b"model.width" in kept and b"gene-disjoint" in kept
