"""Claim: the program starts at once; it loads what a command needs and nothing else."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from tempfile import TemporaryDirectory

from benchmarks.measure import Line, paired
from microcosm.files import shipped

NAME = "startup"

LOG = """\
ts=12:00:01 level=info msg="it has come"
ts=12:00:02 level=info msg="it is gone"
"""


def run(quick: bool = False) -> list[Line]:
    """Whole processes, from start to exit."""
    file = str(shipped("examples") / "photo-album.mc")
    with TemporaryDirectory() as folder:
        (Path(folder) / "web.log").write_text(LOG, encoding="utf-8")
        subjects = {
            "microcosm --help": command("-m", "microcosm", "--help"),
            "microcosm online": command("-m", "microcosm", "online", file, "unshare", "view"),
            "microcosm online, a plain log": command("-m", "microcosm", "online", folder, "/come/", "/gone/"),
            "microcosm why": command("-m", "microcosm", "why", file, "unshare", "view"),
            "import networkx": command("-c", "import networkx"),
            "python alone": command("-c", "pass"),
        }
        rounds = 1 if quick else 15
        lines, _ = paired(NAME, "one process", subjects, rounds=rounds, patience=60, processes=True)
    return lines


def command(*arguments: str) -> Callable[[], object]:
    return lambda: subprocess.run([sys.executable, *arguments], stdout=subprocess.DEVNULL, check=True)
