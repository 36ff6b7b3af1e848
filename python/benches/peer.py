"""Compares CPU time with a PyTorch + PyG implementation of the same pipeline and models, alternating in one process.

    python peer.py --peer FOLDER --data yeast loader
    python peer.py --peer FOLDER --data yeast dango
    python peer.py --peer FOLDER --data yeast hetero --side peer; python peer.py --peer FOLDER --data yeast hetero --side ours

FOLDER holds the package `pyg_peer`, with its generated data in FOLDER/data or --peer-data. The dataset should have as many genes and
edges as that of the peer. Figures are CPU time of the process, all threads; the ratio is that of medians over rounds. With --side the peak
memory is reported too.
"""

import argparse
import json
import resource
import statistics
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import torch
from torch.utils.data import DataLoader

import knockout
import knockout.torch


def endless(make: Callable[[], Any]) -> Iterator[Any]:
    while True:
        yield from make()


def cpu(work: Callable[[], Any], times: int) -> float:
    began = time.process_time()
    for _ in range(times):
        work()
    return (time.process_time() - began) / times


def in_turns(rounds: int, subjects: dict[str, tuple[Callable[[], Any], int, int]]) -> dict[str, float]:
    """Returns the median CPU seconds per sample of each subject: its function, calls per round and samples per call."""
    found: dict[str, list[float]] = {name: [] for name in subjects}
    for work, _, _ in subjects.values():
        work()
    for _ in range(rounds):
        for name, (work, times, samples) in subjects.items():
            found[name].append(cpu(work, times) / samples)
    return {name: statistics.median(values) for name, values in found.items()}


def show(what: str, figures: dict[str, float], **more: Any) -> None:
    line = {f"{side}_us_per_sample": seconds * 1e6 for side, seconds in figures.items()}
    if len(figures) == 2:
        line["ratio"] = figures["peer"] / figures["ours"]
    else:
        line["peak_gib"] = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 2**20
    print(json.dumps({key: round(value, 3) for key, value in line.items()} | {"what": what} | more), flush=True)


def loaders(dataset: knockout.Dataset, peer: Any, peer_data: str, rounds: int) -> None:
    graph = peer.pipeline.CellGraph(peer_data)
    for what, form, processor, batch in (("gene indices", "genes", "perturbation", 64), ("masks", "masks", "lazy", 28)):
        made = peer.pipeline.PROCESSORS[processor](graph, False)
        theirs = endless(lambda made=made, batch=batch: peer.pipeline.loader(peer_data, made, batch, 0))
        mine = knockout.Loader(dataset, batch=batch, form=form)  # type: ignore[arg-type]
        ours = endless(lambda mine=mine: DataLoader(mine, batch_size=None))
        slow = 20 if form == "genes" else 2
        subjects = {
            "peer": (lambda theirs=theirs: next(theirs), slow, batch),
            "ours": (lambda ours=ours: next(ours), slow * 20 if form == "genes" else slow * 4, batch),
        }
        show(f"loader, {what}", in_turns(rounds, subjects), batch=batch)


def models(name: str, dataset: knockout.Dataset, peer: Any, peer_data: str, rounds: int, batch: int, sides: list[str]) -> None:
    subjects = {side: (SIDES[side](name, dataset, peer, peer_data, batch), 1, batch) for side in sides}
    show(f"{name}, full step", in_turns(rounds, subjects), batch=batch)


def peers_step(name: str, dataset: knockout.Dataset, peer: Any, peer_data: str, batch: int) -> Callable[[], Any]:
    options = argparse.Namespace(
        model="dango" if name == "dango" else "lazy", data=peer_data, impl="original", processor=None, metabolism=False,
        no_recon=False, as_original=False, scan_names=False, loss="logcosh", batch=batch,
    )
    # Its models need many gigabytes: the guard ends the process before memory runs out.
    peer.cli.memory_guard()
    task = peer.cli.Task(options)
    theirs = endless(lambda: peer.pipeline.loader(peer_data, task.proc, batch, 0))
    return lambda: task.step(next(theirs), "full")


def our_step(name: str, dataset: knockout.Dataset, peer: Any, peer_data: str, batch: int) -> Callable[[], Any]:
    model = {"dango": knockout.torch.Dango, "hetero": knockout.torch.Hetero}[name].from_dataset(dataset)
    training = model.training_of()
    loader = model.loader(batch=batch)
    ours = endless(lambda: knockout.torch.dataloader(loader, model))

    def step() -> None:
        one = next(ours)
        # In this epoch the reconstruction of DANGO and the scores have the same weight.
        loss = model(one["genes"], one["offsets"], model.targets(one), epoch=model.config["epochs"], plan=one["plan"])
        training.step(loss, len(loader))

    return step


SIDES = {"peer": peers_step, "ours": our_step}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("what", nargs="+", choices=["loader", "dango", "hetero"])
    parser.add_argument("--peer", type=Path, required=True)
    parser.add_argument("--peer-data", type=Path)
    parser.add_argument("--data", type=Path, required=True)
    parser.add_argument("--side", choices=SIDES, help="measure one side of a model only")
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--threads", type=int, default=1)
    parser.add_argument("--batch", type=int, help="samples per step; default 64 for dango, 4 for hetero")
    options = parser.parse_args()
    torch.set_num_threads(options.threads)
    sys.path.insert(0, str(options.peer))
    import pyg_peer.cli
    import pyg_peer.pipeline

    peer_data = str(options.peer_data or options.peer / "data")
    dataset = knockout.Dataset(options.data)
    for what in options.what:
        if what == "loader":
            loaders(dataset, pyg_peer, peer_data, options.rounds)
        else:
            batch = options.batch or (64 if what == "dango" else 4)
            sides = [options.side] if options.side else list(SIDES)
            models(what, dataset, pyg_peer, peer_data, options.rounds, batch, sides)


if __name__ == "__main__":
    main()
