"""Putting a direction on every `<>` that propagation left open: all at once, then where that fails.

What a choice of all directions does wrong tells which `<>` to decide: it is ordered as it was chosen, which
propagates, and the rest is chosen anew. On all but crafted inputs a few decisions are enough and none is
taken back; deciding in general is NP-complete (the comparability-graph sandwich problem), so the search
counts its backtracks and can be stopped.
"""

from __future__ import annotations

from collections.abc import Callable
from enum import Enum

from microcosm.relations.choice import Choice
from microcosm.relations.knowledge import Pair
from microcosm.relations.orientation import Orientation

Stop = Callable[[], bool]
"""Asked now and then: whether to give up. The caller has the clock."""


FEW, MANY = 8, 16
"""A first choice that fails for more events than a few, and more than one in so many, is no near miss."""


class Outcome(Enum):
    """How a search ended that found no world."""

    NONE = "none"
    """There is none."""
    CAPPED = "capped"
    """Something else may do better: all choices fail widely, or backtracks are more than allowed."""
    STOPPED = "stopped"


def complete(state: Orientation, *, stop: Stop | None = None, cap: int | None = None) -> Choice | Outcome:
    """A direction for every open pair of a state, which is left as it was.

    `cap` limits the backtracks; where it is given, a first choice that fails widely is the end, too.
    `stop` is asked before each choice. Cost: exponential in the worst case.

    >>> from microcosm.relations.knowledge import Knowledge
    >>> five, chords = [(k, (k + 1) % 5) for k in range(5)], [(k, (k + 2) % 5) for k in range(5)]
    >>> complete(Orientation(Knowledge.of(5, related=five, concurrent=chords)))
    <Outcome.NONE: 'none'>
    >>> complete(Orientation(Knowledge.of(5, related=five, concurrent=chords[1:]))).order
    [0, 3, 1, 4, 2]
    """
    begin = state.mark()
    try:
        return _complete(state, stop, cap) if state.consistent else Outcome.NONE
    finally:
        state.undo(begin)


def _complete(state: Orientation, stop: Stop | None, cap: int | None) -> Choice | Outcome:
    decisions: list[tuple[tuple[int, int], Pair]] = []  # each with the mark before it
    backtracks = 0
    while True:
        if stop is not None and stop():
            return Outcome.STOPPED
        choice = Choice.along(state)
        failing = list(choice.failing(state))
        if not failing:
            return choice
        if cap is not None and len(failing) > max(FEW, state.size // MANY) and not decisions:
            return Outcome.CAPPED
        for v, w in failing:
            pair = choice.culprit(state, v, w)
            if pair is None:
                continue  # what was decided since has put it right, or refutes it
            decisions.append((state.mark(), pair))
            holds = state.order(*pair)
            while not holds:
                backtracks += 1
                if not decisions:
                    return Outcome.NONE
                if cap is not None and backtracks > cap:
                    return Outcome.CAPPED
                mark, (a, b) = decisions.pop()
                state.undo(mark)
                holds = state.order(b, a)
