"""A Spark session that is quiet, finds Java by itself, and whose workers run this Python and this package."""

from __future__ import annotations

import logging
import os
import re
import signal
import socket
import sys
import tempfile
import warnings
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, suppress
from functools import partial
from pathlib import Path
from site import getsitepackages
from threading import Event, current_thread, main_thread
from types import SimpleNamespace
from typing import TYPE_CHECKING, Any
from urllib.parse import urlsplit

from microcosm.errors import MicrocosmError, installing
from microcosm.spark.installation import PACKAGES, find_java, lacking, spark_home

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

LOCAL = "local[2,4]"
"""The master unless another is given: this machine, two tasks at a time, each tried four times."""

_THREADS = re.compile(r"local(\[([1-9]\d*|\*)(, *\d+)?\])?")
"""The masters that are threads of a Java on this machine, and can only start."""

_SUBMITTED = "PYSPARK_GATEWAY_PORT"
"""The variable that spark-submit sets: Java runs, and the master is said."""

REMOTE = "sc://"
"""With this begins the address of a server of Spark Connect, which needs no Java here."""

PORT = 15002
"""Where a server of Spark Connect listens unless its address says so."""

PATIENCE = 10.0
"""Seconds in which it must accept a connection: gRPC would try for minutes, and say nothing."""

_FULL = ("No space left on device", "Disk quota exceeded")

NEEDED = ("pyspark", "pyarrow", "pandas", "numpy")
CONNECT = {each.module: name for name, each in PACKAGES.items() if each.extra == "connect"}
"""The modules that Spark Connect needs beside, and the packages that bring them."""

QUIET = {
    "spark.ui.enabled": "false",
    "spark.ui.showConsoleProgress": "false",
    "spark.sql.session.timeZone": "UTC",
    "spark.sql.execution.arrow.maxRecordsPerBatch": "4096",
    "spark.sql.execution.arrow.maxBytesPerBatch": "67108864",
    "spark.sql.parquet.compression.codec": "zstd",
}
AT_HOME = {
    "spark.driver.host": "127.0.0.1",
    "spark.driver.bindAddress": "127.0.0.1",
    "spark.sql.shuffle.partitions": "8",
    "spark.python.unix.domain.socket.enabled": "true",
}
"""What a session on this machine needs beside: nothing listens to the network.

Over a socket of TCP a task in Python waits 40 ms for what acknowledges the beginning of it.
"""


class NoSpark(MicrocosmError):
    """Spark cannot be started; the message says what to do."""


@contextmanager
def session(
    master: str = LOCAL, options: Mapping[str, str] | None = None, *, later: bool = False
) -> Iterator[SparkSession]:
    """A Spark session, stopped at the end unless one was running already, which is then used.

    `later`: one on this machine is started when something is asked of it, which a small job never does.
    Raises `NoJava`, or `NoSpark` where a package is missing or the master cannot be reached.
    """
    require_packages()
    running = _running()
    if running is not None:
        with _saying_what_is_full():
            yield running
        return
    if later and _THREADS.fullmatch(master) and _at_home(master):
        find_java()
        started: Any = _Later(master, options or {})
    else:
        start = _connect if master.startswith(REMOTE) else _start
        started = start(master, options or {})
    try:
        with _saying_what_is_full():
            yield started
    finally:
        with suppress(Exception):
            started.stop()


class _Later:
    """A session that starts when something is asked of it but settings, which are known before."""

    def __init__(self, master: str, options: Mapping[str, str]) -> None:
        known = {**QUIET, **AT_HOME, "spark.master": master, **options}
        self._begin = partial(_start, master, options)
        self._started: SparkSession | None = None
        self.conf: Any = SimpleNamespace(get=known.get)

    def __getattr__(self, name: str) -> Any:
        if self._started is None:
            self._started = self._begin()
            self.conf = self._started.conf
        return getattr(self._started, name)

    def stop(self) -> None:
        """Stop the session, if there is one."""
        if self._started is not None:
            self._started.stop()


@contextmanager
def _saying_what_is_full() -> Iterator[None]:
    """Tell a full disk, of this machine or of a worker, from faults of this program."""
    try:
        yield
    except Exception as error:
        message = next((each for each in _FULL if each in str(error)), None)
        if message is None or isinstance(error, MicrocosmError) or getattr(error, "filename", None):
            raise
        hint = "what is staged lies in the folder of --out, what Spark needs besides in spark.local.dir"
        raise NoSpark(f"{message} ({hint}). The same command goes on where it stopped.") from error


def worker_memory(spark: SparkSession) -> int:
    """Bytes, more or less, that a task may fill: of this machine, or of an executor, shared by its tasks."""
    master = str(_setting(spark, "spark.master", "local[2]"))
    if master.startswith("local"):
        whole = os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES") // 2  # the other half is Java's
        number = re.search(r"\d+", master)
        return whole // (int(number[0]) if number else os.cpu_count() or 1)
    memory = _setting(spark, "spark.executor.pyspark.memory", _setting(spark, "spark.executor.memory", "1g"))
    size = re.fullmatch(r"(\d+)([kmgt]?)b?", memory.lower())
    if size is None:
        return 1 << 30
    whole = int(size[1]) << " kmgt".index(size[2] or "m") * 10
    return whole // int(_setting(spark, "spark.executor.cores", "1"))


def _setting(spark: SparkSession, name: str, default: str) -> str:
    """A setting of a session. Of a server of Spark Connect too, which may not tell all."""
    with suppress(Exception):
        return str(spark.conf.get(name, default))
    return default


def require_packages() -> None:
    """Raise `NoSpark` unless every package that the jobs need is there."""
    missing = lacking(NEEDED)
    if missing:
        raise NoSpark(f"Spark jobs need {', '.join(missing)}: `{installing('spark')}`.")


def require_streams() -> None:
    """Raise `NoSpark` unless what streams need besides is there."""
    if lacking(["google.protobuf"]):
        raise NoSpark(f"Streams need protobuf: `{installing('spark')}`.")


def _running() -> SparkSession | None:
    if "pyspark.sql" not in sys.modules:  # which takes half a second to load
        return None
    from pyspark.sql import SparkSession

    return SparkSession.getActiveSession()


def _at_home(master: str) -> bool:
    """Whether Spark is to be started on this machine, for this process alone."""
    return master.startswith("local") and _SUBMITTED not in os.environ


def _start(master: str, options: Mapping[str, str]) -> SparkSession:
    import pyspark
    from pyspark.errors import PySparkException
    from pyspark.sql import SparkSession

    submitted, at_home = _SUBMITTED in os.environ, _at_home(master)
    if not submitted:
        os.environ["JAVA_HOME"] = str(find_java().home)
    os.environ["PYSPARK_DRIVER_PYTHON"] = sys.executable
    if at_home or "PYSPARK_PYTHON" not in os.environ:
        os.environ["PYSPARK_PYTHON"] = sys.executable
    _let_workers_import_this()
    installed = Path(pyspark.__file__).parent
    if at_home and "SPARK_HOME" not in os.environ and str(installed.parent) in getsitepackages():
        with suppress(OSError):  # then they take longer to start
            os.environ["SPARK_HOME"] = str(spark_home(installed, os.environ))
    _hush()
    builder = SparkSession.builder.appName("microcosm")
    if not (submitted and master == LOCAL):
        builder = builder.master(master)
    for name, value in {**QUIET, **(AT_HOME if at_home else {}), **options}.items():
        builder = builder.config(name, value)
    log = Path(tempfile.gettempdir()) / f"microcosm-spark-{os.getpid()}.log"
    try:
        with _standard_error_in(log), interrupts() as interrupted:  # else Java could be left behind
            started = builder.getOrCreate()
    except (PySparkException, OSError, RuntimeError) as error:
        raise NoSpark(f"Spark did not start on {master}: {_first_line(error)} (see {log})") from error
    except Exception as error:  # py4j's own, which pyspark passes on
        if type(error).__module__.partition(".")[0] != "py4j":
            raise
        raise NoSpark(f"Spark did not start on {master} (see {log})") from error
    with suppress(OSError):
        log.unlink()  # Java goes on writing to it; nobody reads it
    if interrupted.is_set():
        started.stop()
        raise KeyboardInterrupt
    return started


def _connect(server: str, options: Mapping[str, str]) -> SparkSession:
    """A session of a Spark Connect server; of the options it takes those of SQL."""
    from pyspark.errors import PySparkException
    from pyspark.sql import SparkSession

    missing = [CONNECT[name] for name in lacking(CONNECT)]
    if missing:
        raise NoSpark(f"Spark Connect needs {', '.join(missing)}: `{installing('connect')}`.")
    _hush()
    address = urlsplit(server)
    try:
        with socket.create_connection((address.hostname or "", address.port or PORT), PATIENCE):
            pass  # what is refused is said at once
        _wait_for(server)
        started = SparkSession.builder.remote(server).getOrCreate()
        for name, value in {**QUIET, **options}.items():
            if name.startswith("spark.sql.") and name != "spark.sql.warehouse.dir":
                started.conf.set(name, value)
        started.range(1).count()
    except (PySparkException, OSError, RuntimeError, ValueError) as error:
        raise NoSpark(f"Spark did not answer on {server}: {_first_line(error)}") from error
    return started


def _wait_for(server: str) -> None:
    """Raise `TimeoutError` unless it is a server of gRPC: where nothing speaks, pyspark would wait on."""
    import grpc
    from pyspark.sql.connect.client import DefaultChannelBuilder

    with DefaultChannelBuilder(server).toChannel() as channel:
        try:
            grpc.channel_ready_future(channel).result(PATIENCE)
        except grpc.FutureTimeoutError:
            raise TimeoutError(f"it said nothing for {PATIENCE:g} seconds") from None


@contextmanager
def interrupts() -> Iterator[Event]:
    """What Ctrl-C sets: an exception would come in the midst of a call to Java, which tells of it.

    Where it is asked for again it is one.
    """
    interrupted = Event()

    def note(*_: object) -> None:
        if interrupted.is_set():
            raise KeyboardInterrupt
        interrupted.set()

    if current_thread() is not main_thread():
        yield interrupted
        return
    before = signal.signal(signal.SIGINT, note)
    try:
        yield interrupted
    finally:
        if signal.getsignal(signal.SIGINT) is note:  # else Spark has put its own in the place
            signal.signal(signal.SIGINT, before)


def _hush() -> None:
    """What went wrong is said once, by us."""
    warnings.filterwarnings(
        "ignore", message="PySpark does not yet fully support pandas", category=FutureWarning
    )
    for name in ("SQLQueryContextLogger", "DataFrameQueryContextLogger", "pyspark.sql.connect.logging"):
        logging.getLogger(name).disabled = True


def _let_workers_import_this() -> None:
    """Put this package on the path of the workers, wherever the driver has it from."""
    root = str(Path(__file__).parents[2])
    paths = os.environ.get("PYTHONPATH", "").split(os.pathsep)
    if root not in paths:
        os.environ["PYTHONPATH"] = os.pathsep.join(filter(None, (root, *paths)))


@contextmanager
def _standard_error_in(log: Path) -> Iterator[None]:
    """Processes started meanwhile write their standard error to a file: Java and Spark talk a lot."""
    kept = os.dup(2)
    file = os.open(log, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600)
    try:
        os.dup2(file, 2)
        yield
    finally:
        os.dup2(kept, 2)
        os.close(kept)
        os.close(file)


def _first_line(error: BaseException) -> str:
    """What an error says in a line; what gRPC tells of a call is in the midst of it."""
    text = str(error).strip() or type(error).__name__
    details = re.search(r'^\s*details = "(.+)"$', text, re.MULTILINE)
    return details[1] if details else text.splitlines()[0]
