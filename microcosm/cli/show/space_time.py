"""Space-time diagrams of executions, as text and as SVG: a line for each peer, time from left to right."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass
from html import escape

from microcosm.cli.output import printable
from microcosm.orderings.computation import Computation, linear_extension

SHORT = 12
"""Names in a drawing have at most so many characters."""


@dataclass(frozen=True, slots=True)
class Panel:
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


_COLUMN, _ROW, _HEAD, _MARGIN = 46, 52, 110, 18


def svg(title: str, panels: Sequence[Panel]) -> str:
    """The panels one below the other, as an SVG file that needs nothing else; the same bytes every time.

    >>> from microcosm.orderings.computation import parse
    >>> svg("crown", [Panel("a < b", parse("s1 r2|s2 r1"))]).count("<circle")
    4
    """
    wide = max([len(title) * 9, *(_wide(panel) for panel in panels)], default=0) + 2 * _MARGIN
    parts: list[str] = []
    top = 34
    for panel in panels:
        parts.append(_text(panel.caption, _MARGIN, top + 14))
        parts += _drawn(panel, top + 24, wide)
        top += 48 + _ROW * len(panel.computation.peers)
    style = 'font-family="sans-serif" font-size="12" stroke-width="1.2"'
    arrow = (
        '<defs><marker id="arrow" viewBox="0 0 8 8" refX="8" refY="4" markerWidth="8" markerHeight="8" '
        'orient="auto"><path d="M0 0L8 4L0 8z"/></marker></defs>'
    )
    head = f'<text x="{_MARGIN}" y="24" font-size="15">{escape(_readable(title))}</text>'
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" role="img" width="{wide}" height="{top}" '
        f'viewBox="0 0 {wide} {top}" {style}>\n{arrow}\n<rect width="{wide}" height="{top}" fill="white"/>\n'
        + "\n".join([head, *parts, "</svg>"])
        + "\n"
    )


def _wide(panel: Panel) -> int:
    return max(_HEAD + _COLUMN * len(panel.order()), 7 * len(panel.caption))


def _drawn(panel: Panel, top: int, wide: int) -> Iterator[str]:
    """The lines of the peers, the arrows of the messages, the events."""
    of = panel.computation
    place = {
        event: (_HEAD + _COLUMN * at + _COLUMN // 2, top + _ROW * of.peer[event] + _ROW // 2)
        for at, event in enumerate(panel.order())
    }
    for p, name in enumerate(of.peers):
        y = top + _ROW * p + _ROW // 2
        yield _text(name, _MARGIN, y + 4, short=True)
        yield f'<line x1="{_HEAD}" y1="{y}" x2="{wide - _MARGIN}" y2="{y}" stroke="#999999"/>'
    for m, receptions in enumerate(of.receptions):
        colour = _colour(panel, m)
        (x1, y1) = place[of.send[m]]
        for reception in receptions:
            (x2, y2) = place[reception]
            yield (
                f'<line x1="{x1}" y1="{y1}" x2="{x2}" y2="{y2}" stroke="{colour}" marker-end="url(#arrow)"/>'
            )
        if not receptions:
            yield f'<line x1="{x1}" y1="{y1}" x2="{x1 + 18}" y2="{y1 + 18}" stroke="{colour}" '
            yield 'stroke-dasharray="3 3"/>'
    for event, (x, y) in place.items():
        m = of.message[event]
        title = f"<title>{escape(_readable(of.names[event]))}</title>"
        yield f'<circle cx="{x}" cy="{y}" r="4" fill="{_colour(panel, m)}">{title}</circle>'
        if of.sends(event):
            yield _text(of.messages[m], x - 4, y - 9, short=True)


def _colour(panel: Panel, message: int) -> str:
    return "#c8553d" if panel.computation.messages[message] in panel.marked else "#333333"


def _text(text: str, x: int, y: int, short: bool = False) -> str:
    text = _readable(text)
    shown = text if not short or len(text) <= SHORT else text[: SHORT - 1] + "…"
    return f'<text x="{x}" y="{y}">{escape(shown)}</text>'


def _readable(text: str) -> str:
    """`text` without the characters that XML cannot have or a reader would not see."""
    return "".join(c if c.isprintable() else "\N{REPLACEMENT CHARACTER}" for c in text)
