"""Exports of Neo4j and datasets of torchcell become datasets. torchcell itself is not installed here: a stub has its interface."""

import json
import runpy
import sys
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

import knockout

HERE = Path(__file__).parents[1]
#: Next to the tests if these were copied from the sources, otherwise in the repository.
EXAMPLES = next(path for path in (HERE, HERE.parent / "examples") if (path / "neo4j").exists())

#: Two triples and a pair, one of them not of deletions alone.
ROWS: list[dict[str, Any]] = [
    {"experiment": "e1", "gene_a": "YAL001C", "gene_b": "YBR002W", "gene_c": "YCR003C", "order": 3, "score": -0.25, "p_value": 0.01, "kind": "deletion"},
    {"experiment": "e2", "gene_a": "YAL001C", "gene_b": "YBR002W", "gene_c": "YDL004W", "order": 3, "score": 0.125, "p_value": None, "kind": "allele"},
    {"experiment": "e3", "gene_a": "YCR003C", "gene_b": "YDL004W", "gene_c": None, "order": 2, "score": 4.5e-05, "p_value": 0.5, "kind": "deletion"},
]


def run(script: str, *arguments: Any, capsys: pytest.CaptureFixture[str]) -> tuple[int, str]:
    """Runs a script; returns its code and what it printed."""
    before = sys.argv
    sys.argv = [script, *map(str, arguments)]
    try:
        with pytest.raises(SystemExit) as end:
            runpy.run_path(str(EXAMPLES / script), run_name="__main__")
    finally:
        sys.argv = before
    captured = capsys.readouterr()
    return int(end.value.code or 0), captured.out + captured.err


def cypher_shell(path: Path, rows: list[dict[str, Any]]) -> Path:
    """Writes rows as `cypher-shell --format plain` prints them."""

    def shown(value: Any) -> str:
        if value is None:
            return "NULL"
        return '"' + value.replace("\\", "\\\\").replace('"', '\\"') + '"' if isinstance(value, str) else str(value).replace("e-05", "E-5")

    lines = [", ".join(rows[0]), *(", ".join(map(shown, row.values())) for row in rows)]
    path.write_text("\n".join(lines) + "\n")
    return path


def apoc_rows(path: Path, rows: list[dict[str, Any]]) -> Path:
    """Writes rows as apoc.export.json.query does: one object in each line, without nulls."""
    path.write_text("".join(json.dumps({key: value for key, value in row.items() if value is not None}) + "\n" for row in rows))
    return path


def graph() -> tuple[list[tuple[str, str, dict[str, Any]]], list[tuple[str, str, str]]]:
    """Nodes (id, label, properties) and edges (type, start, end) of the rows, with an experiment in another medium."""
    nodes: dict[str, tuple[str, dict[str, Any]]] = {
        "Tmi": ("Dataset", {}),
        "env": ("Environment", {}),
        "other env": ("Environment", {}),
        "ypd": ("Media", {"name": "YEPD"}),
        "sd": ("Media", {"name": "SD"}),
        "30": ("Temperature", {"value": 30.0}),
    }
    edges = [("MediaMemberOf", "ypd", "env"), ("MediaMemberOf", "sd", "other env")]
    edges += [("TemperatureMemberOf", "30", "env"), ("TemperatureMemberOf", "30", "other env")]
    elsewhere = {**ROWS[0], "experiment": "e4", "score": 9.0}
    for row in [*ROWS, elsewhere]:
        name = row["experiment"]
        nodes[name] = ("Experiment", {})
        nodes[f"{name} p"] = ("GeneInteractionPhenotype", {"graph_level": "hyperedge", "gene_interaction": row["score"]})
        if row["p_value"] is not None:
            nodes[f"{name} p"][1]["gene_interaction_p_value"] = row["p_value"]
        nodes[f"{name} g"] = ("Genotype", {})
        environment = "other env" if row is elsewhere else "env"
        edges += [("ExperimentMemberOf", name, "Tmi"), ("PhenotypeMemberOf", f"{name} p", name)]
        edges += [("GenotypeMemberOf", f"{name} g", name), ("EnvironmentMemberOf", environment, name)]
        genes = [row[key] for key in ("gene_a", "gene_b", "gene_c") if row[key]]
        for at, gene in enumerate(genes):
            kind = "allele" if row["kind"] == "allele" and at == 0 else "deletion"
            nodes[f"{gene} {kind}"] = ("Perturbation", {"systematic_gene_name": gene, "perturbation_type": kind})
            edges.append(("PerturbationMemberOf", f"{gene} {kind}", f"{name} g"))
    return [(node, label, about) for node, (label, about) in nodes.items()], edges


def apoc_graph(path: Path) -> Path:
    """Writes the graph as apoc.export.json.all does."""
    nodes, edges = graph()
    ids = {node: str(at) for at, (node, _, _) in enumerate(nodes)}
    lines = [
        {"type": "node", "id": ids[node], "labels": [label, "Entity"], "properties": {"id": node, **about}} for node, label, about in nodes
    ]
    both = [({"id": ids[start], "labels": ["Entity"]}, {"id": ids[end], "labels": ["Entity"]}) for _, start, end in edges]
    lines += [
        {"id": str(at), "type": "relationship", "label": kind, "start": start, "end": end}
        for at, ((kind, _, _), (start, end)) in enumerate(zip(edges, both, strict=True))
    ]
    path.write_text("".join(json.dumps(line) + "\n" for line in lines))
    return path


def bulk_import(folder: Path) -> Path:
    """Writes the graph as BioCypher does for `neo4j-admin database import`."""
    folder.mkdir()
    nodes, edges = graph()
    for label in {label for _, label, _ in nodes}:
        mine = [(node, about) for node, kind, about in nodes if kind == label]
        names = sorted({name for _, about in mine for name in about})
        types = {name: ":double" if name in ("value", "gene_interaction", "gene_interaction_p_value") else "" for name in names}
        (folder / f"{label}-header.csv").write_text("\t".join([":ID", *(name + types[name] for name in names), ":LABEL"]))
        rows = ("\t".join([node, *(str(about.get(name, "")) for name in names), f"{label}|Entity"]) for node, about in mine)
        (folder / f"{label}-part000.csv").write_text("".join(f"{row}\n" for row in rows))
    for kind in {kind for kind, _, _ in edges}:
        (folder / f"{kind}-header.csv").write_text(":START_ID\t:END_ID\t:TYPE")
        mine = [f"{start}\t{end}\t{kind}\n" for name, start, end in edges if name == kind]
        (folder / f"{kind}-part000.csv").write_text("".join(mine))
    return folder


@pytest.mark.parametrize(
    "export",
    [
        lambda home: cypher_shell(home / "rows.csv", ROWS),
        lambda home: apoc_rows(home / "rows.jsonl", ROWS),
        lambda home: apoc_graph(home / "graph.jsonl"),
        lambda home: bulk_import(home / "biocypher-out"),
    ],
)
def test_every_export_format_becomes_the_same_dataset(export: Any, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    code, printed = run("neo4j/prepare.py", export(tmp_path), "--out", tmp_path / "tables", capsys=capsys)
    assert code == 0 and "3 interactions, 4 genes" in printed, printed
    knockout.import_recipe(tmp_path / "data", EXAMPLES / "neo4j" / "recipe.toml", data=tmp_path / "tables")
    dataset = knockout.Dataset(tmp_path / "data")
    assert dataset.genes("dict")["systematic"] == ["YAL001C", "YBR002W", "YCR003C", "YDL004W"]
    assert sorted(dataset.samples("dict")["score"]) == pytest.approx([-0.25, 4.5e-05, 0.125])


def test_genes_and_networks_are_exported_beside_the_screen(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    screen = cypher_shell(tmp_path / "rows.csv", ROWS)
    genes = cypher_shell(tmp_path / "genes.csv", [{"gene": f"Y{letter}L00{at}C"} for at, letter in enumerate("ABCD")])
    edges = cypher_shell(tmp_path / "edges.csv", [{"network": "physical", "source": "YAL001C", "target": "YBR002W"}])
    code, printed = run("neo4j/prepare.py", screen, genes, edges, "--out", tmp_path / "tables", capsys=capsys)
    assert code == 0 and "1 edges" in printed
    assert (tmp_path / "tables" / "networks.tsv").read_text() == "network\tsource\ttarget\nphysical\tYAL001C\tYBR002W\n"


@pytest.mark.parametrize(
    ("name", "text", "words"),
    [
        ("movies.jsonl", '{"type":"node","id":"0","labels":["Movie"],"properties":{"title":"M"}}\n', "another graph"),
        ("people.csv", 'name, born\n"A", 1964\n', "an export of another graph?"),
        ("list.json", '[{"gene_a": "A"}]\n', "jsonFormat JSON_LINES"),
        ("cut.csv", 'gene_a, gene_b, score\n"A", "B"\n', "line 2: 2 values for 3 columns"),
        ("empty.csv", "", "is empty"),
        ("none.csv", "gene_a, gene_b, score\n", "no scored genotype"),
        ("four.csv", 'gene_a, gene_b, order, score\n"A", "B", 4, 0.1\n', "4 genes"),
    ],
)
def test_other_files_are_refused_by_name(name: str, text: str, words: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (tmp_path / name).write_text(text)
    code, printed = run("neo4j/prepare.py", tmp_path / name, "--out", tmp_path / "tables", capsys=capsys)
    assert code == 3 and words in printed and name in printed or words == "no scored genotype", printed
    assert not (tmp_path / "tables").exists()


class CellGraph:
    """The part of PyG's HeteroData that the converter reads."""

    edge_types = [("gene", "physical_interaction", "gene"), ("gene", "gpr", "reaction")]
    node_ids = ["YAL001C", "YBR002W", "YCR003C"]

    def __getitem__(self, key: Any) -> Any:
        if key == "gene":
            return SimpleNamespace(node_ids=self.node_ids)
        return SimpleNamespace(edge_index=SimpleNamespace(tolist=lambda: [[0, 1, 2], [1, 2, 2]]))


class StubDataset:
    """A `Neo4jCellDataset` as far as the converter goes."""

    def __init__(self, root: Path) -> None:
        (root / "processed" / "lmdb").mkdir(parents=True)
        cache = root / "data_module_cache" / "perturbation_subset_1e1"
        cache.mkdir(parents=True)
        (root / "data_module_cache" / "index_seed_42.json").write_text('{"train": [0, 1], "val": [2], "test": []}')
        (cache / "index_1e1_seed_42.json").write_text('{"train": [0], "val": [2], "test": []}')
        (cache / "index_details_1e1_seed_42.json").write_text("{}")
        self.root, self.gene_set, self.cell_graph = str(root), set(CellGraph.node_ids), CellGraph()

    def __len__(self) -> int:
        return 3


def test_a_torchcell_dataset_becomes_a_recipe_with_its_networks_and_splits(tmp_path: Path) -> None:
    convert = runpy.run_path(str(EXAMPLES / "torchcell" / "convert.py"))
    dataset = StubDataset(tmp_path / "root")
    module = SimpleNamespace(dataset=dataset, cache_dir=str(tmp_path / "root" / "data_module_cache"))
    found = convert["convert"](SimpleNamespace(cell_data_module=module), tmp_path / "tables")
    assert found == {"records": 3, "genes": 3, "networks": {"physical": 2}, "splits": 2}
    assert (tmp_path / "tables" / "physical.tsv").read_text() == "source\ttarget\nYAL001C\tYBR002W\nYBR002W\tYCR003C\n"
    recipe = (tmp_path / "tables" / "recipe.toml").read_text()
    assert "index_seed_42.json" in recipe and "index_1e1_seed_42.json" in recipe and "details" not in recipe
    with pytest.raises(convert["WrongRequest"], match="has the record 2"):
        StubDataset.__len__ = lambda self: 2  # type: ignore[method-assign]
        convert["convert"](dataset, tmp_path / "tables")


def test_what_is_no_torchcell_dataset_is_refused(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    factory = tmp_path / "mine.py"
    for text, words in [
        ("import torchcell_absent\n", "needs torchcell_absent, which is not installed here"),
        ("def other(): return 1\n", "has no function 'build'"),
        ("def build(): return 1\n", "int is not a dataset of torchcell"),
    ]:
        factory.write_text(text)
        code, printed = run("torchcell/convert.py", f"{factory}:build", "--out", tmp_path / "out", capsys=capsys)
        assert code == 2 and words in printed, printed
