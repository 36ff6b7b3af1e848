"""The models of `knockout.torch` against the program's own on the synthetic yeast, and weights both ways."""

from pathlib import Path
from typing import Any

import numpy
import pytest
import torch

import knockout
import knockout.torch

SETTINGS: dict[str, dict[str, Any]] = {
    # Both parts of the loss have a weight from the first epoch.
    "dango": {"model.width": 8, "model.transition_epoch": 0, "batch": 64, "seed": 3},
    "hetero": {"model.width": 8, "model.gin_hidden": 8, "model.pair_hidden": 4, "model.layers": 2, "batch": 16, "seed": 3},
    "transformer": {"model.width": 16, "model.layers": 2, "model.dropout": 0.0, "batch": 64, "seed": 3},
}
MODELS = {"dango": knockout.torch.Dango, "hetero": knockout.torch.Hetero, "transformer": knockout.torch.Transformer}


@pytest.fixture(scope="module")
def dataset(tiny: str) -> knockout.Dataset:
    return knockout.Dataset(tiny)


def tensors(batch: dict[str, Any]) -> tuple[torch.Tensor, torch.Tensor, torch.Tensor]:
    return tuple(torch.from_numpy(batch[key]) for key in ("genes", "offsets", "score"))  # type: ignore[return-value]


@pytest.mark.parametrize("name", MODELS)
def test_the_loss_of_the_first_step_is_the_runs(dataset: knockout.Dataset, tmp_path: Path, name: str) -> None:
    """Same initial weights and first batch give the loss in the first line of the run's metrics."""
    settings = SETTINGS[name]
    run = knockout.train(dataset, name, out=tmp_path / "run", max_steps=1, settings=settings)
    model = MODELS[name].from_dataset(dataset, settings=settings)
    loader = model.loader()
    genes, offsets, score = tensors(loader[0, 0])
    expected = run.metrics("dict")["train_loss"][0]
    assert model.loss(genes, offsets, model.standardise(score), epoch=0).item() == pytest.approx(expected, rel=2e-5)
    genes, offsets, score = tensors(loader[0, 1])
    other = model.loss(genes, offsets, model.standardise(score), epoch=0).item()
    assert other != pytest.approx(expected, rel=2e-5), "the test must distinguish batches"


@pytest.mark.parametrize("name", MODELS)
def test_a_trained_run_predicts_the_same(dataset: knockout.Dataset, tmp_path: Path, name: str) -> None:
    run = knockout.train(dataset, name, out=tmp_path / "run", max_steps=20, settings=SETTINGS[name])
    model = MODELS[name].from_run(run)
    genes, offsets, _ = tensors(knockout.Loader(dataset, batch=50, part="test")[0])
    sets = [genes[begin:end].tolist() for begin, end in zip(offsets[:-1], offsets[1:])]
    with torch.no_grad():
        found = model.predict(genes, offsets).numpy()
    assert numpy.abs(found - run.predict(sets).mean).max() <= 1e-5 * run.labels[1] * 10
    # Weights as a file, both ways.
    model.save_weights(tmp_path / "weights.safetensors")
    again = MODELS[name].from_dataset(dataset, settings=SETTINGS[name])
    again.load_weights(run.checkpoint / "weights.safetensors")
    for key, value in run.weights().items():
        assert numpy.array_equal(again.state_dict()[key].numpy(), value), key
    adopted = model.adopt(train_loss=1.0, out=tmp_path / "back")
    assert adopted.info()["weights_hash"] == run.info()["weights_hash"]


@pytest.mark.parametrize("norm", ["node", "none", "graph"])
def test_changed_rows_are_all_that_change(dataset: knockout.Dataset, norm: str) -> None:
    """Computing all rows gives the same as computing only those that a deletion reaches."""
    settings = {**SETTINGS["hetero"], "model.norm": norm, "model.layers": 1}
    model = knockout.torch.Hetero.from_dataset(dataset, settings=settings).double()
    genes, offsets, _ = tensors(knockout.Loader(dataset, batch=8)[0])
    cells = model.cells(model.plan(genes, offsets))
    wild, own = model.rows(cells)
    count = cells.deleted.numel()
    assert len(own) == count if norm == "graph" else 0 < len(own) < count
    few = wild.expand(len(cells.deleted), -1, -1).clone()
    few[cells.plan.changes[-1]] = own
    planner = model.planner()
    planner.everything = True
    everywhere = model.rows(model.cells(planner(genes, offsets)))[1].view_as(few)
    assert torch.allclose(few, everywhere, rtol=0, atol=1e-12)


@pytest.mark.parametrize("name", MODELS)
def test_autocast(dataset: knockout.Dataset, name: str) -> None:
    model = MODELS[name].from_dataset(dataset, settings=SETTINGS[name])
    genes, offsets, score = tensors(knockout.Loader(dataset, batch=16)[0])
    exact = model.loss(genes, offsets, model.standardise(score))
    with torch.autocast("cpu", dtype=torch.bfloat16):
        loose = model.loss(genes, offsets, model.standardise(score))
    loose.backward()
    assert loose.item() == pytest.approx(exact.item(), rel=0.05)
    assert all(value.grad is not None and torch.isfinite(value.grad).all() for value in model.parameters())


@pytest.mark.parametrize("name", MODELS)
def test_what_is_compiled_is_one_graph(dataset: knockout.Dataset, name: str) -> None:
    """Everything with a gradient compiles into one graph, for batches of any size."""
    graphs: list[Any] = []

    def keep(graph: Any, inputs: Any) -> Any:
        graphs.append(graph)
        return graph.forward

    model = MODELS[name].from_dataset(dataset, settings=SETTINGS[name])
    loss_of = torch.compile(model.loss, backend=keep, dynamic=True)
    for batch in (16, 11, 5):
        genes, offsets, score = tensors(knockout.Loader(dataset, batch=batch)[0])
        expected = model.loss(genes, offsets, model.standardise(score)).item()
        assert loss_of(genes, offsets, model.standardise(score)).item() == pytest.approx(expected, rel=1e-6)
    assert len(graphs) == 1


@pytest.mark.parametrize("name", MODELS)
def test_compile(dataset: knockout.Dataset, name: str) -> None:
    """The compiled loss gives the same value and gradients, also for a batch of another size."""
    # One layer has every operation, and the compiler takes a second of CPU time per operation.
    two = {"model.layers": 1, "model.networks": ["physical", "regulatory"]}
    fewer = {"dango": {}, "hetero": two, "transformer": {**two, "model.penalty_layer": 0}}[name]
    plain = MODELS[name].from_dataset(dataset, settings={**SETTINGS[name], **fewer})
    loss_of = torch.compile(plain.loss, dynamic=True)
    for batch in (16, 11):
        genes, offsets, score = tensors(knockout.Loader(dataset, batch=batch)[0])
        found = {}
        for how, compute in (("plain", plain.loss), ("compiled", loss_of)):
            plain.zero_grad()
            loss = compute(genes, offsets, plain.standardise(score))
            loss.backward()
            found[how] = (loss.item(), {key: value.grad.clone() for key, value in plain.named_parameters()})
        assert found["compiled"][0] == pytest.approx(found["plain"][0], rel=1e-5)
        for key, expected in found["plain"][1].items():
            worst = (found["compiled"][1][key] - expected).abs().max().item()
            assert worst <= 1e-5 + 1e-3 * expected.abs().max().item(), f"{key}: off by {worst:.1e}"


def test_training_lowers_the_loss_and_comes_back(dataset: knockout.Dataset, tmp_path: Path) -> None:
    model = knockout.torch.Dango.from_dataset(dataset, settings=SETTINGS["dango"])
    training = model.training_of()
    batches = knockout.torch.dataloader(model.loader(), model)
    losses = []
    for _ in range(2):
        total = 0.0
        for batch in batches:
            loss = model(batch["genes"], batch["offsets"], model.targets(batch), epoch=training.epoch, plan=batch["plan"])
            total += training.step(loss, len(batches)).item()
        training.end_epoch()
        losses.append(total / len(batches))
    assert losses[1] < losses[0]
    run = model.adopt(train_loss=losses[-1], out=tmp_path / "run")
    assert len(run.evaluate(resamples=20, kind="dict")["name"]) == 3


def test_a_model_of_another_kind_is_refused(dataset: knockout.Dataset, tmp_path: Path) -> None:
    run = knockout.train(dataset, "dango", out=tmp_path / "run", max_steps=1, settings=SETTINGS["dango"])
    with pytest.raises(knockout.RequestError, match="not of hetero"):
        knockout.torch.Hetero.from_run(run)


def test_modules_have_layers(dataset: knockout.Dataset) -> None:
    """Layers are submodules that hooks see, and no method hides one of them."""
    model = knockout.torch.Hetero.from_dataset(dataset, settings=SETTINGS["hetero"])
    assert isinstance(model.get_submodule("pre.linear1"), torch.nn.Linear)
    assert "(linear1): Linear(in_features=8, out_features=8, bias=True)" in repr(model)
    called = []
    model.get_submodule("pool.value").register_forward_hook(lambda *_: called.append(True))
    genes, offsets, score = tensors(model.loader(batch=4)[0])
    scores = model(genes, offsets)
    assert called == [True]
    weights = {name: value.detach() for name, value in model.named_parameters()}
    assert torch.allclose(torch.func.functional_call(model, weights, (genes, offsets)), scores)
    for name, module in model.named_modules():
        assert model.get_submodule(name) is module


def test_weights_come_with_their_scale(dataset: knockout.Dataset, tmp_path: Path) -> None:
    run = knockout.train(dataset, "dango", out=tmp_path / "run", max_steps=2, settings=SETTINGS["dango"])
    other = knockout.torch.Dango.from_dataset(dataset, settings={**SETTINGS["dango"], "split.seed": 9})
    assert other.labels != run.labels
    other.load_weights(run.checkpoint / "weights.safetensors")
    assert other.labels == pytest.approx(run.labels)
    other.save_weights(tmp_path / "copy.safetensors")
    third = knockout.torch.Dango.from_dataset(dataset, settings={**SETTINGS["dango"], "split.seed": 9})
    third.load_weights(tmp_path / "copy.safetensors")
    assert third.labels == other.labels


def test_wrong_tensors_are_refused(dataset: knockout.Dataset) -> None:
    model = knockout.torch.Dango.from_dataset(dataset, settings=SETTINGS["dango"])
    genes, offsets = torch.tensor([0, 1, 2]), torch.tensor([0, 3])
    for call, message in [
        (lambda: model(genes.float(), offsets), "genes must be a vector of integers, not float32"),
        (lambda: model(genes, offsets.double()), "offsets must be a vector of integers"),
        (lambda: model(genes.view(1, 3), offsets), "2 dimensions"),
        (lambda: model(-genes, offsets), "count from 0"),
        (lambda: model(genes, torch.tensor([0, 2])), "end at the number of genes"),
        (lambda: model(genes, torch.tensor([0, 3, 2, 3])), "never fall"),
        (lambda: model(genes, torch.tensor([0, 3, 3])), "set 1 has no gene"),
        (lambda: model(torch.tensor([4, 7, 4]), offsets), "set 0 has gene 4 twice"),
        (lambda: model(genes + dataset.gene_count, offsets), "does not exist"),
    ]:
        with pytest.raises(knockout.RequestError, match=message):
            call()
    # A gene may be in several sets.
    assert model(torch.tensor([0, 1, 0, 2]), torch.tensor([0, 2, 4])).shape == (2,)
