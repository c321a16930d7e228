"""Questions about many traces in one job: a row a trace and question, and the witnesses.

Each trace is read, extracted and asked where it is found, as in this process, so that the answers are the
same. A trace of very many events is one task: `microcosm assert` asks it as fast.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Any

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

from microcosm import files
from microcosm.errors import MicrocosmError, TextError
from microcosm.questions.reader import read_questions
from microcosm.spark.io import inputs as input_files
from microcosm.spark.io.events import ODD, MaxBad, Row, batched, irregularity_counts, noting, report_rows
from microcosm.spark.io.inputs import Inputs
from microcosm.spark.io.staging import Outcome, Output
from microcosm.state.microcosm import Microcosm
from microcosm.state.opening import sources
from microcosm.traces import reading as formats
from microcosm.traces.event import TraceEvent
from microcosm.traces.extract import extract
from microcosm.traces.report import Irregularity, Report

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

ANSWERS = (
    "file string, trace string, line long, text string, verdict string, exact boolean, vacuous boolean, "
    "true long, false long, open long"
)
CHECKED = f"{ANSWERS}, fault string, witnesses string"
"""A row a trace and question, with its witnesses in JSON; what could not be read or asked has a `fault` and
no verdict."""

TABLES = ("answers", "witnesses", "reported")

_VALUES = ("true", "false", "open")
_MADE = {
    "answers": ANSWERS,
    "witnesses": "file string, trace string, line long, "
    "verdict string, events string, parameters string, atoms string",
    "faults": "file string, fault string",
    "odd": ODD,
    "read": "events long",
}
_TOLD = 20
"""So many faults are told one by one."""


def check(
    spark: SparkSession,
    inputs: Sequence[str],
    questions: str,
    out: str,
    *,
    exact: bool = False,
    max_bad: MaxBad | None = None,
) -> Outcome:
    """Write `out/answers`, `out/witnesses` and `out/reported` for each execution in files and folders.

    Raises `TextError` for questions that cannot be read, where there are no files, and where more is bad than
    `max_bad` lets be; nothing is committed then. A log that cannot be read is a row of `reported`, and a
    fault. Cost: that of the answers, spread over the tasks. Memory: here some 30 bytes for each answer.
    """
    text = files.read_text(questions)
    read_questions(text, questions)
    found = Inputs(spark, inputs)
    found.refuse_within(out, TABLES, questions)
    identity = {"job": "assert", "inputs": found.fingerprint(questions), "asked": [exact]}
    with Output(out, identity, TABLES, spark) as output:
        done = output.committed(False, max_bad)
        return done if done is not None else _run(output, found, (text, questions, exact), max_bad)


def _run(output: Output, inputs: Inputs, question: tuple[str, str, bool], max_bad: MaxBad | None) -> Outcome:
    _, paths = inputs.fetched(output)
    tasks = input_files.tasks([input_files.Piece.whole(path)] for path in paths)
    output.tables("asked", _MADE, *inputs.work(tasks, lambda piece: tables_of(piece.path, *question)))
    asked = {name: output.staged("asked") / name for name in _MADE}
    reported, odd, _ = irregularity_counts([asked["odd"]])
    if max_bad is not None:
        events = pc.sum(pq.read_table(asked["read"])["events"]).as_py()
        max_bad.refuse(reported, events or 0, odd[0] if odd else "")
    failed = pq.read_table(asked["faults"])
    faults = [
        fault if fault.startswith(file) else f"{file}: {fault}"
        for file, fault in (row.values() for row in failed.slice(0, _TOLD).to_pylist())
        if not any(each.startswith(f"{file}:") and each.endswith("[unreadable]") for each in odd)
    ]
    for name, made in zip(TABLES, ("answers", "witnesses", "odd"), strict=True):
        output.gather(name, [asked[made]])
    answers = pq.read_table(asked["answers"], columns=["verdict", *_VALUES])
    verdicts = {each["values"]: each["counts"] for each in answers["verdict"].value_counts().to_pylist()}
    summary: dict[str, Any] = {
        "files": len(paths),
        "answers": len(answers),
        **{verdict: verdicts.get(verdict, 0) for verdict in ("holds", "violated", "open")},
        "tuples": {value: pc.sum(answers[value]).as_py() or 0 for value in _VALUES},
        "faults": len(failed),
        "reported": reported,
    }
    output.commit(summary)
    return Outcome(summary, faults + odd, output.stages)


def tables_of(path: str, text: str, questions: str, exact: bool) -> Iterator[tuple[str, pa.RecordBatch]]:
    """Rows of `_MADE` for one file: the answers about each execution in it as here, and what is odd."""

    def made() -> Iterator[tuple[str, Row]]:
        bad: list[Irregularity] = []
        report = noting(bad)
        count = 0
        try:
            for trace, known, events in _each_execution(path, report):
                count += events
                for row in answered_rows(known, text, questions, exact, path, trace):
                    yield "answers" if row["fault"] is None else "faults", row
                    place = {"file": path, "trace": trace, "line": row.get("line")}
                    yield from (("witnesses", {**place, **witness}) for witness in row["witnesses"])
        except (MicrocosmError, OSError) as error:
            message, line = getattr(error, "message", error_text(error)), getattr(error, "line", None)
            report.add("unreadable", message, file=path, line=line, fatal=False)
            yield "faults", fault_row(error, path, None)
        for row in report_rows(report, bad):
            yield "odd", row
        yield "read", {"events": count}

    return batched(made(), _MADE)


def _each_execution(path: str, report: Report) -> Iterator[tuple[str | None, Microcosm, int]]:
    """The executions in a file, what is known of each, and how many events it has; a microcosm is one."""
    [source] = sources([path])
    if source.fault is not None:
        raise source.fault
    if source.content is not None:
        known = Microcosm(source.givens())
        yield None, known, len(known)
        return
    runs: dict[str | None, list[TraceEvent]] = {}
    for event in formats.read([path], report=report):
        runs.setdefault(event.trace, []).append(event)
    if not runs and not report.counts:
        yield None, Microcosm(), 0
    elif not runs:
        raise TextError("has no event: nothing in it could be read", file=path)
    for trace in [*runs]:
        events = runs.pop(trace)
        yield trace, Microcosm(extract(events, report=report).givens), len(events)


def answered_rows(
    known: Microcosm, text: str, questions: str, exact: bool, file: str | None, trace: str | None
) -> Iterator[dict[str, Any]]:
    """The rows of an execution: one for each question, or that it could not be asked."""
    try:
        answered = known.assert_(read_questions(text, questions), exact=exact, proved=0)  # noqa: PT009
    except MicrocosmError as error:
        yield fault_row(error, file, trace)
        return
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
            "witnesses": [
                {
                    "verdict": witness.verdict,
                    "events": json.dumps({**witness.events, **witness.intervals}),
                    "parameters": json.dumps(witness.parameters),
                    "atoms": json.dumps([str(atom) for atom in witness.atoms]),
                }
                for witness in answer.witnesses
            ],
        }


def fault_row(error: Exception, file: str | None, trace: str | None) -> dict[str, Any]:
    """The row of an execution that could not be read or asked."""
    return {"file": file, "trace": trace, "fault": error_text(error), "witnesses": []}


def error_text(error: Exception) -> str:
    """The first line of what an error says."""
    return str(error).splitlines()[0]
