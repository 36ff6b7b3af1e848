"""Outputs and gradients in double precision against the golden cases."""

from pathlib import Path

import pytest
import torch

import knockout.torch
from golden import Case, cases


def sets_of(case: Case) -> tuple[torch.Tensor, torch.Tensor]:
    return torch.as_tensor(case.tensors["input.perturbation.genes"]), torch.as_tensor(case.tensors["input.perturbation.offsets"])


def targets_of(case: Case) -> torch.Tensor:
    return torch.as_tensor(case.tensors["input.targets"]).double()


def gradients(model: torch.nn.Module, loss: torch.Tensor) -> dict[str, torch.Tensor]:
    model.zero_grad()
    loss.backward(retain_graph=True)
    return {
        name: torch.zeros_like(value) if value.grad is None else value.grad.clone()
        for name, value in model.named_parameters()
    }


@pytest.mark.parametrize("folder", cases("dango"), ids=lambda path: f"{path.parents[1].name}-{path.name}")
def test_dango(folder: Path) -> None:
    case = Case(folder)
    options = case.about["options"]
    penalties = [{"name": name, "lambda": options["lambda"][name]} for name in options["networks"]]
    model = knockout.torch.Dango(
        case.parameters(),
        case.networks(),
        {"heads": case.about["sizes"]["heads"], "networks": penalties, "alpha": "linear-until-uniform", "transition_epoch": 10},
    )
    assert list(model.state_dict()) and set(model.state_dict()) == set(case.parameters())
    (genes, offsets), targets = sets_of(case), targets_of(case)
    embeddings = model.embeddings()
    for name, embedding in zip(options["networks"], embeddings, strict=True):
        case.check(f"output.embedding.{name}", embedding)
    case.check("output.meta_embedding", model.meta_embedding(embeddings))
    case.check("output.scores", model(genes, offsets))
    case.check("loss.reconstruction_per_network", model.reconstruction_losses(embeddings))
    for alpha in options["alphas_of_gradients"]:
        loss = model.loss(genes, offsets, targets, alpha=alpha)
        key = f"alpha{alpha:g}" if f"loss.total.alpha{alpha:g}" in case.tensors else f"alpha{alpha}"
        case.check(f"loss.total.{key}", loss)
        for name, gradient in gradients(model, loss).items():
            case.check(f"grad.{key}.{name}", gradient)


@pytest.mark.parametrize("recompute", [False, True])
@pytest.mark.parametrize("folder", cases("hetero"), ids=lambda path: f"{path.parents[1].name}-{path.name}")
def test_hetero(folder: Path, recompute: bool) -> None:
    case = Case(folder)
    model = knockout.torch.Hetero(case.parameters(), case.networks(), case.about["options"])
    model.recompute = recompute
    assert set(model.state_dict()) == set(case.parameters())
    (genes, offsets), targets = sets_of(case), targets_of(case)
    case.check("output.wild.pre", model.pre())
    deleted = knockout.torch.hetero.Sets(genes, offsets).deleted(model.gene_count)
    changes = model.changes(deleted)
    wild, own = model.rows(deleted, changes)
    case.check("output.z_w", wild)
    rows = wild.expand(len(deleted), -1, -1).clone()
    rows[changes[-1]] = own
    case.check("output.z_i", rows)
    case.check("output.predictions", model(genes, offsets))
    loss = model.loss(genes, offsets, targets)
    case.check("loss.log_cosh", loss)
    for name, gradient in gradients(model, loss).items():
        case.check(f"grad.{name}", gradient)


@pytest.mark.parametrize("folder", cases("transformer"), ids=lambda path: f"{path.parents[1].name}-{path.name}")
def test_transformer(folder: Path) -> None:
    case = Case(folder)
    sizes, options = case.about["sizes"], case.about["options"]
    loss = {"point": "mse", "lambda_graph": options["lambda_graph"]}
    given = {**sizes, "penalty_layer": options["penalty_layer"], "loss": loss}
    model = knockout.torch.Transformer(case.parameters(), case.networks(), given)
    assert set(model.state_dict()) == set(case.parameters())
    (genes, offsets), targets = sets_of(case), targets_of(case)
    tokens, attended = model.tokens()
    case.check("output.tokens", tokens)
    sets = knockout.torch.hetero.Sets(genes, offsets)
    members, scores = model.read(tokens, sets)
    case.check("output.members", members[sets.mask])
    case.check("output.scores", scores)
    case.check("loss.penalty", model.penalty(attended))
    total = model.loss(genes, offsets, targets)
    case.check("loss.total", total)
    for name, gradient in gradients(model, total).items():
        case.check(f"grad.{name}", gradient)
