"""Golden cases: numbers of a plain PyTorch implementation, in single and double precision. See `crates/testdata`."""

import json
import os
from pathlib import Path
from typing import Any

import numpy
from safetensors.numpy import load_file

COMMITTED = Path(os.environ.get("KNOCKOUT_CASES", Path(__file__).parents[2] / "crates" / "testdata" / "cases"))


def folders() -> list[Path]:
    """The committed cases and, where they are, all others."""
    found = [COMMITTED]
    more = Path(os.environ.get("KNOCKOUT_GOLDEN", Path(__file__).parents[3] / "shared" / "golden"))
    return [*found, more] if more.is_dir() else found


def cases(kind: str) -> list[Path]:
    return [path.parent for folder in folders() for path in sorted((folder / kind).glob("*/case.json"))]


class Case:
    def __init__(self, folder: Path) -> None:
        self.about: dict[str, Any] = json.loads((folder / "case.json").read_text())
        self.tensors = load_file(folder / "tensors.safetensors")
        self.tolerance = {entry["name"]: entry.get("atol_f64") for entry in self.about["tensors"]}

    def under(self, prefix: str) -> dict[str, numpy.ndarray]:
        """Tensors below a prefix, in double precision where both are there."""
        names = [name for name in self.tensors if name.startswith(prefix) and not name.endswith(".f64")]
        return {name[len(prefix) :]: self.tensors.get(f"{name}.f64", self.tensors[name]) for name in names}

    def parameters(self) -> dict[str, numpy.ndarray]:
        return {name: value.astype(numpy.float64) for name, value in self.under("param.").items()}

    def networks(self) -> dict[str, tuple[numpy.ndarray, numpy.ndarray]]:
        order = self.about["options"]["networks"]
        edges = self.under("input.edges.")
        return {name: (edges[name][0], edges[name][1]) for name in order}

    def check(self, name: str, found: Any) -> None:
        """Compares with the value in double precision, by the case's own tolerance."""
        expected = self.tensors.get(f"{name}.f64", self.tensors.get(name))
        assert expected is not None, name
        found = found.detach().numpy()
        worst = float(numpy.abs(found - expected.reshape(found.shape)).max()) if found.size else 0.0
        tolerance = self.tolerance.get(name) or 1e-9
        assert worst <= tolerance, f"{name}: off by {worst:.3e}, allowed {tolerance:.3e}"
