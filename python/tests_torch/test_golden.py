"""Outputs, losses and gradients in double precision against the golden cases."""

from pathlib import Path
from typing import Any

import pytest
import torch

import knockout.torch
from golden import COMMITTED, Case, cases
from knockout.torch.dango import alpha_at
from knockout.torch.losses import buffer_weight_at, supcr, temperature_at, wasserstein
from knockout.torch.training import cosine_rate


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
        loss = model.weighted_loss(model.plan(genes, offsets), targets, alpha)
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
    case.check("output.wild.pre", model.first_rows())
    cells = model.cells(model.plan(genes, offsets))
    wild, own = model.rows(cells)
    case.check("output.z_w", wild)
    rows = wild.expand(len(cells.deleted), -1, -1).clone()
    rows[cells.plan.changes[-1]] = own
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
    given = {**sizes, "penalty_layer": options["penalty_layer"], "loss": {"lambda_graph": options["lambda_graph"]}}
    model = knockout.torch.Transformer(case.parameters(), case.networks(), given, loss={"name": "mse"})
    assert set(model.state_dict()) == set(case.parameters())
    (genes, offsets), targets = sets_of(case), targets_of(case)
    tokens, attended = model.tokens()
    case.check("output.tokens", tokens)
    plan = model.plan(genes, offsets)
    members, _, scores = model.read(tokens, plan)
    case.check("output.members", members[plan.mask])
    case.check("output.scores", scores)
    case.check("loss.penalty", model.penalty(attended))
    total = model.loss(genes, offsets, targets)
    case.check("loss.total", total)
    for name, gradient in gradients(model, total).items():
        case.check(f"grad.{name}", gradient)


def case_of(name: str) -> Case:
    return Case(COMMITTED / "losses" / name)


def test_sinkhorn_and_exact_transport() -> None:
    case = case_of("wasserstein")
    for name in ("n8", "n64", "n200", "n2", "collapsed", "narrow", "same"):
        x = torch.as_tensor(case.tensors[f"input.{name}.predictions"]).double().requires_grad_()
        y = torch.as_tensor(case.tensors[f"input.{name}.targets"]).double()
        value = wasserstein(x, y)
        case.check(f"output.{name}.sinkhorn", value)
        (gradient,) = torch.autograd.grad(value, x)
        case.check(f"output.{name}.sinkhorn_gradient", gradient)
        case.check(f"output.{name}.exact", wasserstein(x, y, "exact"))
    x, y = (torch.as_tensor(case.tensors[f"input.masked.{what}"]).double() for what in ("predictions", "targets"))
    case.check("output.masked.per_dimension", torch.stack([wasserstein(x[:, at], y[:, at]) for at in range(2)]))


def test_contrastive_regression() -> None:
    case = case_of("supcr")
    z = torch.as_tensor(case.tensors["input.embeddings"]).double()
    labels = torch.as_tensor(case.tensors["input.labels"]).double()
    tied = torch.as_tensor(case.tensors["input.all_tied.labels"]).double()
    cases = {f"temperature{at:g}": (z, labels, at) for at in (0.1, 0.5, 1.0)}
    cases["all_tied"] = (z[: len(tied)], tied, 1.0)
    for name, (rows, of, temperature) in cases.items():
        rows = rows.clone().requires_grad_()
        value = supcr(rows, of, temperature)
        case.check(f"output.{name}.loss", value)
        (gradient,) = torch.autograd.grad(value, rows)
        case.check(f"output.{name}.gradient", gradient)


def test_the_cosine_schedule() -> None:
    case = case_of("learning_rate")
    for at, options in enumerate(case.about["options"]["configurations"]):
        names = {"first": "first_cycle", "mult": "cycle_factor", "low": "lowest", "warm": "warmup", "gamma": "gamma"}
        given = {names[key]: value for key, value in options.items() if key in names}
        rates = [cosine_rate(given, options["high"], epoch) for epoch in range(case.about["sizes"]["epochs"])]
        # The reference starts at the lowest rate; the program, and so this, at the top.
        expected = case.tensors[f"output.rate.{at}.f64"]
        assert rates[0] == (options["high"] if options["warm"] == 0 else options["low"])
        assert rates[1:] == pytest.approx(expected[1:].tolist(), rel=1e-12)


def test_schedules_of_losses() -> None:
    case = case_of("schedules")
    options = case.about["options"]

    def check(name: str, of: Any, epochs: int) -> None:
        case.check(name, torch.tensor([of(epoch) for epoch in range(epochs)], dtype=torch.float64))

    for warm, stable in options["buffer_warmup_and_stable"]:
        name = f"output.buffer_weight.{warm}.{stable}"
        rising = {"name": "rising", "warmup_epochs": warm, "stable_epoch": stable}
        check(name, lambda epoch, rising=rising: buffer_weight_at(rising, epoch), len(case.tensors[f"{name}.f64"]))
    assert buffer_weight_at({"name": "constant", "weight": 0.25}, 7) == 0.25
    for first, last, epochs in options["temperature_first_last_epochs"]:
        for kind in ("exponential", "cosine"):
            schedule = {"name": kind, "first": first, "last": last, "epochs": epochs}
            name = f"output.temperature_{kind}.{first:g}.{last:g}.{epochs}"
            check(name, lambda epoch, schedule=schedule: temperature_at(schedule, epoch), epochs + 1)
    for transition in options["transition_epochs"]:
        for kind in ("pre_then_post", "linear_until_uniform", "linear_until_flipped"):
            check(
                f"output.{kind}.{transition}",
                lambda epoch, kind=kind, transition=transition: alpha_at(kind, transition, epoch),
                len(case.tensors[f"output.{kind}.{transition}.f64"]),
            )
