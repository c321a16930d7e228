"""Space-time diagrams as text: a line for each peer, time from left to right."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from microcosm.orderings.computation import Computation, linear_extension


def diagram(computation: Computation, execution: Sequence[int] | None = None) -> Iterator[str]:
    """A line for each peer and a column for each event, in the order of an execution.

    `!m` sends m, `?m` receives it.

    >>> from microcosm.orderings.computation import parse
    >>> print(*diagram(parse("s1 r2|s2 r1"), [0, 2, 1, 3]), sep="\\n")
      p1 | !1 .  ?2 .
      p2 | .  !2 .  ?1
    """
    order = execution if execution is not None else linear_extension(computation) or []
    cells = {
        event: ("!" if computation.sends(event) else "?") + computation.messages[computation.message[event]]
        for event in order
    }
    width = max(map(len, computation.peers), default=0)
    for p, name in enumerate(computation.peers):
        row = [
            (cells[event] if computation.peer[event] == p else ".").ljust(len(cells[event]))
            for event in order
        ]
        yield f"  {name:<{width}} | {' '.join(row)}".rstrip()
