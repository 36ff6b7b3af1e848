"""The hetero model: a graph network over all gene networks of the cell without the deleted genes."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from itertools import combinations_with_replacement
from typing import Any

import numpy
import torch
from numpy.typing import NDArray
from torch import Tensor, nn
from torch.utils.checkpoint import checkpoint

from .. import _knockout
from ..dataset import Dataset
from ..errors import RequestError
from .dropout import _LOW, Dropout
from .module import Edges, Model, activation
from .plan import Plan, Planner, RowIndices
from .scorer import Scorer
from .sparse import Adjacency, Incidence

#: Added to variances and standard deviations in norms.
EPSILON = 1e-5
#: Name of the metabolism among the networks of a layer.
METABOLISM = "metabolism"
#: Edges that leave changed rows are summed one by one, if they are fewer than this share of all edges of all samples.
FEW = 0.3


def _site(part: int, at: int = 0, inner: int = 0) -> int:
    """Returns the number of a dropout site."""
    return part << 40 | at << 20 | inner


PRE, NETWORK, AGGREGATE, POOL_GATE, POOL_VALUE, GLOBAL, LOCAL = range(7)


@dataclass
class Cells:
    """A batch as the layers read it."""

    plan: Plan
    #: `[samples, genes]`.
    deleted: Tensor
    #: Whether the reactions of each sample run, `[samples, reactions]`.
    running: Tensor | None
    dropout: Dropout | None
    #: By stage, keys of the rows for dropout: of the wild type, then of the samples.
    keys: list[Tensor]


class Metabolites(nn.Module):
    """Reactions with the genes that they need and the metabolites that they turn over, with weights."""

    def __init__(self, sizes: tuple[int, int], genes: int, needs: Edges, turns: tuple[NDArray[Any], ...]) -> None:
        super().__init__()
        reactions, metabolites = sizes
        reaction, metabolite, value = turns
        totals = [numpy.bincount(of, numpy.abs(value), minlength=size) for of, size in ((reaction, reactions), (metabolite, metabolites))]
        weights = value / numpy.sqrt(totals[0][reaction]) / numpy.sqrt(totals[1][metabolite])
        self.needs = Incidence(needs[1], needs[0], numpy.ones(len(needs[0])), (genes, reactions))
        self.made = Incidence(reaction, metabolite, weights, (reactions, metabolites))
        self.used = Incidence(metabolite, reaction, numpy.abs(weights), (metabolites, reactions))
        self.told = Incidence(needs[0], needs[1], numpy.ones(len(needs[0])), (reactions, genes))

    def running(self, deleted: Tensor) -> Tensor:
        """Returns whether all genes of a reaction are kept, `[samples, reactions]`."""
        return self.needs.sums(deleted.T.float()).T == 0


class Hetero(Model):
    """GIN over every network without the deleted genes, aggregation over networks, attention pooling, a global and a local score.

    Every layer computes the rows of the wild type and the rows that a deletion reaches; all others are those of the wild type. This is
    exact for the norms `node` and `none`; with `graph` all rows are computed.
    """

    name = "hetero"
    representation_width = 1

    def __init__(
        self,
        weights: Mapping[str, Any],
        networks: Mapping[str, Edges],
        options: Mapping[str, Any],
        *,
        metabolism: Mapping[str, Any] | None = None,
        **more: Any,
    ) -> None:
        networks = dict(sorted(networks.items()))
        super().__init__(weights, networks, options, **more)
        self.edges = list(networks.values())
        self.act = activation(self.options["activation"])
        self.norm_kind = self.options["norm"]
        self.aggregation = self.options["aggregation"].replace("-", "_")
        self.metabolites: Metabolites | None = None
        if metabolism is not None:
            self.metabolites = Metabolites(metabolism["sizes"], self.gene_count, metabolism["needs"], metabolism["turns"])
        self._metabolism = metabolism
        #: Networks of a layer, the metabolism last.
        self.contributions = [*self.network_names, *([METABOLISM] if metabolism is not None else [])]
        #: Whether to recompute layers in the backward pass: less memory, more time.
        self.recompute = False

    def scorer(self) -> Scorer:
        """Refuses: the rows that a deletion reaches, and so the shapes of all layers, depend on which genes are deleted."""
        raise RequestError(
            "the hetero model computes the rows that a deletion reaches, so its shapes depend on the genes and it cannot be exported; "
            "use model.predict, or export Dango or Transformer"
        )

    @classmethod
    def _parts(cls, dataset: Dataset, options: Mapping[str, Any]) -> dict[str, Any]:
        return {"metabolism": _knockout.metabolism(dataset._dataset) if options.get("metabolism", "off") == "on" else None}

    def planner(self, training: bool = False) -> Planner:
        planner = Planner(self.gene_count, self.options["layers"])
        planner.add_networks(self.edges, [adjacency.outgoing_starts.cpu().numpy() for adjacency in self.adjacencies])
        if self._metabolism is not None:
            planner.sizes = [self.gene_count, *self._metabolism["sizes"]]
            planner.passes[1:] = [self._metabolism["needs"], self._metabolism["turns"][:2]]
        independent = self.options.get("noise", "shared") == "independent"
        planner.everything = self.norm_kind == "graph" or (training and independent)
        return planner

    def _scores(self, plan: Plan, dropout: Dropout | None) -> Tensor:
        return self.read(self.cells(plan, dropout))[1]

    def _loss(self, plan: Plan, targets: Tensor, dropout: Dropout | None, epoch: int, step: int) -> Tensor:
        difference, scores = self.read(self.cells(plan, dropout))
        return self.score_loss(scores, targets, difference, epoch=epoch, step=step)

    def cells(self, plan: Plan, dropout: Dropout | None = None) -> Cells:
        """Returns the cells of a batch: the genes that are deleted and the reactions that run."""
        deleted = plan.deleted(self.gene_count)
        running = None if self.metabolites is None else self.metabolites.running(deleted)
        keys: list[Tensor] = []
        if dropout is not None:
            wild = torch.arange(self.gene_count, device=deleted.device)
            for sample, gene in plan.changes:
                independent = self.options.get("noise", "shared") == "independent"
                own = ((sample + 1) * self.gene_count + gene) & _LOW if independent else gene
                keys.append(torch.cat([wild, own]))
        return Cells(plan, deleted, running, dropout, keys)

    def rows(self, cells: Cells) -> tuple[Tensor, Tensor]:
        """Returns the rows of the last layer: those of the wild type `[genes, width]`, and those of samples at the last of the changes."""
        wild = self.first_rows(cells.dropout)
        own = wild[cells.plan.changes[0][1]]
        for layer in range(1, self.options["layers"] + 1):
            if self.recompute and torch.is_grad_enabled():
                wild, own = checkpoint(self._layer, layer, wild, own, cells, use_reentrant=False)
            else:
                wild, own = self._layer(layer, wild, own, cells)
        return wild, own

    def first_rows(self, dropout: Dropout | None = None) -> Tensor:
        """Returns the rows before the first layer, which do not depend on the deletion."""
        x = self.gene_rows()
        for at in (1, 2):
            x = self.act(self._norm("pre.norm", self.linear(f"pre.linear{at}", x), self.gene_count))
            if dropout is not None:
                x = dropout.rows(x, _site(PRE, at - 1), torch.arange(self.gene_count, device=x.device))
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

    def _layer(self, layer: int, wild: Tensor, own: Tensor, cells: Cells) -> tuple[Tensor, Tensor]:
        before, after = cells.plan.changes[layer - 1], cells.plan.changes[layer]
        stage = _Stage(wild, own, before, after, cells, layer)
        networks = []
        for at, name in enumerate(self.contributions):
            part = f"layer{layer}.network.{name}"
            sums = stage.metabolism(self, part) if name == METABOLISM else stage.sums(self.adjacencies[at], cells.plan.edges[layer - 1][at])
            h = sums + (1.0 + self.weight(f"{part}.gin.eps")) * stage.x
            networks.append(self._gin(part, h, cells, layer, at))
        out = self._aggregate(f"layer{layer}.aggregate", networks, cells, layer)
        return out[: self.gene_count], out[self.gene_count :]

    def _gin(self, part: str, h: Tensor, cells: Cells, layer: int, at: int) -> Tensor:
        """Applies the layers after the sum over neighbours."""
        linears, site = self.options["gin_linears"], _site(NETWORK, layer - 1, at)

        def drop(x: Tensor, after: int, site: int = site) -> Tensor:
            return x if cells.dropout is None else cells.dropout.rows(x, site, cells.keys[layer], after)

        for linear in range(1, linears + 1):
            h = self.linear(f"{part}.gin.linear{linear}", h if linear == 1 else drop(self.act(h), linear - 2))
        h = self.act(self._norm(f"{part}.norm", h, self.gene_count))
        return drop(h, 0, site | 1 << 63) if self.norm_kind == "graph" else drop(h, linears - 1)

    def _aggregate(self, name: str, networks: list[Tensor], cells: Cells, layer: int) -> Tensor:
        if self.aggregation == "sum":
            return torch.stack(networks).sum(0)
        if self.aggregation == "mean":
            return torch.stack(networks).mean(0)
        if self.aggregation == "cross_attention":
            return self._cross_attention(name, networks)
        return self._norm(f"{name}.norm", self._pairs(name, networks, cells, layer), self.gene_count)

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

    def _pairs(self, name: str, networks: list[Tensor], cells: Cells, layer: int) -> Tensor:
        """Applies an MLP to every pair of networks and weights them by a softmax over pairs and the mean, gene by gene.

        The outputs `[rows, pairs, width]` are never formed: the first linear layer splits into a part for each network of the pair, and the
        last one is composed with the first of the scorer and with the weighted sum.
        """
        names = [f"{a}+{b}" for a, b in combinations_with_replacement(self.contributions, 2)]
        members = list(combinations_with_replacement(range(len(networks)), 2))
        width, last = networks[0].shape[-1], self.options["pair_linears"]

        def stacked(linear: int, what: str) -> Tensor:
            return torch.stack([self.weight(f"{name}.pair.{pair}.linear{linear}.{what}") for pair in names])

        def drop(x: Tensor, linear: int) -> Tensor:
            if cells.dropout is None:
                return x
            site, keys = _site(AGGREGATE, layer - 1), cells.keys[layer]
            parts = [cells.dropout.rows(part, site, keys, linear * len(names) + pair) for pair, part in enumerate(x.unbind(0))]
            return torch.stack(parts)

        first = stacked(1, "weight")
        left, right = first[..., :width], first[..., width:]
        parts: list[Any] = [None] * len(members)
        for network, g in enumerate(networks):
            for side, halves in ((0, left), (1, right)):
                of = [pair for pair, of_pair in enumerate(members) if of_pair[side] == network]
                if of:
                    out = (g @ halves[of].reshape(-1, width).T).unflatten(-1, (len(of), -1))
                    # One `unbind`, whose backward pass is one `stack`, instead of a selection per pair.
                    for pair, part in zip(of, out.unbind(1), strict=True):
                        parts[pair] = part if parts[pair] is None else parts[pair] + part
        hidden = drop(self.act(torch.stack(parts) + stacked(1, "bias").unsqueeze(1)), 0)
        for linear in range(2, last):
            hidden = torch.baddbmm(stacked(linear, "bias").unsqueeze(1), hidden, stacked(linear, "weight").mT)
            hidden = drop(self.act(hidden), linear - 1)
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

    def _pool(self, wild: Tensor, own: Tensor, cells: Cells) -> tuple[Tensor, Tensor]:
        """Pools by attention over all genes of the wild type, and over the kept genes of every sample."""
        changed, deleted, rows = cells.plan.changes[-1], cells.deleted, torch.cat([wild, own])
        hidden = self.act(self.linear("pool.gate.hidden", rows))
        values = self.act(self.linear("pool.value", rows))
        if cells.dropout is not None:
            hidden = cells.dropout.rows(hidden, _site(POOL_GATE), cells.keys[-1])
            values = cells.dropout.rows(values, _site(POOL_VALUE), cells.keys[-1])
        gates = self.linear("pool.gate.out", hidden).squeeze(-1)
        genes = len(wild)
        of_wild = gates[:genes].softmax(0) @ values[:genes]
        # Rows that a sample does not change are those of the wild type.
        sample_gates = gates[:genes].expand(deleted.shape).index_put(changed, gates[genes:])
        weights = sample_gates.masked_fill(deleted, -torch.inf).softmax(1)
        shared = weights.index_put(changed, weights.new_zeros(())) @ values[:genes]
        mine = weights[changed].unsqueeze(-1) * values[genes:]
        return of_wild, shared.index_add(0, changed[0], mine.to(shared.dtype))

    def read(self, cells: Cells) -> tuple[Tensor, Tensor]:
        """Returns the difference between the wild type and every sample, `[samples, width]`, and the scores."""
        wild, own = self.rows(cells)
        of_wild, of_samples = self._pool(wild, own, cells)
        factor = self.gene_count if self.options.get("difference", "mean") == "total" else 1
        difference = (of_wild - of_samples) * factor
        plan, dropout = cells.plan, cells.dropout
        hidden = self.act(self.linear("global.hidden", difference))
        if dropout is not None:
            hidden = dropout.rows(hidden, _site(GLOBAL), torch.arange(plan.count, device=hidden.device))
        overall = self.linear("global.out", hidden).squeeze(-1)
        combination = self.options["combination"].replace("-", "_")
        if combination == "global_only" or self.options.get("local") is False:
            return difference, overall
        heads, layers = self.options["local_heads"], self.options["local_layers"]
        local = self.set_scores("local", wild[plan.index], plan, heads, layers, self.act, dropout, _site(LOCAL))
        if combination == "concat":
            return difference, (overall + local) / 2.0
        both = torch.stack([overall, local], 1)
        weights = self.linear("gate.out", self.act(self.linear("gate.hidden", both))).softmax(1)
        return difference, (weights * both).sum(1)


class _Stage:
    """The rows that a layer reads: those of the wild type, and how those of the samples differ from them."""

    def __init__(self, wild: Tensor, own: Tensor, before: RowIndices, after: RowIndices, cells: Cells, layer: int) -> None:
        self.wild, self.cells, self.before, self.after = wild, cells, before, after
        samples, genes = cells.deleted.shape
        self.own = own
        kept = ~cells.deleted
        # A deleted gene sends nothing.
        self.delta = own * kept[before].unsqueeze(-1).to(own.dtype) - wild[before[1]]
        self.receives = kept[after].unsqueeze(-1).to(own.dtype)
        # Rows before the layer are rows after it.
        place = torch.zeros(samples * genes, dtype=torch.long, device=own.device)
        place[after[0] * genes + after[1]] = torch.arange(len(after[0]), device=own.device)
        self.place = place
        own_x = wild[after[1]].index_put((place[before[0] * genes + before[1]],), own)
        #: Rows of the wild type, then of the samples, after the layer's own stage.
        self.x = torch.cat([wild, own_x])
        self._dense: Tensor | None = None

    def sums(self, adjacency: Adjacency, edges: int) -> Tensor:
        """Returns the sums over neighbours: A wild, and A wild + A delta for rows of samples."""
        of_wild = adjacency.sums(self.wild)
        (sample, gene), genes = self.before, len(self.wild)
        of_own = of_wild[self.after[1]]
        if edges < FEW * adjacency.edge_count * len(self.cells.deleted):
            # Few rows differ: edge by edge.
            source, target, count = adjacency.leaving(gene, edges)
            to = self.place[sample[source] * genes + target]
            of_own = of_own.index_add(0, to, self.delta[source] * count.unsqueeze(-1).to(self.delta.dtype))
        else:
            of_own = of_own + adjacency.sums(self.dense())[self.after[1], self.after[0]]
        return torch.cat([of_wild, of_own * self.receives])

    def dense(self) -> Tensor:
        """Returns the differences of all rows of the samples, `[genes, samples, width]`."""
        if self._dense is None:
            shape = (len(self.wild), len(self.cells.deleted), self.wild.shape[1])
            self._dense = self.wild.new_zeros(shape).index_put((self.before[1], self.before[0]), self.delta)
        return self._dense

    def metabolism(self, model: Hetero, part: str) -> Tensor:
        """Returns what reactions tell their genes, for all cells, the wild type first."""
        graph, running = model.metabolites, self.cells.running
        assert graph is not None and running is not None
        # All cells, the wild type first: [nodes, 1 + samples, width]. The genes of a reaction that runs are all kept.
        wild = self.wild.unsqueeze(1)
        x = torch.cat([wild, wild + self.dense()], 1)
        runs = torch.cat([running.new_ones(1, running.shape[1]), running]).T.unsqueeze(-1).to(x.dtype)
        reactions, metabolites = (model.weight(f"{node}_embedding").unsqueeze(1) for node in ("reaction", "metabolite"))
        r = model.act(model.linear(f"{part}.reaction", reactions + graph.needs.sums(x))) * runs
        m = model.act(model.linear(f"{part}.metabolite", metabolites + graph.made.sums(r)))
        told = graph.told.sums(graph.used.sums(m) * runs)
        return torch.cat([told[:, 0], told[self.after[1], self.after[0] + 1]])
