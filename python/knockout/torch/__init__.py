"""The models as `torch.nn.Module`s: the GPU route.

Parameters have our names, so `state_dict()` is what a checkpoint's `weights.safetensors` holds and the other way round. The algebra is
exact and copies no graph: one sparse adjacency is shared by all samples, a deletion is a mask over genes, rows that a deletion does not
reach are the wild type's, and the reconstruction loss never forms a dense matrix. Everything runs where the tensors are.

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
