"""Experiment trackers: Weights & Biases and MLflow receive a run's configuration, metrics and report while it trains."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import Any, Protocol

from .errors import RequestError

__all__ = ["TRACKER_KEYS", "Tracking", "figures", "split_settings"]

#: Keys that the program does not have.
TRACKER_KEYS = ("run.wandb", "run.mlflow", "run.project", "run.group", "run.tags", "run.log_every", "run.plot_every")


def split_settings(settings: Mapping[str, Any] | None) -> tuple[dict[str, Any], dict[str, Any]]:
    """Returns the keys of trackers, dotted, and all other settings.

    >>> split_settings({"run": {"wandb": "offline", "patience": 3}, "run.tags": ["a"]})
    ({'run.wandb': 'offline', 'run.tags': ['a']}, {'run': {'patience': 3}})
    """
    tracked: dict[str, Any] = {}
    others: dict[str, Any] = {}
    for key, value in (settings or {}).items():
        if key == "run" and isinstance(value, Mapping):
            inner = {name: item for name, item in value.items() if f"run.{name}" not in TRACKER_KEYS}
            tracked.update({f"run.{name}": item for name, item in value.items() if name not in inner})
            if inner:
                others[key] = inner
        elif key in TRACKER_KEYS:
            tracked[key] = value
        else:
            others[key] = value
    return tracked, others


def figures(line: Mapping[str, Any]) -> dict[str, float]:
    """Returns the numbers of an epoch by flat names, the same as in TensorBoard.

    >>> figures({"train_loss": 0.5, "learning_rate": 0.001, "val": {"pearson": 0.4, "mse": None}, "times": {"wall": 2.0}})
    {'train/loss': 0.5, 'train/learning_rate': 0.001, 'val/pearson': 0.4, 'time/wall': 2.0}
    """
    found = {"train/loss": line.get("train_loss"), "train/learning_rate": line.get("learning_rate")}
    for section, name in (("val", "val"), ("loss_parts", "epoch"), ("times", "time")):
        found.update({f"{name}/{key}": value for key, value in (line.get(section) or {}).items()})
    return {key: value for key, value in found.items() if isinstance(value, (int, float)) and not isinstance(value, bool)}


def flat(config: Mapping[str, Any], prefix: str = "") -> Iterator[tuple[str, Any]]:
    """Yields every setting by its dotted key."""
    for key, value in config.items():
        if isinstance(value, Mapping):
            yield from flat(value, f"{prefix}{key}.")
        else:
            yield prefix + key, value


class _Tracker(Protocol):
    """A run of a tracker."""

    def log(self, values: dict[str, float], step: int) -> None: ...
    def plot(self, page: str, step: int) -> None: ...
    def summarise(self, values: dict[str, Any]) -> None: ...


class _Wandb:
    def __init__(self, run: Any) -> None:
        self.run = run

    def log(self, values: dict[str, float], step: int) -> None:
        self.run.log(values, step=step)

    def plot(self, page: str, step: int) -> None:
        import wandb

        self.run.log({"report": wandb.Html(page)}, step=step)

    def summarise(self, values: dict[str, Any]) -> None:
        self.run.summary.update(values)


class _Mlflow:
    def __init__(self, mlflow: Any) -> None:
        self.mlflow = mlflow

    def log(self, values: dict[str, float], step: int) -> None:
        self.mlflow.log_metrics(values, step=step)

    def plot(self, page: str, step: int) -> None:
        self.mlflow.log_text(page, f"report-{step:09}.html")

    def summarise(self, values: dict[str, Any]) -> None:
        numbers = {key: value for key, value in values.items() if isinstance(value, (int, float))}
        self.mlflow.log_metrics(numbers)
        self.mlflow.set_tags({key: value for key, value in values.items() if key not in numbers})


class Tracking:
    """The trackers of one training: those of `run.wandb` and `run.mlflow`."""

    def __init__(self, keys: Mapping[str, Any]) -> None:
        self.mode = keys.get("run.wandb")
        self.uri = keys.get("run.mlflow")
        if self.mode not in (None, "offline", "online"):
            raise RequestError(f"run.wandb is {self.mode!r}, but it must be offline or online")
        if keys and self.mode is None and self.uri is None:
            raise RequestError(f"{next(iter(keys))} has no effect without run.wandb=offline, run.wandb=online or run.mlflow=URI")
        self.project = str(keys.get("run.project", "knockout"))
        self.group = keys.get("run.group")
        tags = keys.get("run.tags", [])
        self.tags = [tag.strip() for tag in tags.strip("[]").replace('"', "").split(",")] if isinstance(tags, str) else list(tags)
        self.tags = [tag for tag in self.tags if tag]
        self.log_every = self._whole(keys, "run.log_every", 1, 1)
        self.plot_every = self._whole(keys, "run.plot_every", 0, 0)
        # A missing package is an error before anything is trained.
        for package in (["wandb"] if self.mode else []) + (["mlflow"] if self.uri else []):
            try:
                __import__(package)
            except ImportError as error:
                raise RequestError(f'the package {package} is not installed: pip install "knockout[trackers]"') from error

    @staticmethod
    def _whole(keys: Mapping[str, Any], key: str, default: int, least: int) -> int:
        value = keys.get(key, default)
        if isinstance(value, bool) or not str(value).strip().isdigit() or int(value) < least:
            raise RequestError(f"{key} is {value!r}, but it must be a whole number from {least} up")
        return int(value)

    @contextmanager
    def of(
        self, folder: Path, config: Mapping[str, Any], about: Mapping[str, str], page: Callable[[], str]
    ) -> Iterator[Callable[[dict[str, Any]], None]]:
        """Opens a run in every tracker, and yields what logs an epoch; closes them as failed after an error.

        `page` renders the run's report: its curves, and predicted against measured scores of the validation part.
        """
        with ExitStack() as stack:
            trackers: list[_Tracker] = []
            if self.mode:
                import wandb

                group = self.group or str(config["model"]["name"])
                settings = {**dict(flat(config)), **about}
                run = wandb.init(project=self.project, name=folder.name, group=group, tags=self.tags, config=settings, mode=self.mode)
                trackers.append(_Wandb(stack.enter_context(run)))
            if self.uri:
                import mlflow

                mlflow.set_tracking_uri(str(self.uri))
                mlflow.set_experiment(self.project)
                stack.enter_context(mlflow.start_run(run_name=folder.name))
                # Parameters of MLflow have at most 6000 letters.
                mlflow.log_params({key: str(value)[:6000] for key, value in flat(config)})
                tags = {"tags": ",".join(self.tags), **({"group": self.group} if self.group else {}), **about}
                mlflow.set_tags(tags)
                trackers.append(_Mlflow(mlflow))
            best: dict[str, Any] = {}
            last: dict[str, Any] = {}

            def log(line: dict[str, Any]) -> None:
                last.update(line)
                pearson = (line.get("val") or {}).get("pearson")
                if pearson is not None and pearson > best.get("best/val/pearson", float("-inf")):
                    best.update({"best/val/pearson": pearson, "best/epoch": line["epoch"] + 1})
                for tracker in trackers:
                    if line["epoch"] % self.log_every == 0:
                        tracker.log(figures(line), line["step"])
                    if self.plot_every and (line["epoch"] + 1) % self.plot_every == 0:
                        tracker.plot(page(), line["step"])

            yield log
            report = page()
            for tracker in trackers:
                if last and last["epoch"] % self.log_every != 0:
                    tracker.log(figures(last), last["step"])
                tracker.plot(report, last.get("step", 0))
                tracker.summarise({**best, "epochs": last.get("epoch", -1) + 1, "folder": str(folder.resolve())})
