"""What follows where clocks are stated to be synchronous: what was over before another began came before it.

An interval of a physical clock proves no order by itself: real time is no causal order, and two clocks may
differ. Where somebody states that all clocks of a log agree within `epsilon`, and that whatever is over
before something begins is before it (a linearizable system, a test that waits), then an event whose interval
ends more than `epsilon` before that of another begins is before it. That is knowledge of whoever states it,
and each correspondence that rests on it names it as its source.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Iterator, Mapping

from microcosm.givens.clock import Stamp
from microcosm.givens.exact import Number


def source(epsilon: Number) -> str:
    """Where the correspondences come from, for proofs.

    >>> source(0), source(5)
    ('synchronous clocks, as stated', 'synchronous clocks within 5, as stated')
    """
    return f"synchronous clocks{f' within {epsilon}' if epsilon else ''}, as stated"


def over_before(stamps: Mapping[int, Stamp], epsilon: Number) -> Iterator[tuple[int, int]]:
    """Pairs that generate "the one was over before the other began", of events with intervals.

    A pair that follows of two others by way of one event is left out. Cost: n log n, and for each event as
    many pairs as events were under way at one time before it.

    >>> list(over_before({1: (0, 2), 2: (1, 3), 3: (4, 5), 4: (6, 7), 5: 9}, 0))
    [(1, 3), (2, 3), (3, 4)]
    >>> list(over_before({1: (0, 2), 2: (4, 5)}, 2))
    []
    """
    intervals = {event: stamp for event, stamp in stamps.items() if isinstance(stamp, tuple)}
    by_end = deque(sorted(intervals, key=lambda event: (intervals[event][1], event)))
    last: deque[int] = deque()
    began: Number | None = None
    for event in sorted(intervals, key=lambda event: (intervals[event][0], event)):
        begins = intervals[event][0]
        while by_end and intervals[by_end[0]][1] + epsilon < begins:
            over = by_end.popleft()
            last.append(over)
            began = intervals[over][0] if began is None else max(began, intervals[over][0])
        while began is not None and last and intervals[last[0]][1] + epsilon < began:
            last.popleft()
        yield from ((over, event) for over in last)
