"""Small drawings of a microcosm for notebooks: space-time and Hasse diagrams, in SVG that needs nothing else.

Time runs to the right in a space-time diagram and upwards in a Hasse diagram. A line is happens-before,
dashes are given as concurrent, dots as related; that there is no line between two events says nothing about
them.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from html import escape

from microcosm.queries.drawing_model import Pair, Sketch

LABEL = 18
"""A label has at most so many characters; the whole name is the tooltip."""

TOOLTIP = 200

_LETTER = 7
_ROW = 44
_MARGIN = 16
_DASHES = {"<": "", "||": ' stroke-dasharray="5 3"', "<>": ' stroke-dasharray="1 3"'}

Places = dict[str, tuple[int, int]]


def space_time(sketch: Sketch) -> str:
    """The events on the lines of their processes, in columns so that every order points to the right."""
    rows = list(dict.fromkeys(sketch.process.get(event, "") for event in sketch.events))
    rows.sort(key=lambda process: process == "")  # those of no known process last
    head = _MARGIN + _LETTER * max((len(_short(process)) for process in rows), default=0) + _MARGIN
    step = _step(sketch)
    column: dict[str, int] = {}
    last = dict.fromkeys(rows, -1)
    for event in sketch.in_order():
        process = sketch.process.get(event, "")
        column[event] = (
            max([last[process], *(column[a] for a, b in sketch.links if b == event and a in column)]) + 1
        )
        last[process] = column[event]
    places = {
        event: (head + step // 2 + step * at, _ROW * (rows.index(sketch.process.get(event, "")) + 1))
        for event, at in column.items()
    }
    wide = head + step * (max(column.values(), default=0) + 1)
    lines = []
    for number, process in enumerate(rows, 1):
        if process:
            lines.append(_line((head, _ROW * number), (wide - _MARGIN, _ROW * number), "<", 0.35))
            lines.append(_text(process, _MARGIN, _ROW * number + 4, "start"))
    return _svg(sketch, [*lines, *_body(sketch, places)], wide, _ROW * (len(rows) + 1))


def hasse(sketch: Sketch) -> str:
    """The events in layers, each above those before it."""
    layers = sketch.layers()
    step = _step(sketch)
    wide = step * max(map(len, layers), default=1)
    places = {}
    for height, layer in enumerate(layers):
        indent = (wide - step * len(layer)) // 2
        for at, event in enumerate(layer):
            places[event] = (_MARGIN + indent + step * at + step // 2, _ROW * (len(layers) - height))
    return _svg(sketch, _body(sketch, places), wide + 2 * _MARGIN, _ROW * (len(layers) + 1))


def html(told: str, sketch: Sketch) -> str:
    """What is told of a microcosm, its space-time diagram where it knows processes, its Hasse diagram."""
    drawings = [space_time(sketch)] if sketch.process else []
    drawings.append(hasse(sketch))
    return f'<div class="microcosm"><p>{_readable(told)}</p>{"".join(drawings)}</div>'


def _body(sketch: Sketch, places: Places) -> Iterator[str]:
    pairs: Iterable[tuple[str, tuple[Pair, ...]]] = (
        ("<", sketch.links),
        ("||", sketch.unordered),
        ("<>", sketch.related),
    )
    for sign, found in pairs:
        yield from (_join(places, a, b, sign) for a, b in found)
    for event, (x, y) in places.items():
        title = f"<title>{_readable(event[:TOOLTIP])}</title>"
        yield f'<circle cx="{x}" cy="{y}" r="4" fill="currentColor">{title}</circle>'
        yield _text(event, x, y - 9, "middle")


def _svg(sketch: Sketch, body: Iterable[str], wide: int, high: int) -> str:
    more = f"{sketch.more:,} more" if sketch.more else ""
    wide = max(wide, 2 * _MARGIN + _LETTER * len(more))
    foot = _text(more, _MARGIN, high, "start") if more else ""
    high += 20 if more else 0
    style = 'font-family="sans-serif" font-size="12" stroke-width="1.2"'
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" role="img" width="{wide}" height="{high}" '
        f'viewBox="0 0 {wide} {high}" {style}>{"".join(body)}{foot}</svg>'
    )


def _join(places: Places, a: str, b: str, sign: str) -> str:
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
    return (
        f'<text x="{x}" y="{y}" text-anchor="{anchor}" fill="currentColor">{_readable(_short(text))}</text>'
    )


def _short(text: str) -> str:
    return text if len(text) <= LABEL else text[: LABEL - 1] + "…"


def _readable(text: str) -> str:
    """`text` for XML: escaped, without the characters that XML cannot have or a reader would not see."""
    return escape("".join(c if c.isprintable() else "\N{REPLACEMENT CHARACTER}" for c in text))


def _step(sketch: Sketch) -> int:
    """The distance between two columns: the widest label, and air."""
    return _LETTER * max((len(_short(event)) for event in sketch.events), default=1) + 2 * _MARGIN
