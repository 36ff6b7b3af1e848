"""The command `knockout` that the package installs: the same program, its exit codes and its answer to Ctrl-C."""

import json
import shutil
import signal
import subprocess
import sys
import sysconfig
import time
from pathlib import Path

import pytest

import knockout

#: The command of this environment, wherever the path leads.
SCRIPT = shutil.which("knockout", path=sysconfig.get_path("scripts"))
WAYS = [[SCRIPT or "knockout"], [sys.executable, "-m", "knockout"]]


def call(way: list[str], *arguments: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run([*way, *arguments], capture_output=True, text=True, timeout=120)


@pytest.mark.parametrize("way", WAYS, ids=["command", "module"])
def test_the_program_is_installed(way: list[str], tiny: str) -> None:
    assert call(way, "--version").stdout.startswith(f"knockout {knockout.__version__} ")
    shown = call(way, "data", "show", tiny, "--json")
    assert shown.returncode == 0, shown.stderr
    document = json.loads(shown.stdout)
    assert document["genes"] == knockout.Dataset(tiny).summary()["genes"] == 200


def test_exit_codes_are_the_programs(tiny: str, tmp_path: Path) -> None:
    way = WAYS[0]
    assert call(way, "no-such-command").returncode == 2
    missing = call(way, "data", "show", str(tmp_path / "nowhere"))
    assert missing.returncode == 2 and "there is no such folder" in missing.stderr
    broken = tmp_path / "broken"
    shutil.copytree(tiny, broken)
    (broken / "samples.parquet").write_bytes(b"not a table")
    assert call(way, "data", "show", str(broken)).returncode == 3


def test_the_command_line_is_recorded(tiny: str, tmp_path: Path) -> None:
    trained = call(WAYS[1], "train", tiny, "--model", "dango", "--max-steps", "2", "model.width=8", "--out", str(tmp_path / "run"), "-q")
    assert trained.returncode == 0, trained.stderr
    out = tmp_path / "hits"
    assert call(WAYS[1], "predict", str(tmp_path / "run"), "--pairs", "--top", "3", "--out", str(out), "-q").returncode == 0
    assert json.loads((out / "manifest.json").read_text())["command"] == f"knockout predict {tmp_path / 'run'} --pairs --top 3 -q"


def test_ctrl_c_saves_and_has_the_programs_code(tiny: str, tmp_path: Path) -> None:
    run = tmp_path / "run"
    arguments = ["train", tiny, "--model", "dango", "--epochs", "100000", "model.width=8", "--out", str(run), "-q"]
    # As a terminal starts it: a process in the background would ignore the signal.
    start = "import os, signal, sys; signal.signal(signal.SIGINT, signal.SIG_DFL); os.execv(sys.argv[1], sys.argv[1:])"
    process = subprocess.Popen([sys.executable, "-c", start, *WAYS[0], *arguments], stderr=subprocess.PIPE, text=True)
    metrics = run / "metrics.jsonl"
    for _ in range(600):
        time.sleep(0.1)
        if metrics.exists() and metrics.stat().st_size > 0:
            break
    process.send_signal(signal.SIGINT)
    _, errors = process.communicate(timeout=60)
    assert process.returncode == 8 and "interrupted and saved" in errors, (process.returncode, errors)
    assert "Traceback" not in errors and len(knockout.Run(run).metrics("dict")["epoch"]) >= 1
