"""Gene-deletion screens from Python: datasets, loaders, trained models and PyTorch traces.

>>> import knockout
>>> dataset = knockout.Dataset(tiny)
>>> batch = knockout.Loader(dataset, batch_size=64)[0]
>>> batch["genes"].shape, batch["score"].dtype
((192,), dtype('float32'))

`knockout.Stack` is an estimator of scikit-learn. `knockout.torch` has the models as `torch.nn.Module`s, `knockout.pyg` graphs for PyG and
`knockout.anndata` screens as AnnData. Import these by name; they need those packages.
"""

from typing import TYPE_CHECKING, Any

from . import errors, trace
from ._knockout import VERSION as __version__
from ._knockout import set_threads, threads
from ._report import Report
from .dataset import Dataset, Network, Split, import_recipe, synth
from .errors import ClosedError, DataError, DivergedError, FailureError, KnockoutError, RequestError
from .lab import Hits, baseline, benchmark, compare, hits, runs, sweep
from .loader import Loader
from .run import Evaluation, Prediction, Run, adopt, config, resume, train

if TYPE_CHECKING:
    from .estimators import Regressor, Stack

__all__ = [
    "ClosedError",
    "DataError",
    "Dataset",
    "DivergedError",
    "Evaluation",
    "FailureError",
    "Hits",
    "KnockoutError",
    "Loader",
    "Network",
    "Prediction",
    "Regressor",
    "Report",
    "RequestError",
    "Run",
    "Split",
    "Stack",
    "__version__",
    "adopt",
    "baseline",
    "benchmark",
    "compare",
    "config",
    "errors",
    "hits",
    "import_recipe",
    "resume",
    "runs",
    "set_threads",
    "sweep",
    "synth",
    "threads",
    "trace",
    "train",
]


def __getattr__(name: str) -> Any:
    """Imports the estimators when they are used: they need scikit-learn."""
    if name not in ("Regressor", "Stack", "estimators"):
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    from importlib import import_module

    module = import_module(f"{__name__}.estimators")
    return module if name == "estimators" else getattr(module, name)
