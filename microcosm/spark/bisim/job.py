"""Thousands of microcosms compared in one job: classes of analogous ones, and why some pairs differ.

Two microcosms are analogous, and so forward bisimilar, exactly if their digests are equal; so a class is
a digest, and comparing all with all costs one digest each (Worlds of Events, Theorem 5.10).
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from functools import partial
from itertools import chain
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

from microcosm import files
from microcosm.errors import TextError
from microcosm.logic.rulebook import read_rules
from microcosm.spark.bisim.microcosms import DIGESTED, TABLES, difference, judgements
from microcosm.spark.bisim.microcosms import offline as offline_left
from microcosm.spark.io import events as rows
from microcosm.spark.io import inputs as input_files
from microcosm.spark.io import staging
from microcosm.spark.io.events import MaxBad, arrow_names, arrow_schema
from microcosm.spark.io.inputs import PARQUET, Inputs
from microcosm.spark.io.staging import Outcome, Output, Staged
from microcosm.state.microcosm import Microcosm

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession


ENDINGS = (".mc", ".json", *input_files.LINES, input_files.PARQUET)

_DIFFERENT = "left_id string, right_id string, a string, b string, left_verdict string, right_verdict string"
_LEFT = "id string, a string, b string, possible array<string>"
_MOST_ASKED = 100_000
"""Of so many ids each task is told that they are asked for."""

_TOLD = 5
"""So many faults of a kind, and ids that occur again, are told one by one."""


def bisim(
    spark: SparkSession,
    source: str,
    out: str,
    pairs: str | None = None,
    strict: bool = False,
    rules: str | None = None,
    offline: bool = False,
    max_bad: MaxBad | None = None,
) -> Outcome:
    """Write `out/classes`, `out/reported` and, for the pairs asked for, `out/differences`.

    `class` is the least id of the class, which represents it. A microcosm whose givens exclude each other
    at once has no digest and no class. Rows that cannot be read, ids that occur again (the first counts)
    and pairs of ids without a digest are reported. `offline`: also `out/offline`, what the offline rules
    leave of each pair of events of which they exclude something. Raises `TextError`, under `strict` also
    for these, and where more rows cannot be read than `max_bad` lets be; nothing is committed then.
    """
    found = Inputs(spark, [source], ENDINGS)
    wanted = None if pairs is None else read_pairs(pairs)
    used = [] if pairs is None else [Path(pairs)]
    if rules is not None:
        Microcosm(rules=read_rules(rules))  # a fault in them is said here, and not by every task
        used += [path for path in files.listing(rules) if path.is_file()]
    asked = {"pairs": wanted is not None, "offline": offline}
    tables = ["classes", "reported", *(["differences"] * asked["pairs"]), *(["offline"] * offline)]
    found.refuse_within(out, tables, *used)
    identity = {"job": "bisim", "inputs": found.fingerprint(*used), **asked}
    with Output(out, identity, tables, spark) as output:
        done = output.committed(strict, max_bad)
        if done is not None:
            return done
        return _Job(output, wanted, strict, rules, offline, max_bad).run(found)


@dataclass(slots=True)
class _Job:
    _output: Output
    _pairs: list[tuple[str, str]] | None
    _strict: bool
    _rules: str | None
    _offline: bool
    _max_bad: MaxBad | None
    _odd: list[dict[str, Any]] = field(default_factory=list)
    reported: dict[str, int] = field(default_factory=dict)
    faults: list[str] = field(default_factory=list)

    def run(self, inputs: Inputs) -> Outcome:
        judged = self._judge(inputs)
        self._report_faults()
        summary, repeated, some = classes(self._output, self._output.staged("judged") / "judged")
        if repeated:
            faults = [f"there are {times} microcosms {name}; the first counts" for name, times in some]
            self._report("duplicate-id", repeated, faults)
        if self._pairs is not None:
            self._output.stage("compared", lambda: self._differences(self._kept(judged["judged"], repeated)))
            compared = self._output.read("compared")
            self._report_pairs(compared)
            unlike = compared.where("a is not null")
            summary["differences"] = staging.rows(self._output.stage("differences", lambda: unlike))
        if self._offline:
            left = self._output.stage("offline", lambda: self._left(self._kept(judged["judged"], repeated)))
            summary["offline"] = staging.rows(left)
        summary["reported"] = dict(sorted(self.reported.items()))
        self._reported()
        if self._strict and self.faults:
            raise TextError(self.faults[0], hint="Without --strict this is reported and passed over.")
        self._output.commit(summary)
        return Outcome(summary, self.faults, self._output.stages)

    def _judge(self, inputs: Inputs) -> Staged:
        _, paths = inputs.fetched(self._output)
        cuts = (input_files.cut(path, path.suffix in input_files.LINES) for path in paths)
        tasks = input_files.tasks(cuts)  # small pieces, so that one great microcosm holds up few others
        wanted = frozenset(chain.from_iterable(self._pairs or ()))
        # The ids of the microcosms whose givens are needed later; None for all.
        documents = None if self._offline or len(wanted) > _MOST_ASKED else wanted
        rules = self._rules
        work = inputs.work(tasks, lambda piece: judgements(piece, documents, rules))
        return self._output.tables("judged", TABLES, *work)

    def _report_faults(self) -> None:
        """Tell of the rows that are no microcosms."""
        self.reported, self.faults, _ = rows.irregularity_counts([self._output.staged("judged") / "odd"])
        read = staging.rows(self._output.staged("judged") / "judged")
        if self.faults and not read:
            raise TextError(self.faults[0], hint="None of the rows is a microcosm.")
        if self._max_bad is not None and self.faults:
            self._max_bad.refuse(self.reported, read, self.faults[0])

    def _report(self, kind: str, count: int, faults: Sequence[str]) -> None:
        """Tell of what is odd about rows that are microcosms: the first of it, and how many there are."""
        self.reported[kind] = count
        self.faults += [f"{fault} [{kind}]" for fault in faults]
        odd = {"reported": kind, "lost": 0}
        self._odd += [{**odd, "fault": fault, "count": 1} for fault in faults]
        if count > len(faults):
            self._odd.append({**odd, "count": count - len(faults)})

    def _reported(self) -> None:
        """All that is odd in one table."""
        others = self._output.put("odd", pa.Table.from_pylist(self._odd, schema=arrow_schema(rows.ODD_ROWS)))
        self._output.gather("reported", [self._output.staged("judged") / "odd", others])

    def _kept(self, judged_rows: DataFrame, repeated: int) -> DataFrame:
        """The first row of each id."""
        from pyspark.sql import functions as F

        if not repeated:
            return judged_rows
        first = judged_rows.groupBy("id").agg(F.min("at").alias("at"))
        return judged_rows.join(first, ["id", "at"])

    def _differences(self, kept: DataFrame) -> DataFrame:
        """A row for each pair asked for that is known to differ, or, `a` being null, cannot be compared."""
        wanted = self._output.spark.createDataFrame(
            self._pairs or [], "left_id string, right_id string"
        ).distinct()
        texts = kept.select("id", "digest", "document")
        left, right = (
            texts.toDF(f"{side}_id", f"{side}_digest", f"{side}_text") for side in ("left", "right")
        )
        joined = wanted.join(left, "left_id", "left").join(right, "right_id", "left")
        unlike = joined.where("not (left_digest <=> right_digest) or left_digest is null")
        columns = ("left_id", "right_id", "left_digest", "right_digest", "left_text", "right_text")
        return unlike.select(*columns).mapInArrow(partial(_different, rules=self._rules), _DIFFERENT)

    def _left(self, kept: DataFrame) -> DataFrame:
        """What the offline rules leave of pairs, where they exclude something."""
        known = kept.where("document is not null").select("id", "document")
        return known.mapInArrow(partial(_offline_batches, rules=self._rules), _LEFT)

    def _report_pairs(self, compared: DataFrame) -> None:
        lacking = compared.where("a is null")
        count = lacking.count()
        if count:
            some = lacking.orderBy("left_id", "right_id").limit(_TOLD).collect()
            faults = [f"{row.left_id}, {row.right_id}: one is unknown or contradicts itself" for row in some]
            self._report("incomparable-pair", count, faults)


def _different(batches: Iterator[pa.RecordBatch], rules: str | None) -> Iterator[pa.RecordBatch]:
    names = arrow_names(_DIFFERENT)

    def found() -> Iterator[rows.Row]:
        for left_id, right_id, *digests, left, right in _rows(batches):
            witness = None if None in digests else difference(left, right, rules)
            yield dict(zip(names, (left_id, right_id, *(witness or (None,) * 4)), strict=True))

    return rows.batches_of(found(), _DIFFERENT)


def _offline_batches(batches: Iterator[pa.RecordBatch], rules: str | None) -> Iterator[pa.RecordBatch]:
    found = (
        {"id": name, "a": a, "b": b, "possible": possible}
        for name, text in _rows(batches)
        for a, b, possible in offline_left(text, rules)
    )
    return rows.batches_of(found, _LEFT)


def _rows(batches: Iterator[pa.RecordBatch]) -> Iterator[tuple[Any, ...]]:
    for batch in batches:
        yield from zip(*(column.to_pylist() for column in batch.columns), strict=True)


COLUMNS = ("left_id", "right_id")


def read_pairs(path: str) -> list[tuple[str, str]]:
    """The pairs of ids. A line has two ids between tabs or commas, or is a JSON list or object of them.

    Raises `TextError`.
    """
    if Path(path).suffix == PARQUET:
        return _parquet(path)
    found = []
    for number, line in enumerate(files.read_text(path).splitlines(), 1):
        if not line.strip():
            continue
        pair = _pair(line.strip())
        if pair is None:
            hint = "Write two ids, with a tab or a comma between them, or a JSON list."
            raise TextError("is no pair of ids", file=path, line=number, text=line, hint=hint)
        if not (number == 1 and pair == COLUMNS):
            found.append(pair)
    return found


def _pair(line: str) -> tuple[str, str] | None:
    """The two ids of a line.

    >>> _pair("a, b"), _pair('["a", "b,c"]'), _pair('{"left_id": "a", "right_id": "b"}'), _pair("a")
    (('a', 'b'), ('a', 'b,c'), ('a', 'b'), None)
    """
    parts: list[object]
    if line[0] in "[{":
        try:
            found = json.loads(line)
        except ValueError:
            return None
        parts = [found.get(name) for name in COLUMNS] if isinstance(found, dict) else found
    else:
        parts = [part.strip() for part in line.split("\t" if "\t" in line else ",")]
    match parts:
        case [str(left), str(right)] if left and right:
            return left, right
    return None


def _parquet(path: str) -> list[tuple[str, str]]:
    try:
        table = pq.read_table(path, columns=list(COLUMNS))
        left, right = (table.column(name).cast(pa.string()).to_pylist() for name in COLUMNS)
    except FileNotFoundError:
        raise TextError("no such file", file=path) from None
    except (pa.ArrowException, KeyError, OSError, UnicodeDecodeError) as error:
        raise TextError(f"has no columns {' and '.join(COLUMNS)}: {error}", file=path) from None
    return list(zip(left, right, strict=True))


CLASSES = "id string, digest string, class string, consistent boolean"

TOGETHER = 1 << 20
"""So many rows are looked at here: a job on Spark takes longer to begin."""

Counted = tuple[dict[str, Any], int, list[tuple[str, int]]]
"""What there is, how many microcosms repeat an id, and some of these: ids and how often they occur."""


def classes(output: Output, digested: Path) -> Counted:
    """Stage the table `classes` of rows in a folder, which have the columns of `DIGESTED` and maybe more."""
    names = arrow_names(DIGESTED)
    if staging.rows(digested) <= TOGETHER:
        paths = digested.glob("*.parquet")
        kept, again = first_of_each(pa.concat_tables([pq.read_table(path, columns=names) for path in paths]))
        found = classed(kept)
        output.put("classes", found)
        own = pc.sum(pc.equal(found.column("id"), found.column("class"))).as_py()
        without = pc.sum(pc.invert(found.column("consistent"))).as_py()
        times = (pc.sum(again.column("times")).as_py() or 0) - again.num_rows
        some = again.sort_by("at").slice(0, _TOLD).to_pylist()
        counts = found.num_rows, own, without
    else:
        from pyspark.sql import Window
        from pyspark.sql import functions as F

        every = output.spark.read.parquet(str(digested)).groupBy("id")
        first = F.min_by(F.struct("digest", "consistent"), "at").alias("first")
        of_each = every.agg(first, F.min("at").alias("at"), F.count("*").alias("times"))
        output.stage("first", lambda: of_each.select("id", "first.*", "at", "times"))
        without = F.when(F.col("digest").isNull(), F.col("id"))
        least = F.min("id").over(Window.partitionBy("digest", without))  # by bytes, as everywhere
        of_class = F.when(F.col("digest").isNotNull(), least).alias("class")
        output.stage("classes", lambda: output.read("first").select("id", "digest", of_class, "consistent"))
        sums = ("count(*)", "count_if(id = class)", "count_if(not consistent)")
        [counts] = output.read("classes").select(*map(F.expr, sums)).collect()
        repeated = output.read("first").where("times > 1")
        [(times,)] = repeated.select(F.sum(F.col("times") - 1)).collect()
        some = [row.asDict() for row in repeated.orderBy("at").limit(_TOLD).collect()]
    names = ["microcosms", "classes", "inconsistent"]
    counted = {name: count or 0 for name, count in zip(names, counts, strict=True)}
    return counted, times or 0, [(row["id"], row["times"]) for row in some]


def first_of_each(table: pa.Table) -> tuple[pa.Table, pa.Table]:
    """The first row of each id, and the ids that occur again.

    >>> import pyarrow as pa
    >>> rows = {"id": ["x", "y", "x"], "digest": ["2", "1", "1"], "consistent": [True] * 3, "at": [5, 6, 4]}
    >>> kept, repeated = first_of_each(pa.table(rows))
    >>> sorted(kept.column("at").to_pylist()), repeated.to_pylist()
    ([4, 6], [{'id': 'x', 'at': 4, 'times': 2}])
    """
    found = table.group_by("id").aggregate([("at", "min"), ("at", "count")])
    found = found.rename_columns(["id", "at", "times"])
    again = found.filter(pc.field("times") > 1)
    if not again.num_rows:
        return table, again
    return table.join(found.drop_columns("times"), ["id", "at"], join_type="inner"), again


def classed(table: pa.Table) -> pa.Table:
    """The rows with the least id that has the digest of each; a row without a digest is in no class.

    >>> import pyarrow as pa
    >>> rows = pa.table({"id": ["y", "x", "z"], "digest": ["1", "1", None], "consistent": [True] * 3})
    >>> sorted(classed(rows).column("class").to_pylist(), key=str)
    [None, 'x', 'x']
    """
    least = table.group_by("digest").aggregate([("id", "min")])  # by bytes, which is by code points
    found = table.join(least.rename_columns(["digest", "class"]), "digest", use_threads=False)
    return found.select(arrow_names(CLASSES)).cast(arrow_schema(CLASSES))
