"""A copy of the package and its tests, in which faults are put, one at a time, to see who notices.

The copy has the bytecode of the checkout, and a file is given back its time with its text, so that no run
compiles more than what is faulty.
"""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from collections.abc import Iterable
from pathlib import Path

ROOT = Path(__file__).parents[1]

Change = tuple[str, str, str]
"""In a file, named from the root: what is replaced, and by what."""


class FaultyCopy:
    """A copy in a folder of its own."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        for name in ("microcosm", "rules", "tests"):
            shutil.copytree(ROOT / name, folder / name, ignore=shutil.ignore_patterns("golden"))
        shutil.copy2(ROOT / "pyproject.toml", folder)

    def passes(self, module: str, arguments: Iterable[str], changes: Iterable[Change] = ()) -> bool:
        """Whether `python -m module arguments` ends with 0, not with 1, while files are changed so."""
        changes = [*changes]
        kept = {self.folder / file: (self.folder / file).stat() for file, _, _ in changes}
        texts = {path: path.read_bytes() for path in kept}
        try:
            for file, old, new in changes:
                path = self.folder / file
                text = path.read_text(encoding="utf-8")
                assert text.count(old) == 1, (file, old)
                path.write_text(text.replace(old, new), encoding="utf-8")
                if file.endswith(".py"):
                    compile(path.read_text(encoding="utf-8"), file, "exec")
            return self._run(module, arguments)
        finally:
            for path, stat in kept.items():
                path.write_bytes(texts[path])
                os.utime(path, ns=(stat.st_atime_ns, stat.st_mtime_ns))

    def tested(self, tests: str, changes: Iterable[Change] = ()) -> bool:
        """Whether some tests pass, by pytest without plugins."""
        return self.passes("pytest", ["-q", "-x", "-p", "no:cacheprovider", *tests.split()], changes)

    def _run(self, module: str, arguments: Iterable[str]) -> bool:
        ran = subprocess.run(
            [sys.executable, "-B", "-m", module, *arguments],
            cwd=self.folder,
            env={
                "PYTHONPATH": str(self.folder),
                "PATH": os.defpath,
                "HOME": str(self.folder),
                "HYPOTHESIS_PROFILE": "ci",
                "PYTEST_DISABLE_PLUGIN_AUTOLOAD": "1",
            },
            capture_output=True,
            text=True,
            timeout=300,
            check=False,
        )
        assert ran.returncode in (0, 1), ran.stdout + ran.stderr
        assert not ran.stderr, ran.stderr
        return ran.returncode == 0
