"""The notebooks run from end to end, and are committed without output."""

from pathlib import Path

import nbclient
import nbformat
import pytest

NOTEBOOKS = sorted((Path(__file__).parents[1] / "notebooks").glob("*.ipynb"))


def test_there_are_notebooks() -> None:
    assert len(NOTEBOOKS) == 3


@pytest.mark.parametrize("path", NOTEBOOKS, ids=lambda path: path.stem)
def test_a_notebook_runs(path: Path) -> None:
    notebook = nbformat.read(path, as_version=4)
    for cell in notebook.cells:
        assert cell.cell_type != "code" or (not cell.outputs and cell.execution_count is None), "commit it without output"
    nbclient.NotebookClient(notebook, timeout=300, kernel_name="python3").execute()
    if path.stem == "trace":
        shown = [output.data["text/html"] for cell in notebook.cells for output in cell.get("outputs", []) if "data" in output and "text/html" in output.data]
        assert shown[0].startswith("<iframe srcdoc=") and "aten::addmm" in shown[0], "the report is not shown"
