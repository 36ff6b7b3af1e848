"""Ranks of PyTorch's own parallelism: two processes that train one model, whole on each (DDP) or divided between them (FSDP)."""

from pathlib import Path

import pytest
import torch
import torch.distributed
import torch.multiprocessing
from torch.distributed.fsdp import fully_shard
from torch.distributed.tensor import DTensor
from torch.nn.parallel import DistributedDataParallel

import knockout
import knockout.torch

#: The reconstruction has no weight, so its parameters have no gradient of their own.
SETTINGS = {"model.width": 8, "model.alpha": "pre-then-post", "model.transition_epoch": 0, "batch": 100}


def train(rank: int, data: str, folder: str) -> None:
    torch.set_num_threads(1)
    torch.distributed.init_process_group("gloo", init_method=f"file://{folder}/meet", rank=rank, world_size=2)
    dataset = knockout.Dataset(data)
    model = knockout.torch.Dango.from_dataset(dataset, settings=SETTINGS)
    wrapped = DistributedDataParallel(model)
    optimiser = torch.optim.SGD(model.parameters(), lr=1e-3)
    rows = []
    for batch in knockout.torch.dataloader(model.loader(rank=rank, world=2)):
        rows.append(batch["rows"])
        optimiser.zero_grad()
        wrapped(batch["genes"], batch["offsets"], model.targets(batch)).backward()
        optimiser.step()
    torch.save({"rows": torch.cat(rows), "steps": len(rows), "weights": model.state_dict()}, f"{folder}/{rank}.pt")
    torch.distributed.destroy_process_group()


def test_two_ranks_train_one_model(tiny: str, tmp_path: Path) -> None:
    torch.multiprocessing.spawn(train, (tiny, str(tmp_path)), nprocs=2)
    ranks = [torch.load(tmp_path / f"{rank}.pt") for rank in range(2)]
    dataset = knockout.Dataset(tiny)
    # Every row comes exactly once.
    assert sorted(torch.cat([rank["rows"] for rank in ranks]).tolist()) == sorted(dataset.split().train.tolist())
    assert ranks[0]["steps"] == ranks[1]["steps"]
    begun = knockout.torch.Dango.from_dataset(dataset, settings=SETTINGS).state_dict()
    for name, value in ranks[0]["weights"].items():
        assert torch.equal(value, ranks[1]["weights"][name]), name
    assert not torch.equal(ranks[0]["weights"]["gene_embedding"], begun["gene_embedding"])


#: Batches that two ranks divide evenly; in double precision, so that the order of sums does not matter.
DIVIDED = {"model.width": 8, "model.transition_epoch": 0, "batch": 100, "optimiser.clip_norm": 0.5}
STEPS = 4


def batches(model: knockout.torch.Model, rank: int, world: int) -> list[dict[str, torch.Tensor]]:
    """Returns a rank's samples of the first batches."""
    found = []
    for at in range(STEPS):
        batch = model.loader()[0, at]
        # Sets of three genes: the rank's share is a slice.
        of = len(batch["score"]) // world
        sets = slice(rank * of, (rank + 1) * of)
        genes = torch.from_numpy(batch["genes"]).view(-1, 3)[sets].flatten()
        rows, score = (torch.from_numpy(batch[key])[sets] for key in ("rows", "score"))
        found.append({"genes": genes, "offsets": torch.arange(0, len(genes) + 1, 3), "rows": rows, "score": score})
    return found


def steps(model: knockout.torch.Model, rank: int, world: int) -> knockout.torch.Training:
    training = model.training_of()
    for batch in batches(model, rank, world):
        loss = model(batch["genes"], batch["offsets"], model.targets(batch).double(), epoch=1, step=training.steps)
        training.step(loss, STEPS)
    return training


def train_divided(rank: int, data: str, folder: str) -> None:
    torch.set_num_threads(1)
    torch.distributed.init_process_group("gloo", init_method=f"file://{folder}/meet", rank=rank, world_size=2)
    model = knockout.torch.Dango.from_dataset(knockout.Dataset(data), settings=DIVIDED).double()
    fully_shard(model, mesh=torch.distributed.init_device_mesh("cpu", (2,)))
    training = steps(model, rank, 2)
    table = model.weight("gene_embedding")
    assert isinstance(table, DTensor) and len(table.to_local()) == len(table) // 2
    moments = [state["exp_avg"] for state in training.optimiser.state.values()]
    assert moments and all(isinstance(of, DTensor) for of in moments)
    with pytest.raises(knockout.RequestError, match="whole_weights"):
        model.adopt(train_loss=1.0, out=f"{folder}/none")
    whole = model.whole_weights()
    if rank == 0:
        torch.save(whole, f"{folder}/weights.pt")
        run = model.adopt(train_loss=1.0, out=f"{folder}/run", weights={name: value.float() for name, value in whole.items()})
        assert len(run.predict([[0, 1, 2]]).mean) == 1
    torch.distributed.destroy_process_group()


def test_a_model_that_fsdp_divides_trains_as_one_process(tiny: str, tmp_path: Path) -> None:
    torch.multiprocessing.spawn(train_divided, (tiny, str(tmp_path)), nprocs=2)
    model = knockout.torch.Dango.from_dataset(knockout.Dataset(tiny), settings=DIVIDED).double()
    begun = model.whole_weights()
    steps(model, 0, 1)
    divided = torch.load(tmp_path / "weights.pt")
    for name, expected in model.whole_weights().items():
        assert torch.allclose(divided[name], expected, rtol=1e-9, atol=1e-9), name
    assert (divided["gene_embedding"] - begun["gene_embedding"]).abs().max() > 1e-5
