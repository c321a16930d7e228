"""Thousands of microcosms compared in one job: classes of analogous ones, and why some pairs differ.

Two microcosms are analogous, and so forward bisimilar, exactly if their digests are equal; so a class is
a digest, and comparing all with all costs one digest each (seed 003, Theorem 5.10).
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import islice
from pathlib import Path
from typing import TYPE_CHECKING, Any

from microcosm import files
from microcosm.errors import TextError
from microcosm.logic.rulebook import read_rules
from microcosm.spark import pieces
from microcosm.spark.events import arrow_schema
from microcosm.spark.microcosms import (
    Row,
    difference,
    document,
    judged,
    plain_enough,
    rows,
)
from microcosm.spark.microcosms import (
    offline as offline_left,
)
from microcosm.spark.output import Output, fingerprint
from microcosm.spark.pairs import read_pairs

if TYPE_CHECKING:
    import pyarrow as pa
    from pyspark.sql import DataFrame, SparkSession

ENDINGS = (".mc", ".json", *pieces.LINES, pieces.PARQUET)

_JUDGED = "id string, digest string, consistent boolean, document string, fault string, place string, at long"
_DIFFERENT = "left_id string, right_id string, a string, b string, left_verdict string, right_verdict string"
_LEFT = "id string, a string, b string, possible array<string>"
_BATCH = 1024
_ROWS = 1 << 32
"""More rows than a piece has."""


@dataclass(frozen=True, slots=True)
class Compared:
    """What a job found; `faults` are the first rows that are no microcosms, with their places."""

    summary: dict[str, Any]
    faults: list[str]
    stages: dict[str, float]


def bisim(
    spark: SparkSession,
    source: str,
    out: str,
    pairs: str | None = None,
    strict: bool = False,
    rules: str | None = None,
    offline: bool = False,
) -> Compared:
    """Write `out/classes` and, for the pairs asked for, `out/differences`.

    `class` is the least id of the class, which represents it. A microcosm whose givens exclude each other
    at once has no digest and no class. Rows that cannot be read, ids that occur again (the first counts)
    and pairs of ids without a digest are reported. `offline`: also `out/offline`, what the offline rules
    leave of each pair of events of which they exclude something. Raises `TextError`, under `strict` also
    for these.
    """
    paths = pieces.expand([source], ENDINGS)
    if not paths:
        raise TextError("has no microcosms in it", file=source, hint=f"Files end in {', '.join(ENDINGS)}.")
    asked = None if pairs is None else read_pairs(pairs)
    used = [*paths, *([] if pairs is None else [Path(pairs)])]
    if rules is not None:
        read_rules(rules)  # a fault in them is said here, and not by every task
        used += [path for path in files.listing(rules) if path.is_file()]
    output = Output(
        out, {"job": "bisim", "inputs": fingerprint(used), "pairs": asked is not None, "offline": offline}
    )
    done = output.committed()
    if done is not None and not (strict and done["reported"]):
        return Compared(done, [], {})
    return _Job(spark, output, asked, strict, rules, offline).run(paths)


class _Job:
    def __init__(
        self,
        spark: SparkSession,
        output: Output,
        asked: list[tuple[str, str]] | None,
        strict: bool,
        rules: str | None,
        offline: bool,
    ) -> None:
        self._spark = spark
        self._offline = offline
        self._output = output
        self._asked = asked
        self._strict = strict
        self._rules = rules
        self.reported: dict[str, int] = {}
        self.faults: list[str] = []

    def run(self, paths: Sequence[Path]) -> Compared:
        judged_rows = self._judge(paths)
        self._report_faults(judged_rows)
        kept = self._without_repeated(judged_rows)
        classes = self._output.stage(self._spark, "classes", lambda: _classes(kept))
        tables = ["classes"]
        summary = _counts(classes)
        if self._asked is not None:
            compared = self._output.stage(self._spark, "compared", lambda: self._differences(kept))
            self._report_pairs(compared)
            found = compared.where("a is not null")
            differences = self._output.stage(self._spark, "differences", lambda: found)
            tables.append("differences")
            summary["differences"] = differences.count()
        if self._offline:
            table = self._output.stage(self._spark, "offline", lambda: self._left(kept))
            tables.append("offline")
            summary["offline"] = table.count()
        summary["reported"] = self.reported
        if self._strict and self.faults:
            raise TextError(self.faults[0], hint="Without --strict this is reported and passed over.")
        self._output.commit(tables, summary)
        return Compared(summary, self.faults, self._output.stages)

    def _judge(self, paths: Sequence[Path]) -> DataFrame:
        tasks: list[list[pieces.Piece]] = []
        small: list[Path] = []
        for path in paths:  # small pieces, so that one great microcosm holds up few others
            if path.suffix in pieces.LINES:
                tasks += pieces.by_lines(path, pieces.LARGEST // 4)
            elif path.suffix == pieces.PARQUET and path.stat().st_size > pieces.LARGEST // 4:
                tasks += pieces.by_row_groups(path, pieces.LARGEST // 4)
            else:
                small.append(path)
        tasks += pieces.whole(small)
        with_documents, rules = self._asked is not None or self._offline, self._rules

        def read(number: int, piece: pieces.Piece) -> Iterator[tuple[str, pa.RecordBatch]]:
            for batch in _judged_batches(number, piece, with_documents, rules):
                yield "judged", batch

        work = pieces.work(self._spark, tasks, read)
        return self._output.tables(self._spark, "judged", {"judged": _JUDGED}, *work)["judged"]

    def _report_faults(self, judged_rows: DataFrame) -> None:
        bad = judged_rows.where("fault is not null")
        count = bad.count()
        if count:
            self.reported["bad-row"] = count
            first = bad.orderBy("at").limit(5).select("place", "fault").collect()
            self.faults += [f"{row.place}: {row.fault} [bad-row]" for row in first]

    def _without_repeated(self, judged_rows: DataFrame) -> DataFrame:
        """The rows that are microcosms, the first of each id."""
        from pyspark.sql import functions as F

        good = judged_rows.where("fault is null")
        first = good.groupBy("id").agg(F.min("at").alias("at"), F.count("*").alias("times"))
        repeated = first.where("times > 1")
        count = repeated.agg(F.sum(F.col("times") - 1)).first()
        if count is None or not count[0]:
            return good
        self.reported["duplicate-id"] = int(count[0])
        self.faults += [
            f"there are {row.times} microcosms {row.id}; the first counts [duplicate-id]"
            for row in repeated.orderBy("at").limit(5).collect()
        ]
        return good.join(first.select("id", "at"), ["id", "at"])

    def _differences(self, kept: DataFrame) -> DataFrame:
        """A row for each pair asked for that is known to differ, or, `a` being null, cannot be compared."""
        asked = self._spark.createDataFrame(self._asked or [], "left_id string, right_id string").distinct()
        texts = kept.select("id", "digest", "document")
        left, right = (
            texts.toDF(f"{side}_id", f"{side}_digest", f"{side}_text") for side in ("left", "right")
        )
        joined = asked.join(left, "left_id", "left").join(right, "right_id", "left")
        unlike = joined.where("not (left_digest <=> right_digest) or left_digest is null")
        columns = ("left_id", "right_id", "left_digest", "right_digest", "left_text", "right_text")
        rules = self._rules

        def kernel(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
            return _different(batches, rules)

        return unlike.select(*columns).mapInArrow(kernel, _DIFFERENT)

    def _left(self, kept: DataFrame) -> DataFrame:
        """What the offline rules leave of pairs, where they exclude something."""
        rules = self._rules

        def kernel(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
            return _offline_batches(batches, rules)

        return kept.where("document is not null").select("id", "document").mapInArrow(kernel, _LEFT)

    def _report_pairs(self, compared: DataFrame) -> None:
        lacking = compared.where("a is null")
        count = lacking.count()
        if count:
            self.reported["incomparable-pair"] = count
            self.faults += [
                f"{row.left_id}, {row.right_id}: one is unknown or contradicts itself [incomparable-pair]"
                for row in lacking.orderBy("left_id", "right_id").limit(5).collect()
            ]


def _classes(kept: DataFrame) -> DataFrame:
    """`class`: the least id of those with the digest. Digests are gathered, never the documents."""
    from pyspark.sql import functions as F

    light = kept.select("id", "digest", "consistent")
    least = light.where("digest is not null").groupBy("digest").agg(F.min("id").alias("class"))
    return light.join(least, "digest", "left").select("id", "digest", "class", "consistent")


def _counts(classes: DataFrame) -> dict[str, Any]:
    from pyspark.sql import functions as F

    row = classes.agg(
        F.count("*").alias("microcosms"),
        F.countDistinct("digest").alias("classes"),
        F.count(F.when(~F.col("consistent"), 1)).alias("inconsistent"),
    ).first()
    assert row is not None
    return dict(row.asDict())


def _judged_batches(
    number: int, piece: pieces.Piece, with_documents: bool, rules: str | None
) -> Iterator[pa.RecordBatch]:
    import pyarrow as pa

    schema = arrow_schema(_JUDGED)
    found_rows = rows(piece, quick=not with_documents and plain_enough(rules))
    judging = (_judged(number, row, with_documents, rules) for row in found_rows)
    while found := list(islice(judging, _BATCH)):
        columns = zip(*found, strict=True)
        arrays = [pa.array(column, kind) for column, kind in zip(columns, schema.types, strict=True)]
        yield pa.RecordBatch.from_arrays(arrays, schema=schema)


def _judged(number: int, row: Row, with_documents: bool, rules: str | None) -> tuple[object, ...]:
    """The columns of `_JUDGED`."""
    digest, kept = row.digest, None
    consistent = True if digest is not None else None
    if row.givens is not None:
        digest, consistent = judged(row.givens, rules)
        kept = document(row.givens) if with_documents and digest is not None else None
    return row.id, digest, consistent, kept, row.fault, row.place, number * _ROWS + row.at


def _different(batches: Iterator[pa.RecordBatch], rules: str | None) -> Iterator[pa.RecordBatch]:
    import pyarrow as pa

    names = ("left_id", "right_id", "a", "b", "left_verdict", "right_verdict")
    schema = pa.schema([(name, pa.string()) for name in names])
    for batch in batches:
        found = []
        for left_id, right_id, *digests, left, right in zip(
            *(column.to_pylist() for column in batch.columns), strict=True
        ):
            witness = None if None in digests else difference(left, right, rules)
            found.append(dict(zip(names, (left_id, right_id, *(witness or (None,) * 4)), strict=True)))
        yield pa.RecordBatch.from_pylist(found, schema=schema)


def _offline_batches(batches: Iterator[pa.RecordBatch], rules: str | None) -> Iterator[pa.RecordBatch]:
    import pyarrow as pa

    schema = arrow_schema(_LEFT)
    found: list[dict[str, object]] = []
    for batch in batches:
        for name, text in zip(*(column.to_pylist() for column in batch.columns), strict=True):
            for a, b, possible in offline_left(text, rules):
                found.append({"id": name, "a": a, "b": b, "possible": possible})
                if len(found) == _BATCH:
                    yield pa.RecordBatch.from_pylist(found, schema=schema)
                    found = []
    if found:
        yield pa.RecordBatch.from_pylist(found, schema=schema)
