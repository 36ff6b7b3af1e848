"""Compares CPU time and memory with a PyTorch + PyG implementation of the same pipeline and models.

    python peer.py --peer FOLDER --data yeast loader
    python peer.py --peer FOLDER --data yeast --program target/release/knockout dango hetero

FOLDER holds the package `pyg_peer`, with its generated data in FOLDER/data or --peer-data. The dataset should have as many genes and
edges as that of the peer. Loaders alternate in one process. Steps of a model are measured in processes of their own, interleaved: the PyG side as
it is and with one adjacency that all samples share, `knockout.torch`, and the program. Figures are CPU time of the process, medians over rounds.
A side that does not fit into the memory of the machine is measured with smaller batches, and the table has the memory that it needs.
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


#: Large blocks stay with the process, which saves the PyG side page faults, and threads of OpenMP that wait use no CPU time.
ENVIRONMENT = {"MALLOC_MMAP_THRESHOLD_": str(2**33), "MALLOC_TRIM_THRESHOLD_": str(2**35), "OMP_WAIT_POLICY": "PASSIVE"}


class Failed(Exception):
    """A process did not end well; the argument is its peak memory in GiB."""


def child(command: list[str]) -> tuple[str, float, float]:
    """Returns the output of a process, its CPU seconds and its peak memory in GiB."""
    process = subprocess.Popen(command, stdout=subprocess.PIPE, text=True, env={**os.environ, **ENVIRONMENT})
    assert process.stdout is not None
    output = process.stdout.read()
    _, status, usage = os.wait4(process.pid, 0)
    process.returncode = os.waitstatus_to_exitcode(status)
    peak = usage.ru_maxrss / 2**20
    if process.returncode:
        print(f"{' '.join(command)} ended with {process.returncode}: {output.strip()}", file=sys.stderr, flush=True)
        raise Failed(peak)
    return output, usage.ru_utime + usage.ru_stime, peak


def of_program(name: str, options: argparse.Namespace, batch: int) -> tuple[float, float]:
    """Returns CPU seconds of a step of the program and its peak memory: runs of few and of more steps differ by the steps alone."""
    few, more, taken = 2, 2 + 4 * options.steps, []
    for steps in (few, more):
        with tempfile.TemporaryDirectory() as folder:
            command = [options.program, "profile", str(options.data), "--model", name, "--batch", str(batch), "--steps", str(steps)]
            taken.append(child([*command, "--threads", str(options.threads), "--out", f"{folder}/run", "--quiet"])[1:])
    return (taken[1][0] - taken[0][0]) / (more - few), taken[1][1]


def of_side(name: str, side: str, options: argparse.Namespace, batch: int) -> tuple[float, float]:
    """Returns CPU seconds of a step of a side and the peak memory of its process."""
    if side == "program":
        return of_program(name, options, batch)
    folders = ["--peer", str(options.peer), "--peer-data", str(options.peer_data), "--data", str(options.data)]
    sizes = ["--batch", str(batch), "--steps", str(options.steps), "--threads", str(options.threads)]
    output, _, peak = child([sys.executable, __file__, name, *folders, "--alone", side, *sizes])
    return json.loads(output.splitlines()[-1])["cpu_s_per_step"], peak


def memory_needed(name: str, side: str, options: argparse.Namespace, batch: int, ended_at: float) -> str:
    """Returns the memory that a batch too large for this machine needs, by the peaks of smaller ones."""
    peaks = {}
    for smaller in sorted({1, batch // 2, batch - 1} & set(range(1, batch))):
        try:
            peaks[smaller] = of_side(name, side, argparse.Namespace(**{**vars(options), "steps": 1}), smaller)[1]
        except Failed:
            break
    measured = ", ".join(f"{size}: {peak:.1f}" for size, peak in peaks.items())
    if len(peaks) < 2:
        return f"ended at {ended_at:.1f}, for lack of memory; smaller batches: {measured or 'the same'}"
    slope, constant = statistics.linear_regression(list(peaks), list(peaks.values()))
    return f"ended at {ended_at:.1f}, for lack of memory; needs about {constant + slope * batch:.1f} by batches of {measured}"


def steps_apart(options: argparse.Namespace) -> None:
    """Measures full steps of all sides, interleaved, each in a process of its own, and prints a table. Ctrl-C ends with the steps so far."""
    subjects = [
        (name, batch, side)
        for name in options.what
        for batch in options.batch or ([64] if name == "dango" else [2, 4])
        for side in options.side or TITLES
    ]
    found: dict[tuple[str, int, str], list[tuple[float, float]]] = {subject: [] for subject in subjects}
    ended: dict[tuple[str, int, str], float] = {}
    try:
        for at in range(options.rounds):
            for name, batch, side in subjects:
                if (name, batch, side) in ended:
                    continue
                try:
                    step = of_side(name, side, options, batch)
                    found[name, batch, side].append(step)
                    print(f"round {at + 1}, {name}, batch {batch}, {TITLES[side]}: {step[0] / batch:.4f} s, {step[1]:.1f} GiB", file=sys.stderr, flush=True)
                except Failed as error:
                    ended[name, batch, side] = error.args[0]
    except KeyboardInterrupt:
        print("ended by Ctrl-C", file=sys.stderr)
    heads = ["full step", "batch", "side", "CPU s per sample, median", "range", "rounds", "times knockout.torch", "peak memory, GiB"]
    print(f"| {' | '.join(heads)} |\n{'|---' * len(heads)}|", flush=True)
    for (name, batch, side), steps in found.items():
        row = ["not measured", "", str(len(steps)), "", ""]
        if (name, batch, side) in ended:
            row[-1] = memory_needed(name, side, options, batch, ended[name, batch, side])
        elif steps:
            cpu = [cpu / batch for cpu, _ in steps]
            ours = statistics.median(cpu / batch for cpu, _ in found.get((name, batch, "ours")) or [(float("nan"), 0.0)])
            middle, peak = statistics.median(cpu), max(peak for _, peak in steps)
            row = [f"{middle:.4f}", f"{min(cpu):.4f} to {max(cpu):.4f}", str(len(steps)), f"{middle / ours:.2f}", f"{peak:.1f}"]
        print(f"| {' | '.join([name, str(batch), TITLES[side], *row])} |", flush=True)


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
    if options.alone is None and "loader" not in options.what:
        steps_apart(options)
        return
    if len(options.what) > 1:
        parser.error("loader is measured by a command of its own")
    torch.set_num_threads(options.threads)
    sys.path.insert(0, str(options.peer))
    import pyg_peer.cli
    import pyg_peer.pipeline

    dataset = knockout.Dataset(options.data)
    if options.alone is None:
        loaders(dataset, pyg_peer, str(options.peer_data), options.rounds)
    else:
        alone(options.what[0], dataset, pyg_peer, options)


if __name__ == "__main__":
    main()
