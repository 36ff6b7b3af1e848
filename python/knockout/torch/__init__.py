"""The models as `torch.nn.Module`s, for training on a GPU.

Parameters have the names of a checkpoint's `weights.safetensors`, so `state_dict()` and checkpoints are interchangeable. No graph is
copied: one sparse adjacency is shared by all samples, a deletion is a mask over genes, and rows that a deletion does not reach are those
of the wild type. The reconstruction loss never forms a dense matrix. Everything runs on the device of the tensors.

    model = knockout.torch.Dango.from_dataset(dataset).to("cuda")
    training = model.training_of()
    for batch in knockout.torch.dataloader(model.loader("train"), model=model):
        ...
    model.adopt(train_loss=loss)

>>> import knockout.torch
>>> dataset = knockout.Dataset(tiny)
>>> model = knockout.torch.Dango.from_dataset(dataset, settings={"model.width": 8})
>>> batch = next(iter(knockout.torch.dataloader(model.loader(batch=64))))
>>> model(batch["genes"], batch["offsets"]).shape
torch.Size([64])
>>> model(batch["genes"], batch["offsets"], model.targets(batch)).shape
torch.Size([])
"""

from .._extras import require

require("torch", "torch")
from .dango import Dango
from .data import IterableBatches, dataloader
from .hetero import Hetero
from .losses import ScoreLoss, log_cosh
from .module import Model
from .plan import Plan
from .scorer import Scorer
from .training import Training, metrics
from .transformer import Transformer

__all__ = [
    "Dango",
    "Hetero",
    "IterableBatches",
    "Model",
    "Plan",
    "ScoreLoss",
    "Scorer",
    "Training",
    "Transformer",
    "dataloader",
    "log_cosh",
    "metrics",
]
