"""The cell graph transformer: attention over all genes, regularised towards the networks, and a block over the deleted genes."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import torch
import torch.nn.functional as F
from torch import Tensor
from torch.utils.checkpoint import checkpoint

from .dropout import _LOW, Dropout
from .module import Edges, Model
from .plan import Plan
from .sparse import Adjacency

#: Added to attention in the logarithm of the penalty.
EPSILON = 1e-8
#: Queries per block of scores over all genes.
ROWS_AT_ONCE = 1024


#: Sites of dropout in a part of the model.
SITES = 4
READOUT, TRANSFORM, ENCODER = 0, SITES, 2 * SITES


class Transformer(Model):
    """An encoder over the cell token and all genes, a block over the genes that are deleted together, a readout of both.

    The encoder runs once per batch, and only deleted genes are transformed. The penalty reads attention only at the edges of its network.
    """

    name = "transformer"
    representation_width = 2

    def __init__(
        self, weights: Mapping[str, Any], networks: Mapping[str, Edges], options: Mapping[str, Any], **more: Any
    ) -> None:
        super().__init__(weights, networks, options, **more)
        #: Weight of the network penalty.
        self.pull = float(self.options["loss"]["lambda_graph"])

    def _scores(self, plan: Plan, dropout: Dropout | None) -> Tensor:
        tokens, _ = self.tokens(dropout)
        return self.read(tokens, plan, dropout)[2]

    def _loss(self, plan: Plan, targets: Tensor, dropout: Dropout | None, epoch: int, step: int) -> Tensor:
        tokens, attended = self.tokens(dropout)
        _, pooled, predictions = self.read(tokens, plan, dropout)
        loss = self.score_loss(predictions, targets, pooled, epoch=epoch, step=step)
        return loss if self.pull == 0.0 else loss + self.pull * self.penalty(attended)

    def tokens(self, dropout: Dropout | None = None) -> tuple[Tensor, list[tuple[Tensor, Tensor]]]:
        """Returns the encoder's output `[1 + genes, width]`, the cell token first, and queries and keys `[heads, …]` of every layer."""
        x = torch.cat([self.weight("cls").unsqueeze(0), self.gene_rows()])
        keys = torch.arange(len(x), device=x.device)
        attended = []
        for layer in range(self.options["layers"]):
            name = f"encoder.{layer}"
            query, key, value = self._heads(name, x)
            mixed = F.scaled_dot_product_attention(query.unsqueeze(0), key.unsqueeze(0), value.unsqueeze(0))
            mixed = mixed.squeeze(0).transpose(0, 1).reshape(x.shape)
            x = self._close(name, x, mixed, dropout, ENCODER + SITES * layer, keys)
            attended.append((query, key))
        return x, attended

    def read(self, tokens: Tensor, plan: Plan, dropout: Dropout | None = None) -> tuple[Tensor, Tensor, Tensor]:
        """Returns the transformed states of members `[sets, largest set, width]`, the readout's input and the score of every set."""
        rows = tokens[1:][plan.index]
        query, key, value = self._heads("transform", rows)
        scores = query @ key.transpose(2, 3) * query.shape[-1] ** -0.5
        scores = scores.masked_fill(~plan.mask[:, None, None, :], torch.finfo(scores.dtype).min / 2)
        of_sets, of_members = _keys(plan)
        weights = scores.softmax(-1)
        if dropout is not None:
            slots = torch.arange(rows.shape[1], device=rows.device)
            weights = dropout.attention(weights, TRANSFORM + 3, of_members, slots.expand(len(slots), -1))
        mixed = (weights @ value).transpose(1, 2).reshape(rows.shape)
        rows = self._close("transform", rows, mixed, dropout, TRANSFORM, of_members)
        means = (rows * plan.mask.unsqueeze(-1)).sum(1) / plan.mask.sum(1, keepdim=True).clamp(min=1)
        pooled = torch.cat([tokens[:1].expand(plan.count, -1), means], 1)
        hidden = torch.relu(self.linear("readout.hidden", pooled))
        if dropout is not None:
            hidden = dropout.rows(hidden, READOUT, of_sets)
        return rows, pooled, self.linear("readout.score", hidden).squeeze(-1)

    def _heads(self, name: str, x: Tensor) -> list[Tensor]:
        """Returns queries, keys and values `[…, heads, rows, width of a head]`."""
        shape = (*x.shape[:-1], self.options["heads"], -1)
        parts = (self.linear(f"{name}.attention.{what}", x).view(shape) for what in ("query", "key", "value"))
        return [part.transpose(-3, -2) for part in parts]

    def _close(self, name: str, x: Tensor, mixed: Tensor, dropout: Dropout | None, site: int, keys: Tensor) -> Tensor:
        attended = self.linear(f"{name}.attention.output", mixed)
        if dropout is not None:
            attended = dropout.rows(attended, site, keys)
        x = self._norm(f"{name}.norm1", x + attended)
        hidden = F.gelu(self.linear(f"{name}.feed.in", x))
        if dropout is not None:
            hidden = dropout.rows(hidden, site + 1, keys)
        fed = self.linear(f"{name}.feed.out", hidden)
        if dropout is not None:
            fed = dropout.rows(fed, site + 2, keys)
        return self._norm(f"{name}.norm2", x + fed)

    def _norm(self, name: str, x: Tensor) -> Tensor:
        return self._leaves[f"{name}.weight"][0](x)

    def penalty(self, attended: list[tuple[Tensor, Tensor]]) -> Tensor:
        """Returns the mean over networks of KL(network ‖ attention of its head)."""
        heads, parts = self.options["heads"], []
        # One `unbind` of a layer, whose backward pass is one `stack`, instead of a selection per network.
        by_head = [(query.unbind(0), key.unbind(0)) for query, key in attended]
        for at, adjacency in enumerate(self.adjacencies):
            if adjacency.edge_count > 0:
                query, key = by_head[self.options["penalty_layer"] + at // heads]
                parts.append(_divergence(adjacency, query[at % heads], key[at % heads]))
        return torch.stack(parts).mean() if parts else self.weight("cls").new_zeros(())


def _keys(plan: Plan) -> tuple[Tensor, Tensor]:
    """Returns the keys of sets and of their members for dropout: FNV-1a over the genes of a set, and over the gene once more."""
    key = torch.full_like(plan.index[:, 0], 0x811C9DC5)
    for slot in range(plan.index.shape[1]):
        key = torch.where(plan.mask[:, slot], _step(key, plan.index[:, slot]), key)
    return key, _step(key.unsqueeze(1), plan.index)


def _step(key: Tensor, gene: Tensor) -> Tensor:
    return ((key ^ gene) * 0x01000193) & _LOW


def _log_sums(query: Tensor, key: Tensor) -> Tensor:
    return torch.logsumexp(query @ key.T, -1)


def _divergence(adjacency: Adjacency, query: Tensor, key: Tensor) -> Tensor:
    """Returns KL(network ‖ attention) of one head; all edges of a gene have the same weight."""
    query = query * query.shape[-1] ** -0.5
    # Scores in blocks of rows, recomputed in the backward pass: never a gene-by-gene matrix.
    sums = [checkpoint(_log_sums, rows, key, use_reentrant=False) for rows in query[1:].split(ROWS_AT_ONCE)]
    rows = adjacency.outgoing_rows
    attention = (adjacency.products(query[1:], key[1:]) - torch.cat(sums)[rows]).exp()
    degrees = adjacency.outgoing_starts.diff()
    weights = 1.0 / degrees[rows].to(attention.dtype)
    return (weights * (weights.log() - (attention + EPSILON).log())).sum() / (degrees > 0).sum()
