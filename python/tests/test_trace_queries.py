"""Every query of docs/trace-queries.md runs on the export of a trace whose answers are known."""

import json
import re
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

HERE = Path(__file__).parents[1]
#: Next to the tests if these were copied from the sources, otherwise in the repository.
DOCUMENT = next(path for path in (HERE / "trace-queries.md", HERE.parent / "docs" / "trace-queries.md") if path.exists())
BLOCKS = re.findall(r"^```python\n(.*?)^```", DOCUMENT.read_text(), re.MULTILINE | re.DOTALL)


def trace() -> dict[str, Any]:
    """Two steps of 1000 us: a linear layer that launches a product, and a copy of 4,096 bytes."""
    events = []

    def event(cat: str, name: str, tid: int, ts: float, dur: float, **args: Any) -> None:
        events.append({"ph": "X", "cat": cat, "name": name, "pid": 1, "tid": tid, "ts": ts, "dur": dur, "args": args})

    for step in range(2):
        at = 1000 * step
        event("user_annotation", f"ProfilerStep#{step}", 1, at, 1000)
        event("user_annotation", "forward", 1, at + 100, 300)
        event("user_annotation", "layer", 1, at + 100, 200)
        shapes = {"Input Dims": [[8, 16], [16, 32]], "Input type": ["float", "float"]}
        event("cpu_op", "aten::mm", 1, at + 110, 100, **shapes)
        event("cuda_runtime", "cudaLaunchKernel", 1, at + 120, 10, correlation=2 * step)
        event("kernel", "gemm", 7, at + 150, 60, correlation=2 * step, device=0, stream=7)
        event("cuda_runtime", "cudaMemcpyAsync", 1, at + 500, 10, correlation=2 * step + 1)
        event("gpu_memcpy", "Memcpy DtoH", 7, at + 530, 20, correlation=2 * step + 1, device=0, stream=7, bytes=4096)
    return {"traceEvents": events}


def test_the_queries_give_the_known_answers(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    Path("rank0.json").write_text(json.dumps(trace()))
    export = [sys.executable, "-m", "knockout", "trace", "export", "rank0.json", "--out", "tables"]
    subprocess.run(export, check=True, capture_output=True)
    names: dict[str, Any] = {}
    assert len(BLOCKS) == 10
    for block in BLOCKS:
        exec(compile(block, str(DOCUMENT), "exec"), names)
    assert names["longest"][:2] == [("ProfilerStep#0", 1, 690.0), ("ProfilerStep#1", 1, 690.0)]
    assert ("aten::mm", 2, 180.0) in names["longest"]
    assert ("ProfilerStep#0", "forward", 300.0) in names["phases"]
    assert names["modules"] == [("layer", 120.0), (None, 40.0)]
    assert names["delays"] == [("Memcpy DtoH", 20.0), ("gemm", 20.0)] or names["delays"] == [("gemm", 20.0), ("Memcpy DtoH", 20.0)]
    assert [pause for _, pause, _ in names["pauses"]] == [600.0, 320.0, 320.0]
    assert names["copied"] == [("Memcpy DtoH", 8192)]
    assert names["products"].rows() == [("aten::mm", "[[8, 16], [16, 32]]", 2, 2 * 2 * 8 * 16 * 32, 200.0)]
    assert names["work"].rows() == [("computation", 120.0, 0.75), ("memory", 40.0, 0.25)]
