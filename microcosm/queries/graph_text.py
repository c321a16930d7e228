"""A small drawing as text for other programs: DOT for Graphviz, and Mermaid for pages in Markdown.

Happens-before points to the right, dashes are concurrent, dots related, as stated; what a process lacks, and
messages with one end, are nodes of their own. Names stay text. Cost: linear in the drawing.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from microcosm.errors import printable
from microcosm.queries.drawing import CLOCKS, MESSAGE, STEP, Drawing


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
    heads = {STEP: "[weight=8, arrowhead=none]", MESSAGE: "", CLOCKS: "[arrowhead=vee, style=dashed]"}

    def lines() -> Iterator[str]:
        yield "digraph microcosm {"
        yield '  rankdir=LR; node [shape=box, style=rounded, fontname="sans-serif"];'
        for at, (process, events) in enumerate(_groups(drawing)):
            indent = "    " if process else "  "
            if process:
                yield f"  subgraph cluster{at} {{ label={_quoted(process)};"
            for event in events:
                yield f"{indent}{number[event]} [label={_quoted(_told(drawing, event))}];"
            if process:
                yield "  }"
        for a, b, kind, source in drawing.arrows():
            how = heads.get(kind, "[arrowhead=vee]")
            if kind == MESSAGE:
                how = f"[label={_quoted(source.removeprefix('message '))}]"
            yield f"  {number[a]} -> {number[b]} {how};"
        for pairs, how in (
            (drawing.unordered, "style=dashed, dir=none, constraint=false"),
            (
                drawing.related,
                "style=dotted, dir=both, arrowhead=odiamond, arrowtail=odiamond, constraint=false",
            ),
            (
                drawing.shared,
                "style=dotted, dir=both, arrowhead=odiamond, arrowtail=odiamond, constraint=false",
            ),
        ):
            yield from (f"  {number[a]} -> {number[b]} [{how}];" for a, b in pairs)
        for event, (kind, told) in drawing.lost.items():
            near, far = number[event], f"lost{number[event]}"
            way = f"{near} -> {far}" if kind == "send" else f"{far} -> {near}"
            how = f'shape=circle, color=red, label="", width=0.1, tooltip={_quoted(told)}'
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
            yield from (f"{indent}{number[event]}([{_entities(_told(drawing, event))}])" for event in events)
            if process:
                yield "  end"
        for a, b, kind, source in drawing.arrows():
            said = f"-- {_entities(source.removeprefix('message '))} -->" if kind == MESSAGE else "-->"
            yield f"  {number[a]} {'---' if kind == STEP else said} {number[b]}"
        for sign, pairs in (("||", drawing.unordered), ("<>", drawing.related), ("<>", drawing.shared)):
            yield from (f"  {number[a]} -. {_entities(sign)} .- {number[b]}" for a, b in pairs)
        for event, (kind, told) in drawing.lost.items():
            yield f"  lost{number[event]}(({_entities(told)}))"
            near, far = number[event], f"lost{number[event]}"
            yield f"  {near} -.-> {far}" if kind == "send" else f"  {far} -.-> {near}"

    return "".join(f"{line}\n" for line in lines())


def _groups(drawing: Drawing) -> Iterable[tuple[str, list[str]]]:
    """The events of each process, in order; those of no known process under the empty name."""
    groups: dict[str, list[str]] = {}
    for event in drawing.in_order():
        groups.setdefault(drawing.process.get(event, ""), []).append(event)
    return groups.items()


def _told(drawing: Drawing, event: str) -> str:
    """The name of an event, its words, and what is missing before it."""
    parts = [event, *([drawing.words[event]] if event in drawing.words else [])]
    hole = drawing.holes.get(event)
    if hole is not None:
        parts += [f"({hole.hidden:,} before it not shown)"] if hole.hidden else []
        parts += [f"({hole.lost:,} before it missing)"] if hole.lost else []
    return "\n".join(map(printable, parts))


def _quoted(text: str) -> str:
    """A string of DOT, in which a line end is written `\\n`."""
    escaped = text.replace("\\", "\\\\").replace('"', '\\"').replace("\n", "\\n")
    return f'"{escaped}"'


def _entities(text: str) -> str:
    """A string of Mermaid: what is not a letter, a digit or plain is an entity, a line end a break."""
    plain = frozenset(" .,:/_-()'")
    shown = (c if c.isalnum() or c in plain else "<br/>" if c == "\n" else f"#{ord(c)};" for c in text)
    return f'"{"".join(shown)}"'
