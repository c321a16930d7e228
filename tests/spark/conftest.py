"""One Spark session for all tests marked `spark`; without Java or pyspark they say why they are skipped.

`pytest -m spark --spark connect` runs them through a server of Spark Connect that is started for them.
"""

from __future__ import annotations

import os
import socket
import subprocess
import sys
from collections import deque
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from threading import Thread
from typing import Any

import pytest

from microcosm.errors import MicrocosmError
from microcosm.spark.installation import Java, find_java
from microcosm.spark.io import inputs
from microcosm.spark.session import AT_HOME, CONNECT, LOCAL, NoSpark, lacking, require_packages, session

ROOT = Path(__file__).parents[2]
SERVER = "org.apache.spark.sql.connect.service.SparkConnectServer"

LIGHT = {
    "spark.driver.extraJavaOptions": "-XX:+UseSerialGC -XX:TieredStopAtLevel=1",
    "spark.driver.memory": "1g",
    "spark.sql.shuffle.partitions": "2",
    "spark.sql.codegen.wholeStage": "false",
    "spark.sql.codegen.factoryMode": "NO_CODEGEN",  # to compile a plan takes longer than these few rows
}


@pytest.fixture(scope="session")
def master(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Any]:
    """Where jobs run, and with which options: a master of this process, or a server of Spark Connect."""
    connect = request.config.getoption("--spark") == "connect"
    try:
        require_packages()
        java = find_java()
        if connect and lacking(CONNECT):
            raise NoSpark(f"Spark Connect needs {', '.join(lacking(CONNECT))}")
    except MicrocosmError as missing:
        pytest.skip(str(missing))
    folder = tmp_path_factory.mktemp("spark")
    folders = {"spark.local.dir": str(folder / "local"), "spark.sql.warehouse.dir": str(folder / "warehouse")}
    options = {**LIGHT, **folders}
    if not connect:
        yield LOCAL, options
        return
    with server(java, options) as address:
        yield address, options


@pytest.fixture(scope="session")
def spark(master: tuple[str, dict[str, str]]) -> Iterator[Any]:
    with session(*master) as started, pytest.MonkeyPatch.context() as patch:
        patch.setattr(inputs, "HERE", -1)  # all tasks are Spark's; others ask for both (`test_here`)
        yield started


@contextmanager
def server(java: Java, options: Mapping[str, str]) -> Iterator[str]:
    """The address of a Spark Connect server on this machine, which is ended afterwards."""
    import pyspark

    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    confs = {
        **options,
        **AT_HOME,
        "spark.master": LOCAL,
        "spark.ui.enabled": "false",
        "spark.connect.grpc.binding.address": "127.0.0.1",
        "spark.connect.grpc.binding.port": str(port),
    }
    home = Path(pyspark.__file__).parent
    command = [str(home / "bin" / "spark-submit"), "--class", SERVER]
    command += [part for name, value in confs.items() for part in ("--conf", f"{name}={value}")]
    paths = [str(ROOT), *sys.path]  # what the tests can import, its workers can
    environment = {
        **os.environ,
        "JAVA_HOME": str(java.home),
        "SPARK_HOME": str(home),
        "PYSPARK_PYTHON": sys.executable,
        "PYTHONPATH": os.pathsep.join(filter(None, paths)),
        "PYTHONWARNINGS": "ignore",
    }
    process = subprocess.Popen(
        [*command, "spark-internal"],
        env=environment,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
    )
    assert process.stdout is not None
    said = []
    reader = Thread(target=deque, args=(process.stdout, 0), daemon=True)  # lest the server waits for one
    try:
        for line in process.stdout:
            said.append(line)
            if "Spark Connect server started" in line:
                break
        else:
            pytest.fail("the server did not start: " + "".join(said[-20:]))
        reader.start()
        yield f"sc://127.0.0.1:{port}"
    finally:
        process.terminate()
        process.wait(60)
        if reader.ident is not None:
            reader.join(60)
        process.stdout.close()


def table(folder: Path | str, name: str) -> list[dict[str, Any]]:
    """The rows of a table of a job, sorted."""
    import pyarrow.parquet as pq

    return sorted(pq.read_table(Path(folder) / name).to_pylist(), key=repr)
