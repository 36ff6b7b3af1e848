"""Turns exports of a Neo4j graph into the tables that recipe.toml imports.

    python prepare.py interactions.csv --out tables              # cypher-shell --format plain < queries/interactions.cypher
    python prepare.py interactions.jsonl genes.jsonl --out tables     # apoc.export.json.query
    python prepare.py graph.jsonl --dataset TmiKuzmin2018Dataset --out tables     # apoc.export.json.all: nodes and edges
    python prepare.py biocypher-out/ --dataset TmiKuzmin2018Dataset --out tables  # the CSV files of `neo4j-admin database import`

Writes tables/interactions.tsv, and tables/genes.txt and tables/networks.tsv where the export has them.
Needs Python 3.10 and nothing else. Exits with 2 for a wrong request, and with 3 for a file that is not what it should be.
"""

from __future__ import annotations

import argparse
import csv
import json
import sys
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any, NamedTuple

INTERACTION = ["gene_a", "gene_b", "gene_c", "score", "p_value", "kind"]
NETWORK = ["network", "source", "target"]


class WrongFile(Exception):
    """A file that is not an export of such a graph."""


class Graph(NamedTuple):
    """Nodes by id, and edges by type."""

    nodes: dict[str, tuple[set[str], dict[str, Any]]]
    edges: dict[str, list[tuple[str, str]]]


def cypher_shell_rows(path: Path) -> Iterator[tuple[int, dict[str, str | None]]]:
    """Yields the rows of `cypher-shell --format plain`: commas and a space between values, texts in double quotes, NULL for null."""
    with path.open(newline="", encoding="utf-8") as file:
        # A backslash stands before a quote inside of a text.
        reader = csv.reader(file, skipinitialspace=True, escapechar="\\", doublequote=False)
        header = next(reader, None)
        if not header:
            raise WrongFile(f"{path} is empty: did the query fail?")
        names = [name.strip() for name in header]
        for row in reader:
            if not row:
                continue
            if len(row) != len(names):
                raise WrongFile(f"{path}, line {reader.line_num}: {len(row)} values for {len(names)} columns ({', '.join(names)})")
            yield reader.line_num, {name: None if value in ("NULL", "null") else value for name, value in zip(names, row, strict=True)}


def json_lines(path: Path) -> Iterator[tuple[int, dict[str, Any]]]:
    """Yields the objects of a file with one in each line."""
    with path.open(encoding="utf-8") as file:
        for number, line in enumerate(file, 1):
            if not line.strip():
                continue
            try:
                value = json.loads(line)
            except json.JSONDecodeError as error:
                raise WrongFile(f"{path}, line {number}: no JSON object: {error}; export with jsonFormat JSON_LINES") from error
            if not isinstance(value, dict):
                raise WrongFile(f"{path}, line {number}: a list or a number, not an object: export with jsonFormat JSON_LINES")
            yield number, value


def graph_of_json(lines: Iterable[tuple[int, dict[str, Any]]], path: Path) -> Graph:
    """Reads nodes and edges as apoc.export.json.all writes them."""
    graph = Graph({}, {})
    for number, line in lines:
        match line:
            case {"type": "node", "id": node, **rest}:
                graph.nodes[str(node)] = (set(rest.get("labels", [])), rest.get("properties", {}))
            case {"type": "relationship", "label": label, "start": {"id": start}, "end": {"id": end}}:
                graph.edges.setdefault(label, []).append((str(start), str(end)))
            case _:
                raise WrongFile(f"{path}, line {number}: neither a node nor a relationship of apoc.export.json")
    return graph


def graph_of_csv(folder: Path) -> Graph:
    """Reads the files of `neo4j-admin database import`, as BioCypher writes them: NAME-header.csv and NAME-part000.csv."""
    graph = Graph({}, {})
    headers = sorted(folder.glob("*-header.csv"))
    if not headers:
        raise WrongFile(f"{folder} has no NAME-header.csv: it is not the output folder of BioCypher")
    for header_file in headers:
        text = header_file.read_text(encoding="utf-8").strip()
        separator = max("\t;,|", key=text.count)
        columns = next(csv.reader([text], delimiter=separator))
        name = header_file.name.removesuffix("-header.csv")
        parts = sorted(folder.glob(f"{name}-part*.csv"))
        if not parts:
            raise WrongFile(f"{header_file} has no {name}-part000.csv beside it")
        # `name:type`; the special columns have a type alone, or an id space behind it.
        kinds = [column.partition(":")[2].split("(")[0].upper() for column in columns]
        names = [column.partition(":")[0] for column in columns]
        for part in parts:
            with part.open(newline="", encoding="utf-8") as file:
                quote = "'" if file.read(4096).count("'") > 2 and '"' not in text else '"'
                file.seek(0)
                reader = csv.reader(file, delimiter=separator, quotechar=quote)
                for row in reader:
                    if len(row) != len(columns):
                        raise WrongFile(f"{part}, line {reader.line_num}: {len(row)} values for {len(columns)} columns")
                    special = {kind: value for kind, value in zip(kinds, row, strict=True) if kind in ("ID", "LABEL", "START_ID", "END_ID", "TYPE")}
                    properties = {key: value for key, value in zip(names, row, strict=True) if key and value != ""}
                    if "START_ID" in special:
                        label = special.get("TYPE", name)
                        graph.edges.setdefault(label, []).append((special["START_ID"], special["END_ID"]))
                    elif "ID" in special:
                        graph.nodes[special["ID"]] = (set(special.get("LABEL", name).split("|")), {"id": special["ID"], **properties})
                    else:
                        raise WrongFile(f"{header_file} has neither :ID nor :START_ID: {', '.join(columns)}")
    return graph


def incoming(graph: Graph, label: str) -> dict[str, list[str]]:
    """The sources of edges of a type, by target."""
    found: dict[str, list[str]] = {}
    for start, end in graph.edges.get(label, []):
        found.setdefault(end, []).append(start)
    return found


def interactions_of(graph: Graph, where: str, dataset: str | None, media: str, temperature: float) -> Iterator[dict[str, Any]]:
    """Yields what queries/interactions.cypher does."""
    needed = ["ExperimentMemberOf", "PhenotypeMemberOf", "GenotypeMemberOf", "PerturbationMemberOf", "EnvironmentMemberOf"]
    missing = [label for label in needed if label not in graph.edges]
    if missing:
        have = ", ".join(sorted(graph.edges)) or "none"
        raise WrongFile(f"{where} is an export of another graph: it has no edges {', '.join(missing)}, only: {have}")
    datasets = {node: properties.get("id", node) for node, (labels, properties) in graph.nodes.items() if "Dataset" in labels}
    names = sorted(set(map(str, datasets.values())))
    if dataset is None and len(names) == 1:
        dataset = names[0]
    if dataset not in names:
        raise WrongFile(f"name a dataset of {where} with --dataset: {', '.join(names) or 'it has none'}")
    phenotypes, genotypes = incoming(graph, "PhenotypeMemberOf"), incoming(graph, "GenotypeMemberOf")
    perturbations, environments = incoming(graph, "PerturbationMemberOf"), incoming(graph, "EnvironmentMemberOf")
    of_media, of_temperature = incoming(graph, "MediaMemberOf"), incoming(graph, "TemperatureMemberOf")

    def properties(node: str) -> dict[str, Any]:
        if node not in graph.nodes:
            raise WrongFile(f"{where} has an edge of the node {node}, which it does not have: the export is cut off")
        return graph.nodes[node][1]

    def is_environment(experiment: str) -> bool:
        for environment in environments.get(experiment, []):
            is_media = any(properties(node).get("name") == media for node in of_media.get(environment, []))
            degrees = [float(properties(node)["value"]) for node in of_temperature.get(environment, [])]
            if is_media and temperature in degrees:
                return True
        return False

    experiments = sorted({start for start, end in graph.edges["ExperimentMemberOf"] if datasets.get(end) == dataset})
    for experiment in experiments:
        if not is_environment(experiment):
            continue
        genes = [properties(p) for genotype in genotypes.get(experiment, []) for p in perturbations.get(genotype, [])]
        genes.sort(key=lambda gene: gene["systematic_gene_name"])
        all_deleted = all(gene.get("perturbation_type") == "deletion" for gene in genes)
        for phenotype in phenotypes.get(experiment, []):
            values = properties(phenotype)
            if values.get("graph_level") != "hyperedge" or "gene_interaction" not in values:
                continue
            row = dict(zip(("gene_a", "gene_b", "gene_c"), (gene["systematic_gene_name"] for gene in genes), strict=False))
            row["order"] = len(genes)
            row["score"], row["p_value"] = values["gene_interaction"], values.get("gene_interaction_p_value")
            yield {**row, "kind": "deletion" if all_deleted else "allele"}


class Tables:
    """The tables to write."""

    def __init__(self) -> None:
        self.interactions: list[list[str]] = []
        self.genes: set[str] = set()
        self.networks: list[list[str]] = []

    def add(self, row: dict[str, Any], where: str) -> None:
        """Adds a row of one of the three queries, which its columns tell."""
        if {"gene_a", "gene_b", "score"} <= row.keys():
            if int(row.get("order") or 2) > 3:
                raise WrongFile(f"{where}: {row['order']} genes; sets of two or three can be imported")
            values = [row.get(name) for name in INTERACTION]
            self.interactions.append(["" if value is None else str(value) for value in values])
        elif NETWORK == [name for name in NETWORK if name in row]:
            self.networks.append([str(row[name]) for name in NETWORK])
        elif "gene" in row:
            self.genes.add(str(row["gene"]))
        else:
            columns = ", ".join(row)
            raise WrongFile(f"{where}: the columns {columns} are of none of the queries (interactions, genes, networks): an export of another graph?")

    def write(self, folder: Path) -> None:
        if not self.interactions:
            raise WrongFile("the export has no scored genotype: check $dataset, $media and $temperature of the query")
        folder.mkdir(parents=True, exist_ok=True)
        genes = self.genes or {gene for row in self.interactions for gene in row[:3] if gene}
        (folder / "genes.txt").write_text("".join(f"{gene}\n" for gene in sorted(genes)), encoding="utf-8")
        tables = [("interactions.tsv", INTERACTION, self.interactions)]
        tables += [("networks.tsv", NETWORK, self.networks)] if self.networks else []
        for name, header, rows in tables:
            with (folder / name).open("w", newline="", encoding="utf-8") as file:
                csv.writer(file, delimiter="\t", lineterminator="\n").writerows([header, *rows])
        print(f"{folder}: {len(self.interactions)} interactions, {len(genes)} genes, {len(self.networks)} edges")


def read(path: Path, tables: Tables, options: argparse.Namespace) -> None:
    graph = None
    if path.is_dir():
        graph = graph_of_csv(path)
    elif path.suffix in (".jsonl", ".json"):
        lines = json_lines(path)
        first = next(lines, None)
        if first is None:
            raise WrongFile(f"{path} is empty")
        both = (line for group in ([first], lines) for line in group)
        if "type" in first[1] and first[1]["type"] in ("node", "relationship"):
            graph = graph_of_json(both, path)
        else:
            for number, row in both:
                tables.add(row, f"{path}, line {number}")
    else:
        for number, row in cypher_shell_rows(path):
            tables.add(row, f"{path}, line {number}")
    if graph is not None:
        for row in interactions_of(graph, str(path), options.dataset, options.media, options.temperature):
            tables.add(row, str(path))


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("exports", nargs="+", type=Path, help="files of an export, or the folder of a bulk export")
    parser.add_argument("--out", type=Path, default=Path("tables"), help="folder of the tables (default: tables)")
    parser.add_argument("--dataset", help="id of the dataset node, where the export is a whole graph")
    parser.add_argument("--media", default="YEPD")
    parser.add_argument("--temperature", type=float, default=30.0)
    options = parser.parse_args()
    tables = Tables()
    try:
        for path in options.exports:
            read(path, tables, options)
        tables.write(options.out)
    except WrongFile as error:
        print(f"prepare.py: {error}", file=sys.stderr)
        return 3
    except OSError as error:
        print(f"prepare.py: {error}", file=sys.stderr)
        return 2
    return 0


if __name__ == "__main__":
    sys.exit(main())
