"""Whether recorded clocks agree with happens-before, event by event and without a row of bits.

Where everything that is before an event was seen by the event's own clock, no clock can say that some of it
is concurrent with the event. So it is wherever logs are sound, and one comparison a process shows it.
"""

from __future__ import annotations

from itertools import accumulate

from microcosm.order.bits import from_positions
from microcosm.order.clock_order import ClockRows
from microcosm.order.labels import Labels


def agreeing(clocks: ClockRows, labels: Labels) -> int:
    """A row of clocked positions b such that by the clocks no event before b is concurrent with b.

    Not all such positions need be found; none is where a process has its clocked events on several chains.
    Cost: P comparisons an event.

    >>> from microcosm.givens.clock import Clock
    >>> clocks = ClockRows({"a": Clock("p", {"p": 1}), "b": Clock("q", {"q": 1})}, {"a": 0, "b": 1})
    >>> agreeing(clocks, Labels(2, [])), agreeing(clocks, Labels(2, [(0, 1)]))
    (0, 1)
    """
    largest: dict[str | None, list[tuple[str, int, list[int]]]] = {}
    """By execution."""
    for process, members in clocks.chains():
        numbers = {labels.cover.chain[at] for at in members}
        (number,) = numbers if len(numbers) == 1 else (-1,)
        if not 0 <= number < len(labels.cover.chains):
            return 0
        own = {at: clocks.clock(at).own for at in members}
        line = [own.get(at, 0) for at in labels.cover.chains[number]]
        execution = clocks.clock(members[0]).execution
        largest.setdefault(execution, []).append((process, number, [0, *accumulate(line, max)]))
    found = [
        at
        for process, members in clocks.chains()
        for at in members
        if all(
            clocks.clock(at).entries.get(other, 0) >= seen[labels.known_of(at, number)]
            for other, number, seen in largest[clocks.clock(at).execution]
            if other != process
        )
    ]
    return from_positions(found, labels.size)
