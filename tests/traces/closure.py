"""What each process knew, by no other means than the edges that come out: an oracle for frontiers."""

from __future__ import annotations

from collections.abc import Iterable, Mapping


def knowledge(
    edges: Iterable[tuple[str, str]], places: Mapping[str, tuple[str, int]]
) -> dict[str, dict[str, int]]:
    """By process the highest position of each process in the past of its events, these included.

    `edges` lead from event to event, and `places` has the process and position of each.
    """
    into: dict[str, list[str]] = {}
    for left, right in edges:
        into.setdefault(right, []).append(left)
    found: dict[str, dict[str, int]] = {}
    for process in {process for process, _ in places.values()}:
        waiting = [event for event, place in places.items() if place[0] == process]
        past = set(waiting)
        while waiting:
            for left in into.get(waiting.pop(), ()):
                if left not in past:
                    past.add(left)
                    waiting.append(left)
        known = found[process] = {}
        for event in past:
            other, seq = places[event]
            known[other] = max(seq, known.get(other, 0))
    return found
