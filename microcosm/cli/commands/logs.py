"""Logs in, microcosms or logs out: `extract` and `trace`."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, Annotated

import typer

from microcosm.cli import exits, options, output

if TYPE_CHECKING:
    from microcosm.traces.event import TraceEvent
    from microcosm.traces.report import Irregularity, Report

app = typer.Typer()

SAID = 5
"""So many irregularities of a kind are told one by one; the rest are counted."""

OWN_ENDINGS = (".jsonl", ".ndjson", ".parquet")

Format = Annotated[
    str | None, typer.Option("--format", metavar="F", help="The format, where the log does not tell.")
]
Pattern = Annotated[
    str | None,
    typer.Option("--pattern", metavar="REGEX", help="Records of a text log: groups event, host and clock."),
]
Execution = Annotated[
    str | None, typer.Option("--trace", metavar="NAME", help="One execution of several in the log.")
]
StrictLog = Annotated[bool, typer.Option("--strict", help="An irregularity of the log is an error.")]


@app.command("extract")
def extract(
    traces: options.Traces,
    format: Format = None,
    pattern: Pattern = None,
    process: Annotated[
        str | None, typer.Option("--process", metavar="P", help="Only what process P could know by the end.")
    ] = None,
    token: Annotated[
        str | None,
        typer.Option("--token", metavar="ATTR", help="Events with one value of ATTR exclude each other."),
    ] = None,
    trace: Execution = None,
    without_clocks: Annotated[
        bool, typer.Option("--without-clocks", help="Use process order and messages only.")
    ] = False,
    strict: StrictLog = False,
    out: options.Out = None,
    json: options.Json = False,
    rules: options.Rules = None,
) -> int:
    """The microcosm of a log.

    It says of the order of the events all that the log knows, or what one process could know. The
    microcosm goes to OUT or to standard output (--json: in the field `microcosm`); what is odd about the
    log is told on standard error.

    \b
    Example:
      microcosm extract photo-album.jsonl -o album.mc
      microcosm extract photo-album.jsonl --process phone
    """
    from microcosm.cli.commands.evolve import write_givens
    from microcosm.cli.reading import standard_input_once
    from microcosm.text.mc_reader import givens_to_json
    from microcosm.traces.extract import microcosm_of_logs

    standard_input_once(traces)
    report = report_of(strict)
    known_format(format)
    found = microcosm_of_logs(
        traces,
        format=format,
        pattern=pattern,
        process=process,
        token=token,
        trace=trace,
        with_clocks=not without_clocks,
        report=report,
    )
    told_rest(report)
    if found.isolated:
        output.note(f"events related to no other, and so not named: {found.isolated:,}")
    if found.outside:
        output.note(f"events that {output.printable(str(process))} could not know: {found.outside:,}")
    counts = found.counts()
    if out is not None:
        write_givens(found.givens, out, out.endswith(".json"))
    if json:
        output.emit(counts if out is not None else {**counts, "microcosm": givens_to_json(found.givens)})
    elif out is None:
        write_givens(found.givens, None, False)
        output.note(found.summary())
    else:
        output.say(f"{out}: {found.summary()}")
    return exits.HOLDS


@app.command("trace")
def trace(
    traces: options.Traces,
    to: Annotated[
        str, typer.Option("--to", metavar="OUT", help="The log to write; it ends in .jsonl or .parquet")
    ],
    format: Format = None,
    pattern: Pattern = None,
    trace: Execution = None,
    strict: StrictLog = False,
    json: options.Json = False,
    rules: options.Rules = None,
) -> int:
    """Convert a log to the own format, JSON lines or Parquet.

    \b
    Example:
      microcosm trace chord.log --to chord.jsonl
      microcosm trace otlp.json --to spans.parquet
    """
    from microcosm import files
    from microcosm.cli.reading import standard_input_once
    from microcosm.traces.formats import jsonl, parquet

    if not to.endswith(OWN_ENDINGS):
        raise exits.UsageError(f"{to}: OUT must end in .jsonl or .parquet, which says what to write")
    standard_input_once(traces)
    report = report_of(strict)
    events = events_of(traces, format, pattern, report, trace)
    if to.endswith(".parquet"):
        with files.writing_bytes(to) as binary:
            count = parquet.write(events, binary)
    else:
        with files.writing(to) as stream:
            count = jsonl.write(events, stream)
    told_rest(report)
    if json:
        output.emit({"events": count, "reported": dict(report.counts)})
    else:
        output.say(f"{to}: {count:,} events")
    return exits.HOLDS


def events_of(
    traces: list[str], format: str | None, pattern: str | None, report: Report, trace: str | None
) -> Iterator[TraceEvent]:
    """The events of some logs. Raises `UsageError` for an unknown format, `TextError` as readers do."""
    from microcosm.traces import reading as formats

    known_format(format)
    return formats.read(traces, format=format, pattern=pattern, report=report, trace=trace)


def known_format(format: str | None) -> None:
    """Refuse a format that there is not. Raises `UsageError`."""
    from microcosm.traces import reading as formats

    if format is not None and format not in formats.names():
        hint = formats.nearest(format, formats.names(), "Formats")
        raise exits.UsageError(f"no trace format {format!r}. {hint}")


def report_of(strict: bool) -> Report:
    """A report that tells the first irregularities of each kind as they are found."""
    from microcosm.traces.report import Report

    def tell(found: Irregularity) -> None:
        if report.counts[found.kind] <= SAID:
            output.warn(str(found))

    report = Report(strict, each=tell)
    return report


def told_rest(report: Report) -> None:
    """How many irregularities of each kind were not told one by one."""
    for kind, count in report.counts.items():
        if count > SAID:
            output.warn(f"{count - SAID:,} more of [{kind}]")
