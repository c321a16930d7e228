"""The notebooks of docs/notebooks run, and nothing that they printed is kept in them.

The one on Spark is run by tests/spark/test_notebook.py.
"""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import Any

import pytest

FOLDER = Path(__file__).parents[1] / "docs" / "notebooks"
NOTEBOOKS = {path.stem: path for path in FOLDER.glob("*.ipynb")}
ON_SPARK = "spark"


def cells(name: str) -> list[dict[str, Any]]:
    found: list[dict[str, Any]] = json.loads(NOTEBOOKS[name].read_text(encoding="utf-8"))["cells"]
    return found


def code(name: str) -> list[str]:
    return ["".join(cell["source"]) for cell in cells(name) if cell["cell_type"] == "code"]


@pytest.mark.parametrize("name", sorted(NOTEBOOKS))
def test_nothing_that_was_printed_is_kept(name: str) -> None:
    assert code(name)
    for cell in cells(name):
        assert cell.get("outputs", []) == []
        assert cell.get("execution_count") is None


@pytest.mark.slow
@pytest.mark.parametrize("name", sorted(NOTEBOOKS.keys() - {ON_SPARK}))
def test_a_notebook_runs(name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """In a kernel of its own, as Jupyter runs it; the first error of a cell is one of the test."""
    nbformat = pytest.importorskip("nbformat")
    client = pytest.importorskip("nbclient")
    pytest.importorskip("ipykernel")
    monkeypatch.setenv(
        "PYTHONPATH", os.pathsep.join([str(FOLDER.parents[1]), os.environ.get("PYTHONPATH", "")])
    )
    monkeypatch.setenv("IPYTHONDIR", str(tmp_path / "ipython"))
    monkeypatch.setenv("JUPYTER_RUNTIME_DIR", str(tmp_path / "runtime"))
    book = nbformat.read(NOTEBOOKS[name], as_version=4)
    monkeypatch.chdir(tmp_path)
    client.NotebookClient(book, timeout=120, kernel_name="python3").execute()
    said = [cell.outputs for cell in book.cells if cell.cell_type == "code"]
    assert any(said)
