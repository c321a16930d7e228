"""The program starts at once: what a command does not need is not loaded."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

HEAVY = ("lark", "networkx", "numpy", "prompt_toolkit", "pydantic", "rich")
NEEDLESS = (*HEAVY, "decimal", "email", "random", "zipfile", "microcosm.worlds.sat")
"""What else no first answer needs."""

FILES = {
    "album.mc": "a < b < c",
    "loose.mc": "a < b\nb <> c",
    "web.log": 'ts=1 level=info msg="in"\nts=2 level=info msg="out"\n',
}

PROGRAM = """
import sys
from microcosm.cli.app import main
main(sys.argv[1:])
sys.stderr.write(" ".join(sorted(set(sys.modules) & set({heavy}))))
"""


@pytest.mark.parametrize(
    ("arguments", "allowed"),
    [
        (["--help"], set()),
        (["online", "album.mc", "a", "c"], set()),
        (["online", "loose.mc", "a", "b"], set()),
        (["online", "web.log", "/in/", "/out/"], {"decimal"}),
        (["repl", "album.mc"], {*NEEDLESS} - {*HEAVY} | {"lark"}),
    ],
    ids=["--help", "online", "online, as worlds allow", "online, of a log", "repl"],
)
def test_nothing_heavy_is_loaded(tmp_path: Path, arguments: list[str], allowed: set[str]) -> None:
    for name, text in FILES.items():
        (tmp_path / name).write_text(text, encoding="utf-8")
    ran = subprocess.run(
        [sys.executable, "-c", PROGRAM.format(heavy=NEEDLESS), *arguments],
        cwd=tmp_path,
        env={"PYTHONPATH": str(Path(__file__).parents[2])},
        input="a < c?\n",
        capture_output=True,
        text=True,
        check=True,
    )
    assert ran.stdout
    assert set(ran.stderr.split()) <= allowed
