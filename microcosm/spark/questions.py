"""Questions about many traces in one job: a row a trace and question, and the witnesses.

Each trace is read, extracted and asked where it is found, as in this process, so that the answers are the
same. A trace of very many events is one task: `microcosm assert` asks it as fast.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from microcosm.errors import MicrocosmError, TextError
from microcosm.questions.reader import read_questions
from microcosm.spark.io import input_splits as pieces
from microcosm.spark.io.staging import Output, fingerprint, refuse_within

if TYPE_CHECKING:
    import pyarrow as pa
    from pyspark.sql import DataFrame, SparkSession

    from microcosm.questions.ask import Answered

WITNESSES = "array<struct<verdict:string,events:string,parameters:string,atoms:string>>"
"""What stands in the column `witnesses`, as JSON."""

CHECKED = (
    "file string, trace string, line long, text string, verdict string, exact boolean, vacuous boolean, "
    "true long, false long, open long, fault string, witnesses string"
)
"""A row a trace and question; what could not be read or asked has a `fault` and no verdict."""

TABLES = ("answers", "witnesses")


@dataclass(frozen=True, slots=True)
class Checked:
    """What a job found; `faults` are traces that could not be asked, with the reason."""

    summary: dict[str, Any]
    faults: list[str]
    stages: dict[str, float]


def check(
    spark: SparkSession, inputs: Sequence[str], questions: str, out: str, *, exact: bool = False
) -> Checked:
    """Write `out/answers` and `out/witnesses` for each execution in files and folders, and each question.

    Raises `TextError` for questions that cannot be read, and where there are no files; a log that cannot be
    read is a row with a `fault`. Cost: that of the answers, spread over the tasks.
    """
    text = Path(questions).read_text(encoding="utf-8")
    read_questions(text, questions)
    paths = pieces.expand(inputs)
    if not paths:
        raise TextError("has no files in it", file=inputs[0])
    refuse_within([*inputs, *paths, questions], out, TABLES)
    identity = {"job": "assert", "inputs": fingerprint([*paths, Path(questions)]), "asked": [exact]}
    with Output(out, identity, TABLES) as output:
        done = output.committed()
        if done is not None:
            return Checked(done, [], {})
        return _run(spark, output, [str(path) for path in paths], text, questions, exact)


def _run(
    spark: SparkSession, output: Output, paths: list[str], text: str, questions: str, exact: bool
) -> Checked:
    from pyspark.sql import functions as F

    def asked(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        import pyarrow as pa

        from microcosm.spark.io.events import arrow_schema

        schema = arrow_schema(CHECKED)
        for batch in batches:
            for path in batch.column(0).to_pylist():
                yield pa.RecordBatch.from_pylist(list(rows_of(path, text, questions, exact)), schema=schema)

    def made() -> DataFrame:
        files = spark.createDataFrame([(path,) for path in paths], "path string")
        return files.repartition(len(paths)).mapInArrow(asked, CHECKED)

    checked = output.stage(spark, "checked", made)
    faults = [
        f"{row['file']}: {row['fault']}" for row in checked.where("fault is not null").limit(20).collect()
    ]
    answers = output.stage(
        spark, "answers", lambda: checked.where("fault is null").drop("witnesses", "fault")
    )
    witness = F.explode(F.from_json("witnesses", WITNESSES)).alias("witness")
    output.stage(
        spark,
        "witnesses",
        lambda: checked.select("file", "trace", "line", witness).select("file", "trace", "line", "witness.*"),
    )
    counted = {row["verdict"]: row["count"] for row in answers.groupBy("verdict").count().collect()}
    sums = answers.selectExpr("sum(`true`) as a", "sum(`false`) as b", "sum(open) as c").collect()[0]
    summary: dict[str, Any] = {
        "files": len(paths),
        "answers": sum(counted.values()),
        **{verdict: counted.get(verdict, 0) for verdict in ("holds", "violated", "open")},
        "tuples": {"true": sums["a"] or 0, "false": sums["b"] or 0, "open": sums["c"] or 0},
        "faults": checked.where("fault is not null").count(),
    }
    output.commit(summary)
    return Checked(summary, faults, output.stages)


def rows_of(path: str, text: str, questions: str, exact: bool) -> Iterator[dict[str, Any]]:
    """The rows of one file: for each execution in it, and each question, the answer of this process."""
    from microcosm.state.microcosm import Microcosm

    try:
        known = Microcosm.read(path)
        table = known.givens.events
        traces = [] if table is None else [*dict.fromkeys(table.traces)]
        several = [trace for trace in traces if trace is not None] if len(traces) > 1 else []
        alone: list[str | None] = [traces[0] if traces else None]
        for trace in [*several] or alone:
            one = Microcosm.from_trace(path, trace=trace) if several else known
            answered: Answered = one.assert_(read_questions(text, questions), exact=exact, proved=0)  # noqa: PT009
            yield from answer_rows(answered, path, trace)
    except (MicrocosmError, OSError) as error:
        yield fault_row(error, path, None)


def answer_rows(answered: Answered, file: str | None, trace: str | None) -> Iterator[dict[str, Any]]:
    """The rows of the answers about one execution."""
    for answer in answered:
        yield {
            "file": file,
            "trace": trace,
            "line": answer.question.place.line,
            "text": answer.question.text,
            "verdict": answer.verdict,
            "exact": answer.exact,
            "vacuous": answer.vacuous,
            **answer.counts,
            "fault": None,
            "witnesses": json.dumps(
                [
                    {
                        "verdict": witness.verdict,
                        "events": json.dumps({**witness.events, **witness.intervals}),
                        "parameters": json.dumps(witness.parameters),
                        "atoms": json.dumps([str(said) for said in witness.atoms]),
                    }
                    for witness in answer.witnesses
                ]
            ),
        }


def fault_row(error: Exception, file: str | None, trace: str | None) -> dict[str, Any]:
    """The row of an execution that could not be read or asked."""
    nothing = dict.fromkeys(column.split(" ")[0] for column in CHECKED.split(", "))
    fault = str(error).splitlines()[0]
    return {**nothing, "file": file, "trace": trace, "fault": fault, "witnesses": "[]"}
