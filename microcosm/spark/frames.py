"""DataFrames in, DataFrames out, and functions in SQL: what the jobs find, inside any pipeline of Spark's.

Whatever Spark opens is an input: a Delta or Iceberg table, a topic of Kafka, a catalog, an object store. All
that is returned is lazy, and made of the kernels that the jobs run (`microcosm.spark.extract.trace_kernel`,
`microcosm.spark.bisim.microcosms`, `microcosm.spark.questions`); only the jobs do giant traces in slices.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from dataclasses import dataclass
from functools import partial
from itertools import pairwise
from typing import TYPE_CHECKING, Any

import pyarrow as pa
import pyarrow.compute as pc

from microcosm.errors import MicrocosmError, TextError
from microcosm.givens.relation import Relation
from microcosm.logic.rulebook import read_rules
from microcosm.questions.reader import read_questions
from microcosm.spark.bisim import microcosms
from microcosm.spark.extract import trace_kernel
from microcosm.spark.extract.job import linked, not_alone
from microcosm.spark.extract.trace_kernel import bounds, whole_traces
from microcosm.spark.io import events as rows
from microcosm.spark.io import source
from microcosm.spark.io.events import Row, batches_of, noting, report_rows
from microcosm.spark.io.packets import map_in_arrow
from microcosm.spark.io.reading import stated
from microcosm.spark.io.staging import Outcome
from microcosm.spark.questions import CHECKED, answered_rows, error_text, fault_row
from microcosm.spark.stream import job
from microcosm.state.microcosm import Microcosm
from microcosm.text.mc_reader import read_givens
from microcosm.traces.event import TraceEvent
from microcosm.traces.extract import extract as extraction
from microcosm.traces.formats.parquet import NO_TEXT, records
from microcosm.traces.report import Report

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

_BATCH = 4096
_READ = f"at long, {rows.EVENT}, {rows.REPORTED}"
_FRAME = "the DataFrame"
_PLACE = {"file": "string", "line": "long"}
"""Columns of the place of a row, with their types."""
_ROWS = 1 << 32
"""More rows than a partition has."""
_UNREAD = re.compile(r"(?:^|[<:,])(variant|interval (?:year|month)[^,>:]*)(?=[,>]|$)")
"""The types whose values Arrow does not hand to Python, where they stand within others, too."""

DIGESTS = "id string, digest string, consistent boolean, fault string"
_TRUTH: dict[str | None, bool] = {"<": True, ">": False, "||": False}


@dataclass(frozen=True, slots=True)
class Extracted:
    """The tables of `microcosm spark extract`, each made anew when it is asked for.

    `cache` what is used twice, and the input if its rows do not come in the same order each time.
    """

    events: DataFrame
    edges: DataFrame
    frontiers: DataFrame
    reported: DataFrame


def extract(events: DataFrame, *, token: str | None = None) -> Extracted:
    """The covering edges, frontiers and irregularities of events in a DataFrame.

    `events` has the columns of the own format (docs/reference/log-format.md), of which `process`, `seq` and
    `kind` are needed, in any types that mean them; others become attributes. A row that is no event is in
    `reported`. Names of events that name a trace begin with it (`t/p:1`). Between rows of one position the
    first counts, in the order of the columns `file` and `line` where the DataFrame has them.
    Cost: one shuffle by trace, and where there is a column `after` joins for links between traces; a trace
    has to fit into the memory of a worker.
    """
    from pyspark.sql import functions as F

    read = _events_of(events)
    good = read.where("reported is null").drop("reported", "fault", "count", "lost")
    grouped = good.repartition("trace").sortWithinPartitions("trace", "file", "line", "at")

    def table(name: str) -> DataFrame:
        return map_in_arrow(grouped, partial(_found, name, token), trace_kernel.TABLES[name])

    # What the kernel sets apart, it names by `at`: so the events are those that it was given.
    lost, renamed = table("lost"), table("renamed")
    kept = good.join(lost, "at", "left_anti").join(renamed, "at", "left")
    named = kept.withColumn("trace", F.coalesce("now", "trace")).withColumn("id", rows.id_of(True))
    edges = table("edges")
    odd = read.where("reported is not null").select(*rows.arrow_names(rows.ODD)).unionByName(table("odd"))
    if "after" in events.columns:
        links, unknown = linked(table("foreign"), good.withColumn("id", rows.id_of(True)))
        edges, odd = edges.unionByName(links), not_alone(odd, links).unionByName(unknown)
    return Extracted(named.select(*rows.arrow_names(rows.NAMED)), edges, table("frontiers"), odd)


def follow(
    events: DataFrame, out: str, checkpoint: str, *, wait: float = 0.0, every: float | None = None
) -> Outcome:
    """Follow the traces of a streaming DataFrame, as `microcosm spark stream` does of a folder.

    `events` as for `extract`: of Kafka, `value` as columns. Rows out of order wait `wait` seconds for those
    before them; `every` are the seconds between batches, None for only what is there now. Raises `TextError`
    where `out` belongs to another stream.
    """
    from pyspark.sql import functions as F

    rows_ = _events_of(events).drop("at").withColumn("arrived", F.current_timestamp())
    return job.follow(events.sparkSession, rows_, out, checkpoint, job.StreamOptions(wait=wait, every=every))


def bisim(documents: DataFrame, *, rules: str | None = None) -> DataFrame:
    """The classes of analogous microcosms, which are bisimilar: `id, class, digest, consistent, fault`.

    `documents` has columns `id` and `document`, the text of a microcosm as `.mc` or JSON. `class` is the
    least id of the class; microcosms whose givens exclude each other have no digest and no
    class, and those that cannot be read a `fault`. Of an id that occurs again each row stands.
    Raises `RuleError` for rules that cannot be read.
    Cost: a digest each, and a shuffle.
    Worlds of Events, Theorem 5.10.
    """
    from pyspark.sql import Window
    from pyspark.sql import functions as F

    if rules is not None:
        Microcosm(rules=read_rules(rules))  # a fault in them is said here, and not by every task
    name, text = (F.col(each).cast("string") for each in ("id", "document"))  # of any bytes, to Spark
    named = documents.select(F.make_valid_utf8(name).alias("id"), text.cast("binary").alias("document"))
    digested = named.mapInArrow(partial(_digests, rules), DIGESTS)
    least = F.min("id").over(Window.partitionBy("digest"))
    return digested.select(
        "id", F.when(F.col("digest").isNotNull(), least).alias("class"), "digest", "consistent", "fault"
    )


def assert_(events: DataFrame, questions: str, *, exact: bool = False) -> DataFrame:
    """The answers to questions, the text of an `.ask` file, about each trace: a row a trace and question.

    Columns are those of `microcosm.spark.questions.CHECKED`. Events as for `extract`, whose table `reported`
    has what here is passed over. Raises `TextError` for questions that cannot be read.
    Cost: a shuffle by trace, and the answers.
    """
    read_questions(questions, "questions")
    good = _events_of(events).where("reported is null")
    grouped = good.repartition("trace").sortWithinPartitions("trace", "file", "line", "at")
    return map_in_arrow(grouped, partial(_answers, questions, exact), CHECKED)


def register(spark: SparkSession, known: Microcosm | None = None) -> None:
    """Let the session read `format("microcosm")` and, of a microcosm, ask in SQL.

    `happens_before(a, b)` is true where `a < b`, false where `a > b` or `a || b`, and null where it is not
    known; `verdict(a, b)` is the sign `<`, `>`, `||`, `<>` or `?`, null where the microcosm is silent;
    `concurrent_pairs()` is a table of the pairs `a, b` that are concurrent, each once. The microcosm goes
    to each worker once. Cost: that of `Microcosm.online_many`.
    """
    from pyspark.sql.functions import udtf
    from pyspark.sql.pandas.functions import arrow_udf

    source.register(spark)
    if known is None:
        return

    def verdict(a=None, b=None, *more):  # type: ignore[no-untyped-def]  # Spark looks at the annotations
        return pa.array(_signs(known, "verdict", a, b, *more), pa.string())

    def happens_before(a=None, b=None, *more):  # type: ignore[no-untyped-def]
        signs = _signs(known, "happens_before", a, b, *more)
        return pa.array([_TRUTH.get(sign) for sign in signs], pa.bool_())

    for function in (verdict, happens_before):
        function.__annotations__ = dict.fromkeys(("a", "b", "more", "return"), pa.Array)
    pairs = partial(known.pairs, Relation.CONCURRENT)

    class ConcurrentPairs:
        def eval(self) -> Iterator[tuple[str, str]]:
            yield from pairs()

    made: Any = arrow_udf  # its overloads want annotations of other libraries
    spark.udf.register("verdict", made(verdict, "string"))
    spark.udf.register("happens_before", made(happens_before, "boolean"))
    table: Any = udtf(ConcurrentPairs, returnType="a string, b string")
    spark.udtf.register("concurrent_pairs", table)


def _signs(known: Microcosm, function: str, *names: pa.Array | None) -> list[str | None]:
    """The verdicts on two columns of names: None for silence, where a name is null, and of one event."""
    given = [column.type for column in names if column is not None]
    if (len(given), len(names)) != (2, 2) or any(map(pa.types.is_nested, given)):
        types = ", ".join(map(str, given))
        raise TextError(f"{function}(a, b) takes the names of two events, not ({types})")
    pairs = [*zip(*map(_names, names), strict=True)]
    distinct = [pair for pair in pairs if None not in pair and pair[0] != pair[1]]
    found = dict(zip(distinct, (verdict.value for verdict in known.online_many(distinct)), strict=True))
    return [found.get(pair) for pair in pairs]


def _names(column: pa.Array) -> list[str | None]:
    """A column as names; of bytes that are no UTF-8, which Spark lets a text have, such as nothing has."""
    texts = column.cast(pa.string(), safe=False).cast(pa.binary()).to_pylist()
    return [None if text is None else text.decode(errors="surrogateescape") for text in texts]


def _events_of(frame: DataFrame) -> DataFrame:
    """The events that the rows of a DataFrame state, as rows of `_READ`; and what of them is odd."""
    from pyspark.sql import functions as F

    names = frame.columns
    if len({*names}) < len(names):
        raise TextError("has two columns of one name", file=_FRAME)
    for field in frame.schema:
        if found := _UNREAD.search(field.dataType.simpleString()):
            message = f"the column {field.name} is of a type that has no values here: {found[1]}"
            hint = "Take its text instead: to_json(x), or cast(x as string)."
            raise TextError(message, file=_FRAME, hint=hint)
    # By number, for a name may have a dot in it; and one by one, for Spark Connect refuses to replace none.
    plain = frame.toDF(*(f"c{at}" for at in range(len(names))))
    for name in _PLACE.keys() & names:
        column = f"c{names.index(name)}"
        plain = plain.withColumn(column, F.col(column).try_cast(_PLACE[name]))
    return map_in_arrow(plain, partial(_stated, names), _READ)


def _stated(names: list[str], batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
    from pyspark import TaskContext

    schema = rows.arrow_schema(_READ)
    context = TaskContext.get()
    begin = (context.partitionId() if context is not None else 0) * _ROWS
    before = 0
    placed = [name for name in _PLACE if name in names]
    for numbered in batches:
        batch = numbered.rename_columns(names)
        bad: list[Any] = []
        report = noting(bad)
        places = [*records(batch.select(placed))] if placed else None
        without = batch.drop_columns(placed)
        events = [*stated(without, _FRAME, before, report)]
        made = [{**rows.row_of(event), "at": begin + event.line} for event in events]
        made += report_rows(report, bad)
        for row in made:
            at = row["line"]
            place = places[at - 1 - before] if places is not None and at is not None else {}
            row.update(dict.fromkeys(_PLACE) | (place if isinstance(place, dict) else {}))
        before += batch.num_rows
        yield pa.RecordBatch.from_pylist(made, schema=schema)


def _found(name: str, token: str | None, batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
    """One table of what the kernel finds of each trace. The log has gaps, for all that it is known."""
    return (made for table, made in trace_kernel.found(batches, True, token, False) if table == name)


def _answers(questions: str, exact: bool, batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
    def answers() -> Iterator[Row]:
        for table in whole_traces(batches, 1):
            for begin, end in pairwise(bounds(table).tolist()):
                runs: dict[str | None, list[TraceEvent]] = {}
                some = _placed(table.slice(begin, end - begin))
                for event, _ in rows.once_each(rows.events_in(some), Report()):
                    runs.setdefault(event.trace, []).append(event)
                for trace, run in runs.items():
                    try:
                        known = Microcosm(extraction(run).givens)
                        yield from answered_rows(known, questions, "questions", exact, None, trace)
                    except MicrocosmError as error:
                        yield fault_row(error, None, trace)

    return batches_of(({**row, "witnesses": json.dumps(row["witnesses"])} for row in answers()), CHECKED)


def _placed(table: pa.Table) -> pa.Table:
    """The rows of a trace, in the places that they name, else by their number."""
    numbers = pa.array(range(1, table.num_rows + 1), pa.int64())
    for name, instead in (("file", _FRAME), ("line", numbers)):
        at = table.schema.get_field_index(name)
        table = table.set_column(at, name, pc.coalesce(table.column(name), instead))
    return table


def _digests(rules: str | None, batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
    def digested(row: Row) -> Row:
        digest, consistent, fault = None, None, None
        try:
            if row["document"] is None:
                raise TextError("`document` is null")
            digest, consistent = microcosms.judged(read_givens(row["document"].decode()), rules)
        except MicrocosmError as error:
            fault = error_text(error)
        except UnicodeDecodeError:
            fault = NO_TEXT
        return {"id": row["id"], "digest": digest, "consistent": consistent, "fault": fault}

    return batches_of((digested(row) for batch in batches for row in batch.to_pylist()), DIGESTS)
