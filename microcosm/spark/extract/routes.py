"""Which task does which trace: in slices or whole, and whole ones gathered without Spark where that can be.

A shuffle takes rows into Java and back to Python, in packets of columns; their order is made where those of a
trace meet. Logs mostly have the events of a trace together, or near each other: then a task reads the files
in which they were staged, has whole traces, and does without (benchmarks.spark_many tells of both). Those of
other traces, or of which more is asked than what was staged, Spark gathers.
"""

from __future__ import annotations

import logging
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

from microcosm.spark.io import inputs, reading, staging
from microcosm.spark.io.events import id_of, in_full
from microcosm.spark.io.inputs import Piece
from microcosm.spark.io.packets import gathered, joined, packed, spread, together, unpacked
from microcosm.spark.io.staging import Kernel
from microcosm.spark.session import worker_memory

if TYPE_CHECKING:
    from pyspark.sql import DataFrame

    from microcosm.spark.io.staging import Output, Staged


MOST = 1_000_000
"""Of so many traces it is looked here where they are."""

LARGEST = 2_000_000
"""Events of the files that a task looks at, at most, unless half of them are of one trace.

Fewer where a worker cannot hold them.
"""

TOGETHER = 500_000
"""So many events, more or less, are for one task: to begin one takes as long as 30,000 of them."""


WORDS = ("trace", "process", "kind", "file")
"""Columns of few values, which go as dictionaries: to read, shuffle and sort rows then takes half as long."""


@dataclass(frozen=True, slots=True)
class FileRun:
    """Files one after the other, and those after them in which their traces go on.

    A task does the traces that are in its own files, but for some: those that begin before, or are apart.
    """

    own: list[str]
    more: list[str]
    without: pa.Array


def by_trace(
    output: Output,
    marked: DataFrame | None,
    sizes: pa.Table,
    columns: Sequence[str],
    sliced: Sequence[str | None],
    tables: Mapping[str, str],
    kernel: Kernel,
) -> dict[str, Staged]:
    """The `tables` that a kernel makes of events, those of each trace together: by the stage that made them.

    Tasks read some columns of the staged ones, or Spark does, where some are to be `marked` as chosen; traces
    that are `sliced` are left out. `sizes` are those of all traces.
    """
    made = {}
    read = output.staged("read")
    most = min(LARGEST, worker_memory(output.spark) // PLAIN)
    not_here = pa.array(sliced, pa.string())
    where = None if marked is not None else places(read / "events", sizes, not_here, most)
    separate: pa.Array | None = None
    if where is not None and where[0]:
        runs, separate = where
        files = [[Piece(path, number=at) for path in [*run.own, *run.more]] for at, run in enumerate(runs)]
        work = inputs.work(
            output.spark, files, lambda some: kernel(rows_of(runs[next(some).number], columns))
        )
        made["found"] = output.tables("found", tables, *work)
        if not len(separate):
            return made
    parts = max(1, -(-staging.rows(read / "events") // TOGETHER))
    send = partial(sent, parts=parts, sliced=not_here, separate=separate)
    if marked is not None:
        work = marked.select(*columns), send
    else:
        work = inputs.over(output.spark, read / "events", columns, send, WORDS)
    packets = gathered(work, parts, lambda some: kernel(in_order(unpacked(some))), keyed=False)
    made["shuffled"] = output.tables("shuffled", tables, *packets)
    return made


def sent(
    batches: Iterator[pa.RecordBatch], parts: int, sliced: pa.Array, separate: pa.Array | None
) -> Iterator[pa.RecordBatch]:
    """Packets of events by trace: of the traces that are `separate`, or of all but those `sliced`."""
    for batch in together(batches):
        trace = batch.column("trace")
        own = pc.invert(pc.is_in(trace, sliced)) if separate is None else pc.is_in(trace, separate)
        rows = batch.filter(own)
        if rows.num_rows:
            yield packed(rows, spread(rows.column("trace"), parts))


def places(
    events: Path, sizes: pa.Table, sliced: pa.Array, most: int
) -> tuple[list[FileRun], pa.Array] | None:
    """Who does the traces whose `sizes` were `summed`, and which are apart.

    Those `sliced` are nobody's; a task looks at `most` events, or twice as many as its largest trace has.
    None where there are too many traces to be looked at. Cost: the end of each file of events is read.
    """
    if len(sizes) > MOST:
        return None
    ends = sizes.filter(pc.invert(pc.is_in(sizes.column("trace"), sliced)))
    trace = ends.column("trace").combine_chunks()
    found = sorted(described for path in events.glob("*.parquet") if (described := _described(path)))
    paths = [str(path) for _, _, path in found]
    begins, rows = (np.array([each[at] for each in found], dtype=np.int64) for at in (0, 1))
    first, last = (
        np.searchsorted(begins, ends.column(name).to_numpy(), "right") - 1 for name in ("first", "last")
    )
    starts = _starts(rows.tolist())
    of = np.repeat(np.arange(len(starts)), np.diff([*starts, len(rows)]))  # the run of each file
    begun, ended = of[first], of[last]
    reach = np.array([*starts[1:], len(rows)], dtype=np.int64)
    size = np.add.reduceat(rows, starts) if starts else rows
    np.maximum.at(reach, begun, last + 1)
    largest = np.zeros(len(starts), dtype=np.int64)
    np.maximum.at(largest, begun, ends.column("events").to_numpy())
    before = np.append(0, np.cumsum(rows))
    fits = before[reach] - before[starts] <= np.maximum(most, 2 * largest)
    here = fits[begun] | ((begun == ended) & (size[begun] <= most))
    others = np.flatnonzero(~here | (begun < ended))
    runs = []
    for run in np.unique(begun[here]).tolist():
        end = starts[run + 1] if run + 1 < len(starts) else len(rows)
        mine = here[others] & (begun[others] == run)
        there = (begun[others] <= run) & (ended[others] >= run) & ~mine
        without = pa.concat_arrays([trace.take(pa.array(others[there])), sliced])
        more = paths[end : reach[run]] if fits[run] else []
        runs.append(FileRun(paths[starts[run] : end], more, without))
    return runs, trace.filter(pa.array(~here))


def _starts(rows: Sequence[int]) -> list[int]:
    """Where runs of files with so many rows begin, each with as many as `TOGETHER` or one file."""
    found: list[int] = []
    room = 0
    for at, count in enumerate(rows):
        if not found or count > room:
            found.append(at)
            room = TOGETHER
        room -= count
    return found


def rows_of(run: FileRun, columns: Sequence[str]) -> Iterator[pa.RecordBatch]:
    """The rows of the traces of a run, as `in_order` has them.

    Memory: its own files, and their traces in the others.
    """

    def rows(path: str) -> pa.Table:
        with pq.ParquetFile(path, read_dictionary=WORDS) as table:
            return table.read(columns=[*columns], use_threads=False).select([*columns])

    table = pa.concat_tables(map(rows, run.own))
    if len(run.without):
        table = table.filter(pc.invert(pc.is_in(table.column("trace"), run.without)))
    if run.more:
        own = in_full(table.column("trace").unique())
        more = (every.filter(pc.is_in(every.column("trace"), own)) for every in map(rows, run.more))
        table = pa.concat_tables([table, *more])
    return in_order(iter(table.to_batches()))


def in_order(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
    """Rows with those of a trace together and in the order of `at`, as one batch; none of none."""
    some = [batch for batch in batches if batch.num_rows]
    if not some:
        return
    table = joined(sorted(some, key=lambda batch: batch.column("at")[0].as_py()))
    trace = table.column("trace").dictionary_encode()
    code = pc.fill_null(trace.indices, -1).to_numpy() + 1
    at = table.column("at").to_numpy()
    scattered = np.count_nonzero(np.diff(code)) >= np.count_nonzero(np.bincount(code))
    if (np.diff(at) < 0).any():
        yield table.take(pa.array(np.lexsort((at, code))))
    else:
        yield table.take(pa.array(np.argsort(code, kind="stable"))) if scattered else table


def _described(path: Path) -> tuple[int, int, Path] | None:
    """The least `at` of a file and the number of its rows; None where it has none."""
    described = pq.read_metadata(path)
    if not described.num_rows:
        return None
    column = described.schema.names.index("at")
    groups = (described.row_group(group) for group in range(described.num_row_groups))
    return min(group.column(column).statistics.min for group in groups), described.num_rows, path


PLAIN, CAREFUL = 700, 3_500
"""Bytes of an event that a worker looks at: of a plain trace, and of one with clocks, stamps or links.

What a worker can hold is done at once: 4·10⁶ plain events took 23 s of the processor and 340 bytes each, and
53 s in 16 slices (docs/guides/spark.md).
"""

_log = logging.getLogger(staging.LOGGER)


@dataclass(slots=True)
class Routes:
    """The traces that are done in slices, and large ones that go whole to a worker."""

    sliced: dict[str | None, int] = field(default_factory=dict)
    """Of each how many events it has."""
    whole: list[str] = field(default_factory=list)

    def give_up(self, trace: str | None, reasons: Sequence[str]) -> None:
        """Let a trace go whole to one worker, and say why, and what memory that takes."""
        events = self.sliced.pop(trace)
        self.whole = sorted([*self.whole, trace or ""])
        named = "the trace" if trace is None else f"trace {trace}"
        needed = f"which needs some {-(-events * CAREFUL // 1_000_000):,} MB"
        why = f"{events:,} events go whole to one worker, {needed}, because of: {', '.join(reasons)}"
        _log.info("%s: %s", named, why)


def routed(read: Staged, sizes: pa.Table, slices: int | None, room: int, asked: Sequence[str]) -> Routes:
    """In slices are done traces too large for the `room` of a worker; one that is alone, where asked for.

    Not where more orders than processes and messages, nor where two events have one name, nor where more than
    these orders is `asked` for: what is found of an event then depends on all others. `sizes` has the traces
    of what was `read`, as they were `summed`.
    """
    found = Routes()
    alone = slices is not None and len(sizes) <= 1
    large = sizes.filter(pc.field("events") >= (0 if alone else room // CAREFUL)).to_pylist()
    for row in sorted(large, key=lambda row: (row["trace"] is not None, row["trace"])):
        trace, count = row["trace"], row["events"]
        used = [name for name in reading.ORDERING if row[name]]
        if not alone and count < room // (CAREFUL if used else PLAIN):
            continue
        found.sliced[trace] = count
        why = [*(name for name in used if name != "name"), *asked]
        if not why and used and _share_names(read["events"], trace, len(sizes) > 1):
            why.append("names of several events")
        if why:
            found.give_up(trace, why)
    return found


def _share_names(events: DataFrame, trace: str | None, several: bool) -> bool:
    """Whether two events of a trace, not merely two rows of one, have the same name."""
    from pyspark.sql import functions as F

    own = events.where(F.col("trace").eqNullSafe(F.lit(trace)))
    named = own.select(id_of(several).alias("id"), "process", "seq").distinct()
    return bool(named.groupBy("id").count().where("count > 1").limit(1).collect())
