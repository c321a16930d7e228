"""`order`: which message orderings a log keeps, could keep and must keep."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Annotated

import typer

from microcosm.cli import exits, options, output
from microcosm.cli.traces import Execution, Format, Pattern, StrictLog, events_of, report_of, told_rest

if TYPE_CHECKING:
    from microcosm.cli.order_show import Row
    from microcosm.orderings.computation import Computation
    from microcosm.orderings.verdicts import Verdict

app = typer.Typer()

LONGEST = 10_000
"""Executions of more events than this are not printed."""


@app.command("order")
def order(
    traces: options.Traces,
    level: Annotated[
        str,
        typer.Option(
            "--level",
            metavar="LEVEL",
            help="application (causal_send and deliver, where there are any) or network.",
        ),
    ] = "application",
    incomplete: Annotated[
        bool,
        typer.Option("--incomplete", help="Events may be missing: say only what more events cannot change."),
    ] = False,
    explain: Annotated[
        str | None,
        typer.Option("--explain", metavar="ORDERING", help="The witnesses of one ordering, drawn."),
    ] = None,
    svg: Annotated[
        str | None, typer.Option("--svg", metavar="OUT", help="With --explain: draw the witnesses there.")
    ] = None,
    stream: Annotated[
        bool,
        typer.Option("--stream", help="Read events as they come; tell the first violation of each ordering."),
    ] = False,
    transit: Annotated[
        int, typer.Option("--transit", metavar="N", min=1, help="With --stream: remember N messages at most.")
    ] = 65_536,
    format: Format = None,
    pattern: Pattern = None,
    trace: Execution = None,
    strict: StrictLog = False,
    json: options.Json = False,
    rules: options.Rules = None,
) -> int:
    """Which message orderings a log keeps (execution), could have kept (closure) and had to (interior).

    The order of the lines is the execution; the closure asks whether some order of the same events, each
    process and message as it is, keeps the ordering, and the interior whether all do.

    --stream watches an execution while it happens, in bounded memory: JSON lines of the own format. The first
    violation of each ordering is told as soon as it is read (--json: an object each, and one at the end).

    \b
    Example:
      microcosm order run.jsonl
      microcosm order run.jsonl --explain fifo-n-n --svg queue.svg
      tail -f run.jsonl | microcosm order - --stream
    """
    from microcosm import files
    from microcosm.cli.order_show import explained, headline, panels, show
    from microcosm.cli.reading import standard_input_once
    from microcosm.cli.space_time import svg as picture
    from microcosm.orderings.ordering import Ordering
    from microcosm.orderings.verdicts import classify
    from microcosm.relations.collection import without_collection

    if level not in ("application", "network"):
        raise exits.UsageError(f"no level {level!r}. Levels: application, network.")
    names = [one.value for one in Ordering]
    if explain is not None and explain not in names:
        raise exits.UsageError(f"no ordering {explain!r}. Orderings: {', '.join(names)}.")
    if svg is not None and explain is None:
        raise exits.UsageError("--svg draws the witnesses of one ordering: it goes with --explain ORDERING")
    if svg is not None and len(traces) > 1:
        raise exits.UsageError("--svg is for one log at a time")
    standard_input_once(traces)
    if stream:
        from microcosm.cli.order_stream import watch_all

        if explain is not None or incomplete or pattern is not None or format not in (None, "jsonl"):
            raise exits.UsageError("--stream reads the own JSON lines and tells of executions only")
        return watch_all(traces, level, trace, strict, transit, json)
    for file in traces:
        with without_collection():
            computation, execution, reported = _computation(file, level, format, pattern, trace, strict)
            verdicts = classify(computation, execution)
        rows = {one: known(verdict, incomplete) for one, verdict in verdicts.items()}
        witnesses = []
        if explain is not None:
            one = Ordering(explain)
            witnesses = panels(computation, execution, one, verdicts[one], rows[one])
            if svg is not None:
                with files.writing(svg) as drawing:
                    drawing.write(picture(headline(one, rows[one]), witnesses))
        if json:
            shown = {one.value: _fields(computation, verdicts[one], row) for one, row in rows.items()}
            output.emit({"file": file, "orderings": shown, "reported": reported})
            continue
        if len(traces) > 1:
            output.say(f"{file}:")
        if explain is None:
            show(computation, verdicts, rows)
        else:
            output.say(headline(one, rows[one]))
            output.say_all(explained(witnesses))
    return exits.HOLDS


def _computation(
    file: str, level: str, format: str | None, pattern: str | None, trace: str | None, strict: bool
) -> tuple[Computation, list[int] | None, dict[str, int]]:
    from microcosm.cli.communication import communication

    report = report_of(strict)
    computation, execution = communication(
        events_of([file], format, pattern, report, trace), file, level, report
    )
    told_rest(report)
    return computation, execution, dict(report.counts)


def known(verdict: Verdict, incomplete: bool) -> Row:
    """Execution, closure and interior; where events may be missing only what more of them cannot change.

    What a part of the events excludes, all of them exclude; nothing else is sure, and an interior is
    excluded only with the execution or the closure.
    """
    if not incomplete:
        return verdict.execution, verdict.closure, verdict.interior
    execution = False if verdict.execution is False else None
    closure = None if verdict.closure else False
    return execution, closure, False if execution is False or closure is False else None


def _fields(computation: Computation, verdict: Verdict, row: Row) -> dict[str, object]:
    execution, closure, interior = row
    witness: dict[str, object] = {"execution": None, "closure": None, "interior": None}
    if verdict.inverted is not None:
        witness["execution"] = {"pair": list(verdict.inverted)}
    if verdict.pattern is not None:
        pattern = verdict.pattern
        messages, within = list(pattern.messages), list(pattern.within)
        witness["closure"] = {"pattern": pattern.kind, "messages": messages, "within": within}
    elif closure is not None:
        witness["closure"] = {"execution": _named(computation, verdict.kept)}
    if interior is False and verdict.broken_by is not None:
        pair = list(verdict.broken_by)
        witness["interior"] = {"pair": pair, "execution": _named(computation, verdict.broken)}
    return {"execution": execution, "closure": closure, "interior": interior, "witness": witness}


def _named(computation: Computation, execution: Sequence[int] | None) -> list[str] | None:
    """The events of an execution; None of a long one, which `--explain` and Python can show."""
    if execution is None or len(execution) > LONGEST:
        return None
    return [computation.names[event] for event in execution]
