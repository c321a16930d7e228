"""Putting a direction on every `<>` that propagation left open: greedy, with backtracking.

The direction that orders the fewest new pairs is tried first, or the one that an earlier world has. On
all but crafted inputs that never fails; deciding in general is NP-complete (the comparability-graph
sandwich problem), so the search can be stopped, and counts its backtracks.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from enum import Enum

from microcosm.relations.bits import lowest
from microcosm.relations.orientation import Orientation

Stop = Callable[[], bool]
"""Asked now and then: whether to give up. The caller has the clock."""


class Outcome(Enum):
    """How a search ended."""

    FOUND = "found"
    NONE = "none"
    CAPPED = "capped"
    """More backtracks than allowed: something else may do better."""
    STOPPED = "stopped"


def complete(
    state: Orientation,
    *,
    rank: Sequence[int] | None = None,
    stop: Stop | None = None,
    cap: int | None = None,
) -> Outcome:
    """Order every open pair. FOUND leaves the state as the answer, everything else as it was.

    `rank` is the linear order of an earlier answer, to be followed where possible. `cap` limits the
    backtracks. Cost: exponential in the worst case.

    >>> from microcosm.relations.knowledge import Knowledge
    >>> five, chords = [(k, (k + 1) % 5) for k in range(5)], [(k, (k + 2) % 5) for k in range(5)]
    >>> complete(Orientation(Knowledge.of(5, related=five, concurrent=chords)))
    <Outcome.NONE: 'none'>
    >>> complete(Orientation(Knowledge.of(5, related=five, concurrent=chords[1:])))
    <Outcome.FOUND: 'found'>
    """
    if not state.consistent:
        return Outcome.NONE
    begin = state.mark()
    decisions: list[tuple[int, int, int, int]] = []  # the mark, the order chosen, the event to go on from
    backtracks = at = here = 0
    opened, size = state.open, state.size
    while True:
        while at < size and not opened[at]:
            at += 1
        if at == size:
            return Outcome.FOUND
        if stop is not None and stop():
            state.undo(begin)
            return Outcome.STOPPED
        a = here if opened[here] else at
        b = here = lowest(opened[a])
        if _second_first(state, a, b, rank):
            a, b = b, a
        decisions.append((state.mark(), a, b, at))
        holds = state.order(a, b)
        while not holds:
            backtracks += 1
            if not decisions:
                state.undo(begin)
                return Outcome.NONE
            mark, a, b, at = decisions.pop()
            state.undo(mark)
            if cap is not None and backtracks > cap:
                state.undo(begin)
                return Outcome.CAPPED
            holds = state.order(b, a)


def _second_first(state: Orientation, a: int, b: int, rank: Sequence[int] | None) -> bool:
    """Whether to try b < a before a < b."""
    if rank is not None and rank[a] != rank[b]:
        return rank[b] < rank[a]
    forth = state.past[a].bit_count() * state.future[b].bit_count()
    back = state.past[b].bit_count() * state.future[a].bit_count()
    return back < forth
