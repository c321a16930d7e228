"""`order`: which message orderings a log keeps, could keep and must keep."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Annotated, Any

from typer import Option, Typer

from microcosm import files
from microcosm.cli import exits, options, output
from microcosm.cli.commands.order_input import logs_of, watch_all
from microcosm.cli.options import StrictLog
from microcosm.cli.reading import standard_input_once, told_rest
from microcosm.cli.show.orderings import explained, headline, panels, show
from microcosm.cli.show.orderings import svg as picture
from microcosm.errors import NotComplete
from microcosm.order.order import untold
from microcosm.orderings.ordering import Ordering
from microcosm.orderings.verdicts import classify
from microcosm.state import opening
from microcosm.tuning import kept

if TYPE_CHECKING:
    from microcosm.cli.show.orderings import Row
    from microcosm.orderings.computation import Computation
    from microcosm.orderings.verdicts import Verdict
    from microcosm.traces.report import Report


app = Typer()

LONGEST = 10_000
"""Executions of more events than this are not printed."""

IN_TRANSIT = 65_536
"""So many messages are remembered with --stream, if nothing else is said."""

GAPS = ("seq-gap", "clock-gap")
"""What is odd about a log where events of a process are missing; it is told at the event behind them."""


@app.command("order")
def order(
    traces: options.Traces,
    level: Annotated[
        str,
        Option(
            metavar="LEVEL", help="application (causal_send and deliver, where there are any) or network."
        ),
    ] = "application",
    incomplete: Annotated[
        bool, Option("--incomplete", help="Events may be missing: say only what more events cannot change.")
    ] = False,
    complete: Annotated[
        str | None,
        Option(
            options.COMPLETE,
            metavar="[=P,Q]",
            help="Refuse a log in which something speaks against its being complete; of P and Q only: as "
            "--incomplete for the others.",
        ),
    ] = None,
    explain: Annotated[
        str | None, Option(metavar="ORDERING", help="The witnesses of one ordering, drawn.")
    ] = None,
    svg: Annotated[
        str | None, Option(metavar="OUT", help="With --explain: draw the witnesses there.")
    ] = None,
    stream: Annotated[
        bool, Option("--stream", help="Read events as they come; tell the first violation of each ordering.")
    ] = False,
    transit: Annotated[
        int | None,
        Option(metavar="N", min=1, help=f"With --stream: remember N messages at most ({IN_TRANSIT:,})."),
    ] = None,
    together: Annotated[
        bool | None,
        Option(
            "--together/--apart", help="Several files are one log, or one each; else what they hold tells."
        ),
    ] = None,
    strict: StrictLog = False,
) -> int:
    """Which message orderings a log keeps (execution), could have kept (closure) and had to (interior).

    The order of the lines is the execution; the closure asks whether some order of the same events, each
    process and message as it is, keeps the ordering, and the interior whether all do.

    Several files are one log where a message was sent in one and received in another, where a process goes
    on from one to the other, or where they name the same execution; its lines are then no execution, for
    nothing orders those of one file among those of another. Files with the same events are runs of their
    own. --json gives an object for each file in any case, with the `files` of its log.

    An answer is *vacuous* where no message is received: nothing could have broken an ordering.

    --stream watches an execution while it happens, in bounded memory: JSON lines of the own format. The first
    violation of each ordering is told as soon as it is read (--json: an object each, and one at the end).

    \b
    Example:
      microcosm order run.jsonl
      microcosm order run.jsonl --explain fifo-n-n --svg queue.svg
      tail -f run.jsonl | microcosm order - --stream
    """
    if level not in ("application", "network"):
        raise exits.UsageError(f"no level {level!r}. Levels: application, network.")
    names = [one.value for one in Ordering]
    if explain is not None and explain not in names:
        raise exits.UsageError(f"no ordering {explain!r}. Orderings: {', '.join(names)}.")
    if svg is not None and explain is None:
        raise exits.UsageError("--svg draws the witnesses of one ordering: it goes with --explain ORDERING")
    if incomplete and complete is not None:
        raise exits.UsageError("--complete and --incomplete say the opposite of the log: give one of them")
    if svg == files.STDIN:
        raise exits.UsageError("--svg names a file: on standard output is the answer")
    standard_input_once(traces)
    how = options.of_logs()
    if stream:
        other = {*how} - {"format", "trace"} or how.get("format", "jsonl") != "jsonl"
        if explain is not None or incomplete or complete is not None or together or other:
            raise exits.UsageError("--stream reads the own JSON lines and tells of executions only")
        return watch_all(traces, level, how.get("trace"), strict, transit or IN_TRANSIT)
    if transit is not None:
        raise exits.UsageError("--transit bounds what --stream remembers: it goes with --stream")
    traces = files.expanded(traces)
    if complete is not None:
        incomplete = not said_complete(traces, [*filter(None, complete.split(","))], how)
    logs = logs_of(traces, strict, together, **how)
    if svg is not None and len(logs) > 1:
        raise exits.UsageError("--svg is for one log at a time")
    if svg is not None:
        logs = [log.read() for log in logs]
    answers: dict[str, dict[str, object]] = {}
    for log in logs:
        with kept():
            computation, execution = log.communication(level)
            told_rest(log.report)
            verdicts = classify(computation, execution)
        rows = {one: known(verdict, incomplete) for one, verdict in verdicts.items()}
        witnesses = []
        if explain is not None:
            one = Ordering(explain)
            witnesses = panels(computation, execution, one, verdicts[one], rows[one])
            if svg is not None:
                words = {event.id: event.label for event in log.events if event.label}
                holes = {(one.file, one.line): one.message for one in log.report.findings if one.kind in GAPS}
                at_holes = ((event.id, (event.file, event.line)) for event in log.events)
                missing = {name: holes[place] for name, place in at_holes if place in holes}
                with files.writing(svg) as drawing:
                    drawing.write(picture(headline(one, rows[one]), witnesses, words, missing))
        why_vacuous = vacuous(computation, log.report)
        if output.for_machines():
            shown = {one.value: _fields(computation, verdicts[one], row) for one, row in rows.items()}
            answer = {"files": log.files, "orderings": shown, "messages": len(computation.messages)}
            answer |= {"vacuous": why_vacuous is not None, "reported": dict(log.report.counts)}
            answers.update(dict.fromkeys(log.files, answer))
            continue
        if len(traces) > 1:
            called = output.printable(", ".join(log.files))
            output.say(f"{called}{', one log' if len(log.files) > 1 else ''}:")
        if explain is None:
            show(computation, verdicts, rows, why_vacuous)
        else:
            output.say(headline(one, rows[one]))
            if why_vacuous is not None:
                output.say(f"vacuous: {why_vacuous}")
            output.say_all(explained(witnesses))
        if len(log.files) > 1:
            output.note("nothing orders the lines of one file among those of another: they are no execution")
    for file in traces if output.for_machines() else ():
        output.emit({"file": file, **answers[file]})
    return exits.HOLDS


def said_complete(traces: Sequence[str], processes: Sequence[str], how: dict[str, Any]) -> bool:
    """Whether a log is complete, or that of every process of it is said. Raises `NotComplete`.

    Cost: the log is extracted.
    """
    whole = True
    for source in opening.sources(traces, log="format" in how or "pattern" in how):
        if source.content is not None:
            whole = source.givens().complete is True and whole
            continue
        givens = source.extraction(complete=processes or True, **how).givens
        if (lack := untold(givens)) is not None:
            raise NotComplete((lack,))
        table = givens.events
        whole = whole and (not processes or table is None or {*table.processes} <= {*processes})
    return whole


def vacuous(computation: Computation, report: Report) -> str | None:
    """Why an answer says nothing, where no message is received: then nothing could break an ordering."""
    if any(computation.receptions):
        return None
    if computation.messages:
        return "no reception is known to be of a message that was sent, so nothing could break an ordering"
    if unnamed := report.counts["no-message"]:
        return f"no message has a name ({unnamed:,} events do not say which one they send or receive)"
    return "no message is sent and received in this log, so nothing could break an ordering"


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
