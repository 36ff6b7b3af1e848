"""Copies knockout's runs into MLflow: `python mlflow_runs.py runs/*`.

Needs `pip install mlflow` (or mlflow-skinny) and Python 3.11. MLFLOW_TRACKING_URI says where to: a server, `sqlite:///mlflow.db`, or with
MLFLOW_ALLOW_FILE_STORE=true a folder (`file:./mlruns`).
A run that was copied before is copied again under a new id: MLflow's history is never changed.
"""

import json
import sys
import tomllib
from pathlib import Path

import mlflow


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
        mlflow.set_experiment(f"{config['model']['name']} on {manifest['inputs']['dataset'][:12]}")
        with mlflow.start_run(run_name=folder.name):
            mlflow.log_params(dict(flat(config)))
            mlflow.set_tags({"commit": manifest["commit"], "host": manifest["host"], "folder": str(folder.resolve())})
            for line in epochs(folder):
                mlflow.log_metrics(dict(figures(line)), step=line["step"])
        print(folder)


if __name__ == "__main__":
    main(sys.argv[1:] or sys.exit(__doc__))
