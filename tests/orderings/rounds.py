"""What does not decide Fifo n-n: its two implications, applied round by round to a transitive closure."""

from __future__ import annotations

from microcosm.orderings.computation import Computation


def one_round(computation: Computation, after: dict[int, set[int]]) -> dict[int, set[int]]:
    """What sends and receptions imply of each other added to a transitive relation, and that closed."""
    events = range(len(computation))
    added = {event: set(after[event]) for event in events}
    for a, ra in enumerate(computation.receptions):
        for b, rb in enumerate(computation.receptions):
            if a != b and ra and rb:
                if computation.send[b] in after[computation.send[a]]:
                    added[ra[0]].add(rb[0])
                if rb[0] in after[ra[0]]:
                    added[computation.send[a]].add(computation.send[b])
    for k in events:
        for event in events:
            if k in added[event]:
                added[event] |= added[k]
    return added
