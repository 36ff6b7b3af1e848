"""Reads a dataset, a split and predictions with pyarrow, as a user of pandas would, and compares with `data show --json`."""
import json
import pathlib
import statistics
import sys
import tomllib

import pyarrow as pa
import pyarrow.parquet as pq

dataset, split, show, hits = (pathlib.Path(arg) for arg in sys.argv[1:])
shown = json.loads(show.read_text())
manifest = tomllib.loads((dataset / "dataset.toml").read_text())
assert manifest["format"] == 1

genes = pq.read_table(dataset / "genes.parquet")
assert genes.num_rows == shown["genes"] == len(set(genes["systematic"].to_pylist()))

for network in shown["networks"]:
    table = pq.read_table(dataset / "networks" / f"{network['name']}.parquet")
    source, target = table["source"].to_pylist(), table["target"].to_pylist()
    assert table.num_rows == network["edges"]
    assert len(set(source) | set(target)) == network["nodes"]
    assert list(zip(source, target)) == sorted(zip(source, target)), "entries are sorted"
    assert max(source + target) < genes.num_rows

metabolism = {path.stem: pq.read_table(path) for path in (dataset / "metabolism").iterdir()}
assert metabolism["reactions"].num_rows == shown["metabolism"]["reactions"]
assert metabolism["requirements"].num_rows == shown["metabolism"]["gpr"]
assert metabolism["coefficients"].num_rows == shown["metabolism"]["stoichiometry"]
assert set(metabolism["reactions"]["direction"].to_pylist()) == {"forward", "reverse"}

samples = pq.read_table(dataset / "samples.parquet")
assert samples.schema.field("genes").type == pa.list_(pa.field("item", pa.uint32(), nullable=False))
assert samples.num_rows == shown["samples"]["count"]
scores = samples["score"].to_pylist()
assert abs(statistics.fmean(scores) - shown["samples"]["score"]["mean"]) < 1e-12
assert abs(statistics.pstdev(scores) - shown["samples"]["score"]["sd"]) < 1e-12
for row in samples.to_pylist():
    assert row["genes"] == sorted(set(row["genes"])) and set(row["query"]) < set(row["genes"])
    assert row["kind"] == "deletion" and 0 <= row["p_value"] <= 1

parts = pq.read_table(split)
assert sorted(parts["sample"].to_pylist()) == list(range(samples.num_rows))
assert set(parts["part"].to_pylist()) == {"train", "val", "test"}
# A folder of blocks is one table.
pairs = pq.read_table(hits / "predictions")
count = genes.num_rows * (genes.num_rows - 1) // 2
assert pairs["number"].to_pylist() == list(range(count)) and len(list((hits / "predictions").iterdir())) > 1
names = genes["systematic"].to_pylist()
for column in (1, 2):
    assert [names[index] for index in pairs[f"index_{column}"].to_pylist()] == pairs[f"gene_{column}"].to_pylist()
assert all(-10 < prediction < 10 for prediction in pairs["prediction"].to_pylist())
print(f"pyarrow {pa.__version__}: {genes.num_rows} genes, {len(shown['networks'])} networks, {samples.num_rows} samples")
