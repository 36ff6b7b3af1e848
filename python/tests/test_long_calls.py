"""Long calls: other threads keep running, and Ctrl-C ends the call."""

import os
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Callable
from itertools import combinations, pairwise
from pathlib import Path
from typing import Any

import numpy
import pytest

import knockout

SMALL = {"model.width": 8, "batch": 256}
HETERO = {"model.width": 8, "model.gin_hidden": 8, "model.pair_hidden": 4, "model.layers": 2}


@pytest.fixture(scope="module")
def run(tiny: str, tmp_path_factory: pytest.TempPathFactory) -> knockout.Run:
    folder = tmp_path_factory.mktemp("runs") / "hetero"
    return knockout.train(tiny, "hetero", out=folder, max_steps=1, settings=HETERO)


def long_trace(path: Path) -> Path:
    event = '{"ph":"X","cat":"cpu_op","name":"aten::mm","pid":1,"tid":1,"ts":%d,"dur":1}'
    path.write_text('{"traceEvents":[' + ",".join(event % (2 * at) for at in range(30_000)) + "]}")
    return path


def long_recipe(folder: Path) -> Path:
    """A recipe of a screen of 19,900 pairs."""
    names = [f"YAL{at:03}W" for at in range(200)]
    (folder / "genes.txt").write_text("\n".join(names) + "\n")
    (folder / "edges.tsv").write_text("a\tb\n" + "".join(f"{a}\t{b}\n" for a, b in pairwise(names)))
    (folder / "screen.tsv").write_text("x\ty\ttau\n" + "".join(f"{a}\t{b}\t0.5\n" for a, b in combinations(names, 2)))
    (folder / "recipe.toml").write_text(
        '[[genes]]\nformat = "list"\nfile = "genes.txt"\n'
        '[[networks]]\nformat = "edges"\nfile = "edges.tsv"\nname = "mine"\nsource = "a"\ntarget = "b"\n'
        '[[screens]]\nformat = "table"\nfile = "screen.tsv"\ngenes = ["x", "y"]\nscore = "tau"\n'
    )
    return folder / "recipe.toml"


CALLS: dict[str, Callable[[Any, Path], Any]] = {
    "synth": lambda run, home: knockout.synth(home / "new", "tiny"),
    "import": lambda run, home: knockout.import_recipe(home / "new", home / "recipe.toml", home),
    "analyze": lambda run, home: knockout.trace.analyze(home / "trace.json"),
    "open": lambda run, home: knockout.Dataset(run.dataset().path),
    "train": lambda run, home: knockout.train(run.dataset(), "dango", out=home / "run", epochs=1, settings=SMALL),
    "solve": lambda run, home: knockout.train(run.dataset(), out=home / "run"),
    "predict": lambda run, home: run.predict(numpy.arange(300).reshape(-1, 3) % 200),
    "evaluate": lambda run, home: run.evaluate(resamples=2000),
    "adopt": lambda run, home: knockout.adopt(
        run.dataset(), "hetero", run.weights(), train_loss=1.0, out=home / "run", settings=HETERO
    ),
    "graphs": lambda run, home: [knockout.Loader(run.dataset(), batch=1600, form="graphs")[0]],
    "masks": lambda run, home: [knockout.Loader(run.dataset(), batch=1600, form="masks")[0]],
}


def moments_during(call: Callable[[], Any]) -> int:
    """Returns how often a counting thread ran during a call."""
    seen: list[float] = []
    over = threading.Event()

    def count() -> None:
        while not over.wait(0.0005):
            seen.append(time.perf_counter())

    interval = sys.getswitchinterval()
    # The interval at which Python code lets other threads in; without releasing the interpreter, a call would block them.
    sys.setswitchinterval(10.0)
    counter = threading.Thread(target=count)
    counter.start()
    try:
        began = time.perf_counter()
        call()
        ended = time.perf_counter()
    finally:
        over.set()
        sys.setswitchinterval(interval)
        counter.join()
    return sum(began < moment < ended for moment in seen)


@pytest.mark.parametrize("name", CALLS)
def test_other_threads_go_on(name: str, run: knockout.Run, tmp_path: Path) -> None:
    long_trace(tmp_path / "trace.json")
    long_recipe(tmp_path)
    assert moments_during(lambda: CALLS[name](run, tmp_path)) >= 2


def test_a_call_that_keeps_the_interpreter_would_be_seen() -> None:
    numbers = numpy.random.default_rng(0).random(200_000).tolist()
    assert moments_during(lambda: sorted(numbers)) < 2


def interrupted(code: str, folder: Path, *, feed: Callable[[subprocess.Popen[str]], None] | None = None) -> None:
    """Runs code that would take very long, interrupts it, and waits for its message."""
    # A background process ignores SIGINT by default.
    script = "import signal\nsignal.signal(signal.SIGINT, signal.default_int_handler)\n"
    script += f"import knockout, numpy\nprint('ready', flush=True)\ntry:\n    {code}\n    print('finished')\n"
    script += "except KeyboardInterrupt:\n    print('interrupted', flush=True)\n"
    process = subprocess.Popen([sys.executable, "-c", script], stdout=subprocess.PIPE, text=True, cwd=folder)
    try:
        assert process.stdout is not None and process.stdout.readline().strip() == "ready"
        if feed is None:
            time.sleep(0.5)
        else:
            feed(process)
        process.send_signal(signal.SIGINT)
        out, _ = process.communicate(timeout=60)
    finally:
        process.kill()
    assert (out.strip(), process.returncode) == ("interrupted", 0)


def test_ctrl_c_ends_synth(tmp_path: Path) -> None:
    # Seconds of work, which is then resumed to its end.
    interrupted("knockout.synth('big', 'yeast', samples=1_600_000)", tmp_path)
    assert os.listdir(tmp_path) == []


def test_ctrl_c_ends_predictions(run: knockout.Run, tmp_path: Path) -> None:
    code = f"knockout.Run.open({str(run.folder)!r}).predict(numpy.arange(3_000_000).reshape(-1, 3) % 200)"
    interrupted(code, tmp_path)


def test_ctrl_c_ends_the_reading_of_a_trace(tmp_path: Path) -> None:
    """A trace without an end: only Ctrl-C ends the call."""
    os.mkfifo(tmp_path / "endless.json")
    event = b'{"ph":"X","cat":"cpu_op","name":"aten::mm","pid":1,"tid":1,"ts":%d,"dur":1},'
    over = threading.Event()

    def write() -> None:
        try:
            with open(tmp_path / "endless.json", "wb", buffering=0) as pipe:
                pipe.write(b'{"traceEvents":[')
                at = 0
                while not over.is_set():
                    pipe.write(b"".join(event % (2 * (at + i)) for i in range(100)))
                    at += 100
                    time.sleep(0.01)
        except BrokenPipeError:
            pass

    writer = threading.Thread(target=write)
    writer.start()
    try:
        interrupted("knockout.trace.analyze('endless.json')", tmp_path, feed=lambda process: time.sleep(1.0))
    finally:
        over.set()
        writer.join(30)
    assert not writer.is_alive()
