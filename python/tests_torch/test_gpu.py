"""What a GPU needs, tested without one: no wait for the device in a step, and a forward pass on tensors of a device that is not there."""

import sys
from pathlib import Path
from typing import Any

import pytest
import torch
from torch._subclasses.fake_tensor import FakeTensorMode
from torch.utils._python_dispatch import TorchDispatchMode

import knockout
import knockout.torch

sys.path.insert(0, str(Path(__file__).parents[1] / "benches"))
import gpu  # noqa: E402
import roofline  # noqa: E402

MODELS = {"dango": knockout.torch.Dango, "hetero": knockout.torch.Hetero, "transformer": knockout.torch.Transformer}
CASES = [
    ("dango", {}),
    ("dango", {"model.alpha": "pre-then-post", "model.transition_epoch": 0}),
    ("hetero", {}),
    ("hetero", {"model.metabolism": "on", "model.dropout": 0.2}),
    ("hetero", {"model.norm": "graph", "model.aggregation": "cross_attention", "model.combination": "gating"}),
    ("hetero", {"model.dropout": 0.2, "model.noise": "independent", "model.loss": "supcr"}),
    ("transformer", {}),
]
SMALL = {"model.width": 8, "batch": 12}


@pytest.fixture(scope="module")
def dataset(tiny: str) -> knockout.Dataset:
    return knockout.Dataset(tiny)


class Operators(TorchDispatchMode):
    """The names of all operators."""

    def __init__(self) -> None:
        super().__init__()
        self.names: list[str] = []

    def __torch_dispatch__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        self.names.append(str(func))
        return func(*args, **(kwargs or {}))


def batch_of(model: knockout.torch.Model) -> dict[str, Any]:
    return next(iter(knockout.torch.dataloader(model.loader(), model)))


@pytest.mark.parametrize(("name", "settings"), CASES, ids=str)
def test_no_step_waits_for_the_device(dataset: knockout.Dataset, name: str, settings: dict[str, Any]) -> None:
    model = MODELS[name].from_dataset(dataset, settings={**SMALL, **settings})
    batch = batch_of(model)
    with Operators() as operators:
        model(batch["genes"], batch["offsets"], model.targets(batch), plan=batch["plan"]).backward()
    assert len(operators.names) > 100
    assert [of for of in operators.names if any(wait in of for wait in roofline.WAITS)] == []


@pytest.mark.parametrize("half", [False, True])
@pytest.mark.parametrize(("name", "settings"), CASES, ids=str)
def test_a_forward_pass_on_a_gpu_that_is_not_there(
    dataset: knockout.Dataset, name: str, settings: dict[str, Any], half: bool
) -> None:
    model = MODELS[name].from_dataset(dataset, settings={**SMALL, **settings})
    model._seen = None  # compares gene sets, of which a fake tensor has none
    batch = batch_of(model)

    def fake(tensor: torch.Tensor) -> torch.Tensor:
        return torch.empty(tensor.shape, dtype=tensor.dtype, device="cuda")

    with FakeTensorMode(), torch.autocast("cuda", torch.bfloat16, enabled=half):
        state = {key: fake(value) for key, value in [*model.named_parameters(), *model.named_buffers()]}
        plan = batch["plan"].moved(fake)
        genes, offsets, targets = (fake(batch[key]) for key in ("genes", "offsets", "score"))
        scores = torch.func.functional_call(model, state, (genes, offsets), {"plan": plan})
        loss = torch.func.functional_call(model, state, (genes, offsets, targets), {"plan": plan})
    assert scores.shape == (12,) and scores.device.type == "cuda"
    assert loss.shape == () and loss.device.type == "cuda"


def test_kernels_of_a_known_layer_are_counted() -> None:
    layer = torch.nn.Linear(32, 16)
    with FakeTensorMode(allow_non_fake_inputs=True), roofline.Operators() as operators:
        x = torch.empty(8, 32)
        (layer(x).relu().view(4, 32) + torch.empty(4, 1).expand(4, 32)).backward(torch.empty(4, 32))
    found = {kernel.name: kernel for kernel in operators.kernels}
    forward = found["aten.addmm.default"]
    # Two operations for each product; every input and the output once, in bytes.
    assert (forward.operations, forward.bytes) == (2 * 8 * 32 * 16, 4 * (8 * 32 + 32 * 16 + 16 + 8 * 16))
    assert found["aten.relu.default"].bytes == 4 * 2 * 8 * 16
    # A row that is expanded is read once, and views are left out.
    assert found["aten.add.Tensor"].bytes == 4 * (4 * 32 + 4 + 4 * 32)
    assert found["aten.mm.default"].operations == 2 * 8 * 32 * 16 and "aten.view.default" not in found
    gpu = {"bytes": 1e12, "float32": 1e9, "bfloat16": 1e15}
    assert roofline.seconds([forward], gpu, "float32") == pytest.approx(forward.operations / 1e9)
    assert roofline.seconds([forward], gpu, "bfloat16") == pytest.approx(forward.bytes / 1e12)


@pytest.mark.parametrize("name", MODELS)
def test_an_estimate_has_a_floor_for_every_precision(dataset: knockout.Dataset, name: str) -> None:
    found = roofline.estimate(name, dataset, 12)
    assert found["waits"] == found["select_backward"] == 0 and found["launches"] > 100 and found["tflop"] > 0
    times = {(line["gpu"], line["precision"]): line["ms"] for line in found["estimates"]}
    assert set(times) == {(gpu, precision) for gpu in roofline.GPUS for precision in roofline.PRECISIONS}
    assert all(time > 0 for time in times.values())
    assert roofline.table([found]).count("\n| " + name) == 2


def test_the_table_has_the_size_of_a_batch_and_the_time_of_its_phase() -> None:
    phases = {phase: float(at) for at, phase in enumerate(gpu.PHASES, 10)}
    measured = {"model": "hetero", "variant": "tf32", "batch": 28, "ms": 90.0, "samples_per_s": 311.1, "phases": phases, "counts": {"operators": 7}, "peak_bytes": 2**31}
    failed = {"model": "hetero", "variant": "peer", "failed": "out of memory"}
    lines = gpu.table([measured, failed], {"device": "none"}).splitlines()
    assert lines[4].split(" | ")[2:7] == ["batch", "ms", "samples_per_s", "peak GiB", "batch ms"]
    assert lines[6] == "| hetero | tf32 | 28 | 90.0 | 311.1 | 2.0 | 10.0 | 11.0 | 12.0 | 13.0 | 14.0 | 7 |  |  |"
    assert lines[7].startswith("| hetero | peer |  | out of memory |")
