"""Traces followed while they are written: what `extract` finds, batch by batch as rows arrive.

The state of each trace (`microcosm.spark.stream.kernel`) is Spark's, so a stream that was stopped, or
killed, goes on where it was when it is started again with its checkpoint: each batch writes folders of its
own, anew if need be, and nothing is told twice.
"""

from __future__ import annotations

import json
import logging
import os
import time
from collections.abc import Callable, Iterator
from contextlib import suppress
from dataclasses import dataclass
from importlib.util import find_spec
from math import inf
from pathlib import Path
from threading import Event
from typing import TYPE_CHECKING, Any

from microcosm import files
from microcosm.errors import MicrocosmError, TextError
from microcosm.spark.io import events, source, staging
from microcosm.spark.io.folders import SCHEMA, held, versioned
from microcosm.spark.io.inputs import expand, local_path, refuse_within
from microcosm.spark.io.staging import Outcome
from microcosm.spark.session import NoSpark, interrupts, require_streams
from microcosm.spark.stream.kernel import ARRIVED, StreamKernel
from microcosm.spark.stream.state import TraceState

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession


_log = logging.getLogger(staging.LOGGER)


TABLES = {
    "events": ("seq is not null and reported is null", events.NAMED),
    "edges": ("left is not null", events.EDGES),
    "frontiers": ("last is not null", events.FRONTIERS),
    "reported": ("reported is not null", f"{events.REPORTED}, trace string, file string, line long"),
}
"""Which rows of what is told are of a table, and its columns; `batch`, beside them, names a folder."""

STATE = {
    "spark.sql.streaming.stateStore.providerClass": (
        "org.apache.spark.sql.execution.streaming.state.RocksDBStateStoreProvider"
    ),
    "spark.sql.streaming.stateStore.rocksdb.changelogCheckpointing.enabled": "true",
}
"""The only store of state that the job runs on; each batch writes what has changed."""

MANIFEST = "stream.json"

_SLOW = "connect back"
"""What Spark says when a Python that it starts for a stream, to which it gives ten seconds, takes longer.

No setting changes the ten seconds; a busy machine needs them. So the stream is begun again: it goes on
where it was, as after any end.
"""
_ATTEMPTS = 8

_BACK = 50 * 365 * 86_400
"""Seconds by which a clock may be put back while a stream is followed, or between two runs of it.

Rows that come no later than the watermark Spark drops without a word; so the watermark is as far behind.
"""


@dataclass(frozen=True, slots=True)
class StreamOptions:
    """How a stream is read. `wait`: seconds that rows out of order wait for those before them; `every`:
    seconds between batches, None for only what is there now."""

    format: str | None = None
    pattern: str | None = None
    wait: float = 0.0
    every: float | None = None
    keep: int = 10_000


def stream(
    spark: SparkSession, path: str, out: str, checkpoint: str, options: StreamOptions | None = None
) -> Outcome:
    """Follow the traces in a file or folder (`follow`). Raises `TextError` for one that is not there."""
    options = options if options is not None else StreamOptions()
    expand([path])
    refuse_within([path], out, TABLES)
    source.register(spark)
    reader = spark.readStream.format(source.NAME).schema(f"{source.COLUMNS}, {source.ARRIVED}")
    for name, option in (("format", options.format), ("pattern", options.pattern)):
        if option is not None:
            reader = reader.option(name, option)
    return follow(spark, reader.load(str(local_path(path).absolute())), out, checkpoint, options)


def follow(
    spark: SparkSession, rows: DataFrame, out: str, checkpoint: str, options: StreamOptions
) -> Outcome:
    """Follow the traces whose rows, with the columns of the source, come in a stream.

    Writes `out/events`, `out/edges`, `out/frontiers` and `out/reported`, a folder `batch=N` for each batch.
    Ends when what is there has been read, or with `every` only by `KeyboardInterrupt`. Raises `TextError`
    where `out` belongs to another stream, or a job is at work there. What it returns is of all runs.
    """
    require_streams()
    folder, kept = local_path(out), local_path(checkpoint)
    lock = held(folder)
    try:
        _check_owner(folder, kept)
        begin = time.monotonic()
        for attempt in range(1, _ATTEMPTS + 1):
            try:
                _run(spark, rows, folder, kept, options)
                break
            except MicrocosmError as error:
                if attempt == _ATTEMPTS or _SLOW not in str(error.__cause__):
                    raise
                _log.info("a Python of Spark took more than ten seconds to start; the stream begins again")
        followed = time.monotonic()
        summary, faults = _summary(spark, folder)
    finally:
        os.close(lock)
    stages = {"follow": round(followed - begin, 3), "count": round(time.monotonic() - followed, 3)}
    return Outcome(summary, faults, stages)


def _run(spark: SparkSession, rows: DataFrame, out: Path, checkpoint: Path, options: StreamOptions) -> None:
    """Run the query until it ends. Raises `MicrocosmError` where it does not start, or fails."""
    with interrupts() as interrupted:
        query = _start(spark, rows, out, checkpoint, options)
        try:
            files.write_text(out / MANIFEST, json.dumps({"schema": SCHEMA, "query": str(query.id)}) + "\n")
            _wait(query, out, interrupted)
        finally:
            unsaid = logging.getLogger("py4j")  # tells of a batch that is not written to its end
            before = unsaid.level
            unsaid.setLevel(logging.CRITICAL)
            with suppress(Exception):
                query.stop()
            unsaid.setLevel(before)


def _start(spark: SparkSession, rows: DataFrame, out: Path, checkpoint: Path, options: StreamOptions) -> Any:
    from pyspark.errors import PySparkException

    for name, value in STATE.items():
        spark.conf.set(name, value)
    out_rows = (
        rows.withWatermark("arrived", f"{_BACK} seconds")
        .groupBy("trace")
        .transformWithState(
            Processor(options.wait, options.keep, options.every is None), EMITTED, "append", "eventTime"
        )
    )
    writing = out_rows.writeStream.foreachBatch(_sink(str(out.absolute()))).outputMode("append")
    writing = writing.option("checkpointLocation", str(checkpoint.absolute())).queryName("microcosm")
    often = {"processingTime": f"{options.every} seconds"}
    try:
        return writing.trigger(**({"availableNow": True} if options.every is None else often)).start()
    except PySparkException as error:
        reason = str(error).strip().splitlines()[0]
        raise NoSpark(f"the stream did not start: {reason}") from error


def _sink(out: str) -> Callable[[DataFrame, int], None]:
    """What writes a batch: the same folders, whole, however often it is done."""

    def write(rows: DataFrame, batch: int) -> None:
        rows = rows.persist()
        try:
            for name, (own, columns) in TABLES.items():
                part = versioned(rows.where(own).select(*events.arrow_names(columns))).coalesce(1)
                part.write.mode("overwrite").parquet(f"{out}/{name}/batch={batch}")
        finally:
            rows.unpersist()

    return write


def _wait(query: Any, out: Path, interrupted: Event) -> None:
    """Until the query ends, or is interrupted, telling of each batch. Raises `MicrocosmError` if it fails."""
    from pyspark.errors import PySparkException

    last = list(TABLES)[-1]  # the one that a batch writes last
    seen = {folder.name for folder in _batches(out / last)}
    ended = False
    while not ended:
        try:
            ended = query.awaitTermination(1) or interrupted.is_set()
        except PySparkException as error:
            raise MicrocosmError(f"the stream failed: {_cause(error)}") from error
        for batch in sorted({folder.name for folder in _batches(out / last)} - seen):
            seen.add(batch)
            counts = {name: staging.rows(out / name / batch) for name in TABLES}
            if any(counts.values()):
                _log.info("%s: %s", batch, ", ".join(f"{count:,} {name}" for name, count in counts.items()))


def _cause(error: BaseException) -> str:
    lines = [line.strip() for line in str(error).splitlines() if line.strip()]
    raised = [line for line in lines if "Error: " in line or "Exception: " in line]
    return raised[-1] if raised else next(iter(lines), type(error).__name__)


def _check_owner(out: Path, checkpoint: Path) -> None:
    """Two streams must not write into one folder: batches of the same number would replace each other."""

    def said(path: Path, member: str) -> object:
        with suppress(OSError, ValueError, KeyError, TypeError):
            return json.loads(path.read_text(encoding="utf-8"))[member]
        return None

    owner, kept = said(out / MANIFEST, "query"), said(checkpoint / "metadata", "id")
    written = owner is not None or any((out / name).is_dir() for name in TABLES)
    if written and (kept is None or owner not in (None, kept)):
        hint = f"Name its checkpoint, or another folder. The checkpoint given: {checkpoint}"
        raise TextError(
            "has tables of another job, or of a stream with another checkpoint", file=str(out), hint=hint
        )


def _summary(spark: SparkSession, out: Path) -> tuple[dict[str, Any], list[str]]:
    """What the tables have, and the irregularities."""
    batches = {name: [*_batches(out / name)] for name in TABLES}
    summary: dict[str, Any] = {name: sum(map(staging.rows, batches[name])) for name in ("events", "edges")}
    summary |= {"frontiers": 0, "batches": len(batches["events"])}
    if batches["frontiers"]:
        told = spark.read.parquet(str(out / "frontiers")).select("trace", "process")
        summary["frontiers"] = told.distinct().count()
    reported, faults, _ = events.irregularity_counts(batches["reported"])
    return {**summary, "reported": dict(sorted(reported.items()))}, faults


def _batches(table: Path) -> Iterator[Path]:
    """The folders of a table that are written to the end."""
    if table.is_dir():
        yield from (folder for folder in files.listing(table) if (folder / "_SUCCESS").is_file())


if TYPE_CHECKING or find_spec("pyspark") is not None:
    from pyspark.sql.streaming.stateful_processor import StatefulProcessor
else:  # the rest of the package goes without
    StatefulProcessor = object

EMITTED = (
    f"{events.EVENT}, id string, left string, relation string, right string, source string, last string, "
    f"knows map<string,long>, {events.REPORTED}"
)
"""The columns of what is told: an event, an edge, a frontier or an irregularity."""

_NAMES = events.arrow_names(EMITTED)


class Processor(StatefulProcessor):
    """Takes the rows of a trace as they come, and gives up waiting when the time has come.

    `wait` is in seconds, `keep` as for `StreamKernel`; what is followed `once` waits until no more comes.
    """

    def __init__(self, wait: float, keep: int, once: bool) -> None:
        self._wait = int(wait * 1000)
        self._keep = keep
        self._once = once

    def init(self, handle: Any) -> None:
        self._handle = handle
        self._processes = handle.getMapState("lanes", "process string", "lane binary")
        self._messages = handle.getMapState("letters", "message string", "letter binary")
        self._waiting = handle.getValueState("waiting", "waiting string")

    def handleInputRows(self, key: Any, rows: Iterator[Any], timerValues: Any) -> Iterator[Any]:
        taken = []
        for given in rows:
            row = given.asDict(True)
            row[ARRIVED] = int(row[ARRIVED].timestamp() * 1000)
            if row["reported"] is not None:
                yield _row(row)
            else:
                taken.append(row)
        if not taken:
            return
        kernel, store = self._kernel(key[0])
        kernel.take(taken)
        for timer in list(self._handle.listTimers()):
            self._handle.deleteTimer(timer)
        self._keep_state(kernel, store, max(row[ARRIVED] for row in taken))
        yield from map(_row, kernel.emitted)

    def handleExpiredTimer(self, key: Any, timerValues: Any, expiredTimerInfo: Any) -> Iterator[Any]:
        kernel, store = self._kernel(key[0])
        now = timerValues.getCurrentWatermarkInMs() + _BACK * 1000
        kernel.give_up(inf if self._once else now - self._wait + 1)
        self._keep_state(kernel, store)
        yield from map(_row, kernel.emitted)

    def close(self) -> None:
        """Nothing is open."""

    def _kernel(self, trace: str | None) -> tuple[StreamKernel, TraceState]:
        store = TraceState(self._processes, self._messages)
        kernel = StreamKernel(trace, store, self._keep)
        if self._waiting.exists():
            kernel.stopped, kernel.doubtful, kernel.ended = json.loads(self._waiting.get()[0])
        return kernel, store

    def _keep_state(self, kernel: StreamKernel, store: TraceState, latest: int = 0) -> None:
        store.write()
        self._waiting.update((json.dumps([kernel.stopped, kernel.doubtful, kernel.ended]),))
        if since := [*kernel.stopped.values(), *kernel.doubtful.values()]:
            end = (latest if self._once else min(since)) + self._wait - 1
            self._handle.registerTimer(end - _BACK * 1000)


def _row(row: events.Row) -> Any:
    """A row that is told, with all columns."""
    from pyspark.sql import Row as SparkRow

    return SparkRow(**{name: row.get(name) for name in _NAMES})
