"""The example of a lost update: three services under OpenTelemetry, and the question that finds it."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from microcosm.cli.app import main

CART = Path(__file__).parents[2] / "examples" / "cart"


@pytest.mark.parametrize(
    ("options", "left", "code"), [([], 1, 1), pytest.param(["--apart"], 2, 0, marks=pytest.mark.slow)]
)
def test_the_question_finds_the_lost_update_and_only_that(
    tmp_path: Path, options: list[str], left: int, code: int, capsys: pytest.CaptureFixture[str]
) -> None:
    pytest.importorskip("opentelemetry.instrumentation.asgi")
    ran = subprocess.run(
        [sys.executable, str(CART / "cart.py"), str(tmp_path), *options],
        env={**os.environ, "PYTHONPATH": str(CART.parents[1])},
        capture_output=True,
        text=True,
        check=False,
    )
    assert ran.returncode == 0, ran.stderr
    assert sum(item in ran.stdout.partition(";")[2] for item in ("tea", "milk")) == left
    assert main(["assert", str(tmp_path), str(CART / "cart.ask")]) == code
    found = capsys.readouterr()
    assert ("violated: never write(cart) || write(cart)" in found.out) == bool(code)
    assert not found.err, "every request and every answer is a message of which both ends are there"
