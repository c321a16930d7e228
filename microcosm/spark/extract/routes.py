"""Which task does which trace: in slices or whole, and whole ones gathered without Spark where that can be.

A shuffle takes each row into Java, through a sort and back to Python, which is more than finding its edges
takes: with it the job took 1.4 times as long where events lie together (3·10⁵ events, benchmarks.spark_many).
Logs mostly have the events of a trace together: then a task reads the file in which they were staged, and has
whole traces. The events of other traces, or of which more is asked than what was staged, Spark gathers.
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

from microcosm.spark.io import input_splits, reading, staging
from microcosm.spark.io.events import id_of
from microcosm.spark.io.input_splits import Piece
from microcosm.spark.io.sink import Kernel

if TYPE_CHECKING:
    from pyspark.sql import DataFrame

    from microcosm.spark.io.staging import Output, Staged


MOST = 1_000_000
"""Of so many traces, each counted once a piece of input, it is looked here where they are."""

LARGEST = 2_000_000
"""Events of a file that a task holds, at most."""

TOGETHER = 250_000
"""So many events, more or less, are for one task."""


@dataclass(frozen=True, slots=True)
class Places:
    """The files for each task, with whole traces but for those that are `apart`, which may be all."""

    files: list[list[Piece]]
    apart: pa.Array
    all_apart: bool


def by_trace(
    output: Output,
    events: Callable[[], DataFrame],
    columns: Sequence[str],
    sliced: Sequence[str | None],
    tables: Mapping[str, str],
    kernel: Kernel,
) -> dict[str, Staged]:
    """The `tables` that a kernel makes of events, those of each trace together: by the stage that made them.

    `events` are the staged ones without the traces that are `sliced`, with some of their columns, or more.
    """
    made = {}
    read = output.staged("read")
    where = None if "chosen" in columns else places(read / "events", read / "sizes")
    some = events
    if where is not None:
        not_here = pa.array(sliced, pa.string())
        if not where.all_apart:
            without = pa.concat_arrays([where.apart, not_here])
            work = input_splits.work(
                output.spark, where.files, lambda some: kernel(in_order(some, columns, without))
            )
            made["found"] = output.tables("found", tables, *work)
        apart = where.apart.filter(pc.invert(pc.is_in(where.apart, not_here)))
        if made and not len(apart):
            return made
        if made:
            output.put("apart", pa.table({"trace": apart}))

            def some() -> DataFrame:
                every, here = events(), output.read("apart")
                return every.join(here, every["trace"].eqNullSafe(here["trace"]), "left_semi")

    shuffled = some().select(*columns).repartition("trace").sortWithinPartitions("trace", "at")
    made["shuffled"] = output.tables("shuffled", tables, shuffled, kernel)
    return made


def places(events: Path, sizes: Path) -> Places | None:
    """Where the traces are whose `sizes` were staged with their events (`microcosm.spark.io.reading`).

    None where they are too many to be looked at. Cost: the sizes are read, and the end of each file of
    events.
    """
    if staging.rows(sizes) > MOST:
        return None
    columns = ["trace", "first", "last"]
    counted = pa.concat_tables([pq.read_table(path, columns=columns) for path in sizes.glob("*.parquet")])
    ends = counted.group_by("trace").aggregate([("first", "min"), ("last", "max")])
    found = sorted(described for path in events.glob("*.parquet") if (described := _described(path)))
    begins = np.array([begin for begin, _, _ in found], dtype=np.int64)
    large = np.array([rows > LARGEST for _, rows, _ in found], dtype=bool)
    first, last = (
        np.searchsorted(begins, ends.column(name).to_numpy(), "right") - 1
        for name in ("first_min", "last_max")
    )
    apart = pa.array((first != last) | large[first])
    files: list[list[Piece]] = []
    room = 0
    for _, rows, path in found:
        if not files or rows > room:
            files.append([])
            room = TOGETHER
        files[-1].append(Piece(str(path)))
        room -= rows
    some = ends.filter(apart).column("trace").combine_chunks()
    return Places(files, some, len(some) == len(ends))


def in_order(files: Iterable[Piece], columns: Sequence[str], without: pa.Array) -> Iterator[pa.RecordBatch]:
    """The rows of some files, those of a trace together and in the order of `at`, but for some traces.

    Memory: the files.
    """
    parts = [pq.read_table(each.path, columns=[*columns], partitioning=None) for each in files]
    table = pa.concat_tables(parts).select([*columns])
    if len(without):
        table = table.filter(pc.invert(pc.is_in(table.column("trace"), without)))
    trace = table.column("trace").combine_chunks().dictionary_encode()
    code = pc.fill_null(trace.indices, -1).to_numpy(zero_copy_only=False)
    at = table.column("at").to_numpy()
    again = len(np.flatnonzero(np.diff(code))) >= max(1, len(np.unique(code)))
    if again or (np.diff(at) < 0).any():
        table = table.take(pa.array(np.lexsort((at, code))))
    return iter(table.combine_chunks().to_batches())


def _described(path: Path) -> tuple[int, int, Path] | None:
    """The least `at` of a file and the number of its rows; None where it has none."""
    described = pq.read_metadata(path)
    if not described.num_rows:
        return None
    column = described.schema.names.index("at")
    groups = (described.row_group(group) for group in range(described.num_row_groups))
    return min(group.column(column).statistics.min for group in groups), described.num_rows, path


LARGE = 4_000_000
"""A trace of so many events is done in slices; of fewer where a worker cannot hold them.

Measured on two cores: one trace of 10⁶ events takes 65 s in slices and 17 s at once, 20 traces of 210,000
events 108 s and 22 s.
"""

PLAIN, CAREFUL = 700, 3_500
"""Bytes of an event that a worker looks at: of a plain trace, and of one with clocks, stamps or links."""

SLICED = {"name", "clock", "lamport"}
"""Columns that order, or name, of which a trace in slices may make use; of Lamport times if all have one."""

DOUBTFUL = {"clock", "message", "counted"}
"""Where a trace has all of these, all of it must be known before it is known which events ticked."""

_log = logging.getLogger(staging.LOGGER)


@dataclass(slots=True)
class Routes:
    """How many traces there are, those that are done in slices, and large ones that go whole to a worker."""

    traces: int
    sliced: dict[str | None, frozenset[str]] = field(default_factory=dict)
    """Of each the columns that order beside processes and messages."""
    whole: list[str] = field(default_factory=list)
    _events: dict[str | None, int] = field(default_factory=dict)

    def give_up(self, trace: str | None, reasons: Sequence[str]) -> None:
        """Let a trace go whole to one worker, and say why."""
        self.sliced.pop(trace, None)
        self.whole = sorted([*self.whole, trace or ""])
        named = "the trace" if trace is None else f"trace {trace}"
        events = f"{self._events[trace]:,}"
        _log.info("%s: %s events go whole to one worker, because of: %s", named, events, ", ".join(reasons))

    @property
    def all_sliced(self) -> bool:
        """Whether there are traces, and no other than these."""
        return 0 < self.traces == len(self.sliced)


def routed(read: Staged, folder: Path, slices: int | None, room: int) -> Routes:
    """In slices are done traces too large for the `room` of a worker; one that is alone, where asked for.

    Not where more orders than processes, messages, clocks and Lamport times of all events, and not where two
    events have one name: which of them counts depends on all others. What was `read` is staged in `folder`.
    """
    traces, largest, of_size = _counted(read, folder / "sizes")
    found = Routes(traces)
    alone = slices is not None and traces <= 1
    least = 0 if alone else min(LARGE, room // CAREFUL)
    if not traces or largest < least:
        return found
    for row in sorted(of_size(least), key=lambda row: (row["trace"] is not None, row["trace"])):
        trace, count = row["trace"], row["events"]
        used = frozenset(name for name in reading.COUNTED if row[name])
        size = CAREFUL if used.intersection(reading.ORDERING) else PLAIN
        if not alone and count < min(LARGE, room // size):
            continue
        found._events[trace] = count
        why = [name for name in reading.ORDERING if name in used - SLICED]
        if 0 < row["lamport"] < count:
            why.append("lamport")
        if used >= DOUBTFUL:
            why.append("positions that the log does not have")
        if not why and row["name"] and _share_names(read["events"], trace, traces > 1):
            why.append("names of several events")
        if why:
            found.give_up(trace, why)
        else:
            found.sliced[trace] = used
    return found


def _counted(read: Staged, folder: Path) -> tuple[int, int, Callable[[int], list[dict[str, Any]]]]:
    """How many traces there are, the events of the largest, and what is counted of those of some size.

    Where they are not too many this process counts: a shuffle takes longer to begin.
    """
    names = ("events", *reading.COUNTED)
    if staging.rows(folder) > MOST:
        from pyspark.sql import functions as F

        summed = read["sizes"].groupBy("trace").agg(*(F.sum(name).alias(name) for name in names))
        traces, largest = summed.agg(F.count("*"), F.max("events")).collect()[0]
        return (
            traces,
            largest,
            lambda least: [row.asDict() for row in summed.where(f"events >= {least}").collect()],
        )
    every = pa.concat_tables([pq.read_table(path) for path in folder.glob("*.parquet")])
    sums = [(name, "sum") for name in names]
    table = every.group_by("trace").aggregate(sums).rename_columns(["trace", *names])
    largest = pc.max(table.column("events")).as_py() or 0
    return table.num_rows, largest, lambda least: table.filter(pc.field("events") >= least).to_pylist()


def _share_names(events: DataFrame, trace: str | None, several: bool) -> bool:
    """Whether two events of a trace, not merely two rows of one, have the same name."""
    from pyspark.sql import functions as F

    own = events.where(F.col("trace").eqNullSafe(F.lit(trace)))
    named = own.select(id_of(several).alias("id"), "process", "seq").distinct()
    return bool(named.groupBy("id").count().where("count > 1").limit(1).collect())
