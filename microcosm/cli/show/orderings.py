"""The verdicts of `order` for people: the table, the lattice of the orderings, the witnesses of one."""

from __future__ import annotations

import sys
from collections.abc import Collection, Iterator, Mapping, Sequence

from microcosm.cli import output
from microcosm.cli.show.space_time import Panel, diagram
from microcosm.orderings.closures import along_messages, shortest
from microcosm.orderings.computation import Computation
from microcosm.orderings.ordering import Ordering
from microcosm.orderings.verdicts import Verdict

Row = tuple[bool | None, bool | None, bool | None]
"""Execution, closure and interior; None: not known."""

LONGEST = 40
"""Executions of more events are shown around what matters in them."""

QUESTIONS = ("it kept", "it could have kept", "it had to keep")
WORDS = {True: "yes", False: "no", None: "-"}


def show(
    computation: Computation,
    verdicts: Mapping[Ordering, Verdict],
    rows: Mapping[Ordering, Row],
    vacuous: str | None = None,
) -> None:
    """The six orderings by the three questions, and the log's place in their lattice; why it is vacuous."""
    from rich.text import Text

    from microcosm.cli.show.tables import draw, new_table

    drawn = new_table("")
    for question in ("execution", "closure", "interior"):
        drawn.add_column(question, justify="right")
    drawn.add_column("excluded by", overflow="fold")
    colours = {True: "green", False: "red", None: "dim"}
    for one, row in rows.items():
        pattern = verdicts[one].pattern
        why = "" if pattern is None else f"{pattern.kind} {' '.join(map(output.printable, pattern.messages))}"
        drawn.add_row(
            one.value,
            *(Text(WORDS[value], style=colours[value]) for value in row),
            Text(why, overflow="fold"),
        )
    draw(drawn)
    output.say("")
    multicast = computation.multicast
    output.say_all(lattice(rows, multicast, ascii=not output.can_show("│╱╲·", sys.stdout)))
    output.say("")
    for at, question in enumerate(QUESTIONS):
        if vacuous is None and any(row[at] is not None for row in rows.values()):
            held = Ordering.strongest([one for one, row in rows.items() if row[at]], multicast)
            said = ", ".join(one.value for one in held) or "none of the six, as far as this log tells"
            output.say(f"{question}: {said}")
    if vacuous is not None:
        output.say(f"vacuous: {vacuous}")
    sent, received = len(computation.messages), sum(map(bool, computation.receptions))
    size = f"{len(computation):,} events, {len(computation.peers):,} peers"
    output.say(f"{size}, {sent:,} messages ({received:,} received)")


def lattice(rows: Mapping[Ordering, Row], multicast: bool, ascii: bool = False) -> Iterator[str]:
    """The orderings, each above those that it implies, with what holds of the log.

    `K` the execution kept it, `C` it could have been kept, `M` it must have been; `?` is not known. With
    `multicast` Fifo 1-n does not stand above Causal.

    >>> held = dict.fromkeys(Ordering, (True, True, False))
    >>> print(*lattice(held, multicast=False, ascii=True), sep="\\n")
                 rsc KC.
                  |
               fifo-n-n KC.
                /   \\
      fifo-n-1 KC.  fifo-1-n KC.
                \\   /
                causal KC.
                  |
               fifo-1-1 KC.
      K kept by these lines, C could have been kept, M must have been
    >>> print(*[*lattice(held, multicast=True, ascii=True)][4:9], sep="\\n")
      fifo-n-1 KC.  fifo-1-n KC.
           |             |
      causal KC.         |
                \\   /
               fifo-1-1 KC.
    """
    nothing, bar, up, down = (".", "|", "/", "\\") if ascii else ("·", "│", "╱", "╲")

    def node(one: Ordering) -> str:
        letters = zip("KCM", rows[one], strict=True)
        held = "".join("?" if value is None else letter if value else nothing for letter, value in letters)
        return f"{one.value} {held}"

    yield f"             {node(Ordering.RSC)}"
    yield f"              {bar}"
    yield f"           {node(Ordering.FIFO_N_N)}"
    yield f"            {up}   {down}"
    yield f"  {node(Ordering.FIFO_N_1)}  {node(Ordering.FIFO_1_N)}"
    if multicast:
        yield f"       {bar}             {bar}"
        yield f"  {node(Ordering.CAUSAL):<19}{bar}"
        yield f"            {down}   {up}"
    else:
        yield f"            {down}   {up}"
        yield f"            {node(Ordering.CAUSAL)}"
        yield f"              {bar}"
    yield f"           {node(Ordering.FIFO_1_1)}"
    yield "  K kept by these lines, C could have been kept, M must have been"


def headline(ordering: Ordering, row: Row) -> str:
    """The three verdicts on one ordering."""
    said = zip(("execution", "closure", "interior"), row, strict=True)
    return f"{ordering.value}: " + ", ".join(f"{what} {WORDS[value]}" for what, value in said)


def explained(panels: Sequence[Panel]) -> Iterator[str]:
    """The witnesses as text."""
    for panel in panels:
        yield ""
        yield panel.caption
        yield from diagram(panel.computation, panel.execution)


def panels(
    computation: Computation,
    lines: Sequence[int] | None,
    ordering: Ordering,
    verdict: Verdict,
    row: Row,
) -> list[Panel]:
    """The witnesses of one ordering. `lines` is the execution that the log records, where it does."""
    execution, closure, _ = row
    found: list[Panel] = []
    if verdict.inverted is not None and lines is not None:
        found.append(_part(_said(ordering, verdict.inverted), computation, lines, verdict.inverted))
    if verdict.pattern is not None:
        pattern = verdict.pattern
        said = f"No order of the events keeps it: {pattern.kind} {' '.join(pattern.messages)}"
        part = computation.restrict(_numbers(computation, pattern.within))
        found.append(Panel(said, part, None, pattern.messages))
    elif verdict.kept is not None and closure is not None and execution is not True:
        if len(verdict.kept) <= LONGEST:
            said = "It is kept in this order of the same events:"
            found.append(Panel(said, computation, verdict.kept))
        elif verdict.inverted is not None:
            said = "It is kept in another order of the same events; these messages stand so in it:"
            found.append(_part(said, computation, verdict.kept, verdict.inverted))
    by = verdict.broken_by
    if verdict.closure and verdict.broken is not None and by is not None and verdict.broken != lines:
        said = f"It is broken, by {' and '.join(by)}, in this order of the same events"
        if len(verdict.broken) <= LONGEST:
            found.append(Panel(f"{said}:", computation, verdict.broken, by))
        else:
            found.append(_part(f"{said}, of which this is a part:", computation, verdict.broken, by))
    return found


def _said(ordering: Ordering, pair: tuple[str, str]) -> str:
    first, second = pair
    if ordering is Ordering.RSC:
        return f"Between the sending of {first} and its reception, {second} is sent."
    return f"{first} is sent before {second} and received after it."


def _part(caption: str, computation: Computation, execution: Sequence[int], pair: Collection[str]) -> Panel:
    """The messages of a pair, and those of a causal path between their sends, in an execution."""
    first, second = (computation.send[m] for m in _numbers(computation, pair, sort=False))
    way = shortest(computation, first, [second], along_messages(computation)) or []
    kept = sorted({computation.message[event] for event in (first, second, *way)})
    part = computation.restrict(kept)
    place = {event: at for at, event in enumerate(execution)}
    old = sorted(event for m in kept for event in (computation.send[m], *computation.receptions[m]))
    old.sort(key=lambda event: (computation.peer[event], computation.index[event]))
    order = sorted(range(len(old)), key=lambda event: place[old[event]])
    return Panel(caption, part, order, pair)


def _numbers(computation: Computation, names: Collection[str], sort: bool = True) -> list[int]:
    wanted = set(names)
    number = {name: m for m, name in enumerate(computation.messages) if name in wanted}
    return sorted(number.values()) if sort else [number[name] for name in names]
