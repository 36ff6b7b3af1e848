"""Loaders: the order of training, every sample once, in any process."""

import multiprocessing
import os
import pickle
from collections import Counter
from pathlib import Path

import numpy
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import knockout


@pytest.fixture(scope="module")
def dataset(tiny: str) -> knockout.Dataset:
    return knockout.Dataset(tiny)


def same(a: dict, b: dict) -> bool:
    return all(numpy.array_equal(a[key], b[key]) for key in ("genes", "offsets", "score", "rows"))


def test_a_batch_holds_what_the_samples_say(dataset: knockout.Dataset) -> None:
    batch = knockout.Loader(dataset, batch=32)[1]
    columns = dataset.samples("dict")
    assert batch["genes"].dtype == batch["offsets"].dtype == numpy.int64 and batch["score"].dtype == numpy.float32
    for slot, row in enumerate(batch["rows"]):
        expected = columns["genes"][columns["genes_offsets"][row] : columns["genes_offsets"][row + 1]]
        assert batch["genes"][batch["offsets"][slot] : batch["offsets"][slot + 1]].tolist() == expected.tolist()
        assert batch["score"][slot] == numpy.float32(columns["score"][row])


def test_the_order_is_one_of_the_training_part(dataset: knockout.Dataset) -> None:
    """tests_torch compares the order with that of `knockout train`, by the loss of the first step."""
    loader = knockout.Loader(dataset, batch=64, seed=5)
    assert not numpy.array_equal(loader.order(0), loader.order(1))
    assert sorted(loader.order(0)) == sorted(loader.order(1)) == sorted(dataset.split().train)


@pytest.mark.parametrize("part", ["train", "val"])
def test_a_configurations_loader_leaves_out_the_test_part_of_the_adopted_run(
    dataset: knockout.Dataset, tmp_path: Path, part: str
) -> None:
    options = {"model.width": 8, "split.scheme": "gene-disjoint", "split.seed": 3}
    trained = knockout.train(dataset, "dango", out=tmp_path / "trained", max_steps=1, settings=options)
    run = knockout.adopt(dataset, "dango", trained.weights(), train_loss=1.0, out=tmp_path / "run", settings=options)
    recorded = run.config["split"]
    assert (recorded["scheme"], recorded["seed"]) == ("gene-disjoint", 3)
    tested = set(dataset.split(**recorded).test.tolist())
    assert tested & set(knockout.Loader(dataset, part=part).order().tolist()), "the test must distinguish loaders"
    loader = knockout.Loader.from_config(dataset, knockout.config(dataset, "dango", settings=options), part)
    assert tested.isdisjoint(loader.order().tolist())


def test_a_configurations_loader_has_its_seed_and_batch_size(dataset: knockout.Dataset) -> None:
    config = knockout.config(dataset, "dango", settings={"seed": 5, "batch": 48})
    loader = knockout.Loader.from_config(dataset, config)
    assert loader.order(2).tolist() == knockout.Loader(dataset, seed=5).order(2).tolist()
    assert len(loader[0]["score"]) == 48
    assert len(knockout.Loader.from_config(dataset, config, batch=7)[0]["score"]) == 7


def test_the_configuration_that_a_run_records_gives_the_same_loader(dataset: knockout.Dataset, tmp_path: Path) -> None:
    options = {"model.width": 8, "split.scheme": "pair-disjoint", "split.fold": "1/5", "seed": 6}
    run = knockout.train(dataset, "dango", out=tmp_path / "run", max_steps=1, settings=options)
    expected = knockout.Loader.from_config(dataset, knockout.config(dataset, "dango", settings=options))
    assert knockout.Loader.from_config(dataset, run.config).order(1).tolist() == expected.order(1).tolist()


def test_epochs_differ_and_repeat(dataset: knockout.Dataset) -> None:
    loader = knockout.Loader(dataset, batch=100, seed=1)
    first = loader[0]
    loader.set_epoch(1)
    assert not same(first, loader[0])
    assert same(first, loader[0, 0])
    assert same(loader[-1], loader[len(loader) - 1])
    with pytest.raises(IndexError):
        loader[len(loader)]
    validation = knockout.Loader(dataset, batch=64, part="val")
    assert numpy.array_equal(validation.order(0), dataset.split().val)


@given(batch=st.integers(1, 400), world=st.integers(1, 9), epoch=st.integers(0, 5))
@settings(max_examples=40, deadline=None)
def test_every_sample_goes_to_one_rank_once(tiny: str, batch: int, world: int, epoch: int) -> None:
    dataset = _cached(tiny)
    loaders = [knockout.Loader(dataset, batch=batch, rank=rank, world=world, seed=2) for rank in range(world)]
    seen: Counter[int] = Counter()
    for loader in loaders:
        sizes = [len(loader[epoch, index]["rows"]) for index in range(len(loader))]
        assert all(0 < size <= batch for size in sizes)
        for index in range(len(loader)):
            seen.update(loader[epoch, index]["rows"].tolist())
    assert seen == Counter(dataset.split().train.tolist())
    if batch > 1:
        assert len({len(loader) for loader in loaders}) == 1


_OPEN: dict[str, knockout.Dataset] = {}


def _cached(path: str) -> knockout.Dataset:
    return _OPEN.setdefault(path, knockout.Dataset(path))


def test_masks_and_graphs_say_the_same_as_genes(dataset: knockout.Dataset) -> None:
    forms = {form: knockout.Loader(dataset, batch=7, form=form)[2] for form in ("genes", "masks", "packed", "graphs")}  # type: ignore[arg-type]
    masks, packed, graphs = forms["masks"], forms["packed"], forms["graphs"]
    for slot in range(7):
        begin, end = forms["genes"]["offsets"][slot : slot + 2]
        gone = set(forms["genes"]["genes"][begin:end].tolist())
        assert set(numpy.flatnonzero(~masks["gene_mask"][slot])) == gone
        graph = graphs["graphs"][slot]
        assert set(range(dataset.gene_count)) - set(graph["genes"].tolist()) == gone
        for name in dataset.networks:
            network = dataset.network(name)
            expected = numpy.array([s not in gone and t not in gone for s, t in zip(network.sources, network.targets)])
            assert numpy.array_equal(masks["edge_masks"][name][slot], expected)
            bits = numpy.unpackbits(packed["edge_masks"][name][slot], bitorder="little")[: len(network)]
            assert numpy.array_equal(bits.astype(bool), expected)
            starts, columns = graph["networks"][name]
            sources = numpy.repeat(graph["genes"], numpy.diff(starts))
            assert numpy.array_equal(sources, network.sources[expected])
            assert numpy.array_equal(graph["genes"][columns], network.targets[expected])


def test_arrays_speak_dlpack(dataset: knockout.Dataset) -> None:
    batch = knockout.Loader(dataset, batch=8, form="masks")[0]
    for key in ("genes", "offsets", "score", "gene_mask"):
        assert numpy.array_equal(numpy.from_dlpack(batch[key]), batch[key])


def test_a_copy_has_the_same_batches(dataset: knockout.Dataset) -> None:
    loader = knockout.Loader(dataset, batch=10, split="gene-disjoint", part="test", seed=4, shuffle=True, rank=1, world=2)
    loader.set_epoch(3)
    again = pickle.loads(pickle.dumps(loader))
    assert len(again) == len(loader) and all(same(a, b) for a, b in zip(again, loader))


def _sum(loader: knockout.Loader, first: int, step: int) -> float:
    return sum(float(loader[index]["score"].sum()) for index in range(first, len(loader), step))


@pytest.mark.parametrize("method", ["fork", "forkserver", "spawn"])
def test_worker_processes_make_the_same_batches(dataset: knockout.Dataset, method: str) -> None:
    loader = knockout.Loader(dataset, batch=50)
    dataset.summary()  # starts the threads before the fork
    with multiprocessing.get_context(method).Pool(2) as pool:
        sums = pool.starmap(_sum, [(loader, worker, 2) for worker in range(2)])
    assert sum(sums) == pytest.approx(_sum(loader, 0, 1), rel=1e-6)


def test_a_forked_process_has_threads_of_its_own(tiny: str) -> None:
    dataset = knockout.Dataset(tiny)
    assert knockout.threads() >= 1
    child = os.fork()
    if child == 0:
        # Opening and summarising need the pool; without its threads they would wait forever.
        ok = knockout.Dataset(tiny).summary() == dataset.summary()
        os._exit(0 if ok else 1)
    assert os.waitpid(child, 0)[1] == 0
