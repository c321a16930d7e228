"""Logs in, microcosms or logs out: `extract` and `trace`."""

from __future__ import annotations

from typing import Annotated

import typer

from microcosm.cli import exits, options, output, progress
from microcosm.cli.options import StrictLog

app = typer.Typer()


OWN_ENDINGS = (".jsonl", ".ndjson", ".parquet")


@app.command("extract")
def extract(
    traces: options.Traces,
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
    from microcosm.cli import reading
    from microcosm.text.json_form import givens_to_json

    found = reading.extraction_of(traces, strict=strict, with_clocks=not without_clocks)
    if found.isolated:
        output.note(f"events related to no other, and so not named: {found.isolated:,}")
    if found.outside:
        process = output.printable(str(options.of_logs().get("process")))
        output.note(f"events that {process} could not know: {found.outside:,}")
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
    from microcosm.cli import reading
    from microcosm.traces.formats import jsonl, parquet

    if not to.endswith(OWN_ENDINGS):
        raise exits.UsageError(f"{to}: OUT must end in .jsonl or .parquet, which says what to write")
    reading.standard_input_once(traces)
    report, paths = reading.report_of(strict), files.expanded(traces)
    with progress.reading(paths, report):
        events = reading.events_of(paths, report, **options.of_logs())
        if to.endswith(".parquet"):
            with files.writing_bytes(to) as binary:
                count = parquet.write(events, binary)
        else:
            with files.writing(to) as stream:
                count = jsonl.write(events, stream)
    reading.told_rest(report)
    if json:
        output.emit({"events": count, "reported": dict(report.counts)})
    else:
        output.say(f"{to}: {count:,} events")
    return exits.HOLDS
