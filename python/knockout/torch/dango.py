"""DANGO: embeddings from gene networks, and a score for the genes that are deleted together."""

from __future__ import annotations

from typing import Any

import torch
from torch import Tensor

from .dropout import Dropout
from .module import MERGED, Model, _is_channel
from .plan import Plan
from .sparse import Adjacency


def alpha_at(schedule: str, transition: int, epoch: int) -> float:
    """Returns the weight of the reconstruction in an epoch."""
    during, after = {
        "pre_then_post": (0.0, 0.0),
        "linear_until_uniform": (0.5, 0.5),
        "linear_until_flipped": (1.0, 0.0),
    }[schedule.replace("-", "_")]
    return 1.0 - during * epoch / transition if epoch < transition else after


class Dango(Model):
    """Mean GraphSAGE over every network, attention over networks, a set scorer over the deleted genes.

    The loss adds the reconstruction of the networks, which is computed from Gram matrices and the edges only.
    """

    name = "dango"

    def embeddings(self) -> list[Tensor]:
        """Returns the embeddings `[genes, width]` by network; they do not depend on the sample."""
        x0 = self.gene_rows()
        return [
            self._sage(f"network.{name}.sage2", adjacency, self._sage(f"network.{name}.sage1", adjacency, x0))
            for name, adjacency in zip(self.network_names, self.adjacencies, strict=True)
        ]

    def _sage(self, name: str, adjacency: Adjacency, x: Tensor) -> Tensor:
        means = self.linear(f"{name}.neighbour", adjacency.means(x))
        return torch.relu(means + self.linear(f"{name}.self", x))

    def meta_embedding(self, embeddings: list[Tensor]) -> Tensor:
        """Returns the attention-weighted mean of the networks' embeddings, gene by gene."""
        stacked = torch.stack(embeddings, 1)
        scores = self.linear("meta.score", torch.relu(self.linear("meta.hidden", stacked)))
        return (scores.softmax(1) * stacked).sum(1)

    def _scores(self, plan: Plan, dropout: Dropout | None) -> Tensor:
        return self._scores_of(self.embeddings(), plan)

    def _scores_of(self, embeddings: list[Tensor], plan: Plan) -> Tensor:
        rows = self.meta_embedding(embeddings)[plan.index]
        return self.set_scores("set", rows, plan, self.options["heads"], 2, torch.relu)

    def alpha(self, epoch: int) -> float:
        """Returns the weight of the reconstruction in an epoch."""
        return alpha_at(self.options["alpha"], self.options["transition_epoch"], epoch)

    def _loss(self, plan: Plan, targets: Tensor, dropout: Dropout | None, epoch: int, step: int) -> Tensor:
        return self.weighted_loss(plan, targets, self.alpha(epoch), epoch, step)

    def weighted_loss(self, plan: Plan, targets: Tensor, alpha: float, epoch: int = 0, step: int = 0) -> Tensor:
        """Returns the loss of a batch with weight `alpha` on the reconstruction."""
        embeddings = self.embeddings()
        interaction = self.score_loss(self._scores_of(embeddings, plan), targets, epoch=epoch, step=step)
        if alpha == 0.0:
            # All parameters have a gradient, as data parallelism needs it.
            parts = ("weight", "bias")
            unused = [self.weight(f"network.{name}.reconstruction.{part}").sum() for name in self.network_names for part in parts]
            return interaction + 0.0 * torch.stack(unused).sum()
        return alpha * self.reconstruction_losses(embeddings).mean() + (1.0 - alpha) * interaction

    def reconstruction_losses(self, embeddings: list[Tensor]) -> Tensor:
        """Returns the reconstruction loss of each network.

        With R = H Vᵀ + 1 cᵀ, the matrix of all pairs: `[λ Σ R² + Σ over distinct edges of ((R − A)² − λ R²)] / genes²`, where Σ R² is the
        Frobenius product of HᵀH and VᵀV, plus 2 (Σ rows of H) · (Vᵀ c), plus genes · |c|².
        """
        parts = zip(self.network_names, self.adjacencies, embeddings, strict=True)
        return torch.stack([self._reconstruction(name, adjacency, h) for name, adjacency, h in parts])

    def _reconstruction(self, name: str, adjacency: Adjacency, h: Tensor) -> Tensor:
        v, c = (self.weight(f"network.{name}.reconstruction.{what}") for what in ("weight", "bias"))
        # Large sums that nearly cancel, so in double precision if the device supports it.
        wide = torch.float64 if h.device.type != "mps" else torch.float32
        grams = ((h.T @ h).to(wide) * (v.T @ v).to(wide)).sum()
        squares = grams + 2.0 * (h.sum(0).to(wide) @ (v.T @ c).to(wide)) + self.gene_count * (c.to(wide) ** 2).sum()
        at_edges = (adjacency.products(h, v) + c[adjacency.outgoing_columns]).to(wide)
        counts = adjacency.outgoing_weights.to(wide)
        penalty = self.penalty(name)
        edges = ((at_edges - counts) ** 2 - penalty * at_edges**2).sum()
        return ((penalty * squares + edges) / self.gene_count**2).to(h.dtype)

    def penalty(self, name: str) -> float:
        """Returns λ, the weight of a pair without an edge in the reconstruction of a network."""
        chosen: dict[str, Any] = {choice["name"]: choice["lambda"] for choice in self.options["networks"]}
        if name == MERGED and name not in chosen:
            return min(value for channel, value in chosen.items() if _is_channel(channel))
        return float(chosen[name])
