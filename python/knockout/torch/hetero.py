"""The hetero model: a graph network over all gene networks of the cell without the deleted genes."""

from __future__ import annotations

from collections.abc import Mapping
from itertools import combinations_with_replacement, pairwise
from typing import Any

import torch
from torch import Tensor
from torch.utils.checkpoint import checkpoint

from ..errors import RequestError
from .module import Edges, Model, Sets, activation, check_loss, log_cosh

#: Sample and gene indices of rows, ordered by sample, then gene.
RowIndices = tuple[Tensor, ...]

#: Added to variances and standard deviations in norms.
EPSILON = 1e-5


class Hetero(Model):
    """GIN over every network without the deleted genes, aggregation over networks, attention pooling, a global and a local score.

    `forward(genes, offsets)` returns standardised scores `[sets]`. Every layer computes the rows of the wild type and the rows that a
    deletion reaches; all others are those of the wild type. This is exact for the norms `node` and `none`; with `graph` all rows are
    computed.
    """

    name = "hetero"

    def __init__(
        self, weights: Mapping[str, Any], networks: Mapping[str, Edges], options: Mapping[str, Any]
    ) -> None:
        super().__init__(weights, dict(sorted(networks.items())), options)
        if self.options.get("dropout", 0.0) > 0.0:
            raise RequestError("model.dropout is not supported by knockout.torch; use `knockout train`")
        if self.options.get("metabolism", "off") != "off":
            raise RequestError("model.metabolism is not supported by knockout.torch; use `knockout train`")
        self.act = activation(self.options["activation"])
        self.norm_kind = self.options["norm"]
        self.aggregation = self.options["aggregation"].replace("-", "_")
        #: Whether to recompute layers in the backward pass: less memory, more time.
        self.recompute = False

    def forward(self, genes: Tensor, offsets: Tensor) -> Tensor:
        return self._scores(*self._prepare(genes, offsets))

    def loss(self, genes: Tensor, offsets: Tensor, targets: Tensor, *, epoch: int = 0) -> Tensor:
        """Returns the loss of a batch; targets are standardised scores."""
        check_loss(self.options, "log_cosh")
        return log_cosh(self._scores(*self._prepare(genes, offsets)), targets)

    # Shapes depend on values and nothing has a gradient, so this is not compiled.
    @torch.compiler.disable
    def _prepare(self, genes: Tensor, offsets: Tensor) -> tuple[Sets, Tensor, list[RowIndices]]:
        sets = Sets(genes, offsets)
        deleted = sets.deleted(self.gene_count)
        return sets, deleted, self.changes(deleted)

    def changes(self, deleted: Tensor) -> list[RowIndices]:
        """Returns the rows that differ from the wild type, before the first layer and after each; `deleted` is `[samples, genes]`."""
        changed = deleted if self.norm_kind != "graph" else torch.ones_like(deleted)
        changes = [changed.nonzero(as_tuple=True)]
        for _ in range(self.options["layers"]):
            reached = [adjacency.reaches(changed.T).T for adjacency in self.adjacencies]
            changed = torch.stack([changed, *reached]).any(0)
            changes.append(changed.nonzero(as_tuple=True))
        return changes

    def rows(self, deleted: Tensor, changes: list[RowIndices]) -> tuple[Tensor, Tensor]:
        """Returns the rows of the last layer: those of the wild type `[genes, width]`, and those of samples at the last of `changes`."""
        wild = self.pre()
        own = wild[changes[0][1]]
        for layer, (before, after) in enumerate(pairwise(changes), 1):
            if self.recompute and torch.is_grad_enabled():
                wild, own = checkpoint(self._layer, layer, wild, own, before, after, deleted, use_reentrant=False)
            else:
                wild, own = self._layer(layer, wild, own, before, after, deleted)
        return wild, own

    def pre(self) -> Tensor:
        """Returns the rows before the first layer, which do not depend on the deletion."""
        x = self.weight("gene_embedding")
        for at in (1, 2):
            x = self.act(self._norm("pre.norm", self.linear(f"pre.linear{at}", x), self.gene_count))
        return x

    def _norm(self, name: str, x: Tensor, wild: int) -> Tensor:
        """Normalises rows, of which the first `wild` are those of the wild type."""
        if self.norm_kind == "none":
            return x
        scale, shift = self.weight(f"{name}.scale"), self.weight(f"{name}.shift")
        if self.norm_kind == "node":
            return torch.nn.functional.layer_norm(x, x.shape[-1:], scale, shift, EPSILON)
        parts = [part for part in (x[:wild], x[wild:]) if part.numel()]
        normed = [(part - part.mean()) / (part.std(correction=0) + EPSILON) for part in parts]
        return torch.cat(normed) * scale + shift

    def _layer(
        self, layer: int, wild: Tensor, own: Tensor, before: RowIndices, after: RowIndices, deleted: Tensor
    ) -> tuple[Tensor, Tensor]:
        # All cells in one tensor, the wild type first: [genes, 1 + samples, width].
        sample, gene = before
        cells = wild.unsqueeze(1).expand(-1, len(deleted), -1).index_put((gene, sample), own)
        kept = torch.cat([deleted.new_ones(self.gene_count, 1), ~deleted.T], 1).unsqueeze(-1).to(wild.dtype)
        cells = torch.cat([wild.unsqueeze(1), cells], 1)
        sending = cells * kept
        sample, gene = after
        pick = (
            torch.cat([torch.arange(self.gene_count, device=wild.device), gene]),
            torch.cat([torch.zeros(self.gene_count, dtype=torch.long, device=wild.device), sample + 1]),
        )
        x, receives = cells[pick], kept[pick]
        networks = []
        for name, adjacency in zip(self.network_names, self.adjacencies, strict=True):
            part = f"layer{layer}.network.{name}"
            h = adjacency.sums(sending)[pick] * receives + (1.0 + self.weight(f"{part}.gin.eps")) * x
            for linear in range(1, self.options["gin_linears"] + 1):
                h = self.linear(f"{part}.gin.linear{linear}", h if linear == 1 else self.act(h))
            networks.append(self.act(self._norm(f"{part}.norm", h, self.gene_count)))
        out = self._aggregate(f"layer{layer}.aggregate", networks)
        return out[: self.gene_count], out[self.gene_count :]

    def _aggregate(self, name: str, networks: list[Tensor]) -> Tensor:
        if self.aggregation == "sum":
            return torch.stack(networks).sum(0)
        if self.aggregation == "mean":
            return torch.stack(networks).mean(0)
        if self.aggregation == "cross_attention":
            return self._cross_attention(name, networks)
        return self._norm(f"{name}.norm", self._pairs(name, networks), self.gene_count)

    def _cross_attention(self, name: str, networks: list[Tensor]) -> Tensor:
        tokens = torch.stack(networks, 1) + self.weight(f"{name}.network_vector")
        rows, count, width = tokens.shape
        heads = self.options["cross_heads"]
        query, key, value = (
            self.linear(f"{name}.{what}", tokens).view(rows, count, heads, -1).transpose(1, 2)
            for what in ("query", "key", "value")
        )
        weights = (query @ key.transpose(2, 3) * (width // heads) ** -0.5).softmax(-1)
        mixed = (weights @ value).transpose(1, 2).reshape(rows, count, width)
        return self.linear(f"{name}.output", mixed).mean(1)

    def _pairs(self, name: str, networks: list[Tensor]) -> Tensor:
        """Applies an MLP to every pair of networks and weights them by a softmax over pairs and the mean, gene by gene.

        The outputs `[rows, pairs, width]` are never formed: the first linear layer splits into a part for each network of the pair, and the
        last one is composed with the first of the scorer and with the weighted sum.
        """
        names = [f"{a}+{b}" for a, b in combinations_with_replacement(self.network_names, 2)]
        members = list(combinations_with_replacement(range(len(networks)), 2))
        width, last = networks[0].shape[-1], self.options["pair_linears"]

        def stacked(linear: int, what: str) -> Tensor:
            return torch.stack([self.weight(f"{name}.pair.{pair}.linear{linear}.{what}") for pair in names])

        first = stacked(1, "weight")
        left, right = first[..., :width], first[..., width:]
        parts: list[Any] = [None] * len(members)
        for network, g in enumerate(networks):
            for side, halves in ((0, left), (1, right)):
                of = [pair for pair, of_pair in enumerate(members) if of_pair[side] == network]
                if of:
                    out = (g @ halves[of].reshape(-1, width).T).unflatten(-1, (len(of), -1))
                    for at, pair in enumerate(of):
                        parts[pair] = out[:, at] if parts[pair] is None else parts[pair] + out[:, at]
        hidden = self.act(torch.stack(parts) + stacked(1, "bias").unsqueeze(1))
        for linear in range(2, last):
            hidden = self.act(torch.baddbmm(stacked(linear, "bias").unsqueeze(1), hidden, stacked(linear, "weight").mT))
        outer, shift = stacked(last, "weight"), stacked(last, "bias")
        mean = torch.stack(networks).mean(0)
        scorer = self.weight(f"{name}.score.hidden.weight")
        of_shift = shift @ scorer.T + self.weight(f"{name}.score.hidden.bias")
        scored = torch.baddbmm(of_shift.unsqueeze(1), hidden, (scorer @ outer).mT)
        scores = self.linear(f"{name}.score.out", self.act(scored)).squeeze(-1).T
        of_mean = self.linear(f"{name}.score.out", self.act(self.linear(f"{name}.score.hidden", mean)))
        weights = torch.cat([scores, of_mean], 1).softmax(1)
        pairs, alone = weights[:, :-1], weights[:, -1:]
        mixed = (hidden * pairs.T.unsqueeze(-1)).transpose(0, 1).flatten(1)
        return mixed @ outer.mT.flatten(0, 1) + pairs @ shift + alone * mean

    def _pool(self, wild: Tensor, own: Tensor, changed: RowIndices, deleted: Tensor) -> tuple[Tensor, Tensor]:
        """Pools by attention over all genes of the wild type, and over the kept genes of every sample."""
        rows = torch.cat([wild, own])
        gates = self.linear("pool.gate.out", self.act(self.linear("pool.gate.hidden", rows))).squeeze(-1)
        values = self.act(self.linear("pool.value", rows))
        genes = len(wild)
        of_wild = gates[:genes].softmax(0) @ values[:genes]
        # Rows that a sample does not change are those of the wild type.
        sample_gates = gates[:genes].expand(deleted.shape).index_put(changed, gates[genes:])
        weights = sample_gates.masked_fill(deleted, -torch.inf).softmax(1)
        shared = weights.index_put(changed, weights.new_zeros(())) @ values[:genes]
        mine = weights[changed].unsqueeze(-1) * values[genes:]
        return of_wild, shared.index_add(0, changed[0], mine.to(shared.dtype))

    def _scores(self, sets: Sets, deleted: Tensor, changes: list[RowIndices]) -> Tensor:
        wild, own = self.rows(deleted, changes)
        of_wild, of_samples = self._pool(wild, own, changes[-1], deleted)
        overall = self.linear("global.out", self.act(self.linear("global.hidden", of_wild - of_samples))).squeeze(-1)
        combination = self.options["combination"].replace("-", "_")
        if combination == "global_only" or self.options.get("local") is False:
            return overall
        heads, layers = self.options["local_heads"], self.options["local_layers"]
        local = self.set_scores("local", wild[sets.index], sets, heads, layers, self.act)
        if combination == "concat":
            return (overall + local) / 2.0
        both = torch.stack([overall, local], 1)
        weights = self.linear("gate.out", self.act(self.linear("gate.hidden", both))).softmax(1)
        return (weights * both).sum(1)
