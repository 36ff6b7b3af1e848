"""Copies knockout's runs into Weights & Biases: `python wandb_runs.py runs/*`.

Needs `pip install wandb` and Python 3.11. With WANDB_MODE=offline the runs are written into `wandb/`, and `wandb sync` sends them later.
"""

import json
import sys
import tomllib
from pathlib import Path

import wandb


def flat(table, prefix=""):
    """Every setting by its dotted key."""
    for key, value in table.items():
        if isinstance(value, dict):
            yield from flat(value, f"{prefix}{key}.")
        else:
            yield prefix + key, value


def figures(line):
    """The numbers of one line of metrics.jsonl, by the names that TensorBoard shows too."""
    yield "train/loss", line["train_loss"]
    yield "train/learning_rate", line["learning_rate"]
    for section, name in [("val", "val"), ("loss_parts", "epoch"), ("times", "time")]:
        for key, value in (line.get(section) or {}).items():
            if isinstance(value, (int, float)):
                yield f"{name}/{key}", value


def epochs(folder):
    """The lines of metrics.jsonl; of a killed run the last one may lack its end."""
    return [json.loads(line) for line in (folder / "metrics.jsonl").read_text().split("\n")[:-1]]


def main(folders):
    for folder in map(Path, folders):
        if not (folder / "metrics.jsonl").exists():
            print(f"{folder}: no run, left out", file=sys.stderr)
            continue
        config = tomllib.loads((folder / "config.toml").read_text())
        manifest = json.loads((folder / "manifest.json").read_text())
        settings = dict(flat(config)) | {"commit": manifest["commit"], "data_hash": manifest["inputs"]["dataset"]}
        run = wandb.init(project="knockout", name=folder.name, group=config["model"]["name"], config=settings)
        for line in epochs(folder):
            run.log(dict(figures(line)) | {"epoch": line["epoch"] + 1}, step=line["step"])
        run.finish()
        print(folder)


if __name__ == "__main__":
    main(sys.argv[1:] or sys.exit(__doc__))
