"""Estimates training steps on two GPUs from the operators of a step. An estimate, not a measurement: nothing runs on a GPU.

    python roofline.py yeast                       # the dataset is created if it does not exist
    python roofline.py yeast --model hetero --batch 28

A whole step, forward and backward, is dispatched on tensors without contents (`FakeTensorMode`), with the plan of a real batch. Every operator
that is not a view counts as one kernel that reads its inputs and writes its outputs once. Assumptions:

- a kernel takes the larger of its operations at the peak rate and its bytes at the peak bandwidth; kernels do not overlap or fuse;
- gathers read as many bytes as they write, scatters and sparse products read each edge's row;
- the host needs 5 µs to launch a kernel, and a step cannot be shorter than all launches;
- AdamW reads and writes 28 bytes for every parameter, in 20 launches;
- no wait for data: batches are planned by other processes.

Real kernels reach a half to three quarters of these rates, so the time is a floor.
"""

from __future__ import annotations

import argparse
import json
from collections import Counter
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import torch
from torch._subclasses.fake_tensor import FakeTensorMode
from torch.utils._python_dispatch import TorchDispatchMode
from torch.utils._pytree import tree_leaves
from torch.utils.flop_counter import flop_registry

import knockout
import knockout.torch

MODELS = {
    "dango": (knockout.torch.Dango, 64),
    "hetero": (knockout.torch.Hetero, 28),
    "transformer": (knockout.torch.Transformer, 64),
}
#: Dense peak rates of the data sheets: bytes/s, and operations/s of products by precision.
GPUS = {
    "A100 SXM 80 GB": {"bytes": 2.039e12, "float32": 19.5e12, "tf32": 156e12, "bfloat16": 312e12},
    "H100 SXM 80 GB": {"bytes": 3.35e12, "float32": 66.9e12, "tf32": 494.7e12, "bfloat16": 989.4e12},
}
PRECISIONS = ["float32", "tf32", "bfloat16"]
LAUNCH_S = 5e-6
OPTIMISER_BYTES, OPTIMISER_LAUNCHES = 28, 20
#: Operators whose result the host reads, or whose shape depends on values.
WAITS = ("_local_scalar_dense", "nonzero", "masked_select", "unique", "is_nonzero", "equal.default")
#: Operators that launch nothing.
FREE = ("empty", "new_empty", "detach", "alias", "lift", "sym_", "_unsafe_view")
GATHERS = ("aten.index.", "aten.index_select.", "aten.gather.", "aten.embedding.")
SPARSE = ("knockout.sparse_product", "knockout.edge_products")


def size(tensor: torch.Tensor) -> int:
    """Returns the bytes that a kernel touches: an expanded tensor is read once."""
    numel = 1
    for length, stride in zip(tensor.shape, tensor.stride() if tensor.layout == torch.strided else tensor.shape, strict=True):
        numel *= length if stride or length == 0 else 1
    return numel * tensor.element_size()


@dataclass
class Kernel:
    name: str
    bytes: int
    #: Operations of matrix products, and whether tensor cores do them.
    operations: int
    dense: bool


@dataclass
class Operators(TorchDispatchMode):
    """The kernels of everything that is dispatched inside."""

    kernels: list[Kernel] = field(default_factory=list)
    waits: int = 0
    names: Counter[str] = field(default_factory=Counter)

    def __post_init__(self) -> None:
        super().__init__()

    def __torch_dispatch__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        out = func(*args, **(kwargs or {}))
        name = str(func)
        if name.startswith("prim."):
            return out  # of FakeTensorMode itself
        self.names[name] += 1
        self.waits += any(wait in name for wait in WAITS)
        returns = func._schema.returns
        is_view = any(of.alias_info is not None and not of.alias_info.is_write for of in returns)
        if is_view or name.partition(".")[2].startswith(FREE):
            return out
        inputs = [of for of in tree_leaves((args, kwargs)) if isinstance(of, torch.Tensor)]
        written = sum(size(of) for of in tree_leaves(out) if isinstance(of, torch.Tensor))
        read = [size(of) for of in inputs]
        operations, dense = 0, False
        if name.startswith(GATHERS) and read:
            read[0] = min(read[0], written)
        elif name.startswith(SPARSE):
            # An entry is read with the row that it points to; of edge products both rows.
            rows = inputs[-1]
            entries = len(inputs[1])
            operations = 2 * entries * rows.shape[1]
            of_edges = 2 if "edge_products" in name else 1
            read[-1] = of_edges * entries * rows.shape[1] * rows.element_size()
        elif func._overloadpacket in flop_registry:
            operations, dense = int(flop_registry[func._overloadpacket](*args, **(kwargs or {}), out_val=out)), True
        self.kernels.append(Kernel(name, sum(read) + written, operations, dense))
        return out


def step_of(name: str, dataset: knockout.Dataset, batch_size: int, half: bool) -> tuple[Operators, int]:
    """Returns the operators of a forward and backward pass, and the number of parameters."""
    model = MODELS[name][0].from_dataset(dataset)
    parameters = sum(value.numel() for value in model.parameters())
    model._seen = None  # compares gene sets, of which a fake tensor has none
    batch = next(iter(knockout.torch.dataloader(model.loader(batch=batch_size), model)))

    def fake(tensor: torch.Tensor) -> torch.Tensor:
        return torch.empty(tensor.shape, dtype=tensor.dtype)

    # The backward pass reads the constants of the module itself.
    with FakeTensorMode(allow_non_fake_inputs=True):
        state = {key: fake(value) for key, value in [*model.named_parameters(), *model.named_buffers()]}
        for key, _ in model.named_parameters():
            state[key].requires_grad_()
        plan = batch["plan"].moved(fake)
        inputs = tuple(fake(batch[key]) for key in ("genes", "offsets", "score"))
        with Operators() as operators:
            with torch.autocast("cpu", torch.bfloat16, enabled=half):
                # In this epoch the reconstruction of DANGO and the scores have the same weight.
                loss = torch.func.functional_call(model, state, inputs, {"plan": plan, "epoch": model.config["epochs"]})
            loss.backward()
    return operators, parameters


def seconds(kernels: list[Kernel], gpu: dict[str, float], precision: str) -> float:
    """Returns the time of kernels one after the other, at peak rates."""
    return sum(max(of.bytes / gpu["bytes"], of.operations / gpu[precision if of.dense else "float32"]) for of in kernels)


def estimate(name: str, dataset: knockout.Dataset, batch: int) -> dict[str, Any]:
    found: dict[str, Any] = {"model": name, "batch": batch, "estimates": []}
    for half in (False, True):
        operators, parameters = step_of(name, dataset, batch, half)
        update = Kernel("optimiser", OPTIMISER_BYTES * parameters, 0, False)
        kernels = [*operators.kernels, update]
        launches = len(operators.kernels) + OPTIMISER_LAUNCHES
        if not half:
            found["operators"] = sum(operators.names.values())
            found["launches"], found["waits"] = launches, operators.waits
            found["select_backward"] = sum(count for key, count in operators.names.items() if "select_backward" in key)
            found["tflop"] = float(f"{sum(of.operations for of in kernels) / 1e12:.3g}")
            found["gb"] = float(f"{sum(of.bytes for of in kernels) / 1e9:.3g}")
        for precision in ["bfloat16"] if half else ["float32", "tf32"]:
            for gpu, rates in GPUS.items():
                device, host = seconds(kernels, rates, precision), launches * LAUNCH_S
                line = {"gpu": gpu, "precision": precision, "device_ms": round(1e3 * device, 2), "launch_ms": round(1e3 * host, 2)}
                found["estimates"].append({**line, "ms": round(1e3 * max(device, host), 2)})
    return found


def table(results: list[dict[str, Any]]) -> str:
    lines = ["| model | batch | launches | waits | `select_backward` | TFLOP | GB | GPU | " + " | ".join(f"{of}, ms" for of in PRECISIONS) + " |"]
    lines.append("|" + "---|" * (8 + len(PRECISIONS)))
    for found in results:
        for gpu in GPUS:
            times = {of["precision"]: of for of in found["estimates"] if of["gpu"] == gpu}
            shown = [f"{times[of]['ms']}{' (launches)' if times[of]['launch_ms'] >= times[of]['device_ms'] else ''}" for of in PRECISIONS]
            about = [found[key] for key in ("model", "batch", "launches", "waits", "select_backward", "tflop", "gb")]
            lines.append("| " + " | ".join(map(str, [*about, gpu, *shown])) + " |")
    return "\n".join([*lines, "", "Estimated floors, not measurements. (launches): the host cannot launch the kernels faster.", ""])


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("data", type=Path)
    parser.add_argument("--preset", default="yeast")
    parser.add_argument("--model", choices=MODELS, action="append")
    parser.add_argument("--batch", type=int)
    parser.add_argument("--json", action="store_true", help="print the document instead of the table")
    options = parser.parse_args()
    dataset = knockout.Dataset(options.data) if options.data.exists() else knockout.synth(options.data, options.preset)
    results = [estimate(name, dataset, options.batch or MODELS[name][1]) for name in options.model or MODELS]
    print(json.dumps(results, indent=1) if options.json else table(results))


if __name__ == "__main__":
    main()
