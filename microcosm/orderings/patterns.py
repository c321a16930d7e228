"""Patterns that no execution of an ordering has: crowns, causal knots, and ladders.

A pattern is a tuple of messages. The searches find the smallest one through each message that they are
given to begin with.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable

from microcosm.orderings.computation import Computation

MessageTuple = tuple[int, ...]

PatternSearch = Callable[[Computation, int, int | None], tuple[MessageTuple | None, int]]
"""The smallest pattern through a message, of fewer than so many messages; and the steps it took."""


def smallest(
    search: PatternSearch,
    computation: Computation,
    starts: Iterable[int],
    budget: int,
) -> MessageTuple | None:
    """The smallest pattern that goes through one of `starts`.

    After `budget` steps no further start is tried, and what is found need not be the smallest. Cost: a search
    for each start, at most `budget` steps and one search beyond.
    """
    best: MessageTuple | None = None
    for start in starts:
        found, steps = search(computation, start, None if best is None else len(best))
        if found is not None and (best is None or len(found) < len(best)):
            best = found
        budget -= steps
        if best is not None and budget < 0:
            break
    return best


def crown_through(computation: Computation, start: int, below: int | None) -> tuple[MessageTuple | None, int]:
    """The smallest crown with a message in it, of fewer than `below` messages; and the steps it took.

    Cost: linear in the computation, for it is searched breadth-first.
    """
    send, message = computation.send, computation.message
    parent: dict[int, int] = {start: start}
    seen: set[int] = set()
    level = [start]
    steps = 0
    size = 1
    while level and (below is None or size + 1 <= below):
        size += 1
        reached: list[int] = []
        for m in level:
            waiting = computation.successors(send[m])
            mine: set[int] = set() if m == start else seen
            while waiting:
                event = waiting.pop()
                if event in mine:
                    continue
                mine.add(event)
                steps += 1
                other = message[event]
                if send[other] != event:
                    if other == start and m != start:
                        return _back(parent, m, start), steps
                    if other not in parent:
                        parent[other] = m
                        reached.append(other)
                waiting += computation.successors(event)
        level = reached
    return None, steps


def _back(parent: dict[int, int], last: int, start: int) -> MessageTuple:
    found = [last]
    while found[-1] != start:
        found.append(parent[found[-1]])
    return tuple(reversed(found))


def knot_through(computation: Computation, start: int, below: int | None) -> tuple[MessageTuple | None, int]:
    """The smallest causal knot that begins with a message, of fewer than `below` ones; and the steps it took.

    From a send along causality to another one, from there to its reception, along the receptions of
    that peer to another one, and to its send: until `start` is reached again. Cost: linear in the
    computation, for it is searched breadth-first.
    """
    send, message = computation.send, computation.message
    origin: dict[int, int] = {}  # by event: the first message of the couple that reached it
    rides: dict[int, tuple[int, int]] = {}  # by first message of a couple: the couple before it
    lowest: dict[int, int] = {}  # by peer: from where receptions are reached
    level = [start]
    steps = 0
    size = 0
    while level and (below is None or size + 2 < below):
        size += 2
        reached: list[int] = []
        for first in level:
            waiting = [send[first]]
            while waiting:
                event = waiting.pop()
                if event in origin:
                    continue
                origin[event] = first
                steps += 1
                waiting += computation.successors(event)
                second = message[event]
                if send[second] != event:
                    continue
                for reception in computation.receptions[second]:
                    p, at = computation.peer[reception], computation.index[reception]
                    chain = computation.chains[p]
                    for place in range(at + 1, lowest.get(p, len(chain))):
                        steps += 1
                        third = message[chain[place]]
                        if send[third] != chain[place] and third not in rides:
                            rides[third] = (first, second)
                            reached.append(third)
                    lowest[p] = min(lowest.get(p, len(chain)), at + 1)
            if start in rides:
                return _couples(rides, start), steps
        level = reached
    return None, steps


def _couples(rides: dict[int, tuple[int, int]], start: int) -> MessageTuple:
    found: list[tuple[int, int]] = []
    at = start
    while not found or at != start:
        found.append(rides[at])
        at = found[-1][0]
    return tuple(m for couple in reversed(found) for m in couple)


def minimal(
    computation: Computation, messages: Iterable[int], breaks: Callable[[Computation], bool]
) -> list[int]:
    """As few of the messages as still break an ordering: without any one of them they do not.

    `breaks` must hold of all of them, and with any of more messages if it holds of fewer. Cost: at most
    two calls of `breaks` a message.
    """
    kept = list(messages)
    size = max(1, len(kept) // 2)
    while True:
        at = 0
        while at < len(kept):
            fewer = kept[:at] + kept[at + size :]
            if fewer and breaks(computation.restrict(fewer)):
                kept = fewer
            else:
                at += size
        if size == 1:
            return kept
        size = max(1, size // 2)
