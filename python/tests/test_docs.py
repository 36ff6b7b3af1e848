"""Every block of code in docs/python.md runs, in order and in one namespace, on a small dataset."""

import importlib.util
import re
import warnings
from pathlib import Path
from typing import Any

import pytest

import knockout
from conftest import trace_of

HERE = Path(__file__).parents[1]
#: Next to the tests if these were copied from the sources, otherwise in the repository.
DOCUMENT = next(path for path in (HERE / "python.md", HERE.parent / "docs" / "python.md") if path.exists())
BLOCKS = re.findall(r"^```python\n(.*?)^```", DOCUMENT.read_text(), re.MULTILINE | re.DOTALL)
#: Replacements that make the blocks smaller or independent of the machine.
SMALLER = {
    'knockout.synth("yeast", "small")': 'knockout.synth("yeast", "tiny")',
    "epochs=20": "epochs=2",
    "epochs=40": "epochs=3",
    '"cuda"': '"cpu"',
    "pin_memory=True": "pin_memory=False",
    "range(20)": "range(2)",
    'devices=4, strategy="ddp"': 'accelerator="cpu", logger=False, enable_checkpointing=False, enable_progress_bar=False',
    "max_epochs=30": "max_epochs=1",
    '{"model.loss": "mle_wass_supcr"}': '{"model.loss": "mle_wass_supcr", "model.width": 8, "model.layers": 1, "model.pair_hidden": 4, "batch": 800}',
    'callback=report)': 'callback=report, epochs=2, settings={"model.width": 8})',
    "num_workers=4": "num_workers=2",
}
HAS_TORCH = importlib.util.find_spec("torch") is not None
HAS_LIGHTNING = importlib.util.find_spec("lightning") is not None


@pytest.fixture
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Creates a folder with the files that the document names."""
    import gzip
    import json

    monkeypatch.chdir(tmp_path)
    for name, inner in (("trace", 5.5), ("before", 2.0), ("after", 4.0)):
        Path(f"{name}.json.gz").write_bytes(gzip.compress(json.dumps(trace_of(inner)).encode()))
    Path("FOLDER").mkdir()
    Path("FOLDER/genes.txt").write_text("YAL001C\nYAL002W\nYAL003W\n")
    Path("FOLDER/edges.tsv").write_text("a\tb\nYAL001C\tYAL002W\nYAL002W\tYAL003W\n")
    Path("FOLDER/screen.tsv").write_text("x\ty\ttau\nYAL001C\tYAL002W\t-0.5\nYAL001C\tYAL003W\t0.25\n")
    Path("examples/real-yeast").mkdir(parents=True)
    Path("examples/real-yeast/recipe.toml").write_text(
        '[[genes]]\nformat = "list"\nfile = "genes.txt"\n'
        '[[networks]]\nformat = "edges"\nfile = "edges.tsv"\nname = "mine"\nsource = "a"\ntarget = "b"\n'
        '[[screens]]\nformat = "table"\nfile = "screen.tsv"\ngenes = ["x", "y"]\nscore = "tau"\n'
    )
    return tmp_path


@pytest.mark.filterwarnings("error")
def test_the_document_runs(home: Path) -> None:
    import optuna

    # Lightning's own code, with the newest release of PyTorch.
    warnings.filterwarnings("ignore", message=".isinstance.treespec, LeafSpec", category=FutureWarning)
    optuna.logging.set_verbosity(optuna.logging.ERROR)
    # Names that the reader defines: steps, batches and the rank.
    names: dict[str, Any] = {"optuna": optuna, "rank": 0, "world": 2, "epoch": 0, "batches": range(2), "train_step": lambda batch: None, "val_mse": 1.0}
    assert len(BLOCKS) >= 7
    ran = 0
    for block in BLOCKS:
        if not HAS_TORCH and re.search(r"torch|trace\.profile", block):
            continue
        if not HAS_LIGHTNING and "lightning" in block:
            continue
        for words, fewer in SMALLER.items():
            block = block.replace(words, fewer)
        if "import_recipe" in block:
            # The rest of the document is about the synthetic yeast.
            block = block.replace("dataset, report =", "real, report =")
        exec(compile(block, str(DOCUMENT), "exec"), names)
        ran += 1
    assert ran == len(BLOCKS) or not HAS_TORCH or not HAS_LIGHTNING
    study = optuna.create_study(direction="maximize")
    study.optimize(names["objective"], n_trials=2)
    assert len(study.trials) == 2
    assert names["real"].networks == ["mine"] and len(names["run"].metrics("dict")["epoch"]) >= 1


def test_versions_are_those_of_the_package() -> None:
    assert f"knockout-{knockout.__version__}-cp310-abi3-" in DOCUMENT.read_text()
    assert f'{{% set version = "{knockout.__version__}" %}}' in (HERE / "conda" / "meta.yaml").read_text()
