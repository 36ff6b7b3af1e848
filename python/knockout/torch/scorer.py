"""Scores of sets of equal size, as a module of fixed shapes that can be exported."""

from __future__ import annotations

import copy
import keyword
from typing import TYPE_CHECKING, TypeVar

import torch
from torch import Tensor, nn

from .plan import Plan

if TYPE_CHECKING:
    from .module import Model


_M = TypeVar("_M", bound=nn.Module)


def _with_valid_names(module: _M) -> _M:
    """Returns a module whose children have no keyword of Python as a name, such as `in`: an exported graph is Python. Layers are shared."""
    children = {f"{name}_" if keyword.iskeyword(name) else name: _with_valid_names(child) for name, child in module._modules.items() if child is not None}
    if children == module._modules:
        return module
    renamed = copy.copy(module)
    renamed.__dict__["_modules"] = children
    return renamed


class Scorer(nn.Module):
    """Predicts the scores of gene sets `[sets, members]` in their units. Rows are not checked: genes must exist and differ within a set."""

    def __init__(self, model: Model) -> None:
        super().__init__()
        self.model = _with_valid_names(model)

    def forward(self, genes: Tensor) -> Tensor:
        """Returns predictions `[sets]`."""
        sets, members = genes.shape
        positions = torch.arange(sets * members, device=genes.device).view(sets, members)
        owners = positions.flatten() // members
        plan = Plan(genes, torch.ones_like(genes, dtype=torch.bool), genes.flatten(), owners, positions)
        scores = self.model._scores(plan, None)
        return scores * self.model.score_sd.to(scores.dtype) + self.model.score_mean.to(scores.dtype)
