"""Datasets: contents without copies, and errors after closing."""

import json
import pickle
from pathlib import Path

import numpy
import pytest

import knockout


@pytest.fixture(scope="module")
def dataset(tiny: str) -> knockout.Dataset:
    return knockout.Dataset(tiny)


def test_networks_are_the_datasets_own_memory(dataset: knockout.Dataset) -> None:
    network = dataset.network("physical")
    matrix = network.csr()
    assert matrix.shape == (dataset.gene_count, dataset.gene_count)
    assert numpy.shares_memory(matrix.data, network.weights)
    assert numpy.shares_memory(matrix.indices, network.targets)
    assert numpy.array_equal(network.edge_index, numpy.stack([network.sources, network.targets]))
    assert numpy.array_equal(numpy.repeat(numpy.arange(200), numpy.diff(network.offsets.astype(int))), network.sources)
    for array in (network.offsets, network.targets, network.sources, network.weights):
        assert not array.flags.writeable
        with pytest.raises(ValueError):
            array.flags.writeable = True


def test_arrays_outlive_their_dataset(tiny: str) -> None:
    with knockout.Dataset(tiny) as dataset:
        weights = dataset.network("physical").weights
        scores = dataset.samples("dict")["score"]
        expected = (weights.sum(), scores.sum())
    del dataset
    assert (weights.sum(), scores.sum()) == expected


def test_samples_say_what_the_parquet_says(dataset: knockout.Dataset) -> None:
    frame = dataset.samples("pandas")
    columns = dataset.samples("dict")
    assert list(frame.columns)[:2] == ["genes", "score"] and len(frame) == len(dataset)
    row = 17
    begin, end = columns["genes_offsets"][row : row + 2]
    assert frame.genes[row] == columns["genes"][begin:end].tolist() == sorted(frame.genes[row])
    assert set(frame["query"][row]) <= set(frame.genes[row])
    polars = dataset.samples("polars")
    assert polars["genes"][row].to_list() == frame.genes[row]
    assert polars["score"].to_numpy().tolist() == frame.score.tolist()


def test_genes_are_found_by_either_name(dataset: knockout.Dataset) -> None:
    genes = dataset.genes("pandas")
    standard = genes[genes.standard.notna()].iloc[0]
    rows = dataset.find_genes([standard.systematic.lower(), standard.standard])
    assert rows.tolist() == [standard.name, standard.name]
    with pytest.raises(knockout.RequestError, match="NOGENE1.*NOGENE2|NOGENE2.*NOGENE1"):
        dataset.find_genes(["NOGENE1", standard.systematic, "NOGENE2"])


@pytest.mark.parametrize("scheme", ["random", "pair-disjoint", "gene-disjoint"])
def test_splits_are_disjoint_and_whole(dataset: knockout.Dataset, scheme: str) -> None:
    split = dataset.split(scheme, seed=3)
    rows = numpy.concatenate([split.train, split.val, split.test])
    assert sorted(rows) == list(range(len(dataset)))
    assert split.scheme == scheme


def test_a_training_subset_leaves_the_other_parts_whole(dataset: knockout.Dataset) -> None:
    whole, part = dataset.split(), dataset.split(train_subset=100)
    assert len(part.train) == 100 and set(part.train) < set(whole.train)
    assert numpy.array_equal(part.val, whole.val) and numpy.array_equal(part.test, whole.test)


def test_a_closed_dataset_raises(tiny: str) -> None:
    dataset = knockout.Dataset(tiny)
    loader = knockout.Loader(dataset)
    dataset.close()
    dataset.close()
    calls = [
        lambda: len(dataset),
        lambda: dataset.genes(),
        lambda: dataset.network("physical"),
        lambda: dataset.samples(),
        lambda: dataset.split(),
        lambda: loader[0],
        lambda: knockout.Loader(dataset),
        lambda: knockout.train(dataset, "dango"),
        lambda: pickle.dumps(dataset),
    ]
    for call in calls:
        with pytest.raises(knockout.ClosedError, match="open it again"):
            call()
    assert "closed" in repr(dataset)


def test_a_damaged_file_is_a_data_error(tmp_path: Path) -> None:
    knockout.synth(tmp_path / "set", "tiny", samples=100).close()
    path = tmp_path / "set" / "samples.parquet"
    content = bytearray(path.read_bytes())
    content[len(content) // 2] ^= 1
    path.write_bytes(content)
    with pytest.raises(knockout.DataError, match="samples.parquet"):
        knockout.Dataset(tmp_path / "set")


def test_a_copy_elsewhere_is_the_same_dataset(tiny: str, tmp_path: Path) -> None:
    dataset = knockout.Dataset(tiny)
    again = pickle.loads(pickle.dumps(dataset))
    assert again.data_hash == dataset.data_hash
    other = knockout.synth(tmp_path / "moved", "tiny", seed=1)
    sent = pickle.dumps(other)
    (tmp_path / "moved").rename(tmp_path / "gone")
    knockout.synth(tmp_path / "moved", "tiny", seed=2).close()
    with pytest.raises(knockout.RequestError, match="have changed"):
        pickle.loads(sent)


def test_synth_is_a_function_of_its_arguments(tmp_path: Path) -> None:
    made = [knockout.synth(tmp_path / name, "tiny", samples=200, seed=seed) for name, seed in [("a", 1), ("b", 1), ("c", 2)]]
    assert made[0].data_hash == made[1].data_hash != made[2].data_hash
    with pytest.raises(knockout.RequestError, match="exist"):
        knockout.synth(tmp_path / "a", "tiny")
    with pytest.raises(knockout.RequestError, match="did you mean"):
        knockout.synth(tmp_path / "d", "tiny", settings={"synth.screen.sample": 3})
    few = knockout.synth(tmp_path / "e", "tiny", settings={"synth": {"screen": {"samples": 50}}})
    assert len(few) == 50


def test_a_recipe_makes_a_dataset(tmp_path: Path) -> None:
    (tmp_path / "genes.txt").write_text("YAL001C\nYAL002W\nYAL003W\n")
    (tmp_path / "edges.tsv").write_text("a\tb\nYAL001C\tYAL002W\nYAL002W\tYAL003W\n")
    (tmp_path / "screen.tsv").write_text("x\ty\ttau\nYAL001C\tYAL002W\t-0.5\nYAL001C\tYAL003W\t0.25\n")
    (tmp_path / "recipe.toml").write_text(
        """
[[genes]]
format = "list"
file = "genes.txt"
[[networks]]
format = "edges"
file = "edges.tsv"
name = "mine"
source = "a"
target = "b"
[[screens]]
format = "table"
file = "screen.tsv"
genes = ["x", "y"]
score = "tau"
"""
    )
    dataset, report = knockout.import_recipe(tmp_path / "out", tmp_path / "recipe.toml", tmp_path)
    assert dataset.networks == ["mine"] and dataset.samples("dict")["score"].tolist() == [-0.5, 0.25]
    assert report["genes"] == 3
    json.dumps(report)
    with pytest.raises(knockout.KnockoutError, match="nowhere"):
        knockout.import_recipe(tmp_path / "again", tmp_path / "nowhere.toml")


def test_the_summary_is_that_of_the_command(dataset: knockout.Dataset) -> None:
    summary = dataset.summary()
    assert summary["genes"] == 200 and summary["samples"]["count"] == 2000
