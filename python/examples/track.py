"""Logs runs to Weights & Biases or MLflow with a callback.

    python track.py yeast --to wandb
    python track.py yeast --to mlflow --epochs 20 --out runs/second
"""

import argparse
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

import knockout


def figures(line: dict[str, Any]) -> dict[str, float]:
    """Returns the metrics of an epoch with flat names."""
    named = {f"val/{key}": value for key, value in line["val"].items()}
    return {key: value for key, value in {"train/loss": line["train_loss"], **named}.items() if value is not None}


# The context manager ends the tracked run too, as failed after an error. The callbacks return None, because True would stop the run.
@contextmanager
def wandb_logger(config: dict[str, Any]) -> Iterator[Callable[[dict[str, Any]], None]]:
    import wandb

    with wandb.init(project="knockout", config=config) as run:

        def log(line: dict[str, Any]) -> None:
            run.log(figures(line), step=line["step"])

        yield log


@contextmanager
def mlflow_logger(config: dict[str, Any]) -> Iterator[Callable[[dict[str, Any]], None]]:
    import mlflow

    with mlflow.start_run():
        mlflow.log_dict(config, "config.json")

        def log(line: dict[str, Any]) -> None:
            mlflow.log_metrics(figures(line), step=line["step"])

        yield log


LOGGERS = {"wandb": wandb_logger, "mlflow": mlflow_logger}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("data")
    parser.add_argument("--model", default="dango")
    parser.add_argument("--epochs", type=int)
    parser.add_argument("--out", help="new folder of the run; by default named after model and data")
    parser.add_argument("--to", choices=LOGGERS, default="wandb")
    options = parser.parse_args()
    with LOGGERS[options.to](knockout.config(options.data, options.model)) as log:
        knockout.train(options.data, options.model, out=options.out, epochs=options.epochs, callback=log)


if __name__ == "__main__":
    main()
