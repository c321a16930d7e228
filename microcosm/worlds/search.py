"""Putting a direction on every `<>` that propagation left open: all at once, then where that fails.

What a choice of all directions does wrong tells which `<>` to decide: it is ordered as it was chosen, which
propagates, and the rest is chosen anew. On all but crafted inputs a few decisions are enough and none is
taken back; deciding in general is NP-complete (the comparability-graph sandwich problem), so the search
counts its backtracks and can be stopped.
"""

from __future__ import annotations

from collections.abc import Callable
from enum import Enum

from microcosm import tuning
from microcosm.order.happens_before import Cycle
from microcosm.worlds.constraints import Knowledge, Pair
from microcosm.worlds.greedy import Choice
from microcosm.worlds.propagation import Orientation

Stop = Callable[[], bool]
"""Asked now and then: whether to give up. The caller has the clock."""


class Outcome(Enum):
    """How a search ended that found no world."""

    NONE = "none"
    """There is none."""
    CAPPED = "capped"
    """Something else may do better: all choices fail widely, or backtracks are more than allowed."""
    STOPPED = "stopped"


def guess(known: Knowledge) -> Choice | None:
    """A direction for every `<>` without any propagation, as a line has them, once mended; or None.

    Most knowledge that fits a world at all is shown to do so for the price of three closures. Raises
    `Cycle` where `before` itself runs in one.

    >>> world = guess(Knowledge.of(3, before=[(0, 1)], concurrent=[(0, 2)], related=[(1, 2)]))
    >>> world.edges
    [(0, 1), (2, 1)]
    """
    graph, refuted = known.graph(), known.refuted_rows()
    turned: list[Pair] = []
    for last in (False, True):
        future = graph.futures()
        choice = Choice.along(known, future, graph.pasts(), turned)
        failing = choice.failing(refuted)
        if not failing:
            return choice
        if last or _widely(failing, known.size):
            return None
        culprits = dict.fromkeys(choice.culprit(v, w, future) for v, w in failing)
        turned = [pair[::-1] for pair in culprits if pair is not None]
        try:
            graph.add(turned)
        except Cycle:
            return None
    return None


def _widely(failing: list[Pair], size: int) -> bool:
    return len(failing) > max(tuning.MISSES_FEW, size // tuning.MISSES_MANY)


def complete(state: Orientation, *, stop: Stop | None = None, cap: int | None = None) -> Choice | Outcome:
    """A direction for every open pair of a state, which is left as it was.

    `cap` limits the backtracks; where it is given, a first choice that fails widely is the end, too.
    `stop` is asked before each choice. Cost: exponential in the worst case.

    >>> from microcosm.worlds.constraints import Knowledge
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
        choice = Choice.along(state.known, state.future, state.past, state.chosen)
        failing = choice.failing(state.beyond)
        if not failing:
            return choice
        if cap is not None and _widely(failing, state.size) and not decisions:
            return Outcome.CAPPED
        for v, w in failing:
            pair = choice.culprit(v, w, state.future)
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
