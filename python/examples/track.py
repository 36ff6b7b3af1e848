"""Runs in Weights & Biases or in MLflow: a callback is all it takes.

    python track.py yeast --to wandb
    python track.py yeast --to mlflow
"""

import argparse
from collections.abc import Callable
from typing import Any

import knockout


def figures(line: dict[str, Any]) -> dict[str, float]:
    """The numbers of an epoch under flat names."""
    named = {f"val/{key}": value for key, value in line["val"].items()}
    return {key: value for key, value in {"train/loss": line["train_loss"], **named}.items() if value is not None}


def wandb_logger(config: dict[str, Any]) -> Callable[[dict[str, Any]], None]:
    import wandb

    run = wandb.init(project="knockout", config=config)
    return lambda line: run.log(figures(line), step=line["step"])


def mlflow_logger(config: dict[str, Any]) -> Callable[[dict[str, Any]], None]:
    import mlflow

    mlflow.start_run()
    mlflow.log_dict(config, "config.json")
    return lambda line: mlflow.log_metrics(figures(line), step=line["step"])


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("data")
    parser.add_argument("--model", default="dango")
    parser.add_argument("--to", choices=["wandb", "mlflow"], default="wandb")
    options = parser.parse_args()
    config = knockout.config(options.data, options.model)
    logger = {"wandb": wandb_logger, "mlflow": mlflow_logger}[options.to](config)
    knockout.train(options.data, options.model, callback=logger)


if __name__ == "__main__":
    main()
