"""Compares CPU time and memory with a PyTorch + PyG implementation of the same pipeline and models.

    python peer.py --peer FOLDER --data yeast loader
    python peer.py --peer FOLDER --data yeast --program target/release/knockout dango hetero

FOLDER holds the package `pyg_peer`, with its generated data in FOLDER/data or --peer-data. The dataset should have as many genes and
edges as that of the peer. Loaders alternate in one process. Steps of a model are measured in processes of their own, interleaved: the PyG side as
it is and with one adjacency that all samples share, `knockout.torch`, and the program. Figures are CPU time of the process, medians over rounds.
"""

import argparse
import json
import os
import statistics
import subprocess
import sys
import tempfile
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
    line["ratio"] = figures["peer"] / figures["ours"]
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


def peers_step(name: str, dataset: knockout.Dataset, peer: Any, peer_data: str, batch: int, impl: str = "original") -> Callable[[], Any]:
    options = argparse.Namespace(
        model="dango" if name == "dango" else "lazy", data=peer_data, impl=impl, processor=None, metabolism=False,
        no_recon=False, as_original=False, scan_names=False, loss="logcosh", batch=batch,
    )
    # Its models need many gigabytes: the guard ends the process before memory runs out.
    peer.cli.memory_guard()
    task = peer.cli.Task(options)
    theirs = endless(lambda: peer.pipeline.loader(peer_data, task.proc, batch, 0))
    return lambda: task.step(next(theirs), "full")


def shared_step(name: str, dataset: knockout.Dataset, peer: Any, peer_data: str, batch: int) -> Callable[[], Any]:
    return peers_step(name, dataset, peer, peer_data, batch, "shared")


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


SIDES = {"peer": peers_step, "shared": shared_step, "ours": our_step}
TITLES = {"peer": "PyG", "shared": "PyG, one shared adjacency", "ours": "knockout.torch", "program": "the program"}


class Failed(Exception):
    """A process did not end well."""


def child(command: list[str]) -> tuple[str, float, float]:
    """Returns the output of a process, its CPU seconds and its peak memory in GiB."""
    process = subprocess.Popen(command, stdout=subprocess.PIPE, text=True)
    assert process.stdout is not None
    output = process.stdout.read()
    _, status, usage = os.wait4(process.pid, 0)
    process.returncode = os.waitstatus_to_exitcode(status)
    if process.returncode:
        raise Failed(f"ended with {process.returncode}: {output.strip()}")
    return output, usage.ru_utime + usage.ru_stime, usage.ru_maxrss / 2**20


def of_program(name: str, options: argparse.Namespace, batch: int) -> tuple[float, float]:
    """Returns CPU seconds of a step of the program and its peak memory: runs of few and of more steps differ by the steps alone."""
    few, more, taken = 2, 2 + 4 * options.steps, []
    for steps in (few, more):
        with tempfile.TemporaryDirectory() as folder:
            command = [options.program, "profile", str(options.data), "--model", name, "--batch", str(batch), "--steps", str(steps)]
            taken.append(child([*command, "--threads", str(options.threads), "--out", f"{folder}/run", "--quiet"])[1:])
    return (taken[1][0] - taken[0][0]) / (more - few), taken[1][1]


def of_process(name: str, side: str, options: argparse.Namespace, batch: int) -> tuple[float, float]:
    """Returns CPU seconds of a step of a side and the peak memory of its process."""
    folders = ["--peer", str(options.peer), "--peer-data", str(options.peer_data), "--data", str(options.data)]
    sizes = ["--batch", str(batch), "--steps", str(options.steps), "--threads", str(options.threads)]
    output, _, peak = child([sys.executable, __file__, name, *folders, "--alone", side, *sizes])
    return json.loads(output.splitlines()[-1])["cpu_s_per_step"], peak


def steps_apart(name: str, options: argparse.Namespace) -> None:
    """Measures full steps of all sides, interleaved, each in a process of its own, and prints a table."""
    batches = options.batch or ([64] if name == "dango" else [2, 4])
    print(f"\n| {name} | batch | CPU s per sample | range | peak GiB | times knockout.torch |\n|---|---|---|---|---|---|", flush=True)
    for batch in batches:
        found: dict[str, list[tuple[float, float]]] = {}
        failed: dict[str, str] = {}
        for _ in range(options.rounds):
            for side in options.side or TITLES:
                if side in failed:
                    continue
                try:
                    step = of_program(name, options, batch) if side == "program" else of_process(name, side, options, batch)
                    found.setdefault(side, []).append(step)
                except Failed as error:
                    failed[side] = str(error)
                    print(f"{TITLES[side]}, batch {batch}: {error}", file=sys.stderr)
        ours = statistics.median(cpu for cpu, _ in found["ours"]) if "ours" in found else float("nan")
        for side in failed:
            print(f"| {TITLES[side]} | {batch} | not measured | | | |", flush=True)
        for side, steps in found.items():
            if side in failed:
                continue
            cpu = [of / batch for of, _ in steps]
            middle = statistics.median(cpu)
            print(
                f"| {TITLES[side]} | {batch} | {middle:.4f} | {min(cpu):.4f} to {max(cpu):.4f} | {max(peak for _, peak in steps):.1f} | {middle * batch / ours:.2f} |",
                flush=True,
            )


def alone(name: str, dataset: knockout.Dataset, peer: Any, options: argparse.Namespace) -> None:
    step = SIDES[options.alone](name, dataset, peer, str(options.peer_data), options.batch[0])
    step()  # the first one allocates
    print(json.dumps({"cpu_s_per_step": cpu(step, options.steps)}), flush=True)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("what", nargs="+", choices=["loader", "dango", "hetero"])
    parser.add_argument("--peer", type=Path, required=True)
    parser.add_argument("--peer-data", type=Path)
    parser.add_argument("--data", type=Path, required=True)
    parser.add_argument("--program", default="knockout", help="the command, optimised; default: the one on the path")
    parser.add_argument("--side", choices=TITLES, action="append", help="measure these sides of the models only")
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--steps", type=int, default=2, help="measured steps of a process, after one that is not")
    parser.add_argument("--threads", type=int, default=1)
    parser.add_argument("--batch", type=int, action="append", help="samples per step; default 64 for dango, 2 and 4 for hetero")
    parser.add_argument("--alone", choices=SIDES, help=argparse.SUPPRESS)
    options = parser.parse_args()
    options.peer_data = options.peer_data or options.peer / "data"
    for what in options.what:
        if what != "loader" and options.alone is None:
            steps_apart(what, options)
            continue
        torch.set_num_threads(options.threads)
        sys.path.insert(0, str(options.peer))
        import pyg_peer.cli
        import pyg_peer.pipeline

        dataset = knockout.Dataset(options.data)
        if what == "loader":
            loaders(dataset, pyg_peer, str(options.peer_data), options.rounds)
        else:
            alone(what, dataset, pyg_peer, options)


if __name__ == "__main__":
    main()
