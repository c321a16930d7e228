"""Jobs on Spark: `spark bisim`, many microcosms compared; `spark extract` and `spark stream`, many traces."""

from __future__ import annotations

import logging
import os
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from typing import TYPE_CHECKING, Annotated, Any

from typer import Argument, Option, Typer

from microcosm.cli import exits, options, output
from microcosm.cli.options import Format, Pattern
from microcosm.cli.reading import known_format
from microcosm.files import require_posix

if TYPE_CHECKING:
    from microcosm.spark.io.events import MaxBad

app = Typer(
    help="Jobs on Spark: compare many microcosms, extract correspondences from many traces.",
    no_args_is_help=True,
)

LOCAL = "local[2,4]"

Folder = Annotated[str, Option("--out", metavar="DIR", help="The folder of the tables, made if need be.")]
Master = Annotated[
    str,
    Option("--master", metavar="URL", help="Where Spark runs; two cores of this machine by default."),
]
MostBad = Annotated[
    str | None,
    Option("--max-bad", metavar="N|P%", help="Fail where more lines or rows cannot be read."),
]
StrictRows = Annotated[bool, Option("--strict", help="A row or line that is odd is an error.")]


@app.command("bisim")
def bisim(
    source: Annotated[
        str, Argument(metavar="INPUT", help="Parquet or .jsonl, a microcosm a row; or a folder of .mc files.")
    ],
    out: Folder,
    pairs: Annotated[
        str | None, Option(metavar="FILE", help="Two ids a line: tell why these differ, if they do.")
    ] = None,
    offline: Annotated[
        bool, Option("--offline", help="Also what the offline rules leave of pairs of events.")
    ] = False,
    master: Master = LOCAL,
    strict: StrictRows = False,
    max_bad: MostBad = None,
) -> int:
    """Which microcosms of a table are bisimilar, and which are consistent.

    Writes Parquet: DIR/classes (id, digest, class, consistent), where class is the least id of those that
    are bisimilar; and for the pairs asked for that differ DIR/differences (left_id, right_id, a, b,
    left_verdict, right_verdict); with --offline DIR/offline (id, a, b, possible), a row for each pair of
    events of which something is excluded. What is no microcosm is a row of DIR/reported (file, line,
    reported, fault, count, lost). A row has an id and the fields of the JSON form; the id of a
    file is its name without ending. A job that was killed is started again by the same command.

    \b
    Example:
      microcosm spark bisim replicas/ --out compared/
    """
    _require()
    from microcosm.spark.bisim import job
    from microcosm.spark.session import session

    limit = _most_bad(max_bad)
    with _progress(), session(master, later=True) as spark:
        [source] = _seen_by_all(master, [source])
        found = job.bisim(spark, source, out, pairs, strict, options.rules(), offline, limit)
    return _answer(out, found)


@app.command("extract")
def extract(
    inputs: Annotated[
        list[str],
        Argument(metavar="INPUT", help="Logs of any format, Parquet of events, or folders of them."),
    ],
    out: Folder,
    concurrent: Annotated[
        str | None, Option(metavar="FILTER", help="Also || between the events that FILTER chooses.")
    ] = None,
    token: Annotated[
        str | None, Option(metavar="ATTR", help="Also <> between consecutive holders of a value of ATTR.")
    ] = None,
    slices: Annotated[
        int | None, Option(metavar="N", min=1, help="Do a giant trace in N slices; by size if not given.")
    ] = None,
    format: Format = None,
    pattern: Pattern = None,
    master: Master = LOCAL,
    strict: StrictRows = False,
    max_bad: MostBad = None,
) -> int:
    """The events, edges and frontiers of many traces.

    Writes Parquet: DIR/events; DIR/edges (trace, left, relation, right, source), the edges from which all
    that is ordered follows; DIR/frontiers (trace, process, last, knows), the positions up to which a
    process knew of the others by its last event. FILTER is a condition in SQL on the columns of events.
    What is odd about a log is a row of DIR/reported (trace, file, line, reported, fault, count, lost). A job
    that was killed is started again by the same command.

    \b
    Examples:
      microcosm spark extract logs/ --out extracted/
      microcosm spark extract run.jsonl --out extracted/ --concurrent "label = 'upload'"
    """
    _require()
    from microcosm.spark.extract import job
    from microcosm.spark.session import session

    request = job.ExtractOptions(concurrent, token, format, pattern, strict, slices, _most_bad(max_bad))
    _known(format, pattern)
    with _progress(), session(master, later=True) as spark:
        found = job.extract(spark, _seen_by_all(master, inputs), out, request)
    return _answer(out, found)


@app.command("assert")
def assert_that(
    inputs: Annotated[
        list[str],
        Argument(metavar="TRACE... QUESTIONS.ask", help="Logs, folders of them; last the questions."),
    ],
    out: Folder,
    exact: Annotated[bool, Option("--exact", help="Search worlds for what stays open.")] = False,
    master: Master = LOCAL,
    max_bad: MostBad = None,
) -> int:
    """Do questions hold of many traces?

    Writes Parquet: DIR/answers (file, trace, line, text, verdict, exact, vacuous, true, false, open), a row
    for each trace and question; DIR/witnesses (file, trace, line, verdict, events, parameters, atoms); what
    is odd about the logs is a row of DIR/reported (trace, file, line, reported, fault, count, lost). Each
    trace is asked as `microcosm assert` asks it, in one task: a single giant trace is asked there. Exit 0 if
    all hold, 1 if some are violated, 3 if some are open.

    \b
    Example:
      microcosm spark assert logs/ lease.ask --out answers/
    """
    _require()
    from microcosm.spark import questions as job
    from microcosm.spark.session import session

    if options.rules() is not None:
        raise exits.UsageError("--rules: questions of many traces go by the shipped rules")
    if len(inputs) < 2:
        raise exits.UsageError("spark assert TRACE... QUESTIONS.ask: name traces, and last the questions")
    *traces, words = inputs
    limit = _most_bad(max_bad)
    with _progress(), session(master, later=True) as spark:
        found = job.check(spark, _seen_by_all(master, traces), words, out, exact=exact, max_bad=limit)
    codes = {"faults": exits.BAD_INPUT, "violated": exits.REFUTED, "open": exits.UNDECIDED}
    return _answer(out, found, next((code for what, code in codes.items() if found.summary[what]), 0))


@app.command("stream")
def stream(
    path: Annotated[
        str, Argument(metavar="INPUT", help="A folder of logs, to which more may come, or one log.")
    ],
    out: Folder,
    checkpoint: Annotated[str, Option(metavar="DIR", help="Where the stream keeps how far it has come.")],
    once: Annotated[
        bool, Option("--once", help="Take what is there now, and end; else go on until Ctrl-C.")
    ] = False,
    every: Annotated[float, Option(metavar="SECONDS", min=0.1, help="How often to look for more.")] = 5.0,
    wait: Annotated[
        float | None,
        Option(
            metavar="SECONDS",
            min=0,
            help="How long events wait for earlier ones of their process; 60, with --once 0.",
        ),
    ] = None,
    keep: Annotated[
        int, Option(metavar="N", min=1, help="How many events of a process are remembered for late ones.")
    ] = 10_000,
    format: Format = None,
    pattern: Pattern = None,
    master: Master = LOCAL,
) -> int:
    """The events, edges and frontiers of traces that are still being written.

    Writes Parquet as `spark extract` does, with a folder batch=N for each batch: edges as soon as both
    ends are known, and a row of frontiers each time that one has grown; the last batch counts. Started
    again with the same checkpoint it goes on where it stopped; nothing is told twice. Vector times are not
    used: what orders is the order of each process and the messages that are named.

    \b
    Example:
      microcosm spark stream logs/ --out followed/ --checkpoint followed.state/ --once
    """
    _require(streams=True)
    from microcosm.spark.session import session
    from microcosm.spark.stream import job

    _known(format, pattern)
    waiting = wait if wait is not None else 0.0 if once else 60.0
    request = job.StreamOptions(format, pattern, waiting, None if once else every, keep)
    with _progress(), session(master) as spark:
        found = job.stream(spark, path, out, checkpoint, request)
    return _answer(out, found)


def _require(streams: bool = False) -> None:
    """Look for what jobs need before any of them is loaded. Raises `NoSpark`, or `MicrocosmError`."""
    from microcosm.spark.session import require_packages, require_streams

    require_posix("jobs on Spark")
    require_packages()
    if streams:
        require_streams()


def _known(format: str | None, pattern: str | None) -> None:
    """Refuse a format that there is not, and a pattern that is none, which no log is to blame for."""
    known_format(format)
    if pattern is not None:
        from microcosm.traces.text.records import compiled

        compiled(pattern, "--pattern")


def _most_bad(text: str | None) -> MaxBad | None:
    from microcosm.spark.io.events import max_bad

    return None if text is None else max_bad(text)


def _seen_by_all(master: str, paths: list[str]) -> list[str]:
    """Paths as the workers of a master see them: elsewhere than here they have folders of their own."""
    if master.startswith("local") and "PYSPARK_GATEWAY_PORT" not in os.environ:
        return paths
    return [os.path.abspath(path) if path and "://" not in path else path for path in paths]


@contextmanager
def _progress() -> Iterator[None]:
    from microcosm.spark.io.staging import LOGGER

    logger = logging.getLogger(LOGGER)
    teller = _Teller()
    before = logger.level
    logger.addHandler(teller)
    logger.setLevel(logging.INFO)
    try:
        yield
    finally:
        logger.removeHandler(teller)
        logger.setLevel(before)


class _Teller(logging.Handler):
    def emit(self, record: logging.LogRecord) -> None:
        if not output.is_hushed():
            output.complain(record.getMessage())


def _answer(out: str, found: Any, code: int = exits.HOLDS) -> int:
    """Tell what was odd, then how much there is of what was written; the exit code."""
    for fault in found.faults:
        output.warn(output.printable(fault))
    summary: Mapping[str, Any] = found.summary
    for kind, count in summary["reported"].items():
        reported = sum(fault.endswith(f"[{kind}]") for fault in found.faults)
        if count > reported:
            output.warn(f"{count - reported:,} {'more ' if reported else ''}of [{kind}]")
    ones = {"holds": "holds", "classes": "class", "batches": "batch"}
    counts = ", ".join(
        f"{value:,} {name if value != 1 else ones.get(name, name.removesuffix('s'))}"
        for name, value in summary.items()
        if isinstance(value, int)
    )
    return output.answer(
        {**summary, "stages": dict(found.stages)}, f"{output.printable(out)}: {counts}", code
    )
