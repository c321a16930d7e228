"""A sheet to draw on, in SVG that needs nothing else: lines that go round what they do not touch, and labels.

A line is bent where it would run through a point that is none of its ends; a label stands where the fewest
lines pass, and what still passes is cut out behind it. Ink is `currentColor`, so that a picture within a page
has the colours of the page; a file of its own has two sets of them, for light and for dark. The same picture
is the same bytes. Cost: the lines times the points, of which there are few.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from hashlib import sha256
from math import atan2, cos, hypot, sin

from microcosm.text.statement import readable

Point = tuple[float, float]
Box = tuple[float, float, float, float]

RED = "#DB3A2C"
"""What is missing: at least 3:1 against white and against #12161D."""

DOT = 4
"""The radius of an event."""

CLEAR = 9
"""No line comes nearer to an event that it does not touch, where there is room."""

LABEL = 18
"""A label has at most so many characters; the whole name is the tooltip."""

LETTER, HIGH = 7, 12
"""The room that a letter takes, and a line of text."""

DASHES = {"": "", "clocks": "6 2 1 2", "||": "8 5", "<>": "2 5", "lost": "3 3", "hidden": "1 4"}
"""How lines are drawn: given, known by clocks alone, concurrent, related, missing, left out."""

TOOLTIP = 200
"""A tooltip has at most so many characters."""

_BENDS = [side * by for by in range(16, 340, 12) for side in (1, -1)]
_LIGHT_AND_DARK = (
    "<style>svg{color:#1A1F29;background:#FFFFFF}"
    "@media (prefers-color-scheme:dark){svg{color:#E8ECF2;background:#12161D}}</style>"
)


def short(text: str, most: int = LABEL) -> str:
    """A text as a label shows it, of `most` characters at most. Cost: linear."""
    return text if len(text) <= most else text[: most - 1] + "…"


def width(text: str) -> int:
    """The room that a text takes as a label. Cost: constant."""
    return LETTER * len(short(text))


@dataclass(frozen=True, slots=True)
class _Label:
    lines: list[str]
    at: Point


class Sheet:
    """What is drawn so far. `points` are the events, which lines avoid; each is drawn by `dot`."""

    def __init__(self, points: list[Point]) -> None:
        self._points = points
        self._lines: list[str] = []
        self._marks: list[str] = []
        self._texts: list[str] = []
        self._labels: list[_Label] = []
        self._ways: list[list[Point]] = []
        self._taken: list[Box] = []

    def line(
        self,
        start: Point,
        end: Point,
        dashes: str = "",
        *,
        head: str = "",
        colour: str = "currentColor",
        title: str = "",
        faint: bool = False,
        straight: bool = False,
    ) -> None:
        """A line, bent round the points between unless it is to be `straight`, with its tooltip.

        `head` is `filled` or `open` (an arrow), or `diamonds` (at both ends). Cost: length times points.
        """
        way, bend = (_pieces(start, end, None), None) if straight else _route(start, end, self._points)
        self._ways.append(way)
        (x1, y1), (x2, y2) = start, end
        bent = "L" if bend is None else f"Q{bend[0]:.1f} {bend[1]:.1f} "
        path = f"M{x1:g} {y1:g}{bent}{x2:g} {y2:g}"
        dash = f' stroke-dasharray="{DASHES[dashes]}"' if DASHES[dashes] else ""
        opacity = ' opacity="0.4"' if faint else ""
        self._lines.append(
            f'<path d="{path}" fill="none" stroke="{colour}"{dash}{opacity}>{_title(title)}</path>'
        )
        self._heads(way, head, colour)

    def _heads(self, way: list[Point], head: str, colour: str) -> None:
        for along in (way, way[::-1]) if head == "diamonds" else (way,) if head else ():
            self._marks.append(_head(along, head, colour))

    def dot(self, at: Point, title: str, colour: str = "currentColor") -> None:
        """An event, with the text that is shown where it is pointed at. Cost: constant."""
        self._marks.append(
            f'<circle cx="{at[0]:g}" cy="{at[1]:g}" r="{DOT}" fill="{colour}">{_title(title)}</circle>'
        )

    def ring(self, at: Point, colour: str, title: str = "") -> None:
        """An empty circle: an event that is not there. Cost: constant."""
        ring = f'<circle cx="{at[0]:g}" cy="{at[1]:g}" r="3" fill="none" stroke="{colour}"'
        self._marks.append(f'{ring} class="lost">{_title(title)}</circle>')

    def zigzag(self, at: Point, title: str) -> None:
        """A place where events are missing. Cost: constant."""
        x, y = at
        path = f"M{x - 8:g} {y:g}l3 -6l4 12l4 -12l4 12l3 -6"
        self._marks.append(
            f'<path d="{path}" fill="none" stroke="{RED}" class="gap"><title>{readable(title)}</title></path>'
        )

    def key(self, sign: str, at: Point) -> None:
        """The sign of a legend: that of a line, of a head, or of what is missing. Cost: constant."""
        x, y = at
        if sign == "gap":
            self.zigzag((x + 14, y), "missing")
            return
        lost = sign in ("send", "receive")
        dashes = "lost" if lost else "<>" if sign == "token" else sign if sign in DASHES else ""
        head = {"message": "filled", "stated": "open", "clocks": "open", "upwards": "open"}
        head |= dict.fromkeys(("<>", "token"), "diamonds")
        ends = (x + 7 if sign == "receive" else x, x + 21 if sign == "send" else x + 28)
        colour = RED if lost else "currentColor"
        dash = f' stroke-dasharray="{DASHES[dashes]}"' if DASHES[dashes] else ""
        path = f"M{ends[0]:g} {y:g}L{ends[1]:g} {y:g}"
        self._marks.append(f'<path d="{path}" fill="none" stroke="{colour}"{dash} class="key"/>')
        self._heads(_pieces((x - 5, y), (x + 33, y), None), head.get(sign, ""), colour)
        if lost:
            self.ring((x + 25 if sign == "send" else x + 3, y), colour)

    def label(self, at: Point, lines: list[str]) -> None:
        """Words beside an event, put where there is room when all is drawn. Cost: that of `svg`."""
        self._labels.append(_Label([short(line) for line in lines], at))

    def text(
        self, text: str, x: float, y: float, anchor: str = "start", size: int = 12, *, whole: bool = False
    ) -> None:
        """Words at a place of their own. Cost: linear."""
        shown = readable(text if whole else short(text))
        how = f'text-anchor="{anchor}" font-size="{size}" fill="currentColor"'
        self._texts.append(f'<text x="{x:g}" y="{y:g}" {how}>{shown}</text>')

    def svg(self, name: str, wide: float, high: float, *, alone: bool = False) -> str:
        """The picture, called `name` where it is read aloud; `alone`: a file, with colours of its own.

        Cost: the labels times the pieces of the lines.
        """
        hidden = [*self._placed(wide)]
        lines = "".join(self._lines)
        if hidden:
            cut = "".join(
                f'<rect x="{x:g}" y="{y:g}" width="{w:g}" height="{h:g}" fill="black"/>'
                for x, y, w, h in hidden
            )
            called = "m" + sha256(f"{lines}{cut}".encode()).hexdigest()[:12]
            whole = f'width="{wide:g}" height="{high:g}"'
            lines = (
                f'<mask id="{called}" maskUnits="userSpaceOnUse" x="0" y="0" {whole}>'
                f'<rect {whole} fill="white"/>{cut}</mask><g mask="url(#{called})">{lines}</g>'
            )
        head = f'<svg xmlns="http://www.w3.org/2000/svg" role="img" aria-label="{readable(name)}"'
        size = f'width="{wide:g}" height="{high:g}" viewBox="0 0 {wide:g} {high:g}"'
        style = 'font-family="sans-serif" font-size="12" stroke-width="1.2"'
        colours, end = (_LIGHT_AND_DARK, "\n") if alone else ("", "")
        drawn = f"{lines}{''.join(self._marks)}{''.join(self._texts)}"
        return f"{head} {size} {style}>{colours}{drawn}</svg>{end}"

    def _placed(self, edge: float) -> Iterator[Box]:
        """Write each label where the least is in its way; the boxes that a line passes all the same."""
        ways = [point for way in self._ways for point in way]
        dots = [(x - DOT, y - DOT, 2 * DOT, 2 * DOT) for x, y in self._points]
        for label in self._labels:
            x, y = label.at
            wide, high = max(map(len, label.lines)) * LETTER, HIGH * len(label.lines) + 2
            near = [p for p in ways if abs(p[0] - x) < wide + 20 and abs(p[1] - y) < high + 20]

            def cost(choice: tuple[Box, str], near: list[Point] = near) -> int:
                box = choice[0]
                met = sum(_meets(box, other) for other in (*self._taken, *dots))
                outside = box[0] < 0 or box[0] + box[2] > edge
                return sum(_inside(point, box) for point in near) + 50 * met + 500 * outside

            box, anchor = min(_beside(x, y, wide, high), key=cost)
            self._taken.append(box)
            if any(_inside(point, box) for point in near):
                yield box
            left = {"start": box[0], "middle": box[0] + box[2] / 2, "end": box[0] + box[2]}[anchor]
            for number, line in enumerate(label.lines, 1):
                self.text(line, left, box[1] + HIGH * number - 1, anchor)


def _title(text: str) -> str:
    """The text that is shown where something is pointed at."""
    return f"<title>{readable(text[:TOOLTIP])}</title>" if text else ""


def _beside(x: float, y: float, wide: float, high: float) -> Iterator[tuple[Box, str]]:
    """Where a label may stand: above, below, and at the four corners."""
    for top in (y - 7 - high, y + 7):
        yield (x - wide / 2, top, wide, high), "middle"
    for top in (y - 5 - high, y + 5):
        yield (x + 5, top, wide, high), "start"
        yield (x - 5 - wide, top, wide, high), "end"


def _inside(point: Point, box: Box) -> bool:
    x, y, wide, high = box
    return x - 1 < point[0] < x + wide + 1 and y - 1 < point[1] < y + high + 1


def _meets(one: Box, other: Box) -> bool:
    return (
        one[0] < other[0] + other[2]
        and other[0] < one[0] + one[2]
        and one[1] < other[1] + other[3]
        and other[1] < one[1] + one[3]
    )


def _route(start: Point, end: Point, points: list[Point]) -> tuple[list[Point], Point | None]:
    """The way of a line in small pieces, and the control point of its bend; None where it is straight."""
    others = [point for point in points if point not in (start, end)]
    straight = _pieces(start, end, None)
    if _clearance(straight, others) >= CLEAR:
        return straight, None
    (x1, y1), (x2, y2) = start, end
    length = hypot(x2 - x1, y2 - y1) or 1
    best = (_clearance(straight, others), straight, None)
    for by in _BENDS:  # the bend itself is half as far from the straight line
        bend = ((x1 + x2) / 2 - (y2 - y1) / length * by, (y1 + y2) / 2 + (x2 - x1) / length * by)
        way = _pieces(start, end, bend)
        clear = _clearance(way, others)
        if clear >= CLEAR:
            return way, bend
        if clear > best[0]:
            best = (clear, way, bend)  # type: ignore[assignment]
    return best[1], best[2]


def _pieces(start: Point, end: Point, bend: Point | None) -> list[Point]:
    (x1, y1), (x2, y2) = start, end
    many = max(8, int(hypot(x2 - x1, y2 - y1) // 5))
    parts = [at / many for at in range(many + 1)]
    if bend is None:
        return [(x1 + (x2 - x1) * t, y1 + (y2 - y1) * t) for t in parts]
    x, y = bend
    return [
        (
            (1 - t) ** 2 * x1 + 2 * t * (1 - t) * x + t * t * x2,
            (1 - t) ** 2 * y1 + 2 * t * (1 - t) * y + t * t * y2,
        )
        for t in parts
    ]


def _clearance(way: list[Point], others: list[Point]) -> float:
    """How near a way comes to any of some points."""
    return min((hypot(x - a, y - b) for a, b in others for x, y in way), default=2.0 * CLEAR)


def _head(way: list[Point], kind: str, colour: str) -> str:
    """The head of an arrow at the end of a way, before the point that it leads to."""
    (x, y), (back_x, back_y) = way[-1], way[-3] if len(way) > 2 else way[0]
    turned = atan2(y - back_y, x - back_x)
    c, s = cos(turned), sin(turned)

    def at(along: float, across: float) -> str:
        return f"{x - along * c - across * s:.1f} {y - along * s + across * c:.1f}"

    tip = DOT + 1
    if kind == "diamonds":
        path = f"M{at(tip, 0)}L{at(tip + 5, 3.5)}L{at(tip + 10, 0)}L{at(tip + 5, -3.5)}Z"
    else:
        path = f"M{at(tip + 8, 4)}L{at(tip, 0)}L{at(tip + 8, -4)}" + ("Z" if kind == "filled" else "")
    filled = colour if kind == "filled" else "none"
    return f'<path d="{path}" fill="{filled}" stroke="{colour}" class="head"/>'
