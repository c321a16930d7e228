"""Logs in, microcosms or logs out: `extract` and `trace`."""

from __future__ import annotations

from typing import Annotated

import typer

from microcosm.cli import exits, options, output
from microcosm.cli.reading import (
    Execution,
    Format,
    Pattern,
    StrictLog,
    events_of,
    known_format,
    report_of,
    told_rest,
)

app = typer.Typer()


OWN_ENDINGS = (".jsonl", ".ndjson", ".parquet")


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
        output.write_givens(found.givens, out, out.endswith(".json"))
    if json:
        form = {} if out is not None else {"microcosm": givens_to_json(found.givens, events=False)}
        output.emit({**counts, **form})
    elif out is None:
        output.write_givens(found.givens, None, False)
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
