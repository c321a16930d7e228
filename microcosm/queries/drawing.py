"""Small drawings of a microcosm for notebooks: space-time and Hasse diagrams, in SVG that needs nothing else.

Time runs to the right in a space-time diagram and upwards in a Hasse diagram. A line is happens-before,
dashes are given as concurrent, dots as related; that there is no line between two events says nothing about
them. Cost of a picture: quadratic in its events, of which there are few.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace
from itertools import islice

from microcosm.engine.engine import CyclicGivens, Engine
from microcosm.engine.lowering import online
from microcosm.errors import readable
from microcosm.givens.givens import Givens
from microcosm.givens.relation import Relation
from microcosm.logic.rulebook import RuleBook

EVENTS_DRAWN = 40
"""A drawing has at most so many events, the first that are stated."""

DrawnPair = tuple[str, str]

LABEL = 18
"""A label has at most so many characters; the whole name is the tooltip."""

TOOLTIP = 200

_LETTER = 7
_ROW = 44
_MARGIN = 16
_DASHES = {"<": "", "||": ' stroke-dasharray="5 3"', "<>": ' stroke-dasharray="1 3"'}

Coordinates = dict[str, tuple[int, int]]


@dataclass(frozen=True, slots=True)
class Drawing:
    """Some events, their order and their processes.

    `links` are the cover of happens-before (its transitive reduction), or all its pairs under rules that do
    not make it transitive; `more` counts what is left out. `process` says where an event happened, where that
    is known; `unordered` and `related` are given pairs. Cost of its methods: the product of events and links,
    of which there are few.
    """

    events: tuple[str, ...]
    more: int
    links: tuple[DrawnPair, ...]
    unordered: tuple[DrawnPair, ...]
    related: tuple[DrawnPair, ...]
    process: dict[str, str]

    def layers(self) -> list[list[str]]:
        """The events by the length of the longest chain below them.

        >>> from microcosm.logic.rulebook import read_rules
        >>> from microcosm.text.mc_reader import read_givens
        >>> drawing_of(read_givens("a < b < c \\n a < c \\n d || c"), read_rules()).layers()
        [['a', 'd'], ['b'], ['c']]
        """
        height: dict[str, int] = {}
        for event in self.in_order():
            below = [height[a] for a, b in self.links if b == event and a in height]
            height[event] = max(below, default=-1) + 1
        layers: list[list[str]] = [[] for _ in range(max(height.values(), default=-1) + 1)]
        for event in self.events:
            layers[height[event]].append(event)
        return layers

    def in_order(self) -> list[str]:
        """The events, each after those before it, as far as no rule lets an order run in a cycle."""
        waiting = {event: sum(b == event for _, b in self.links) for event in self.events}
        order: list[str] = []
        while waiting:
            event = min(waiting, key=waiting.__getitem__)
            del waiting[event]
            order.append(event)
            for a, b in self.links:
                if a == event and b in waiting:
                    waiting[b] -= 1
        return order


def drawing_of(givens: Givens, rules: RuleBook, most: int = EVENTS_DRAWN) -> Drawing:
    """The drawing of some givens: what is given of the first `most` events, and what follows from that alone.

    Cost: linear in the givens, and cubic in `most`.
    """
    named = list(givens.named())
    shown = dict.fromkeys(islice(named, most))
    part = replace(givens.without(set(islice(named, most, None))), refuted={}, stamps={}, tokens={})
    engine = _consistent(part, rules)
    if engine is None:  # only the rest of the givens keeps that away, by rules that ask for absence
        after = {a: [y for x, y in _stated(part, Relation.BEFORE) if x == a] for a in shown}
        reduced = False
    else:
        after = {a: [b for b in shown if a != b and engine.verdict(a, b) is Relation.BEFORE] for a in shown}
        reduced = engine.memo.is_transitive(online(Relation.BEFORE))
    covered = {a: {c for b in after[a] for c in after[b]} if reduced else set() for a in shown}
    links = tuple((a, b) for a in shown for b in after[a] if b not in covered[a])
    return Drawing(
        tuple(shown),
        len(named) - len(shown),
        links,
        tuple(_stated(part, Relation.CONCURRENT)),
        tuple(_stated(part, Relation.RELATED)),
        _processes(part),
    )


def _consistent(givens: Givens, rules: RuleBook) -> Engine | None:
    """The engine on some givens; None where their initial judgements exclude each other."""
    try:
        engine = Engine(rules, givens)
    except CyclicGivens:
        return None
    return None if engine.clash() else engine


def _stated(givens: Givens, relation: Relation) -> Iterable[DrawnPair]:
    return ((fact.left, fact.right) for fact in givens.external.values() if fact.relation is relation)


def _processes(givens: Givens) -> dict[str, str]:
    """Where each event happened, as clocks and messages tell; internal events happened here."""
    here = dict.fromkeys(givens.internal, givens.name or "internal")
    clocked = {event: clock.process for event, clock in givens.clocks.items()}
    return here | {message.event: message.process for message in givens.messages} | clocked


def space_time(drawing: Drawing) -> str:
    """The events on the lines of their processes, in columns so that every order points to the right.

    Cost: as the methods of `Drawing`.
    """
    rows = list(dict.fromkeys(drawing.process.get(event, "") for event in drawing.events))
    rows.sort(key=lambda process: process == "")  # those of no known process last
    head = _MARGIN + _LETTER * max((len(_short(process)) for process in rows), default=0) + _MARGIN
    step = _step(drawing)
    column: dict[str, int] = {}
    last = dict.fromkeys(rows, -1)
    for event in drawing.in_order():
        process = drawing.process.get(event, "")
        column[event] = (
            max([last[process], *(column[a] for a, b in drawing.links if b == event and a in column)]) + 1
        )
        last[process] = column[event]
    places = {
        event: (head + step // 2 + step * at, _ROW * (rows.index(drawing.process.get(event, "")) + 1))
        for event, at in column.items()
    }
    wide = head + step * (max(column.values(), default=0) + 1)
    lines = []
    for number, process in enumerate(rows, 1):
        if process:
            lines.append(_line((head, _ROW * number), (wide - _MARGIN, _ROW * number), "<", 0.35))
            lines.append(_text(process, _MARGIN, _ROW * number + 4, "start"))
    return _svg(drawing, [*lines, *_body(drawing, places)], wide, _ROW * (len(rows) + 1))


def hasse(drawing: Drawing) -> str:
    """The events in layers, each above those before it. Cost: as the methods of `Drawing`."""
    layers = drawing.layers()
    step = _step(drawing)
    wide = step * max(map(len, layers), default=1)
    places = {}
    for height, layer in enumerate(layers):
        indent = (wide - step * len(layer)) // 2
        for at, event in enumerate(layer):
            places[event] = (_MARGIN + indent + step * at + step // 2, _ROW * (len(layers) - height))
    return _svg(drawing, _body(drawing, places), wide + 2 * _MARGIN, _ROW * (len(layers) + 1))


def counted(givens: Givens) -> str:
    """The name of some givens, if they have one, and how much of each kind there is. Cost: constant."""
    counts = {
        "internal events": len(givens.internal),
        "correspondences": givens.externals,
        "clocks": len(givens.clocks),
        "tokens": len(givens.tokens),
    }
    shown = [f"{n} {what}" for at, (what, n) in enumerate(counts.items()) if n or at < 2]
    return f"{f' {givens.name!r}' if givens.name else ''}: {', '.join(shown)}"


def html(told: str, drawing: Drawing) -> str:
    """What is told of a microcosm, its space-time diagram where it knows processes, its Hasse diagram.

    Cost: as `space_time` and `hasse`.
    """
    drawings = [space_time(drawing)] if drawing.process else []
    drawings.append(hasse(drawing))
    return f'<div class="microcosm"><p>{readable(told)}</p>{"".join(drawings)}</div>'


def _body(drawing: Drawing, places: Coordinates) -> Iterator[str]:
    pairs: Iterable[tuple[str, tuple[DrawnPair, ...]]] = (
        ("<", drawing.links),
        ("||", drawing.unordered),
        ("<>", drawing.related),
    )
    for sign, found in pairs:
        yield from (_join(places, a, b, sign) for a, b in found)
    for event, (x, y) in places.items():
        title = f"<title>{readable(event[:TOOLTIP])}</title>"
        yield f'<circle cx="{x}" cy="{y}" r="4" fill="currentColor">{title}</circle>'
        yield _text(event, x, y - 9, "middle")


def _svg(drawing: Drawing, body: Iterable[str], wide: int, high: int) -> str:
    more = f"{drawing.more:,} more" if drawing.more else ""
    wide = max(wide, 2 * _MARGIN + _LETTER * len(more))
    foot = _text(more, _MARGIN, high, "start") if more else ""
    high += 20 if more else 0
    style = 'font-family="sans-serif" font-size="12" stroke-width="1.2"'
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" role="img" width="{wide}" height="{high}" '
        f'viewBox="0 0 {wide} {high}" {style}>{"".join(body)}{foot}</svg>'
    )


def _join(places: Coordinates, a: str, b: str, sign: str) -> str:
    """A line between two events, bent where others stand in its way."""
    (x1, y1), (x2, y2) = places[a], places[b]
    if y1 != y2 or not any(y == y1 and min(x1, x2) < x < max(x1, x2) for x, y in places.values()):
        return _line(places[a], places[b], sign)
    bend = f"M {x1} {y1} Q {(x1 + x2) // 2} {y1 + _ROW // 2} {x2} {y2}"
    return f'<path d="{bend}" fill="none" stroke="currentColor"{_DASHES[sign]}/>'


def _line(start: tuple[int, int], end: tuple[int, int], sign: str, opacity: float = 1.0) -> str:
    (x1, y1), (x2, y2) = start, end
    faint = f' opacity="{opacity}"' if opacity != 1.0 else ""
    return f'<line x1="{x1}" y1="{y1}" x2="{x2}" y2="{y2}" stroke="currentColor"{_DASHES[sign]}{faint}/>'


def _text(text: str, x: int, y: int, anchor: str) -> str:
    return f'<text x="{x}" y="{y}" text-anchor="{anchor}" fill="currentColor">{readable(_short(text))}</text>'


def _short(text: str) -> str:
    return text if len(text) <= LABEL else text[: LABEL - 1] + "…"


def _step(drawing: Drawing) -> int:
    """The distance between two columns: the widest label, and air."""
    return _LETTER * max((len(_short(event)) for event in drawing.events), default=1) + 2 * _MARGIN
