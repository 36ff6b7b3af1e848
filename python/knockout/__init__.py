"""Gene-deletion screens from Python: datasets, loaders, trained models and PyTorch traces.

>>> import knockout
>>> dataset = knockout.Dataset(tiny)
>>> batch = knockout.Loader(dataset, batch=64)[0]
>>> batch["genes"].shape, batch["score"].dtype
((192,), dtype('float32'))

`knockout.torch` has the models as `torch.nn.Module`s, and `knockout.pyg` has graphs for PyG. Import them by name; they need those packages.
"""

from . import errors, trace
from ._knockout import VERSION as __version__
from ._knockout import set_threads, threads
from .dataset import Dataset, Network, Split, import_recipe, synth
from .errors import ClosedError, DataError, DivergedError, FailureError, KnockoutError, RequestError
from .loader import Loader
from .run import Prediction, Run, adopt, config, resume, train

__all__ = [
    "ClosedError",
    "DataError",
    "Dataset",
    "DivergedError",
    "FailureError",
    "KnockoutError",
    "Loader",
    "Network",
    "Prediction",
    "RequestError",
    "Run",
    "Split",
    "__version__",
    "adopt",
    "config",
    "errors",
    "import_recipe",
    "resume",
    "set_threads",
    "synth",
    "threads",
    "trace",
    "train",
]
