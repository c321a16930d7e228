"""The command line run inside the test process: what a shell would see of it."""

from __future__ import annotations

import io
import json
import sys
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from microcosm.cli.app import main

ALBUM = """\
# the photo album
name phone
internal unshare < upload
upload < notify
notify < view          from "message m7"
like || upload
like <> "log in"
"log in" || view
upload || comment
backup < restore
"""


@dataclass
class Result:
    """What a run leaves behind."""

    code: int
    out: str
    err: str
    for_machines: bool = False
    """Whether JSON was asked for."""

    def refused(self, code: int) -> bool:
        """Whether nothing but an error was said, with an exit code: under --json as one object, too."""
        if not self.for_machines:
            return (self.code, self.out) == (code, "")
        return self.code == self.json["exit"] == code and bool(self.json["error"])

    @property
    def json(self) -> Any:
        """The one JSON object on standard output."""
        [line] = self.out.splitlines()
        found = json.loads(line)
        assert found["schema"] == "microcosm/1"
        return found

    @property
    def json_lines(self) -> list[Any]:
        """The JSON objects on standard output, one a line."""
        return [json.loads(line) for line in self.out.splitlines()]


Run = Callable[..., Result]


@pytest.fixture
def run(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Run:
    """Run the command line in an empty folder, with pipes of 80 columns for its streams."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("COLUMNS", "80")
    monkeypatch.delenv("MICROCOSM_DEBUG", raising=False)

    def run(*argv: str, stdin: bytes = b"", encoding: str = "utf-8") -> Result:
        out, err = (io.TextIOWrapper(io.BytesIO(), encoding=encoding, write_through=True) for _ in range(2))
        with monkeypatch.context() as patch:
            patch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(stdin), encoding="utf-8"))
            patch.setattr(sys, "stdout", out)
            patch.setattr(sys, "stderr", err)
            code = main(argv)
        written = [stream.buffer.getvalue().decode(encoding) for stream in (out, err)]  # type: ignore[attr-defined]
        assert "Traceback" not in written[1]
        return Result(code, *written, for_machines="--json" in argv)

    return run


@pytest.fixture
def album(tmp_path: Path) -> str:
    """A microcosm with every kind of verdict in it: `album.mc` in the folder of `run`."""
    (tmp_path / "album.mc").write_text(ALBUM, encoding="utf-8")
    return "album.mc"
