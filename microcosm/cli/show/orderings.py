"""The verdicts of `order` for people: table, lattice of the orderings, witnesses and their drawings."""

from __future__ import annotations

import sys
from collections.abc import Collection, Iterator, Mapping, Sequence
from typing import NamedTuple

from microcosm.cli import output
from microcosm.cli.output import printable
from microcosm.orderings.closures import along_messages, shortest
from microcosm.orderings.computation import Computation, linear_extension
from microcosm.orderings.ordering import Ordering
from microcosm.orderings.verdicts import ExcludedPattern, Verdict
from microcosm.queries.sheet import RED, Sheet, short
from microcosm.text.names import string

Row = tuple[bool | None, bool | None, bool | None]
"""Execution, closure and interior; None: not known."""

LONGEST = 40
"""Executions of more events are shown around what matters in them."""

NAMED = 12
"""Of a pattern of more messages than this the first ones are named."""

DRAWN = 200
"""Executions of more events are not drawn as text: no line of a terminal is so long."""

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

    drawn = new_table("", numbers=("execution", "closure", "interior"))
    drawn.add_column("excluded by", overflow="fold")
    colours = {True: "green", False: "red", None: "dim"}
    for one, row in rows.items():
        pattern = verdicts[one].pattern
        why = "" if pattern is None else _excluding(pattern)
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
            names = ", ".join(one.value for one in held) or "none of the six, as far as this log tells"
            output.say(f"{question}: {names}")
    if vacuous is not None:
        output.say(f"vacuous: {vacuous}")
    sent, received = len(computation.messages), sum(map(bool, computation.receptions))
    size = f"{output.counted(len(computation), 'event')}, {output.counted(len(computation.peers), 'peer')}"
    output.say(f"{size}, {output.counted(sent, 'message')} ({received:,} received)")


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


def _excluding(pattern: ExcludedPattern) -> str:
    """A pattern in words: all of its messages, or of many the first."""
    shown = [*map(printable, pattern.messages[:NAMED])]
    more = len(pattern.messages) - NAMED
    return " ".join([pattern.kind, *shown, *([f"and {more:,} more (--json has all)"] if more > 0 else [])])


def headline(ordering: Ordering, row: Row) -> str:
    """The three verdicts on one ordering."""
    labels = zip(("execution", "closure", "interior"), row, strict=True)
    return f"{ordering.value}: " + ", ".join(f"{what} {WORDS[value]}" for what, value in labels)


def explained(panels: Sequence[Panel]) -> Iterator[str]:
    """The witnesses as text."""
    for panel in panels:
        yield ""
        yield panel.caption
        size, peers = len(panel.order()), len(panel.computation.peers)
        if size > DRAWN:
            yield f"  {size:,} events of {output.counted(peers, 'peer')}, too many to draw"
        else:
            yield from diagram(panel.computation, panel.execution)


def panels(
    computation: Computation, lines: Sequence[int] | None, ordering: Ordering, verdict: Verdict, row: Row
) -> list[Panel]:
    """The witnesses of one ordering. `lines` is the execution that the log records, where it does."""
    execution, closure, _ = row
    found: list[Panel] = []
    if verdict.inverted is not None and lines is not None:
        found.append(_part(_reason(ordering, verdict.inverted), computation, lines, verdict.inverted))
    if verdict.pattern is not None:
        pattern = verdict.pattern
        caption = f"No order of the events keeps it: {_excluding(pattern)}"
        part = computation.restrict(_numbers(computation, pattern.within))
        found.append(Panel(caption, part, None, pattern.messages))
    elif verdict.kept is not None and closure is not None and execution is not True:
        if len(verdict.kept) <= LONGEST:
            caption = "It is kept in this order of the same events:"
            found.append(Panel(caption, computation, verdict.kept))
        elif verdict.inverted is not None:
            caption = "It is kept in another order of the same events; these messages stand so in it:"
            found.append(_part(caption, computation, verdict.kept, verdict.inverted))
    by = verdict.broken_by
    if verdict.closure and verdict.broken is not None and by is not None and verdict.broken != lines:
        caption = f"It is broken, by {' and '.join(by)}, in this order of the same events"
        if len(verdict.broken) <= LONGEST:
            found.append(Panel(f"{caption}:", computation, verdict.broken, by))
        else:
            found.append(_part(f"{caption}, of which this is a part:", computation, verdict.broken, by))
    return found


def _reason(ordering: Ordering, pair: tuple[str, str]) -> str:
    first, second = pair
    if ordering is Ordering.RSC:
        return f"Between the sending of {first} and its reception, {second} is sent."
    return f"{first} is sent before {second} and received after it."


def _part(caption: str, computation: Computation, execution: Sequence[int], pair: Collection[str]) -> Panel:
    """The messages of a pair, and those of a causal path between their sends, in an execution."""
    first, second = (computation.send[m] for m in _numbers(computation, pair))
    way = shortest(computation, first, [second], along_messages(computation)) or []
    kept = {computation.message[event] for event in (first, second, *way)}
    part = computation.restrict(kept)
    place = {event: at for at, event in enumerate(execution)}
    old = sorted(event for m in kept for event in (computation.send[m], *computation.receptions[m]))
    order = sorted(range(len(old)), key=lambda event: place[old[event]])
    return Panel(caption, part, order, pair)


def _numbers(computation: Computation, names: Collection[str]) -> list[int]:
    wanted = set(names)
    number = {name: m for m, name in enumerate(computation.messages) if name in wanted}
    return [number[name] for name in names]


SHORT = 12
"""Names in a drawing have at most so many characters."""


class Panel(NamedTuple):
    """A drawing with what is to be said of it; the messages in `marked` stand out."""

    caption: str
    computation: Computation
    execution: Sequence[int] | None = None
    marked: Collection[str] = ()

    def order(self) -> Sequence[int]:
        """The events in the order in which they are drawn."""
        return self.execution if self.execution is not None else linear_extension(self.computation) or []


def diagram(computation: Computation, execution: Sequence[int] | None = None) -> Iterator[str]:
    """A line for each peer and a column for each event, in the order of an execution.

    `!m` sends m, `?m` receives it.

    >>> from microcosm.orderings.computation import parse
    >>> print(*diagram(parse("s1 r2|s2 r1"), [0, 2, 1, 3]), sep="\\n")
      p1 | !1 .  ?2 .
      p2 | .  !2 .  ?1
    """
    order = Panel("", computation, execution).order()
    cells = {
        event: ("!" if computation.sends(event) else "?")
        + printable(computation.messages[computation.message[event]])
        for event in order
    }
    peers = [printable(name) for name in computation.peers]
    width = max(map(len, peers), default=0)
    for p, name in enumerate(peers):
        row = [
            (cells[event] if computation.peer[event] == p else ".").ljust(len(cells[event]))
            for event in order
        ]
        yield f"  {name:<{width}} | {' '.join(row)}".rstrip()


_COLUMN, _ROW, _HEAD, _MARGIN = 52, 60, 110, 18


def svg(
    title: str,
    panels: Sequence[Panel],
    words: Mapping[str, str] | None = None,
    missing: Mapping[str, str] | None = None,
) -> str:
    """The panels one below the other, as an SVG file that needs nothing else; the same bytes every time.

    Pointed at, an event tells its name and its `words`. `missing` says of some events what the log lacks of
    their process before them.

    >>> from microcosm.orderings.computation import parse
    >>> svg("crown", [Panel("a < b", parse("s1 r2|s2 r1"))]).count("<circle")
    4
    """
    widths = [len(title) * 9, *(7 * len(panel.caption) for panel in panels)]
    widths += [_HEAD + _COLUMN * len(panel.order()) for panel in panels]
    wide = max(widths) + 2 * _MARGIN
    tops, high = [], 34
    for panel in panels:
        tops.append(high)
        high += 48 + _ROW * len(panel.computation.peers)
    places = [_places(panel, top + 24) for panel, top in zip(panels, tops, strict=True)]
    sheet = Sheet([point for each in places for point in each.values()])
    sheet.text(title, _MARGIN, 24, size=15, whole=True)
    for panel, top, place in zip(panels, tops, places, strict=True):
        sheet.text(panel.caption, _MARGIN, top + 14, whole=True)
        _draw(sheet, panel, place, wide, words or {})
        for event in panel.order():
            hole = (missing or {}).get(panel.computation.names[event])
            if hole is not None:
                x, y = place[event]
                sheet.zigzag((x - _COLUMN // 2, y), hole)
    return sheet.svg(f"Message ordering {title}", wide, high, alone=True)


def _places(panel: Panel, top: int) -> dict[int, tuple[int, int]]:
    peer = panel.computation.peer
    return {
        event: (_HEAD + _COLUMN * at + _COLUMN // 2, top + _ROW * peer[event] + _ROW // 2)
        for at, event in enumerate(panel.order())
    }


def _draw(
    sheet: Sheet, panel: Panel, place: Mapping[int, tuple[int, int]], wide: int, words: Mapping[str, str]
) -> None:
    of = panel.computation
    for p, y in {of.peer[event]: y for event, (_, y) in place.items()}.items():
        sheet.text(short(of.peers[p], SHORT), _MARGIN, y + 4)
        sheet.line((_HEAD, y), (wide - _MARGIN, y), faint=True, straight=True)
    for m, receptions in enumerate(of.receptions):
        colour, message = _colour(panel, m), of.messages[m]
        for reception in receptions:
            sheet.line(place[of.send[m]], place[reception], head="filled", colour=colour, title=message)
        if not receptions:
            x, y = place[of.send[m]]
            sheet.line((x, y), (x + 18, y + 18), "lost", colour=colour, title=message, straight=True)
    for event, at in place.items():
        name, m = of.names[event], of.message[event]
        sheet.dot(at, f"{name} {string(words[name])}" if name in words else name, _colour(panel, m))
        if of.sends(event):
            sheet.label(at, [short(of.messages[m], SHORT)])


def _colour(panel: Panel, message: int) -> str:
    return RED if panel.computation.messages[message] in panel.marked else "currentColor"
