"""Every Python that `pyproject.toml` names and this machine has reads the package and proves something.

The dependencies are those of the running Python, which are enough for it: they are written in Python.
"""

from __future__ import annotations

import glob
import re
import shutil
import subprocess
import sys
import tomllib
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
NAMED = re.findall(
    r"Python :: (3\.\d+)",
    " ".join(tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]["classifiers"]),
)
PLACES = (
    "{home}/.pyenv/versions/{version}.*/bin/python",
    "{home}/.local/share/uv/python/cpython-{version}*/bin/python3",
)
PROGRAM = """
import compileall, sys, warnings
sys.path[:0] = [sys.argv[1]]
sys.path += [sys.argv[2]]
warnings.simplefilter("error", SyntaxWarning)
assert compileall.compile_dir(sys.argv[1] + "/microcosm", quiet=1, force=True, optimize=0) or sys.exit("no")
from microcosm import Microcosm, Relation, verify
known = Microcosm.read(sys.argv[1] + "/examples/photo-album.mc")
assert known.online("unshare", "view") is Relation.BEFORE
assert verify(known, known.why("unshare", "view")).valid
from microcosm.cli.app import main
sys.exit(main(["online", sys.argv[1] + "/examples/photo-album.jsonl", "edit", "upload"]))
"""


def interpreter(version: str) -> str | None:
    """A Python of that version: on the path, or where pyenv and uv put theirs."""
    places = [place.format(home=Path.home(), version=version) for place in PLACES]
    found = [shutil.which(f"python{version}"), *(each for place in places for each in glob.glob(place))]
    for each in filter(None, found):
        said = subprocess.run([each, "-V"], capture_output=True, text=True, check=False)
        if said.stdout.startswith(f"Python {version}."):
            return each
    return None


def test_the_oldest_is_the_one_that_is_required() -> None:
    assert NAMED == ["3.11", "3.12", "3.13", "3.14", "3.15"]


@pytest.mark.slow
@pytest.mark.parametrize("version", [each for each in NAMED if each != f"3.{sys.version_info.minor}"])
def test_another_python(version: str, tmp_path: Path) -> None:
    python = interpreter(version)
    if python is None:
        pytest.skip(f"no Python {version} here")
    shutil.copytree(
        ROOT, tmp_path / "copy", ignore=shutil.ignore_patterns(".*", "docs", "tests", "benchmarks")
    )
    packages = next(path for path in sys.path if path.endswith("site-packages"))
    ran = subprocess.run(
        [python, "-c", PROGRAM, str(tmp_path / "copy"), packages], capture_output=True, text=True, check=False
    )
    assert ran.returncode == 0, ran.stderr
    assert "happens before" in ran.stdout
