"""Many traces in one job: their events, the edges between them, and what each process knew at the end.

Events are gathered by trace, and each trace goes whole through `microcosm.traces.covering`: what Spark
finds is what the engine in this process finds. A trace of very many events is done in slices instead
(`microcosm.spark.giant`), with the same result.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import groupby
from pathlib import Path
from typing import TYPE_CHECKING, Any

from microcosm.errors import TextError
from microcosm.spark import events as rows
from microcosm.spark import pieces
from microcosm.spark.giant import LARGE, Found, Giant
from microcosm.spark.output import Output, fingerprint
from microcosm.traces import formats
from microcosm.traces.covering import covering
from microcosm.traces.report import Irregularity, Report

if TYPE_CHECKING:
    import pyarrow as pa
    from pyspark.sql import Column, DataFrame, SparkSession

TABLES = ("events", "edges", "frontiers")

_FOUND = (
    "trace string, left string, relation string, right string, source string, process string, last string, "
    f"knows map<string,long>, file string, line long, {rows.REPORTED}"
)
_ODD = ("file", "line", "reported", "fault", "count", "lost")
_HARMLESS = {"isolated-event", "wide-frontier"}
"""Said, but no fault of the log."""
_TOLD = 5
"""So many irregularities of a kind are told one by one."""
_BATCH = 8192


@dataclass(frozen=True, slots=True)
class Asked:
    """What to extract beside the covering edges: `concurrent` is a condition on the columns of events.

    `slices` is the number of slices of a giant trace, and makes one of a trace that is alone.
    """

    concurrent: str | None = None
    token: str | None = None
    format: str | None = None
    pattern: str | None = None
    strict: bool = False
    slices: int | None = None


@dataclass(frozen=True, slots=True)
class Extracted:
    """What a job found; `faults` are the first irregularities of each kind, with their places."""

    summary: dict[str, Any]
    faults: list[str]
    stages: dict[str, float]


def extract(spark: SparkSession, inputs: Sequence[str], out: str, asked: Asked | None = None) -> Extracted:
    """Write `out/events`, `out/edges` and `out/frontiers` for the traces in files and folders.

    Events that name no trace are of one trace, as for `microcosm extract`; those of a file in a folder,
    or in another format than the own ones beside other files, are of a trace named after the file.
    Irregularities are counted in `reported`. Raises `TextError`, under `strict` also for these.
    """
    asked = asked if asked is not None else Asked()
    paths = pieces.expand(inputs)
    if not paths:
        raise TextError("has no files in it", file=inputs[0])
    identity = {
        "job": "extract",
        "inputs": fingerprint(paths),
        "asked": [asked.concurrent, asked.token, asked.format, asked.pattern, asked.slices, list(inputs)],
    }
    output = Output(out, identity)
    done = output.committed()
    if done is not None and not (asked.strict and done["reported"]):
        return Extracted(done, [], {})
    return _Job(spark, output, asked).run(inputs, paths)


class _Job:
    def __init__(self, spark: SparkSession, output: Output, asked: Asked) -> None:
        self._spark = spark
        self._output = output
        self._asked = asked

    def run(self, inputs: Sequence[str], paths: Sequence[Path]) -> Extracted:
        from pyspark.sql import functions as F

        chosen = self._chosen()
        read = self._output.stage(self._spark, "read", lambda: self._read(inputs, paths))
        good = read.where("reported is null")
        several = good.select("trace").distinct().limit(2).count() > 1
        reported, faults, lost = told(read)
        marked = good.withColumn("chosen", chosen)
        sliced = self._sliced(good, several)
        rest = marked
        for trace in sliced:
            rest = rest.where(~F.col("trace").eqNullSafe(F.lit(trace)))
        found = self._output.stage(self._spark, "found", lambda: self._find(rest, several, not lost))
        odd = found.where("reported is not null").select("trace", *_ODD)
        giants = [
            (trace, self._giant(number, trace, marked, several, not lost))
            for number, trace in enumerate(sliced)
        ]
        for trace, giant in giants:
            odd = odd.unionByName(_of(trace, giant.odd).select(*odd.columns))
        foreign = found.where("left is not null and relation is null")
        links = None
        if foreign.limit(1).count():
            links, unknown = _linked(foreign, _named(good, several))
            odd = odd.unionByName(unknown)
        more, more_faults, repeated = told(odd)
        for kind, count in more.items():
            reported[kind] = reported.get(kind, 0) + count
        faults += more_faults
        self._refuse(reported, faults)
        kept = _without_lost(good, odd) if repeated else good
        tables = {
            "events": lambda: _named(kept, several),
            "edges": lambda: _edges(found, links, giants),
            "frontiers": lambda: _frontiers(found, giants),
        }
        counts = {name: self._output.stage(self._spark, name, make).count() for name, make in tables.items()}
        summary: dict[str, Any] = {**counts, "reported": dict(sorted(reported.items()))}
        self._output.commit(TABLES, summary)
        return Extracted(summary, faults, self._output.stages)

    def _sliced(self, events: DataFrame, several: bool) -> list[str | None]:
        """The traces that are done in slices: large ones in which only processes and messages order."""
        from pyspark.sql import functions as F

        if self._asked.token is not None:
            return []
        alone = self._asked.slices is not None and not several
        columns = ("clock", "lamport", "earliest", "after", "name")
        sizes = events.groupBy("trace").agg(
            F.count("*").alias("events"), *(F.count(name).alias(name) for name in columns)
        )
        large = sizes.where(f"events >= {0 if alone else LARGE}").collect()
        return [row.trace for row in large if not any(row[name] for name in columns)]

    def _giant(self, number: int, trace: str | None, events: DataFrame, several: bool, whole: bool) -> Found:
        from pyspark.sql import functions as F

        own = events.where(F.col("trace").eqNullSafe(F.lit(trace)))
        named = own.withColumn("id", _id(several))
        prefix = f"{trace}/" if several and trace is not None else ""
        slices = self._asked.slices
        chosen = self._asked.concurrent is not None
        return Giant(self._spark, self._output, named, str(number), prefix, slices, chosen, whole).find()

    def _chosen(self) -> Column:
        """The condition of `--concurrent`, tried on a table without rows. Raises `TextError`."""
        from pyspark.errors import PySparkException
        from pyspark.sql import functions as F

        if self._asked.concurrent is None:
            return F.lit(False)
        condition = F.expr(f"coalesce(({self._asked.concurrent}), false)")
        try:
            self._spark.createDataFrame([], rows.EVENT).where(condition).schema  # noqa: B018 (analyses)
        except PySparkException as error:
            said = str(error).strip().splitlines()[0]
            hint = (
                "It is a condition on the columns of an event, such as \"kind = 'send' and process = 'p'\"."
            )
            raise TextError(said, file="--concurrent", hint=hint) from None
        return condition

    def _read(self, inputs: Sequence[str], paths: Sequence[Path]) -> DataFrame:
        tasks: list[list[pieces.Piece]] = []
        small: list[Path] = []
        own: set[Path] = set()
        for path in paths:
            if _is_own(path, self._asked):
                own.add(path)
            if path not in own or path.stat().st_size <= pieces.LARGEST:
                small.append(path)
            elif path.suffix == pieces.PARQUET:
                tasks += pieces.by_row_groups(path)
            else:
                tasks += pieces.by_lines(path)
        tasks += pieces.whole(small)
        named = _names(inputs, paths, own)
        reading = rows.Reading(self._asked.format, self._asked.pattern, named)

        def read(number: int, piece: pieces.Piece) -> Iterator[pa.RecordBatch]:
            return rows.batches(number, piece, reading)

        return pieces.table_of(self._spark, tasks, read, rows.READ)

    def _find(self, events: DataFrame, several: bool, complete: bool) -> DataFrame:
        token = self._asked.token

        def kernel(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
            return _found_batches(batches, several, token, complete)

        columns = [name for name in events.columns if name not in ("reported", "fault", "count", "lost")]
        by_trace = events.select(*columns).repartition("trace").sortWithinPartitions("trace", "at")
        return by_trace.mapInArrow(kernel, _FOUND)

    def _refuse(self, reported: dict[str, int], faults: Sequence[str]) -> None:
        if self._asked.strict and set(reported) - _HARMLESS:
            odd = next(
                fault for fault in faults if not fault.endswith(tuple(f"[{kind}]" for kind in _HARMLESS))
            )
            raise TextError(odd, hint="Without --strict this is reported and passed over.")


def _is_own(path: Path, asked: Asked) -> bool:
    """Whether a file is in an own format, whose lines or rows stand for themselves."""
    if path.suffix == pieces.PARQUET:
        return True
    if asked.pattern is not None or asked.format not in (None, rows.OWN):
        return False
    with path.open("rb") as stream:
        head = stream.read(1 << 16).decode("utf-8", "replace").removeprefix("\ufeff")
    try:
        return formats.detect(head, str(path)) == rows.OWN
    except TextError:
        return False  # the task that reads it says so


def _names(inputs: Sequence[str], paths: Sequence[Path], own: set[Path]) -> dict[str, str]:
    """The trace of the events that name none, by file: the file's name, or its path where that is shared."""
    given = {Path(name) for name in inputs}
    many = len(paths) > 1
    naming = [p for p in paths if p.suffix != pieces.PARQUET and (p not in given or (many and p not in own))]
    stems = [path.stem for path in naming]
    return {str(path): path.stem if stems.count(path.stem) == 1 else str(path) for path in naming}


def _found_batches(
    batches: Iterator[pa.RecordBatch], several: bool, token: str | None, complete: bool
) -> Iterator[pa.RecordBatch]:
    """The edges, frontiers and irregularities of the traces in batches, which are sorted by trace."""
    import pyarrow as pa

    schema = rows.arrow_schema(_FOUND)
    for trace, members in groupby(_rows(batches), key=lambda row: row["trace"]):
        made: list[rows.Row] = []
        for row in _found(trace, list(members), several, token, complete):
            made.append(row)
            if len(made) == _BATCH:
                yield pa.RecordBatch.from_pylist(made, schema=schema)
                made = []
        if made:
            yield pa.RecordBatch.from_pylist(made, schema=schema)


def _rows(batches: Iterator[pa.RecordBatch]) -> Iterator[rows.Row]:
    for batch in batches:
        yield from batch.to_pylist()


def _found(
    trace: str | None, members: list[rows.Row], several: bool, token: str | None, complete: bool
) -> Iterator[rows.Row]:
    lost: list[Irregularity] = []
    report = Report(each=lambda each: lost.append(each) if each.lost else None)
    chosen = [(row["process"], row["seq"]) for row in members if row["chosen"]]
    found = covering(
        map(rows.event_from, members),
        report,
        full_names=several,
        token=token,
        chosen=chosen,
        complete=complete,
    )
    for left, relation, right, source in found.edges:
        yield {"trace": trace, "left": left, "relation": relation, "right": right, "source": source}
    for link in found.foreign:
        ends = "last" if link.last else None
        row = {"trace": trace, "left": link.left, "right": link.right, "source": ends}
        yield {**row, "file": link.file, "line": link.line}
    for each in found.frontiers:
        knows = None if each.knows is None else list(each.knows.items())
        yield {"trace": trace, "process": each.process, "last": each.last, "knows": knows}
    for row in rows.report_rows(report, lost):
        yield {"trace": trace, **row}


def told(table: DataFrame) -> tuple[dict[str, int], list[str], int]:
    """The irregularities in a table: counts by kind, the first of each with their places, events lost."""
    from pyspark.sql import Window
    from pyspark.sql import functions as F

    odd = table.where("reported is not null")
    sums = odd.groupBy("reported").agg(F.sum("count").alias("count"), F.sum("lost").alias("lost")).collect()
    counts = {row.reported: int(row["count"]) for row in sums}
    if not counts:
        return {}, [], 0
    place = Window.partitionBy("reported").orderBy("file", "line", "fault")
    first = odd.where("fault is not null").withColumn("nth", F.row_number().over(place))
    told = first.where(F.col("nth") <= _TOLD).orderBy("reported", "nth").collect()
    faults = []
    for row in told:
        where = row.file if row.line is None else f"{row.file}:{row.line}"
        faults.append(f"{where}: {row.fault} [{row.reported}]")
    lost = sum(int(row.lost) for row in sums)
    return counts, faults, lost + counts.get("unreadable", 0)


def _without_lost(events: DataFrame, found: DataFrame) -> DataFrame:
    """The events without those that are there already."""
    lost = found.where("lost > 0").select("trace", "file", "line").distinct()
    same = [events[name].eqNullSafe(lost[name]) for name in lost.columns]
    return events.join(lost, same, "left_anti")


def _linked(foreign: DataFrame, events: DataFrame) -> tuple[DataFrame, DataFrame]:
    """Links from one execution to another as edges, and those that are not believed as irregularities.

    Only links to last events are believed: these close no cycle.
    """
    from pyspark.sql import functions as F

    known = events.select(F.col("id").alias("left"), F.lit(True).alias("known")).distinct()
    joined = foreign.join(known, "left", "left")
    believed = joined.where("known and source = 'last'")
    edges = believed.select(
        "trace", "left", F.lit("<").alias("relation"), "right", F.lit("link").alias("source")
    )
    what = F.when(F.col("known"), F.lit(" is of another execution")).otherwise(F.lit(" is not in the log"))
    unknown = joined.where("known is null or source is null").select(
        "trace",
        "file",
        "line",
        F.lit("unknown-event").alias("reported"),
        F.concat("right", F.lit(": "), "left", what).alias("fault"),
        F.lit(1).cast("long").alias("count"),
        F.lit(0).cast("long").alias("lost"),
    )
    return edges, unknown


def _edges(
    found: DataFrame, links: DataFrame | None, giants: Sequence[tuple[str | None, Found]]
) -> DataFrame:
    columns = ("trace", "left", "relation", "right", "source")
    table = found.where("relation is not null").select(*columns)
    if links is not None:
        table = table.unionByName(links)
    for trace, giant in giants:
        table = table.unionByName(_of(trace, giant.edges).select(*columns))
    return table


def _frontiers(found: DataFrame, giants: Sequence[tuple[str | None, Found]]) -> DataFrame:
    columns = ("trace", "process", "last", "knows")
    table = found.where("last is not null").select(*columns)
    for trace, giant in giants:
        table = table.unionByName(_of(trace, giant.frontiers).select(*columns))
    return table


def _of(trace: str | None, table: DataFrame) -> DataFrame:
    from pyspark.sql import functions as F

    return table.withColumn("trace", F.lit(trace).cast("string"))


def _id(several: bool) -> Column:
    """The name of an event, by which edges know it."""
    from pyspark.sql import functions as F

    own = F.concat_ws(":", "process", F.col("seq").cast("string"))
    full = F.when(F.col("trace").isNull(), own).otherwise(F.concat_ws("/", "trace", own)) if several else own
    return F.coalesce("name", full)


def _named(events: DataFrame, several: bool) -> DataFrame:
    """The table `events`: `id` is the name by which edges know an event."""
    names = [column.split(" ")[0] for column in rows.EVENT.split(", ")]
    columns = [name for name in names if name not in ("trace", "name")]
    return events.select("trace", _id(several).alias("id"), *columns)
