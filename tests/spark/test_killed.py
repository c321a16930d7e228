"""Jobs that are killed: nothing is lost, and nothing is there twice."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from collections.abc import Sequence
from contextlib import AbstractContextManager, suppress
from dataclasses import astuple
from pathlib import Path
from random import Random
from typing import Any, BinaryIO

import pytest

from microcosm.spark.extract import job
from microcosm.spark.extract.job import ExtractOptions
from microcosm.spark.io import inputs
from microcosm.spark.io import staging as written
from microcosm.spark.io.inputs import Piece
from microcosm.traces.formats.jsonl import line_of
from tests.spark.conftest import LIGHT, table
from tests.spark.test_extract import traces
from tests.spark.test_giant import both
from tests.spark.test_scan import chained

pytestmark = [pytest.mark.slow, pytest.mark.spark]


class Deadly(Piece):
    """A piece of a file; who first opens one is killed."""

    def stream(self) -> AbstractContextManager[BinaryIO]:
        with suppress(FileExistsError):
            Path(self.path).with_suffix(".killed").touch(exist_ok=False)
            os.kill(os.getpid(), signal.SIGKILL)
        return super().stream()


def same(one: Path, two: Path) -> bool:
    return all(table(one, name) == table(two, name) for name in job.TABLES)


@pytest.fixture
def log(tmp_path: Path) -> Path:
    path = tmp_path / "log.jsonl"
    path.write_text("".join(map(line_of, traces(8, count=4, steps=40))), encoding="utf-8")
    return path


def test_a_worker_that_is_killed(
    spark: Any, log: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    whole = job.extract(spark, [str(log)], str(tmp_path / "whole"))
    marker, cut = log.with_suffix(".killed"), inputs.cut
    with monkeypatch.context() as patch:
        patch.setattr(inputs, "cut", lambda *of: [Deadly(*astuple(piece)) for piece in cut(*of)])
        found = job.extract(spark, [str(log)], str(tmp_path / "out"))
    assert marker.exists()
    assert found.summary == whole.summary
    assert same(tmp_path / "out", tmp_path / "whole")


DRIVER = """
import os, signal, sys
from microcosm.spark.extract import job
from microcosm.spark.io.staging import Output
from microcosm.spark.session import session

class Killed(Output):
    def tables(self, name, *rest):
        found = super().tables(name, *rest)
        if name == sys.argv[3]:
            os.kill(os.getpid(), signal.SIGKILL)
        return found

job.Output = Killed
with session({master!r}, {options!r}) as spark:
    job.extract(spark, [sys.argv[1]], sys.argv[2], job.ExtractOptions(slices=1))
"""


def killed_driver(master: str, arguments: Sequence[str]) -> int:
    program = DRIVER.format(master=master, options=LIGHT)
    root = str(Path(__file__).parents[2])
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join([root, *sys.path])}
    for name in ("SPARK_CONNECT_MODE_ENABLED", "SPARK_REMOTE", "SPARK_LOCAL_REMOTE"):
        environment.pop(name, None)  # of a session of this process
    return subprocess.run(
        [sys.executable, "-c", program, *arguments],
        env=environment,
        capture_output=True,
        check=False,
        cwd=root,
    ).returncode


def test_a_driver_that_is_killed_and_started_again(
    spark: Any, master: tuple[str, Any], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    log, out = tmp_path / "log.jsonl", tmp_path / "out"
    events = chained(Random(9), 5, 400, True, 6)
    log.write_text("".join(map(line_of, events)), encoding="utf-8")
    asked = ExtractOptions(slices=1)
    assert killed_driver(master[0], [str(log), str(out), "pairs-0"]) == -signal.SIGKILL
    assert [each.name[:8] for each in out.iterdir()] == [".staged-"]
    with monkeypatch.context() as patch:
        again: list[str] = []
        write = written.write_tables

        def noted(*given: Any) -> None:
            again.append(given[-1].name)
            write(*given)

        patch.setattr(written, "write_tables", noted)
        both(spark, log, out, asked)
    assert again == ["bases-0", "looked-0", "named"]  # nothing is done that had been done
    assert job.extract(spark, [str(log)], str(out), asked).stages == {}
