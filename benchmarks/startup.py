"""Claim: the program starts at once; it loads what a command needs and nothing else."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Callable

from benchmarks.measure import Line, paired
from microcosm.files import shipped

NAME = "startup"


def run(quick: bool = False) -> list[Line]:
    """Whole processes, from start to exit."""
    file = str(shipped("examples") / "photo-album.mc")
    subjects = {
        "microcosm --help": command("-m", "microcosm", "--help"),
        "microcosm online": command("-m", "microcosm", "online", file, "unshare", "view"),
        "microcosm why": command("-m", "microcosm", "why", file, "unshare", "view"),
        "import networkx": command("-c", "import networkx"),
        "python alone": command("-c", "pass"),
    }
    lines, _ = paired(NAME, "one process", subjects, rounds=1 if quick else 15, patience=60, processes=True)
    return lines


def command(*arguments: str) -> Callable[[], object]:
    return lambda: subprocess.run([sys.executable, *arguments], stdout=subprocess.DEVNULL, check=True)
