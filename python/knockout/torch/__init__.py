"""The models as `torch.nn.Module`s, for training on a GPU.

Parameters have the names of a checkpoint's `weights.safetensors`, so `state_dict()` and checkpoints are interchangeable. No graph is
copied: one sparse adjacency is shared by all samples, a deletion is a mask over genes, and rows that a deletion does not reach are those
of the wild type. The reconstruction loss never forms a dense matrix. Everything runs on the device of the tensors.

    model = knockout.torch.Dango.from_dataset(dataset).to("cuda")
    for batch in knockout.torch.dataloader(model.loader(dataset)):
        ...
    knockout.adopt(dataset, "dango", model.state_dict(), train_loss=loss, settings=model.settings)

>>> import knockout.torch
>>> dataset = knockout.Dataset(tiny)
>>> model = knockout.torch.Dango.from_dataset(dataset, settings={"model.width": 8})
>>> batch = next(iter(knockout.torch.dataloader(model.loader(dataset, batch=64))))
>>> model(batch["genes"], batch["offsets"]).shape
torch.Size([64])
"""

from .data import IterableBatches, dataloader
from .dango import Dango
from .hetero import Hetero
from .module import Model, log_cosh
from .transformer import Transformer

__all__ = ["Dango", "Hetero", "IterableBatches", "Model", "Transformer", "dataloader", "log_cosh"]
