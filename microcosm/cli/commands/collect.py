"""`collect`: spans of running programs, over OTLP, into a folder of logs."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Annotated, Any

import typer

from microcosm.cli import exits, options, output

if TYPE_CHECKING:
    from microcosm.collect.folder import Folder
    from microcosm.collect.intake import Intake
    from microcosm.collect.serving import Listening

app = typer.Typer()

LOOPBACK = ("127.0.0.1", "::1", "localhost")
MEGABYTE = 1 << 20
AGAIN = 0.2
"""Seconds from one look whether there is something to show to the next."""


@app.command("collect")
def collect(
    out: Annotated[
        str, typer.Option("-o", "--out", metavar="DIR", help="The folder of the logs; it is made if need be.")
    ],
    otlp: Annotated[
        int, typer.Option("--otlp", metavar="PORT", min=0, max=65535, help="OTLP over HTTP; 0: any port.")
    ] = 4318,
    grpc: Annotated[
        int | None,
        typer.Option("--grpc", metavar="PORT", min=0, max=65535, help="OTLP over gRPC too (usually 4317)."),
    ] = None,
    host: Annotated[
        str, typer.Option("--host", metavar="ADDRESS", help="Where to listen; only this machine unless said.")
    ] = LOOPBACK[0],
    rotate_size: Annotated[
        float, typer.Option("--rotate-size", metavar="MB", min=0.001, help="Begin a new file after so much.")
    ] = 64.0,
    rotate_after: Annotated[
        float,
        typer.Option("--rotate-after", metavar="SECONDS", min=0.1, help="Begin a new file after so long."),
    ] = 3600.0,
    max_body: Annotated[
        float, typer.Option("--max-body", metavar="MB", min=0.001, help="The largest request, also unpacked.")
    ] = 16.0,
    rate: Annotated[
        float, typer.Option("--rate", metavar="N", min=0, help="Spans a second at most; 0: as they come.")
    ] = 0.0,
    at_once: Annotated[
        int, typer.Option("--at-once", metavar="N", min=1, help="Requests under way at most.")
    ] = 64,
    view: Annotated[
        bool, typer.Option("--view", help="Show the page of what came in a browser, and go on as more comes.")
    ] = False,
    json: options.Json = False,
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
    from contextlib import closing, nullcontext

    from microcosm.collect.folder import Folder
    from microcosm.collect.intake import Intake, IntakeLimits
    from microcosm.collect.serving import serve

    if host not in LOOPBACK:
        output.warn(f"whoever reaches {host} can send spans and fill the disk: nobody is asked who they are")
    limits = IntakeLimits(body=int(max_body * MEGABYTE), at_once=at_once, rate=rate)
    with closing(Folder(out, largest=int(rotate_size * MEGABYTE), oldest=rotate_after)) as folder:
        intake = Intake(folder, limits)
        with _shown(folder, out, json) if view else nullcontext():
            asyncio.run(serve(intake, host, otlp, grpc, lambda listening: _begun(listening, out, json)))
    if json:
        output.emit({"event": "stopped", **intake.counts.fields(folder)})
    else:
        output.say(*_ended(intake, folder))
    return exits.HOLDS


def _begun(listening: Listening, out: str, json: bool) -> None:
    if json:
        output.emit({"event": "listening", "out": out, **listening._asdict()})
    else:
        output.say(f"listening on {listening.http}/v1/traces, writing to {output.printable(out)}")
        if listening.grpc is not None:
            output.say(f"listening on {listening.grpc} for gRPC")
    output.finish()


@contextmanager
def _shown(folder: Folder, out: str, json: bool) -> Iterator[None]:
    """Show the page once there is something to show, in a process of its own: to draw it takes a while."""
    from subprocess import DEVNULL, Popen
    from threading import Event, Thread

    over = Event()

    def show() -> None:
        while not over.wait(AGAIN):
            if folder.commits:
                with Popen(
                    [sys.executable, "-m", "microcosm", "view", out, "--follow"],
                    stdin=DEVNULL,
                    stdout=sys.stderr if json else None,
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
    """What came in, and what was dropped."""
    counts: Any = intake.counts
    lines = [
        f"kept: {counts.spans:,} spans of {counts.requests:,} requests, "
        f"{counts.written:,} bytes in {folder.files:,} files"
    ]
    if counts.rejected:
        lines.append(f"dropped: {counts.rejected:,} spans without ids")
    lines += [f"refused: {number:,} requests ({name})" for name, number in sorted(counts.refused.items())]
    return lines if len(lines) > 1 else [*lines, "dropped: nothing"]
