"""The cell graph transformer: attention over all genes, regularised towards the networks, and a block over the deleted genes."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import torch
import torch.nn.functional as F
from torch import Tensor
from torch.utils.checkpoint import checkpoint

from ..errors import RequestError
from .module import Edges, Model, Sets, check_loss, log_cosh
from .sparse import Adjacency

#: Added to attention in the logarithm of the penalty.
EPSILON = 1e-8
#: Added to variances in norms.
NORM_EPSILON = 1e-5
#: Queries per block of scores over all genes.
ROWS_AT_ONCE = 1024


class Transformer(Model):
    """An encoder over the cell token and all genes, a block over the genes that are deleted together, a readout of both.

    `forward(genes, offsets)` returns standardised scores `[sets]`. The encoder runs once per batch, and only deleted genes are
    transformed. The penalty reads attention only at the edges of its network. Dropout is at the same layers as in `knockout train`, with
    other random numbers; `eval()` turns it off.
    """

    name = "transformer"

    def __init__(
        self, weights: Mapping[str, Any], networks: Mapping[str, Edges], options: Mapping[str, Any]
    ) -> None:
        super().__init__(weights, networks, options)
        self.rate = float(self.options.get("dropout", 0.0))
        #: Weight of the network penalty.
        self.pull = float(self.options["loss"]["lambda_graph"])

    def forward(self, genes: Tensor, offsets: Tensor) -> Tensor:
        sets = Sets(genes, offsets)
        tokens, _ = self.tokens()
        return self.read(tokens, sets)[1]

    def tokens(self) -> tuple[Tensor, list[tuple[Tensor, Tensor]]]:
        """Returns the encoder's output `[1 + genes, width]`, the cell token first, and queries and keys `[heads, …]` of every layer."""
        x = torch.cat([self.weight("cls").unsqueeze(0), self.weight("gene_embedding")])
        attended = []
        for layer in range(self.options["layers"]):
            name = f"encoder.{layer}"
            query, key, value = self._heads(name, x)
            mixed = F.scaled_dot_product_attention(query.unsqueeze(0), key.unsqueeze(0), value.unsqueeze(0))
            x = self._close(name, x, mixed.squeeze(0).transpose(0, 1).reshape(x.shape))
            attended.append((query, key))
        return x, attended

    def read(self, tokens: Tensor, sets: Sets) -> tuple[Tensor, Tensor]:
        """Returns the transformed states of the members of sets `[sets, largest set, width]`, and the score of every set."""
        rows = tokens[1:][sets.index]
        query, key, value = self._heads("transform", rows)
        scores = query @ key.transpose(2, 3) * query.shape[-1] ** -0.5
        scores = scores.masked_fill(~sets.mask[:, None, None, :], torch.finfo(scores.dtype).min / 2)
        mixed = (self._drop(scores.softmax(-1)) @ value).transpose(1, 2).reshape(rows.shape)
        rows = self._close("transform", rows, mixed)
        means = (rows * sets.mask.unsqueeze(-1)).sum(1) / sets.mask.sum(1, keepdim=True).clamp(min=1)
        both = torch.cat([tokens[:1].expand(sets.count, -1), means], 1)
        hidden = self._drop(torch.relu(self.linear("readout.hidden", both)))
        return rows, self.linear("readout.score", hidden).squeeze(-1)

    def _heads(self, name: str, x: Tensor) -> list[Tensor]:
        """Returns queries, keys and values `[…, heads, rows, width of a head]`."""
        shape = (*x.shape[:-1], self.options["heads"], -1)
        parts = (self.linear(f"{name}.attention.{what}", x).view(shape) for what in ("query", "key", "value"))
        return [part.transpose(-3, -2) for part in parts]

    def _close(self, name: str, x: Tensor, mixed: Tensor) -> Tensor:
        x = self._norm(f"{name}.norm1", x + self._drop(self.linear(f"{name}.attention.output", mixed)))
        hidden = self._drop(F.gelu(self.linear(f"{name}.feed.in", x)))
        return self._norm(f"{name}.norm2", x + self._drop(self.linear(f"{name}.feed.out", hidden)))

    def _norm(self, name: str, x: Tensor) -> Tensor:
        return F.layer_norm(x, x.shape[-1:], self.weight(f"{name}.weight"), self.weight(f"{name}.bias"), NORM_EPSILON)

    def _drop(self, x: Tensor) -> Tensor:
        # A condition, not an argument of `dropout`: otherwise the compiled graph would depend on the rate.
        return F.dropout(x, self.rate) if self.training and self.rate > 0.0 else x

    def penalty(self, attended: list[tuple[Tensor, Tensor]]) -> Tensor:
        """Returns the mean over networks of KL(network ‖ attention of its head)."""
        heads, parts = self.options["heads"], []
        for at, adjacency in enumerate(self.adjacencies):
            if adjacency.edge_count > 0:
                query, key = attended[self.options["penalty_layer"] + at // heads]
                parts.append(_divergence(adjacency, query[at % heads], key[at % heads]))
        return torch.stack(parts).mean() if parts else self.weight("cls").new_zeros(())

    def loss(self, genes: Tensor, offsets: Tensor, targets: Tensor, *, epoch: int = 0) -> Tensor:
        """Returns the loss of a batch; targets are standardised scores."""
        check_loss(self.options, "point_dist")
        options = self.options["loss"]
        if options.get("lambda_dist", 0.0) != 0.0:
            raise RequestError("model.loss.lambda_dist is not supported by knockout.torch; use `knockout train`")
        sets = Sets(genes, offsets)
        tokens, attended = self.tokens()
        _, predictions = self.read(tokens, sets)
        point = F.mse_loss if options["point"] == "mse" else log_cosh
        loss = options.get("lambda_point", 1.0) * point(predictions, targets)
        return loss if self.pull == 0.0 else loss + self.pull * self.penalty(attended)


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
