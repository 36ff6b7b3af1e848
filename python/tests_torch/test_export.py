"""`torch.export` of what has fixed shapes, and a refusal with the reason of what has not."""

from pathlib import Path
from typing import Any

import pytest
import torch

import knockout
import knockout.torch

MODELS: list[tuple[type[knockout.torch.Model], dict[str, Any]]] = [
    (knockout.torch.Dango, {"model.width": 8}),
    (knockout.torch.Transformer, {"model.width": 16, "model.layers": 1, "model.penalty_layer": 0}),
]


@pytest.fixture(scope="module")
def dataset(tiny: str) -> knockout.Dataset:
    return knockout.Dataset(tiny)


@pytest.mark.parametrize(("kind", "settings"), MODELS, ids=["dango", "transformer"])
def test_an_exported_model_predicts_the_same(
    dataset: knockout.Dataset, tmp_path: Path, kind: type[knockout.torch.Model], settings: dict[str, Any]
) -> None:
    model = kind.from_dataset(dataset, settings=settings).eval()
    genes = torch.tensor([[3, 1, 2], [10, 150, 7], [4, 199, 0], [5, 6, 8]])
    offsets = torch.arange(0, genes.numel() + 1, 3)
    with torch.no_grad():
        expected = model.predict(genes.flatten(), offsets)
    assert torch.allclose(model.scorer()(genes), expected)
    sets = torch.export.Dim("sets", min=2)
    for shapes, batches in ((None, [genes]), ({"genes": {0: sets}}, [genes, genes[:2]])):
        program = torch.export.export(model.scorer(), (genes,), dynamic_shapes=shapes)
        torch.export.save(program, tmp_path / "model.pt2")
        again = torch.export.load(tmp_path / "model.pt2").module()
        for batch in batches:
            assert torch.allclose(again(batch), expected[: len(batch)], rtol=1e-5, atol=1e-7)
    # It distinguishes sets.
    assert expected.std() > 1e-4 * model.labels[1]


def test_what_cannot_be_exported_is_refused_with_the_reason(dataset: knockout.Dataset, tmp_path: Path) -> None:
    small = {"model.width": 8, "model.gin_hidden": 8, "model.pair_hidden": 4, "model.layers": 1}
    hetero = knockout.torch.Hetero.from_dataset(dataset, settings=small)
    with pytest.raises(knockout.RequestError, match="depend on the genes"):
        hetero.scorer()
    genes, offsets = torch.tensor([0, 1, 2]), torch.tensor([0, 3])
    for model in (hetero, knockout.torch.Dango.from_dataset(dataset, settings={"model.width": 8})):
        with pytest.raises(knockout.RequestError, match=r"export model.scorer\(\)"):
            torch.export.export(model, (genes, offsets))
    base = knockout.train(dataset, "low-rank", out=tmp_path / "base")
    rest = knockout.torch.Dango.from_dataset(dataset, settings={"model.width": 8, "from.residuals_of": str(base.folder)})
    with pytest.raises(knockout.RequestError, match="from.residuals_of"):
        rest.scorer()
