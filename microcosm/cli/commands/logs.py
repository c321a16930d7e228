"""Logs: their `events`; `extract` and `trace`, which make microcosms and logs of them; `collect`, spans."""

from __future__ import annotations

import sys
from collections.abc import Iterable, Iterator
from contextlib import closing, contextmanager, nullcontext
from difflib import get_close_matches
from itertools import chain
from os.path import exists
from subprocess import DEVNULL, Popen
from threading import Event, Thread
from typing import TYPE_CHECKING, Annotated, Any

from typer import Argument, Option, Typer

from microcosm import files
from microcosm.cli import exits, options, output, reading
from microcosm.cli.options import StrictLog
from microcosm.cli.output import counted
from microcosm.givens.event_table import EventRow
from microcosm.text.json_form import givens_to_json
from microcosm.text.names import quote, string

if TYPE_CHECKING:
    from microcosm.collect.intake import Folder, Intake
    from microcosm.collect.serving import Listening
    from microcosm.state.microcosm import Microcosm

app = Typer()


@app.command("extract")
def extract(
    traces: options.Traces,
    without_clocks: Annotated[
        bool, Option("--without-clocks", help="Use process order and messages only.")
    ] = False,
    strict: StrictLog = False,
    out: options.Out = None,
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
    source, report = reading.one_of(traces), reading.report_of(strict)
    reading.spare(source.paths, out)
    found = reading.extraction_of(source, with_clocks=not without_clocks, report=report)
    if found.isolated:
        output.note(f"events related to no other, and so not named: {found.isolated:,}")
    if found.outside:
        process = output.printable(str(options.of_logs().get("process")))
        output.note(f"events that {process} could not know: {found.outside:,}")
    counts = found.counts()
    out = None if out == files.STDIN else out
    if out is not None:
        output.write_givens(found.givens, out, json=False)
    if output.for_machines():
        form = {} if out is not None else {"microcosm": givens_to_json(found.givens, events=False)}
        output.emit({**counts, **form})
    elif out is None:
        output.write_givens(found.givens, None)
        output.note(found.summary())
    else:
        output.say(f"{output.printable(out)}: {found.summary()}")
    return exits.HOLDS


@app.command("trace")
def trace(
    traces: options.Traces,
    to: Annotated[str, Option(metavar="OUT", help="The log to write; it ends in .jsonl or .parquet")],
    strict: StrictLog = False,
) -> int:
    """Convert a log to the own format, JSON lines or Parquet.

    \b
    Example:
      microcosm trace chord.log --to chord.jsonl
      microcosm trace otlp.json --to spans.parquet
    """
    from microcosm.traces.formats import jsonl, parquet

    if not to.endswith((".jsonl", ".ndjson", ".parquet")):
        raise exits.UsageError(f"{to}: OUT must end in .jsonl or .parquet, which says what to write")
    reading.standard_input_once(traces)
    report, paths = reading.report_of(strict), files.expanded(traces)
    with output.reading(paths, report):
        events = reading.events_of(paths, report, **options.of_logs())
        if to.endswith(".parquet"):
            with files.writing_bytes(to) as binary:
                count = parquet.write(events, binary)
        else:
            with files.writing(to) as stream:
                count = jsonl.write(events, stream)
    reading.told_rest(report)
    message = f"{output.printable(to)}: {counted(count, 'event')}"
    return output.answer({"events": count, "reported": dict(report.counts)}, message)


@app.command("events")
def events(
    arguments: Annotated[
        list[str],
        Argument(
            metavar="FILE... [FIELD=VALUE]...",
            help=f"What to read: {options.WHAT} Then what the events have: process=alice, kind=send, "
            "http.status=500, ...",
        ),
    ],
    grep: Annotated[
        str | None, Option(metavar="REGEX", help="Only events in whose name or label this is found.")
    ] = None,
    strict: options.Strict = False,
) -> int:
    """The events of a log or a microcosm, with their words, in natural order (p:2 before p:10).

    Each with its process, what it sends or receives, and where it was read. FIELD is one of name, process,
    seq, kind, message, label, trace, time, file and line, or an attribute of the log by its dotted name.
    --json: an object a line for each event. Exit 0, or 3 where no event is so.

    \b
    Examples:
      microcosm events photo-album.jsonl --grep upload
      microcosm events photo-album.jsonl process=phone kind=send --json
    """
    from microcosm.queries.events import found_by, has, rows_of

    files, wanted = _parted(arguments)
    known = reading.load(files, strict=strict)
    sought = bool if grep is None else found_by(grep)
    found = rows_of(known, lambda row: has(wanted, row) and sought(row))
    if not found and wanted:
        _refuse_unknown(known, wanted)
    if output.for_machines():
        for row in found:
            output.emit(fields(row))
    else:
        output.say_all(lines(found))
        output.note(counted(len(found), "event"))
    return exits.HOLDS if found else exits.UNDECIDED


def fields(row: EventRow) -> dict[str, object]:
    """An event as JSON fields; null where nothing is known."""
    return {
        **{name: value or None for name, value in row._asdict().items()},
        "attributes": dict(row.attributes),
    }


def lines(rows: Iterable[EventRow]) -> Iterator[str]:
    """Events for people, a line each: name, words, what is sent or received, where it was read."""
    for row in rows:
        words = [] if not row.label or row.label == row.name else [string(row.label)]
        message = [f"{row.kind} {quote(row.message)}"] if row.message else []
        text = "  ".join([quote(row.name), *words, *message])
        yield f"{text}   ({output.printable(row.place)})" if row.place else text


def _parted(arguments: list[str]) -> tuple[list[str], list[tuple[str, str]]]:
    """The files on a command line, and the fields that are asked for. Raises `UsageError`."""
    files = [each for each in arguments if "=" not in each or exists(each)]
    pairs = [each.partition("=") for each in arguments if each not in files]
    if not files:
        raise exits.UsageError("missing FILE: say FILE, and then what the events have")
    return files, [(name, value) for name, _, value in pairs]


def _refuse_unknown(known: Microcosm, wanted: Iterable[tuple[str, str]]) -> None:
    from microcosm.queries.events import member, rows_of

    rows = rows_of(known)
    there = {*EventRow._fields, *chain.from_iterable(row.attributes for row in rows)} - {"attributes"}
    for name, _ in wanted:
        if name not in there and not any(member(row, name) is not None for row in rows):
            near = get_close_matches(name, there, 3) or sorted(there)[:12]
            raise exits.UsageError(f"no event has a field {name!r}: {', '.join(near)}")


LOOPBACK = ("127.0.0.1", "::1", "localhost")
MEGABYTE = 1 << 20
AGAIN = 0.2
"""Seconds from one look whether there is something to show to the next."""


@app.command("collect")
def collect(
    out: Annotated[
        str, Option("-o", "--out", metavar="DIR", help="The folder of the logs; it is made if need be.")
    ],
    otlp: Annotated[
        int, Option(metavar="PORT", min=0, max=65535, help="OTLP over HTTP; 0: any port.")
    ] = 4318,
    grpc: Annotated[
        int | None, Option(metavar="PORT", min=0, max=65535, help="OTLP over gRPC too (usually 4317).")
    ] = None,
    host: Annotated[
        str, Option(metavar="ADDRESS", help="Where to listen; only this machine unless said.")
    ] = LOOPBACK[0],
    rotate_size: Annotated[
        float, Option(metavar="MB", min=0.001, help="Begin a new file after so much.")
    ] = 64.0,
    rotate_after: Annotated[
        float, Option(metavar="SECONDS", min=0.1, help="Begin a new file after so long.")
    ] = 3600.0,
    max_body: Annotated[
        float, Option(metavar="MB", min=0.001, max=2047, help="The largest request, also unpacked.")
    ] = 16.0,
    rate: Annotated[float, Option(metavar="N", min=0, help="Spans a second at most; 0: as they come.")] = 0.0,
    at_once: Annotated[int, Option(metavar="N", min=1, max=100_000, help="Requests under way at most.")] = 64,
    view: Annotated[
        bool, Option("--view", help="Show the page of what came in a browser, and go on as more comes.")
    ] = False,
) -> int:
    """Receive OpenTelemetry's spans, and keep them in a folder that every command reads.

    Programs in any language send them: OTEL_EXPORTER_OTLP_ENDPOINT=http://127.0.0.1:4318. What was answered
    with success is on disk. It goes on until Ctrl-C, and then tells what came in and what was dropped;
    `GET /metrics` and `GET /healthz` tell how it is meanwhile.

    \b
    Example:
      microcosm collect --out spans/
      microcosm online spans/ 'shop.pay#1' 'bank.debit#1'
    """
    import asyncio

    from microcosm.collect.intake import Folder, Intake, IntakeLimits
    from microcosm.collect.serving import serve

    if host not in LOOPBACK:
        output.warn(f"whoever reaches {host} can send spans and fill the disk: nobody is asked who they are")
    limits = IntakeLimits(body=int(max_body * MEGABYTE), at_once=at_once, rate=rate)
    with closing(Folder(out, largest=int(rotate_size * MEGABYTE), oldest=rotate_after)) as folder:
        intake = Intake(folder, limits)
        with _shown(folder, out) if view else nullcontext():
            asyncio.run(serve(intake, host, otlp, grpc, lambda listening: _begun(listening, out)))
    return output.answer({"event": "stopped", **intake.counts.fields(folder)}, _ended(intake, folder))


def _begun(listening: Listening, out: str) -> None:
    lines = [f"listening on {listening.http}/v1/traces, writing to {output.printable(out)}"]
    lines += [f"listening on {listening.grpc} for gRPC"] if listening.grpc is not None else []
    output.answer({"event": "listening", "out": out, **listening._asdict()}, lines)
    output.finish()


@contextmanager
def _shown(folder: Folder, out: str) -> Iterator[None]:
    """Show the page once there is something to show, in a process of its own: to draw it takes a while."""
    over = Event()

    def show() -> None:
        while not over.wait(AGAIN):
            if folder.commits:
                with Popen(
                    [sys.executable, "-m", "microcosm", "view", out, "--follow"],
                    stdin=DEVNULL,
                    stdout=sys.stderr if output.for_machines() else None,
                ) as page:
                    over.wait()
                    page.terminate()
                return

    showing = Thread(target=show)
    showing.start()
    try:
        yield
    finally:
        over.set()
        showing.join()


def _ended(intake: Intake, folder: Folder) -> list[str]:
    counts: Any = intake.counts
    lines = [
        f"kept: {counted(counts.spans, 'span')} of {counted(counts.requests, 'request')}, "
        f"{counted(counts.written, 'byte')} in {counted(folder.files, 'file')}"
    ]
    if counts.rejected:
        lines.append(f"dropped: {counted(counts.rejected, 'span')} without ids")
    lines += [
        f"refused: {counted(number, 'request')} ({name})" for name, number in sorted(counts.refused.items())
    ]
    return lines if len(lines) > 1 else [*lines, "dropped: nothing"]
