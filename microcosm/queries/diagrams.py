"""Small drawings of a microcosm: space-time and Hasse diagrams in SVG, DOT for Graphviz, Mermaid for
Markdown.

The SVG needs nothing else. Time runs to the right in a space-time diagram and upwards in a Hasse diagram.
Each has a legend of the signs that are in it. In DOT and Mermaid happens-before points to the right, dashes
are concurrent, dots related, as stated; what a process lacks, and messages with one end, are nodes of their
own. Names stay text. Cost of a picture: quadratic in its events, of which there are few; of the text, linear.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from itertools import pairwise

from microcosm.errors import printable
from microcosm.queries.drawing import CLOCKS, MESSAGE, STATED, STEP, Drawing, lane_order
from microcosm.queries.sheet import RED, Point, Sheet, width
from microcosm.text.statement import readable

MARGIN = 16
ROW = 74
TOP, FOOT = 46, 54
"""The first lane, and the room below the last."""

Places = dict[str, tuple[int, int]]

UPWARDS = "upwards"
"""A step of a process where there are no lanes."""

_HEADS = {STEP: "", MESSAGE: "filled", CLOCKS: "open", STATED: "open"}
_LEGEND = {
    STEP: "next in its process",
    UPWARDS: "next in its process",
    MESSAGE: "a message",
    CLOCKS: "before, by clocks",
    STATED: "before, as stated",
    "||": "concurrent, as stated",
    "<>": "related, as stated",
    "token": "related, by a token",
    "gap": "missing from the log",
    "hidden": "not shown",
    "send": "no reception recorded",
    "receive": "no sending recorded",
}


def space_time(drawing: Drawing, *, alone: bool = False) -> str:
    """The events on the lines of their processes, in columns so that every order points to the right.

    `alone`: a file of its own. Cost: as the methods of `Drawing`.
    """
    lanes = _lanes(drawing)
    row = {event: number for number, lane in enumerate(lanes, 1) for event in lane}
    titles = [drawing.process.get(lane[0], "") for lane in lanes]
    head = MARGIN + max(map(width, titles), default=0) + MARGIN
    step = _step(drawing)
    column = _columns(drawing, row)
    places = {
        event: (head + step // 2 + step * column[event], TOP + ROW * (row[event] - 1))
        for event in drawing.events
    }
    wide = head + step * (max(column.values(), default=0) + 1)
    sheet = Sheet([*places.values()])
    signs: dict[str, None] = {}
    for title, lane in zip(titles, lanes, strict=True):
        if title:
            y = places[lane[0]][1]
            sheet.text(title, MARGIN, y + 4)
            _lane(sheet, drawing, sorted(lane, key=column.__getitem__), places, (head, wide - MARGIN), signs)
    _body(sheet, drawing, places, signs, apart=True)
    return _finished(
        sheet, drawing, "Space-time diagram", signs, wide, TOP + ROW * (len(lanes) - 1) + FOOT, alone
    )


def hasse(drawing: Drawing, *, alone: bool = False) -> str:
    """The events in layers, each above those before it. Cost: as the methods of `Drawing`."""
    layers = drawing.layers()
    step = _step(drawing)
    wide = step * max(map(len, layers), default=1)
    places = {}
    for height, layer in enumerate(layers):
        indent = (wide - step * len(layer)) // 2
        for at, event in enumerate(layer):
            places[event] = (MARGIN + indent + step * at + step // 2, TOP + ROW * (len(layers) - 1 - height))
    sheet = Sheet([*places.values()])
    signs: dict[str, None] = {}
    _body(sheet, drawing, places, signs, apart=False)
    high = TOP + ROW * (len(layers) - 1) + FOOT
    return _finished(sheet, drawing, "Hasse diagram", signs, wide + 2 * MARGIN, high, alone)


def diagram(drawing: Drawing, *, alone: bool = False) -> str:
    """The space-time diagram where processes are known, else the Hasse diagram. Cost: as these."""
    return space_time(drawing, alone=alone) if drawing.process else hasse(drawing, alone=alone)


def html(caption: str, drawing: Drawing, page: str | None = None) -> str:
    """What is told of a microcosm, its space-time diagram if processes are known, and its Hasse diagram.

    Where there is a `page` of it, that comes first, and the diagrams stand folded behind it, for where the
    notebook is shown without its scripts. Cost: as `space_time` and `hasse`.
    """
    drawings = [space_time(drawing)] if drawing.process else []
    drawn = "".join([*drawings, hasse(drawing)])
    if page is not None:
        drawn = f"{page}<details><summary>Diagrams</summary>{drawn}</details>"
    return f'<div class="microcosm"><p>{readable(caption)}</p>{drawn}</div>'


def _lanes(drawing: Drawing) -> list[list[str]]:
    """The events of each lane: a process each, those with the most between them side by side; then the rest.

    What belongs to no known process stands on as few lanes without a line as its links allow.
    """
    lanes: dict[str, list[str]] = {}
    loose: list[list[str]] = []
    for event in drawing.in_order():
        if event in drawing.process:
            lanes.setdefault(drawing.process[event], []).append(event)
            continue
        earlier = {a for a, b in drawing.links if b == event}
        follows = [lane for lane in loose if lane[-1] in earlier]
        free = [lane for lane in loose if not any(b == lane[-1] or a == lane[-1] for a, b in drawing.links)]
        fits = follows or (free if not earlier else [])
        fits[0].append(event) if fits else loose.append([event])
    number = {process: at for at, process in enumerate(lanes)}
    sent: Counter[tuple[int, int]] = Counter()
    for a, b, _, _ in drawing.arrows():
        one, other = sorted(number.get(drawing.process.get(end, ""), -1) for end in (a, b))
        if -1 < one < other:
            sent[one, other] += 1
    known = [*lanes.values()]
    return [*(known[at] for at in lane_order(len(known), sent)), *loose]


def _columns(drawing: Drawing, row: dict[str, int]) -> dict[str, int]:
    """The column of each event, after those of all that is before it, and of its lane so far."""
    column: dict[str, int] = {}
    last: dict[int, int] = {}
    for event in drawing.in_order():
        before = [column[a] for a, b in drawing.links if b == event and a in column]
        column[event] = max([last.get(row[event], -1), *before]) + 1
        last[row[event]] = column[event]
    return column


def _lane(
    sheet: Sheet,
    drawing: Drawing,
    lane: Sequence[str],
    places: Places,
    ends: tuple[int, int],
    signs: dict[str, None],
) -> None:
    """The line of a process: faint, cut where events are missing, dotted where they are left out."""
    y = places[lane[0]][1]
    stops = [ends[0], *(places[event][0] for event in lane), ends[1]]
    holes = [*(drawing.holes.get(event) for event in lane), None]
    for (x, to), hole in zip(pairwise(stops), holes, strict=True):
        middle = (x + to) / 2
        hidden, lost = (0, 0) if hole is None else (hole.hidden, hole.lost)
        notes = [f"{hidden:,} not shown"] if hidden else []
        notes += [f"{lost:,} missing"] if lost else []
        if hidden:
            signs["hidden"] = None
        dashes = "hidden" if hidden else ""
        if lost:
            signs["gap"] = None
            sheet.line((x, y), (middle - 8, y), dashes, faint=True, straight=True)
            sheet.line((middle + 8, y), (to, y), dashes, faint=True, straight=True)
            sheet.zigzag((middle, y), ", ".join(notes))
        else:
            sheet.line((x, y), (to, y), dashes, faint=True, straight=True)
        if notes:
            sheet.label((middle, y), [", ".join(notes)])


def _body(sheet: Sheet, drawing: Drawing, places: Places, signs: dict[str, None], *, apart: bool) -> None:
    """The relations and the events; `apart`: processes have lines, and their steps need no heads."""
    for a, b, kind, source in drawing.arrows():
        signs[kind if apart or kind != STEP else UPWARDS] = None
        if not apart or not (kind == STEP and drawing.holes.get(b)):  # the lane itself shows what is missing
            head = _HEADS[kind] if apart or kind != STEP else "open"
            title = source or f"{a} < {b}"
            sheet.line(places[a], places[b], "clocks" if kind == CLOCKS else "", head=head, title=title)
    for a, b in drawing.unordered:
        signs["||"] = None
        sheet.line(places[a], places[b], "||", title=f"{a} || {b}")
    for a, b in drawing.related:
        signs["<>"] = None
        sheet.line(places[a], places[b], "<>", head="diamonds", title=f"{a} <> {b}")
    for (a, b), token in drawing.shared.items():
        signs["token"] = None
        sheet.line(places[a], places[b], "<>", head="diamonds", title=f"{a} <> {b} by the token {token}")
    for event, (x, y) in places.items():
        words = drawing.words.get(event)
        sheet.dot((x, y), event if words is None else f"{event}: {words}")
        sheet.label((x, y), [event] if words is None else [event, words])
        if event in drawing.lost and apart:
            kind, title = drawing.lost[event]
            signs[kind] = None
            _stub(sheet, (x, y), kind, title)


def _stub(sheet: Sheet, at: Point, kind: str, title: str) -> None:
    """A message with one end: to the right and down, or, where it was received, from the left and above."""
    x, y = at
    side = 1 if kind == "send" else -1
    other = (x + side * 22, y + side * 20)
    far, near = (x + side * 19.5, y + side * 17.5), (x + side * 3, y + side * 3)
    start, end = (near, far) if kind == "send" else (far, near)
    sheet.line(start, end, "lost", colour=RED, title=title, straight=True)
    sheet.ring(other, RED, title)


def _finished(
    sheet: Sheet, drawing: Drawing, what: str, signs: dict[str, None], wide: int, high: int, alone: bool
) -> str:
    """The picture with its legend and the number of what is left out."""
    more = f"{drawing.more:,} more" if drawing.more else ""
    wide = max(wide, 2 * MARGIN + width(more), 240)
    x, y = MARGIN, high
    for sign, meaning in _LEGEND.items():
        if sign not in signs:
            continue
        room = 40 + 7 * len(meaning) + MARGIN
        if x > MARGIN and x + room > wide:
            x, y = MARGIN, y + 20
        sheet.key(sign, (x, y - 4))
        sheet.text(meaning, x + 36, y, whole=True)
        x += room
    if signs:
        y += 22
    if more:
        sheet.text(more, MARGIN, y)
        y += 20
    events = len(drawing.events)
    name = f"{what} of {events:,} {'event' if events == 1 else 'events'}" + (f", {more}" if more else "")
    return sheet.svg(name, wide, y, alone=alone)


def _step(drawing: Drawing) -> int:
    """The distance between two columns: the widest text, and air."""
    texts = (*drawing.events, *drawing.words.values())
    return max(32, *(width(text) for text in texts), 0) + 2 * MARGIN


def dot(drawing: Drawing) -> str:
    """The drawing as a directed graph of Graphviz: `dot -Tsvg`. Cost: linear in the drawing.

    >>> from microcosm.logic.rulebook import read_rules
    >>> from microcosm.queries.drawing import drawing_of
    >>> from microcosm.text.mc_reader import read_givens
    >>> print(dot(drawing_of(read_givens("a < b \\n b || c"), read_rules())), end="")
    digraph microcosm {
      rankdir=LR; node [shape=box, style=rounded, fontname="sans-serif"];
      n0 [label="a"];
      n1 [label="b"];
      n2 [label="c"];
      n0 -> n1 [arrowhead=vee];
      n1 -> n2 [style=dashed, dir=none, constraint=false];
    }
    """
    number = {event: f"n{at}" for at, event in enumerate(drawing.events)}
    related = "style=dotted, dir=both, arrowhead=odiamond, arrowtail=odiamond, constraint=false"
    heads = {STEP: "[weight=8, arrowhead=none]", MESSAGE: "", CLOCKS: "[arrowhead=vee, style=dashed]"}

    def lines() -> Iterator[str]:
        yield "digraph microcosm {"
        yield '  rankdir=LR; node [shape=box, style=rounded, fontname="sans-serif"];'
        for at, (process, events) in enumerate(_groups(drawing)):
            indent = "    " if process else "  "
            if process:
                yield f"  subgraph cluster{at} {{ label={_quoted(process)};"
            for event in events:
                yield f"{indent}{number[event]} [label={_quoted(_words(drawing, event))}];"
            if process:
                yield "  }"
        for a, b, kind, source in drawing.arrows():
            how = heads.get(kind, "[arrowhead=vee]")
            if kind == MESSAGE:
                how = f"[label={_quoted(source.removeprefix('message '))}]"
            yield f"  {number[a]} -> {number[b]} {how};"
        for pairs, how in (
            (drawing.unordered, "style=dashed, dir=none, constraint=false"),
            (drawing.related, related),
            (drawing.shared, related),
        ):
            yield from (f"  {number[a]} -> {number[b]} [{how}];" for a, b in pairs)
        for event, (kind, note) in drawing.lost.items():
            near, far = number[event], f"lost{number[event]}"
            way = f"{near} -> {far}" if kind == "send" else f"{far} -> {near}"
            how = f'shape=circle, color=red, label="", width=0.1, tooltip={_quoted(note)}'
            yield f"  {far} [{how}];"
            yield f"  {way} [style=dashed, color=red];"
        yield "}"

    return "".join(f"{line}\n" for line in lines())


def mermaid(drawing: Drawing) -> str:
    """The drawing as a flowchart of Mermaid. Cost: linear in the drawing.

    >>> from microcosm.logic.rulebook import read_rules
    >>> from microcosm.queries.drawing import drawing_of
    >>> from microcosm.text.mc_reader import read_givens
    >>> print(mermaid(drawing_of(read_givens("a < b \\n b || c"), read_rules())), end="")
    flowchart LR
      n0(["a"])
      n1(["b"])
      n2(["c"])
      n0 --> n1
      n1 -. "#124;#124;" .- n2
    """
    number = {event: f"n{at}" for at, event in enumerate(drawing.events)}

    def lines() -> Iterator[str]:
        yield "flowchart LR"
        for at, (process, events) in enumerate(_groups(drawing)):
            indent = "    " if process else "  "
            if process:
                yield f"  subgraph p{at}[{_entities(process)}]"
            yield from (f"{indent}{number[event]}([{_entities(_words(drawing, event))}])" for event in events)
            if process:
                yield "  end"
        for a, b, kind, source in drawing.arrows():
            arrow = f"-- {_entities(source.removeprefix('message '))} -->" if kind == MESSAGE else "-->"
            yield f"  {number[a]} {'---' if kind == STEP else arrow} {number[b]}"
        for sign, pairs in (("||", drawing.unordered), ("<>", drawing.related), ("<>", drawing.shared)):
            yield from (f"  {number[a]} -. {_entities(sign)} .- {number[b]}" for a, b in pairs)
        for event, (kind, note) in drawing.lost.items():
            yield f"  lost{number[event]}(({_entities(note)}))"
            near, far = number[event], f"lost{number[event]}"
            yield f"  {near} -.-> {far}" if kind == "send" else f"  {far} -.-> {near}"

    return "".join(f"{line}\n" for line in lines())


def _groups(drawing: Drawing) -> Iterable[tuple[str, list[str]]]:
    """The events of each process, in order; those of no known process under the empty name."""
    groups: dict[str, list[str]] = {}
    for event in drawing.in_order():
        groups.setdefault(drawing.process.get(event, ""), []).append(event)
    return groups.items()


def _words(drawing: Drawing, event: str) -> str:
    """The name of an event, its words, and what is missing before it."""
    parts = [event, *([drawing.words[event]] if event in drawing.words else [])]
    hole = drawing.holes.get(event)
    if hole is not None:
        parts += [f"({hole.hidden:,} before it not shown)"] if hole.hidden else []
        parts += [f"({hole.lost:,} before it missing)"] if hole.lost else []
    return "\n".join(map(printable, parts))


def _quoted(text: str) -> str:
    """A string of DOT, in which a line end is written `\\n`, and `&` begins an entity."""
    lines = (printable(line).replace("\\", "\\\\").replace('"', '\\"') for line in text.split("\n"))
    return '"' + "\\n".join(lines).replace("&", "&amp;") + '"'


def _entities(text: str) -> str:
    """A string of Mermaid: what is not a letter, a digit or plain is an entity, a line end a break."""
    plain = frozenset(" .,:/_-()'")
    shown = (c if c.isalnum() or c in plain else "<br/>" if c == "\n" else f"#{ord(c)};" for c in text)
    return f'"{"".join(shown)}"'
