"""Many traces in one job: their events, the edges between them, and what each process knew at the end.

Events are gathered by trace, and what is found of each is what `microcosm.traces.covering` finds in this
process (`microcosm.spark.extract.trace_kernel`). A trace of very many events is done in slices instead
(`microcosm.spark.giant.job`), with the same result.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from functools import partial, reduce
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

from microcosm.errors import TextError
from microcosm.spark.extract import trace_kernel
from microcosm.spark.extract.routes import Routes, by_trace, routed
from microcosm.spark.giant.job import Found, NotInSlices, found_in_slices
from microcosm.spark.io import events as rows
from microcosm.spark.io import reading, staging
from microcosm.spark.io.events import BAD, NAMED, MaxBad, arrow_schema, id_of, irregularity_counts, named
from microcosm.spark.io.inputs import Inputs, over
from microcosm.spark.io.inputs import tasks as tasks_of
from microcosm.spark.io.staging import WHOLE, Outcome, Output, Staged
from microcosm.spark.session import worker_memory
from microcosm.traces.extract import on_circles

if TYPE_CHECKING:
    from pyspark.sql import Column, DataFrame, SparkSession

TABLES = ("events", "edges", "frontiers", "reported")

_PARTS = {"edges": "edges", "frontiers": "frontiers", "reported": "odd"}
"""Of which table of a stage each of the tables is made."""

Stages = dict[str, Staged]
"""The tables of some stages."""

TOGETHER = 4
"""So many giant traces are done at a time."""

_HARMLESS = {"isolated-event", "misnamed-field", "wide-frontier"}
"""Said, but no fault of the log."""


_ASKED = ("concurrent", "token", "format", "pattern", "slices")
"""The options on which it depends what is found."""


@dataclass(frozen=True, slots=True)
class ExtractOptions:
    """What to extract beside the covering edges: `concurrent` is a condition on the columns of events.

    `slices` is the number of slices of a giant trace, and makes one of a trace that is alone. `max_bad` is
    how many lines or rows may be no events.
    """

    concurrent: str | None = None
    token: str | None = None
    format: str | None = None
    pattern: str | None = None
    strict: bool = False
    slices: int | None = None
    max_bad: MaxBad | None = None


def extract(
    spark: SparkSession, inputs: Sequence[str], out: str, options: ExtractOptions | None = None
) -> Outcome:
    """Write the `TABLES` of the traces in files and folders to folders in `out`.

    Events that name no trace are of one trace, as for `microcosm extract`; those of a file in a folder,
    or in another format than the own ones beside other files, are of a trace named after the file.
    Irregularities are rows of `reported`, and counted in the summary. Raises `TextError`, under `strict` also
    for these, and where more is bad than `max_bad` lets be; nothing is committed then.
    """
    options = options if options is not None else ExtractOptions()
    found = Inputs(spark, inputs)
    found.refuse_within(out, TABLES)
    identity = {
        "job": "extract",
        "inputs": found.fingerprint(),
        "asked": [*(getattr(options, name) for name in _ASKED), list(inputs)],
    }
    with Output(out, identity, TABLES, spark) as output:
        done = output.committed(options.strict, options.max_bad)
        return done if done is not None else _Job(output, options).run(found)


@dataclass(frozen=True, slots=True)
class _Job:
    _output: Output
    _options: ExtractOptions

    def run(self, inputs: Inputs) -> Outcome:
        chosen = self._chosen()
        read, sizes = self._read(inputs)
        output, folder = self._output, self._output.staged("read")
        options = self._options
        asked = [name for name in ("token", "concurrent") if getattr(options, name) is not None]
        routes = routed(read, sizes, options.slices, worker_memory(self._output.spark), asked)
        several, sliced = len(sizes) > 1, routes.sliced
        odd = folder / "odd"
        reported, faults, missing = irregularity_counts([odd])
        if any(reported.get(kind, 0) > 1 for kind in _ONCE):  # each piece says it
            odd = output.stage("odd", lambda: once(read["odd"]))
            reported, faults, missing = irregularity_counts([odd])
        bad = next((fault for fault in faults if fault.endswith(tuple(f"[{kind}]" for kind in BAD))), "")
        if not len(sizes) and bad:
            raise TextError(bad, hint="Nothing of the input could be read.")
        if options.max_bad is not None:
            options.max_bad.refuse(reported, staging.rows(folder / "events"), bad)

        taken = self._taken(read, sizes) if several else None
        if taken is not None:
            for trace in sliced.keys() & {*taken.column("trace").unique().to_pylist()}:
                routes.give_up(trace, ["names that events of other traces have"])
        marked = None if chosen is None else read["events"].withColumn("chosen", chosen)

        with ThreadPoolExecutor(TOGETHER) as pool:  # what one leaves of the cores, others take
            begun = {
                trace: pool.submit(found_in_slices, output, str(at), (trace, events), several, options.slices)
                for at, (trace, events) in enumerate(sliced.items())
            }
        giants: list[tuple[str | None, Found]] = []
        for trace, future in begun.items():
            try:
                giants.append((trace, future.result()))
            except NotInSlices as reason:
                routes.give_up(trace, [str(reason)])
        all_sliced = 0 < len(sizes) == len(sliced)
        found = {} if all_sliced else self._find(marked, sizes, routes, not missing, taken)
        sources = {table: [output.staged(name) / part for name in found] for table, part in _PARTS.items()}
        if taken is not None:
            sources["reported"].append(self._stage("twice", output.read("taken"), rows.ODD))
        for number, (trace, giant) in enumerate(giants):
            of_it = output.spark.read.schema(rows.ODD).parquet(*map(str, giant.odd))
            sources["reported"].append(self._stage(f"odd-{number}", _of(trace, of_it), rows.ODD))
            sources["frontiers"].append(output.put(f"frontiers-{number}", giant.frontiers))
        foreign = self._filled(found, "foreign")
        if foreign:
            links, unknown = linked(_all(foreign), _named(read["events"], several))
            alone = not_alone(_all([tables["odd"] for tables in found.values()]), links)
            sources["reported"][: len(found)] = [self._stage("alone", alone, rows.ODD)]
            sources["reported"].append(self._stage("unknown", unknown, rows.ODD))
            sources["edges"].append(self._stage("links", links, rows.EDGES))
        more, more_faults, repeated = irregularity_counts(sources["reported"])
        reported = dict(sorted((Counter(reported) + Counter(more)).items()))
        faults += more_faults
        self._refuse(reported, faults)
        for number, (trace, giant) in enumerate(giants):
            sources["edges"].append(self._stage(f"edges-{number}", _of(trace, giant.edges), rows.EDGES))
        renamed = self._filled(found, "renamed")
        if repeated or renamed:
            from pyspark.sql import functions as F

            lost = [*(tables["lost"] for tables in found.values()), *(giant.lost for _, giant in giants)]
            lost += [output.read("taken").select("at")] if taken is not None else []
            kept = read["events"].join(_all(lost), "at", "left_anti")
            for table in renamed:
                now = F.expr("coalesce(now, trace)")  # the execution that it is in
                kept = kept.join(table, "at", "left").withColumn("trace", now).select(*kept.columns)
            named = _named(kept, several or bool(renamed))
            summary: dict[str, Any] = {"events": staging.rows(output.stage("events", lambda: named))}
        else:
            summary = {"events": self._events(several)}
        sources["reported"].insert(0, odd)
        counts = {table: output.gather(table, some) for table, some in sources.items()}
        summary |= counts | {"reported": reported, "whole": routes.whole}
        output.commit(summary)
        return Outcome(summary, faults, output.stages)

    def _stage(self, name: str, table: DataFrame, columns: str) -> Path:
        return self._output.stage(name, lambda: table.select(*rows.arrow_names(columns)))

    def _filled(self, found: Stages, table: str) -> list[DataFrame]:
        """One of the tables of all stages that have rows in it."""
        return [tables[table] for name, tables in found.items() if self._output.filled(name, table)]

    def _chosen(self) -> Column | None:
        """The condition of `--concurrent`, tried on a table without rows. Raises `TextError`."""
        if self._options.concurrent is None:
            return None
        from pyspark.errors import PySparkException
        from pyspark.sql import functions as F

        empty = self._output.spark.createDataFrame([], rows.EVENT)  # first, for it may start Spark
        condition = F.expr(f"coalesce(({self._options.concurrent}), false)")
        try:
            empty.where(condition).schema  # noqa: B018 (analyses)
        except PySparkException as error:
            reason = str(error).strip().splitlines()[0]
            hint = (
                "It is a condition on the columns of an event, such as \"kind = 'send' and process = 'p'\"."
            )
            raise TextError(reason, file="--concurrent", hint=hint) from None
        return condition

    def _read(self, inputs: Inputs) -> tuple[Staged, pa.Table]:
        """What was read, and what is counted of each trace."""
        how = reading.Reading(self._options.format, self._options.pattern)
        names, paths = inputs.fetched(self._output)

        folder = self._output.staged("read")

        def read(stated: frozenset[str]) -> tuple[Staged, pa.Table, frozenset[str]]:
            tasks = tasks_of(reading.planned(names, paths, how, stated))
            work = inputs.work(tasks, partial(reading.read, reading=how))
            made = self._output.tables("read", reading.TABLES, *work)
            sizes = reading.summed(pq.read_table(folder / "sizes", partitioning=None))
            # Traces that some rows state, and that others are of by the name of their file.
            mixed = sizes.filter((pc.field("unstated") > 0) & (pc.field("unstated") < pc.field("events")))
            both = frozenset(mixed.column("trace").to_pylist())
            return made, sizes, both and both.difference(reading.folders_of_traces(names, paths).values())

        found, sizes, both = read(frozenset())
        if both:
            (folder / WHOLE).unlink()
            found, sizes, both = read(both)
            if both:
                raise TextError("is a file of one trace, and the name of another", file=min(both))
        return found, sizes

    def _taken(self, read: Staged, sizes: pa.Table) -> pa.Table | None:
        """`at` and trace of the events whose names those of other traces have; None where there are none."""
        if "name" not in self._output.filled("read", "events") and not _may_share_names(sizes):
            return None
        folder = self._output.stage("taken", lambda: taken(read["events"], read["sizes"]))
        return pq.read_table(folder, columns=["at", "trace"]) if staging.rows(folder) else None

    def _find(
        self,
        marked: DataFrame | None,
        sizes: pa.Table,
        routes: Routes,
        complete: bool,
        taken: pa.Table | None,
    ) -> Stages:
        """What is found of the traces that are not done in slices, without what is `taken`."""
        token = self._options.token
        without = None if taken is None else taken.column("at").combine_chunks()
        traces, several = sizes.column("trace"), len(sizes) > 1
        numbered = traces.filter(pc.match_substring_regex(traces, r"^[0-9]+$| \([0-9]+\)$")).to_pylist()

        def kernel(batches: Iterator[pa.RecordBatch]) -> Iterator[tuple[str, pa.RecordBatch]]:
            if without is not None:
                batches = (some.filter(pc.invert(pc.is_in(some.column("at"), without))) for some in batches)
            return trace_kernel.found(batches, several, token, complete, numbered)

        needed = {"trace", "process", "seq", "kind", "message", "file", "line", "at"}
        needed |= self._output.filled("read", "events")  # all of it tells whether an event stands there twice
        columns = [name for name in rows.arrow_names(reading.EVENTS) if name in needed]
        columns += ["chosen"] if marked is not None else []
        return by_trace(self._output, marked, sizes, columns, [*routes.sliced], trace_kernel.TABLES, kernel)

    def _events(self, several: bool) -> int:
        """The table `events`, of all that was read; how many there are."""

        def name(batches: Iterator[pa.RecordBatch]) -> Iterator[tuple[str, pa.RecordBatch]]:
            return (("events", named(batch, several)) for batch in batches)

        read = over(
            self._output.spark, self._output.staged("read") / "events", rows.arrow_names(rows.EVENT), name
        )
        self._output.tables("named", {"events": NAMED}, *read)
        return self._output.gather("events", [self._output.staged("named") / "events"])

    def _refuse(self, reported: dict[str, int], faults: Sequence[str]) -> None:
        if self._options.strict and set(reported) - _HARMLESS:
            odd = next(
                fault for fault in faults if not fault.endswith(tuple(f"[{kind}]" for kind in _HARMLESS))
            )
            raise TextError(odd, hint="Without --strict this is reported and passed over.")


def _of(trace: str | None, table: DataFrame) -> DataFrame:
    from pyspark.sql import functions as F

    return table.withColumn("trace", F.lit(trace).cast("string"))


def _all(tables: Sequence[DataFrame]) -> DataFrame:
    return reduce(lambda one, other: one.unionByName(other), tables)


def _named(events: DataFrame, several: bool) -> DataFrame:
    """The table `events`: `id` is the name by which edges know an event."""
    trace, _, *columns = rows.arrow_names(NAMED)
    return events.select(trace, id_of(several).alias("id"), *columns)


def _may_share_names(sizes: pa.Table) -> bool:
    """Whether events of two traces may be called alike that have no names: `a/b/c:1` is of `a`, or of `a/b`.

    `slashed` counts the events of a trace that are of processes such as `b/c`.

    >>> some = ([1, 0, 0], [0, 1, 0], [0, 0, 1], [0, 0, 0])
    >>> [_may_share_names(pa.table({"trace": ["a", "a/b", None], "slashed": each})) for each in some]
    [True, False, True, False]
    """
    traces = sizes.column("trace")
    slashed = sizes.filter(pc.field("slashed") > 0).column("trace").combine_chunks()
    longer = traces.filter(pc.match_substring(traces, "/")).to_pylist() if len(slashed) else []
    begins = [name[:at] for name in longer for at, letter in enumerate(name) if letter == "/"]
    unnamed = slashed.null_count > 0 and len(traces) > 1
    return unnamed or bool(pc.any(pc.is_in(pa.array(begins, pa.string()), slashed)).as_py())


def taken(events: DataFrame, sizes: DataFrame) -> DataFrame:
    """The events whose names those of an earlier trace have, as what is odd, with their `at`.

    Cost: a shuffle of the events that the log names, and of those whose names may be among these.
    """
    from pyspark.sql import Window
    from pyspark.sql import functions as F

    every = events.select("at", "trace", "name", "process", "file", "line", rows.id_of(True).alias("id"))
    alike = every.where("coalesce(name like '%:%', process like '%/%')").select("id").distinct()
    unnamed = every.where("name is null").join(alike, "id", "left_semi").select(*every.columns)
    begins = sizes.groupBy(F.col("trace").alias("of")).agg(F.min("first").alias("begin"))
    named = every.where("name is not null").unionByName(unnamed)
    placed = named.join(begins, F.col("trace").eqNullSafe(F.col("of")))
    first = F.min("begin").over(Window.partitionBy("id"))
    again = placed.withColumn("least", first).where("begin > least")
    detail = F.concat(F.lit("there is an event "), "id", F.lit(" already"))
    odd = rows.odd_rows(again, "duplicate-event", detail, columns=f"at long, {rows.ODD}")
    return odd.withColumn("lost", F.lit(1).cast("long"))


_ONCE = {"line-end": "file", "misnamed-field": "substring_index(fault, ' is no field of an event', 1)"}
"""What is told once of all with one value of something, however many pieces of the log say it."""


def once(odd: DataFrame) -> DataFrame:
    """What is odd, and once what is to be told `_ONCE`: at the first place, as files are named."""
    from pyspark.sql import functions as F

    reported_once = F.coalesce(F.col("reported").isin(*_ONCE) & F.col("fault").isNotNull(), F.lit(False))
    first = F.min_by(F.struct(*odd.columns), F.struct("file", "line")).alias("first")
    of = [F.when(F.col("reported") == kind, F.expr(what)) for kind, what in _ONCE.items()]
    told_once = odd.where(reported_once).groupBy("reported", F.coalesce(*of)).agg(first).select("first.*")
    return odd.where(~reported_once).unionByName(told_once)


_CIRCLE = "left string, right string"


def linked(foreign: DataFrame, events: DataFrame) -> tuple[DataFrame, DataFrame]:
    """Links from one execution to another as edges, and those that are not believed as irregularities.

    Only links of events after which nothing of their own execution comes are believed. So links close
    a circle only among themselves, from one such event to the next; those between events that are both on a
    circle, or come after one, are not believed either. Cost: three joins; links between linking events go to
    one task.
    """
    from pyspark.sql import functions as F

    known = events.select(F.col("id").alias("left"), F.lit(True).alias("known")).distinct()
    joined = foreign.join(known, "left", "left")
    believed = joined.where("known and last").drop("known", "last")
    linking = believed.select(F.col("right").alias("left")).distinct()
    among = believed.select("left", "right").join(linking, "left", "left_semi").distinct()
    circles = (
        among.withColumn("all", F.lit(0))
        .groupBy("all")
        .applyInArrow(_circles, _CIRCLE)
        .withColumn("circle", F.lit(True))
    )
    marked = believed.join(circles, ["left", "right"], "left")
    edges = marked.where("circle is null").select(
        "trace", "left", F.lit("<").alias("relation"), "right", F.lit("link").alias("source")
    )

    def odd(links: DataFrame, kind: str, before: str, after: str) -> DataFrame:
        detail = F.concat("right", F.lit(before), "left", F.lit(after))
        return rows.odd_rows(links, kind, detail, columns=rows.ODD)

    unknown = odd(joined.where("known is null"), "unknown-event", ": ", " is not in the log")
    inner = odd(joined.where("known and not last"), "unknown-event", ": ", " is of another execution")
    circular = odd(marked.where("circle"), "link-cycle", ": is after ", " and before it")
    return edges, unknown.unionByName(inner).unionByName(circular)


def not_alone(odd: DataFrame, links: DataFrame) -> DataFrame:
    """What is odd, without the events that were told to be alone and are ends of links. Cost: a join."""
    from pyspark.sql import functions as F

    ends = links.select(F.explode(F.array("left", "right")).alias("end"))
    detail = F.concat("end", F.lit(": nothing relates it to another event"))
    return odd.join(ends.select(detail.alias("fault")), "fault", "left_anti").select(*odd.columns)


def _circles(links: pa.Table) -> pa.Table:
    pairs = zip(links.column("left").to_pylist(), links.column("right").to_pylist(), strict=True)
    found = [{"left": left, "right": right} for left, right in sorted(on_circles(pairs))]
    return pa.Table.from_pylist(found, schema=arrow_schema(_CIRCLE))
