"""The program starts at once: what a command does not need is not loaded."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

HEAVY = ("lark", "networkx", "numpy", "prompt_toolkit", "pydantic", "rich")

PROGRAM = """
import sys
from microcosm.cli.app import main
main(sys.argv[1:])
sys.stderr.write(" ".join(sorted(set(sys.modules) & set({heavy}))))
"""


@pytest.mark.parametrize(
    ("arguments", "allowed"),
    [(["--help"], set()), (["online", "album.mc", "a", "c"], set()), (["repl", "album.mc"], {"lark"})],
    ids=["--help", "online", "repl"],
)
def test_nothing_heavy_is_loaded(tmp_path: Path, arguments: list[str], allowed: set[str]) -> None:
    (tmp_path / "album.mc").write_text("a < b < c", encoding="utf-8")
    ran = subprocess.run(
        [sys.executable, "-c", PROGRAM.format(heavy=HEAVY), *arguments],
        cwd=tmp_path,
        env={"PYTHONPATH": str(Path(__file__).parents[2])},
        input="a < c?\n",
        capture_output=True,
        text=True,
        check=True,
    )
    assert ran.stdout
    assert set(ran.stderr.split()) <= allowed
