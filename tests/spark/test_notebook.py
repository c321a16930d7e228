"""The notebook on Spark, in the session of these tests: a kernel of its own would start Java once more."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from tests.test_notebooks import ON_SPARK, code


@pytest.mark.spark
def test_the_notebook_runs(spark: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    names: dict[str, Any] = {}
    for cell in code(ON_SPARK):
        exec(compile(cell, "spark.ipynb", "exec"), names)
    assert names["answers"].num_rows == 4
