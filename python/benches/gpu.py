"""Measures training steps of all models on a GPU and writes the comparison. The repository claims no figures of it.

    python gpu.py yeast                                    # everything; the dataset is created if it does not exist
    python gpu.py yeast --model hetero --variant bfloat16
    python gpu.py yeast --peer FOLDER                      # beside a PyTorch + PyG implementation; see peer.py
    python gpu.py tiny --preset tiny --device cpu --steps 3

Every model is measured in single precision, with TF32, under bfloat16 autocast, compiled, and (hetero) with layers recomputed; the peer as it is
and with one adjacency that all samples share. Steps are timed whole, without waiting inside; then by phase, waiting after each. The result is
written to `gpu.json` and, as a table, to `gpu.md`.
"""

import argparse
import json
import platform
import statistics
import sys
import time
import warnings
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import torch
from torch.profiler import ProfilerActivity, profile

import knockout
import knockout.torch

MODELS = {
    "dango": (knockout.torch.Dango, 2048),
    "hetero": (knockout.torch.Hetero, 28),
    "transformer": (knockout.torch.Transformer, 2048),
}
VARIANTS = ["float32", "tf32", "bfloat16", "compiled", "recomputed"]
PHASES = ["batch", "copy", "forward", "backward", "optimiser"]
#: Implementations of the peer by variant.
PEERS = {"peer": "original", "peer-shared": "shared"}


class Measured:
    """Training steps that are measured. A subclass has `step`, which calls `after` at the end of every phase."""

    device: torch.device
    samples = 0

    def step(self, after: Callable[[str], None] = lambda phase: None) -> None:
        raise NotImplementedError

    @staticmethod
    def endless(batches: Any) -> Iterator[Any]:
        while True:
            yield from batches

    def wait(self) -> None:
        if self.device.type == "cuda":
            torch.cuda.synchronize()

    def whole(self, count: int) -> list[float]:
        """Returns the milliseconds of steps; a step ends when the device has finished it."""
        times = []
        for _ in range(count):
            self.wait()
            began = time.perf_counter()
            self.step()
            self.wait()
            times.append(1e3 * (time.perf_counter() - began))
        return times

    def phases(self, count: int) -> dict[str, float]:
        """Returns the median milliseconds of each phase."""
        found: dict[str, list[float]] = {phase: [] for phase in PHASES}
        for _ in range(count):
            began = time.perf_counter()

            def after(phase: str) -> None:
                nonlocal began
                self.wait()
                now = time.perf_counter()
                found[phase].append(1e3 * (now - began))
                began = now

            self.step(after)
        return {phase: round(statistics.median(times), 3) for phase, times in found.items()}

    def counts(self) -> dict[str, int]:
        """Returns the operators, device kernels and waits for the device of one step."""
        activities = [ProfilerActivity.CPU, *([ProfilerActivity.CUDA] if self.device.type == "cuda" else [])]
        with profile(activities=activities) as recording:
            self.step()
            self.wait()
        events = recording.events() or []
        found = {"operators": sum(event.name.startswith("aten::") for event in events)}
        if self.device.type == "cuda":
            found["kernels"] = sum(event.name in ("cudaLaunchKernel", "cudaLaunchKernelExC") for event in events)
            with warnings.catch_warnings(record=True) as caught:
                warnings.simplefilter("always")
                torch.cuda.set_sync_debug_mode("warn")
                self.step()
                torch.cuda.set_sync_debug_mode("default")
            found["waits"] = sum("synchroniz" in str(warning.message) for warning in caught)
        return found


class Steps(Measured):
    """Training steps of one model in one variant."""

    def __init__(self, name: str, variant: str, dataset: knockout.Dataset, options: argparse.Namespace) -> None:
        kind, usual = MODELS[name]
        self.device = torch.device(options.device)
        torch.set_float32_matmul_precision("high" if variant in ("tf32", "compiled") else "highest")
        self.model = kind.from_dataset(dataset).to(self.device)
        self.half = variant == "bfloat16"
        if variant == "recomputed":
            self.model.recompute = True  # type: ignore[assignment]
        self.training = self.model.training_of()
        self.loader = self.model.loader(batch=options.batch or usual)
        self.forward = torch.compile(self.model, dynamic=True) if variant == "compiled" else self.model
        loading = {"num_workers": options.workers, "persistent_workers": options.workers > 0, "pin_memory": self.device.type == "cuda"}
        self.batches = self.endless(knockout.torch.dataloader(self.loader, self.model, **loading))

    def step(self, after: Callable[[str], None] = lambda phase: None) -> None:
        batch = next(self.batches)
        self.samples = len(batch["score"])
        after("batch")
        batch = {key: value.to(self.device, non_blocking=True) for key, value in batch.items()}
        after("copy")
        at = {"epoch": self.training.epoch, "step": self.training.steps, "plan": batch["plan"]}
        with torch.autocast(self.device.type, torch.bfloat16, enabled=self.half):
            loss = self.forward(batch["genes"], batch["offsets"], self.model.targets(batch), **at)
        after("forward")

        def backward(share: torch.Tensor) -> None:
            share.backward()
            after("backward")

        self.training.step(loss, len(self.loader), backward)
        after("optimiser")


class PeerSteps(Measured):
    """Training steps of the PyTorch + PyG implementation."""

    def __init__(self, name: str, variant: str, options: argparse.Namespace) -> None:
        import pyg_peer.cli
        import pyg_peer.pipeline

        self.device = torch.device(options.device)
        torch.set_float32_matmul_precision("highest")
        data, size = str(options.peer_data or options.peer / "data"), options.batch or MODELS[name][1]
        about = argparse.Namespace(
            model="dango" if name == "dango" else "lazy", data=data, impl=PEERS[variant], processor=None, metabolism=False,
            no_recon=False, as_original=False, scan_names=False, loss="logcosh", batch=size,
        )
        self.task = pyg_peer.cli.Task(about)
        self.task.net.to(self.device)
        # Its constants: adjacencies, edges and the dense targets of the reconstruction.
        for owner, key in ((self.task, "adj"), (self.task, "dense"), (self.task, "csr"), (self.task.graph, "edges")):
            if getattr(owner, key, None) is not None:
                setattr(owner, key, {name: self._moved(of) for name, of in getattr(owner, key).items()})
        batches = pyg_peer.pipeline.loader(data, self.task.proc, size, options.workers)
        self.batches = self.endless(batches)

    def _moved(self, of: Any) -> Any:
        return tuple(map(self._moved, of)) if isinstance(of, tuple) else of.to(self.device)

    def step(self, after: Callable[[str], None] = lambda phase: None) -> None:
        batch = next(self.batches)
        self.samples = batch["gene"].phenotype_values.numel()
        after("batch")
        batch = batch.to(self.device, non_blocking=True)
        after("copy")
        loss = self.task.loss(batch)
        after("forward")
        loss.backward()
        after("backward")
        torch.nn.utils.clip_grad_norm_(self.task.net.parameters(), 10.0)
        self.task.opt.step()
        self.task.opt.zero_grad(set_to_none=True)
        after("optimiser")


def measure(name: str, variant: str, dataset: knockout.Dataset, options: argparse.Namespace) -> dict[str, Any]:
    about = {"model": name, "variant": variant}
    cuda = options.device.startswith("cuda")
    if cuda:
        torch.cuda.empty_cache()
        torch.cuda.reset_peak_memory_stats()
    try:
        steps = PeerSteps(name, variant, options) if variant in PEERS else Steps(name, variant, dataset, options)
        steps.whole(2)  # the first steps compile and allocate
        times = steps.whole(options.steps)
        found = {**about, "batch": steps.samples, "steps": len(times), "ms": round(statistics.median(times), 3)}
        found["ms_range"] = [round(min(times), 3), round(max(times), 3)]
        found["samples_per_s"] = round(1e3 * steps.samples / statistics.median(times), 1)
        found["phases"] = steps.phases(max(options.steps // 4, 1))
        found["counts"] = steps.counts()
    except torch.OutOfMemoryError:
        return {**about, "failed": "out of memory"}
    if cuda:
        found["peak_bytes"] = torch.cuda.max_memory_allocated()
    return found


def table(results: list[dict[str, Any]], machine: dict[str, Any]) -> str:
    lines = [f"# Training steps on {machine['device']}", "", ", ".join(f"{key} {value}" for key, value in machine.items()), ""]
    columns = ["model", "variant", "batch", "ms", "samples_per_s", "peak GiB", *(f"{phase} ms" for phase in PHASES), "operators", "kernels", "waits"]
    lines += ["| " + " | ".join(columns) + " |", "|" + "---|" * len(columns)]
    for result in results:
        phases = {f"{phase} ms": time for phase, time in result.get("phases", {}).items()}
        flat = {**result, **phases, **result.get("counts", {})}
        if "peak_bytes" in result:
            flat["peak GiB"] = round(result["peak_bytes"] / 2**30, 2)
        lines.append("| " + " | ".join(str(flat.get(column, result.get("failed", "") if column == "ms" else "")) for column in columns) + " |")
    return "\n".join([*lines, "", "ms: median of a whole step; phases: medians in ms, waiting after each, so their sum is larger.", ""])


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("data", type=Path)
    parser.add_argument("--preset", default="yeast")
    parser.add_argument("--model", choices=MODELS, action="append")
    parser.add_argument("--variant", choices=[*VARIANTS, *PEERS], action="append")
    parser.add_argument("--peer", type=Path, help="folder with the package pyg_peer")
    parser.add_argument("--peer-data", type=Path)
    parser.add_argument("--device", default="cuda")
    parser.add_argument("--batch", type=int)
    parser.add_argument("--steps", type=int, default=20)
    parser.add_argument("--workers", type=int, default=2)
    parser.add_argument("--out", type=Path, default=Path())
    options = parser.parse_args()
    if options.device.startswith("cuda") and not torch.cuda.is_available():
        parser.error("PyTorch finds no GPU; use --device cpu to try the script")
    dataset = knockout.Dataset(options.data) if options.data.exists() else knockout.synth(options.data, options.preset)
    machine = {
        "device": torch.cuda.get_device_name() if options.device.startswith("cuda") else platform.processor() or "cpu",
        "torch": torch.__version__,
        "genes": dataset.gene_count,
        "edges": sum(len(dataset.network(name).sources) for name in dataset.networks),
    }
    if options.peer is not None:
        sys.path.insert(0, str(options.peer))
    elif any(variant in PEERS for variant in options.variant or []):
        parser.error("the variants of the peer need --peer FOLDER")
    results = []
    for name in options.model or MODELS:
        for variant in options.variant or [*VARIANTS, *(PEERS if options.peer is not None else [])]:
            if (variant == "recomputed" and name != "hetero") or (variant in PEERS and name == "transformer"):
                continue
            results.append(measure(name, variant, dataset, options))
            print(json.dumps(results[-1]), flush=True)
    (options.out / "gpu.json").write_text(json.dumps({"machine": machine, "results": results}, indent=1))
    (options.out / "gpu.md").write_text(table(results, machine))


if __name__ == "__main__":
    main()
