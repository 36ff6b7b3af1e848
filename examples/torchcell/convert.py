"""Converts a dataset of torchcell: its samples, gene set, networks, splits and subsets.

    python convert.py my_dataset.py:build --out tables
    knockout data import migrated --recipe tables/recipe.toml --data tables

`my_dataset.py` has a function `build` without arguments that returns a `Neo4jCellDataset` with its `graphs`, as a training script makes it;
a data module that was set up (`CellDataModule`, `PerturbationSubsetDataModule`) is accepted too. It runs where torchcell is installed.
Without torchcell, `knockout data import migrated --screen torchcell:ROOT` reads the store by itself, but not the networks, which torchcell builds
from its own files.

Needs Python 3.10 and, for `build`, torchcell. Exits with 2 for a wrong request.
"""

from __future__ import annotations

import argparse
import importlib.util
import json
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any


class WrongRequest(Exception):
    """Something that the caller has to change."""


def built_by(factory: str) -> Any:
    """Calls the function FILE.py:NAME."""
    file, colon, name = factory.rpartition(":")
    if not colon or not Path(file).is_file():
        raise WrongRequest(f"{factory!r} is not FILE.py:FUNCTION of a file that exists")
    spec = importlib.util.spec_from_file_location("factory", file)
    assert spec is not None and spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    try:
        spec.loader.exec_module(module)
    except ModuleNotFoundError as error:
        raise WrongRequest(f"{file} needs {error.name}, which is not installed here; run this where torchcell is installed") from error
    if not callable(getattr(module, name, None)):
        raise WrongRequest(f"{file} has no function {name!r}")
    return getattr(module, name)()


def networks_of(dataset: Any) -> Iterator[tuple[str, list[tuple[int, int]]]]:
    """Yields the gene networks by name: their edges, as they pass messages, without the self-loops that torchcell adds."""
    for source, name, target in dataset.cell_graph.edge_types:
        if (source, target) == ("gene", "gene"):
            sources, targets = dataset.cell_graph[source, name, target].edge_index.tolist()
            edges = [(a, b) for a, b in zip(sources, targets, strict=True) if a != b]
            yield name.removesuffix("_interaction"), edges


def convert(dataset: Any, out: Path) -> dict[str, Any]:
    """Writes genes, networks and a recipe; returns what was written."""
    # A data module holds its dataset; a module of a subset holds the other module.
    modules = []
    while not hasattr(dataset, "cell_graph"):
        inner = getattr(dataset, "cell_data_module", None) or getattr(dataset, "dataset", None)
        if inner is None:
            raise WrongRequest(f"{type(dataset).__name__} is not a dataset of torchcell: it has neither cell_graph nor dataset")
        modules.append(dataset)
        dataset = inner
    root = Path(dataset.root).resolve()
    if not (root / "processed" / "lmdb").exists():
        raise WrongRequest(f"{root} has no processed/lmdb: let torchcell process the dataset first")
    genes = list(dataset.cell_graph["gene"].node_ids)
    if set(genes) != set(dataset.gene_set):
        raise WrongRequest("the nodes of cell_graph are not the gene set of the dataset")
    # The splits of every module, or else those beside the dataset.
    caches = [Path(module.cache_dir) for module in modules if getattr(module, "cache_dir", None)] or [root / "data_module_cache"]
    indices = sorted({file.resolve() for cache in caches for file in cache.rglob("index_*.json") if "details" not in file.name})
    for file in indices:
        parts = json.loads(file.read_text(encoding="utf-8"))
        largest = max((row for rows in parts.values() for row in rows), default=-1)
        if largest >= len(dataset):
            raise WrongRequest(f"{file} has the record {largest}, but the dataset has {len(dataset)}: it is of another dataset")
    out.mkdir(parents=True, exist_ok=True)
    (out / "genes.txt").write_text("".join(f"{gene}\n" for gene in genes), encoding="utf-8")
    recipe = [f"# Made by convert.py from {root}: {len(dataset)} records.", 'name = "from torchcell"', ""]
    recipe += ["[[genes]]", 'format = "list"', 'file = "genes.txt"', ""]
    counts = {}
    for name, edges in networks_of(dataset):
        rows = "".join(f"{genes[source]}\t{genes[target]}\n" for source, target in edges)
        (out / f"{name}.tsv").write_text(f"source\ttarget\n{rows}", encoding="utf-8")
        # Directed: every entry passes messages one way, as in torchcell.
        recipe += ["[[networks]]", 'format = "edges"', f'file = "{name}.tsv"', f'name = "{name}"']
        recipe += ['source = "source"', 'target = "target"', "directed = true", ""]
        counts[name] = len(edges)
    recipe += ["[[screens]]", 'format = "torchcell"', f"file = {json.dumps(str(root))}"]
    recipe += [f"splits = {json.dumps([str(file) for file in indices])}"] if indices else []
    (out / "recipe.toml").write_text("\n".join(recipe) + "\n", encoding="utf-8")
    return {"records": len(dataset), "genes": len(genes), "networks": counts, "splits": len(indices)}


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("factory", help="FILE.py:FUNCTION that returns the dataset")
    parser.add_argument("--out", type=Path, default=Path("tables"), help="folder of the tables and of recipe.toml (default: tables)")
    options = parser.parse_args()
    try:
        found = convert(built_by(options.factory), options.out)
    except (WrongRequest, OSError) as error:
        print(f"convert.py: {error}", file=sys.stderr)
        return 2
    networks = ", ".join(f"{name} {count}" for name, count in found["networks"].items())
    print(f"{options.out}: {found['records']} records, {found['genes']} genes, {found['splits']} splits; edges: {networks or 'no network'}")
    print(f"next: knockout data import migrated --recipe {options.out}/recipe.toml --data {options.out}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
