"""`order`: which message orderings a log keeps, could keep and must keep."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Annotated

import typer

from microcosm.cli import exits, options, output
from microcosm.cli.traces import Execution, Format, Pattern, StrictLog, events_of, report_of, told_rest

if TYPE_CHECKING:
    from microcosm.orderings.computation import Computation
    from microcosm.orderings.ordering import Ordering
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

    \b
    Example:
      microcosm order run.jsonl
      microcosm order run.jsonl --explain fifo-n-n
    """
    from microcosm.cli.reading import standard_input_once
    from microcosm.orderings.ordering import Ordering
    from microcosm.orderings.verdicts import classify
    from microcosm.relations.collection import without_collection

    if level not in ("application", "network"):
        raise exits.UsageError(f"no level {level!r}. Levels: application, network.")
    names = [one.value for one in Ordering]
    if explain is not None and explain not in names:
        raise exits.UsageError(f"no ordering {explain!r}. Orderings: {', '.join(names)}.")
    standard_input_once(traces)
    for file in traces:
        with without_collection():
            computation, execution, reported = _computation(file, level, format, pattern, trace, strict)
            verdicts = classify(computation, execution)
        if json:
            shown = {
                one.value: _fields(computation, verdict, incomplete) for one, verdict in verdicts.items()
            }
            output.emit({"file": file, "orderings": shown, "reported": reported})
        else:
            if len(traces) > 1:
                output.say(f"{file}:")
            if explain is None:
                output.say_all(_table(computation, verdicts, incomplete))
            else:
                chosen = Ordering(explain)
                output.say_all(_explained(computation, chosen, verdicts[chosen], incomplete))
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


def known(verdict: Verdict, incomplete: bool) -> tuple[bool | None, bool | None, bool | None]:
    """Execution, closure and interior; where events may be missing only what more of them cannot change.

    What a part of the events excludes, all of them exclude; nothing else is sure, and an interior is
    excluded only with the execution or the closure.
    """
    if not incomplete:
        return verdict.execution, verdict.closure, verdict.interior
    execution = False if verdict.execution is False else None
    closure = None if verdict.closure else False
    return execution, closure, False if execution is False or closure is False else None


def _fields(computation: Computation, verdict: Verdict, incomplete: bool) -> dict[str, object]:
    execution, closure, interior = known(verdict, incomplete)
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


_SIGNS = {True: "yes", False: "no", None: "-"}


def _table(computation: Computation, verdicts: dict[Ordering, Verdict], incomplete: bool) -> Iterator[str]:
    """The six orderings by the three questions, and the strongest ones."""
    yield f"{'':<10}{'execution':>11}{'closure':>9}{'interior':>10}"
    rows = {one: known(verdict, incomplete) for one, verdict in verdicts.items()}
    for one, row in rows.items():
        signs = [_SIGNS[value] for value in row]
        pattern = verdicts[one].pattern
        why = "" if pattern is None else f"   {pattern.kind} {' '.join(pattern.messages)}"
        yield f"{one.value:<10}{signs[0]:>11}{signs[1]:>9}{signs[2]:>10}{why}"
    yield ""
    for at, question in enumerate(("it kept", "it could have kept", "it had to keep")):
        if any(row[at] is not None for row in rows.values()):
            yield f"{question}: {_strongest({one: row[at] for one, row in rows.items()})}"
    sent, received = len(computation.messages), sum(map(bool, computation.receptions))
    size = f"{len(computation):,} events, {len(computation.peers):,} peers"
    yield f"{size}, {sent:,} messages ({received:,} received)"


def _strongest(held: dict[Ordering, bool | None]) -> str:
    """The orderings that hold and are implied by no other that does."""
    kept = {one for one, value in held.items() if value}
    implied = {weaker for one in kept for weaker in one.weaker}
    for one in reversed(held):
        if one in implied:
            implied.update(one.weaker)
    found = [one.value for one in held if one in kept - implied]
    return ", ".join(found) if found else "none of the six, as far as this log tells"


def _explained(
    computation: Computation, ordering: Ordering, verdict: Verdict, incomplete: bool
) -> Iterator[str]:
    """The witnesses of one ordering, in words and as space-time diagrams."""
    from microcosm.cli.space_time import diagram

    execution, closure, interior = known(verdict, incomplete)
    said = (("execution", execution), ("closure", closure), ("interior", interior))
    yield f"{ordering.value}: " + ", ".join(f"{what} {_SIGNS[value]}" for what, value in said)
    if verdict.inverted is not None:
        first, second = verdict.inverted
        yield ""
        if ordering.value == "rsc":
            yield f"Between the sending of {first} and its reception, {second} is sent."
        else:
            yield f"{first} is sent before {second} and received after it."
    if verdict.pattern is not None:
        named = set(verdict.pattern.within)
        yield ""
        yield f"No order of the events keeps it: {verdict.pattern.kind} {' '.join(verdict.pattern.messages)}"
        part = computation.restrict(m for m, name in enumerate(computation.messages) if name in named)
        yield from diagram(part)
    elif verdict.kept is not None and closure is not None and execution is not True:
        yield ""
        yield "It is kept in this order of the same events:"
        yield from _short(computation, verdict.kept)
    if verdict.closure and verdict.broken is not None and verdict.broken_by is not None:
        yield ""
        yield f"It is broken, by {' and '.join(verdict.broken_by)}, in this order of the same events:"
        yield from _short(computation, verdict.broken)


def _short(computation: Computation, execution: Sequence[int]) -> Iterator[str]:
    from microcosm.cli.space_time import diagram

    if len(execution) <= 40:
        yield from diagram(computation, execution)
        return
    shown = " ".join(computation.names[event] for event in execution[:20])
    yield f"  {shown} … ({len(execution):,} events)"
