"""Ranks of PyTorch's own data parallelism: two processes that train one model."""

from pathlib import Path

import torch
import torch.distributed
import torch.multiprocessing
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
