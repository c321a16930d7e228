"""What a job on Spark costs: processor time of Java and of all workers, memory of a worker; made-up logs."""

from __future__ import annotations

import os
import threading
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import numpy as np

from microcosm.spark.session import session

_TICKS = os.sysconf("SC_CLK_TCK")


def _children() -> dict[int, list[int]]:
    found: dict[int, list[int]] = {}
    for entry in Path("/proc").iterdir():
        if entry.name.isdigit():
            try:
                fields = (entry / "stat").read_text().rpartition(")")[2].split()
            except OSError:
                continue
            found.setdefault(int(fields[1]), []).append(int(entry.name))
    return found


def _tree() -> list[int]:
    children = _children()
    found = [os.getpid()]
    for process in found:
        found += children.get(process, ())
    return found


def processor_seconds() -> float:
    """Seconds that this process and all below it have computed, those that have ended included.

    The kernel adds what a process computed to that of its parent's children when the parent waits for it,
    which of Spark's processes only the daemon of workers does not do of itself (`benchmarks.spark_daemon`). A
    process that ends while it is looked for is missed, never counted twice, as parents are looked at first:
    so of a few looks the most is right.
    """
    return max(_seconds() for _ in range(3))


def _seconds() -> float:
    total = 0
    for process in _tree():
        try:
            fields = Path(f"/proc/{process}/stat").read_text().rpartition(")")[2].split()
        except OSError:
            continue
        total += sum(map(int, fields[11:15]))
    return total / _TICKS


def costing(run: Callable[[], object]) -> float:
    """Processor seconds of a call."""
    before = processor_seconds()
    run()
    return processor_seconds() - before


@contextmanager
def worker_memory() -> Iterator[list[int]]:
    """The largest memory of a Python worker meanwhile, in MiB, as the only member of a list at the end."""
    peak = [0]
    over = threading.Event()

    def watch() -> None:
        while not over.wait(0.3):
            for process in _tree()[1:]:
                try:
                    if "pyspark.daemon" in Path(f"/proc/{process}/cmdline").read_text():
                        status = Path(f"/proc/{process}/status").read_text()
                        if "VmHWM" in status:
                            peak[0] = max(peak[0], int(status.partition("VmHWM:")[2].split()[0]) >> 10)
                except (OSError, IndexError):
                    continue

    watching = threading.Thread(target=watch)
    watching.start()
    try:
        yield peak
    finally:
        over.set()
        watching.join()


@contextmanager
def cores(number: int) -> Iterator[tuple[Any, Path]]:
    """A session that does so many tasks at a time, and a folder for its tables."""
    with TemporaryDirectory() as folder:
        options = {
            "spark.driver.memory": "4g",
            "spark.local.dir": f"{folder}/local",
            "spark.driver.extraJavaOptions": "-XX:+UseSerialGC",
            "spark.python.daemon.module": "benchmarks.spark_daemon",
        }
        with session(f"local[{number}]", options) as spark:
            yield spark, Path(folder)


def one_core() -> AbstractContextManager[tuple[Any, Path]]:
    """A session that does one task at a time, and a folder for its tables."""
    return cores(1)


def log(file: Path, events: int, processes: int, traces: int = 1, seed: int = 1) -> None:
    """Write a log, a third of it sendings and a third receptions, in the order of time; Parquet."""
    import pyarrow as pa
    import pyarrow.parquet as pq

    random = np.random.default_rng(seed)
    each = events // traces
    messages = each // 3
    columns: dict[str, list[Any]] = {name: [] for name in ("trace", "process", "seq", "kind", "message")}
    with pq.ParquetWriter(file, _SCHEMA) if traces == 1 else _Many(file) as writer:
        for trace in range(traces):
            sent = np.sort(random.random(messages))
            sender = random.integers(0, processes, messages)
            receiver = (sender + random.integers(1, processes, messages)) % processes
            received = sent + random.exponential(20 / messages, messages)
            inner = random.random(each - 2 * messages)
            time = np.concatenate((sent, received, inner))
            process = np.concatenate((sender, receiver, random.integers(0, processes, len(inner))))
            kind = np.repeat((0, 1, 2), (messages, messages, len(inner)))
            message = np.concatenate((np.arange(messages), np.arange(messages), np.full(len(inner), -1)))
            order = np.argsort(time, kind="stable")
            process, kind, message = process[order], kind[order], message[order]
            seq = np.empty(each, dtype=np.int64)
            for name in range(processes):
                own = process == name
                seq[own] = np.arange(1, own.sum() + 1)
            names = np.array([f"p{name}" for name in range(processes)])
            texts = [None if number < 0 else f"m{number}" for number in message.tolist()]
            writer.write_table(
                pa.table(
                    {
                        "trace": pa.array([None if traces == 1 else f"t{trace}"] * each, pa.string()),
                        "process": names[process],
                        "seq": seq,
                        "kind": np.array(("send", "receive", "internal"))[kind],
                        "message": pa.array(texts, pa.string()),
                    },
                    schema=_SCHEMA,
                ),
                1 << 17,
            )
    del columns


class _Many:
    """Writes tables of many traces in few row groups."""

    def __init__(self, file: Path) -> None:
        self._file = file
        self._tables: list[Any] = []

    def __enter__(self) -> _Many:
        return self

    def write_table(self, table: Any, size: int) -> None:
        self._tables.append(table)

    def __exit__(self, *failed: object) -> None:
        import pyarrow as pa
        import pyarrow.parquet as pq

        pq.write_table(pa.concat_tables(self._tables), self._file, row_group_size=1 << 17)


def _schema() -> Any:
    import pyarrow as pa

    text = pa.string()
    return pa.schema(
        [("trace", text), ("process", text), ("seq", pa.int64()), ("kind", text), ("message", text)]
    )


_SCHEMA = _schema()
