"""The cluster of the examples: a master and two workers on this machine, gone afterwards.

Half a dozen Java processes: too much for the suite of Spark, so it is among the slow tests.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from microcosm.spark.extract import job
from microcosm.traces.formats.jsonl import line_of
from tests.spark.conftest import ROOT, table
from tests.spark.test_extract import traces

pytestmark = [pytest.mark.slow, pytest.mark.spark]

SCRIPT = ROOT / "examples" / "cluster" / "run.sh"


def test_by_spark_submit_on_a_cluster_the_tables_are_the_same(spark: Any, tmp_path: Path) -> None:
    log, out = tmp_path / "log.jsonl", tmp_path / "out"
    log.write_text("".join(map(line_of, traces(12, count=4, steps=20))), encoding="utf-8")
    environment = {
        **os.environ,
        "PYTHON": sys.executable,
        "PYTHONPATH": os.pathsep.join([str(ROOT), *sys.path]),
    }
    for name in (
        "PYSPARK_GATEWAY_PORT",
        "PYSPARK_GATEWAY_SECRET",
        "SPARK_CONNECT_MODE_ENABLED",
        "SPARK_REMOTE",
    ):
        environment.pop(name, None)
    command = [str(SCRIPT), "--submit", str(log), str(out)]
    ran = subprocess.run(command, env=environment, capture_output=True, text=True, check=False)
    assert ran.returncode == 0, ran.stderr
    master = next(line for line in ran.stderr.splitlines() if line.startswith("spark://"))
    assert master.endswith(": two workers")
    assert ran.stderr.endswith("2 workers ran it\n")
    here = job.extract(spark, [str(log)], str(tmp_path / "here")).summary
    assert json.loads((out / "manifest.json").read_text(encoding="utf-8"))["summary"] == here
    for name in job.TABLES:
        assert table(out, name) == table(tmp_path / "here", name)
    left = subprocess.run(["ps", "-eo", "args"], capture_output=True, text=True, check=True).stdout
    assert master.split(": ")[0] not in left
