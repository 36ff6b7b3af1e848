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
    shown = [output.data["text/html"] for cell in notebook.cells for output in cell.get("outputs", []) if "data" in output and "text/html" in output.data]
    expected = {"trace": ["aten::addmm"], "screen": ["Validation part", "Evaluation of run"]}
    for words in expected.get(path.stem, []):
        pages = [page for page in shown if page.startswith("<iframe srcdoc=")]
        assert any(words in page for page in pages), f"the report with {words!r} is not shown"
