"""All small computations, and the six orderings by Table 1 and enumeration: shares nothing with the package.

A computation is a tuple of chains, a chain a tuple of `("s" | "r", message)`; several peers may receive one
message. Executions are all linear extensions: a closure asks for one that satisfies the predicate,
an interior for all.
"""

from __future__ import annotations

from collections.abc import Iterator
from functools import cache

Event = tuple[str, int]
Chains = tuple[tuple[Event, ...], ...]
Placed = tuple[str, int, int]
"""Kind, message, peer."""

NAMES = ("fifo-1-1", "causal", "fifo-n-1", "fifo-1-n", "fifo-n-n", "rsc")


def placed(chains: Chains) -> list[list[Placed]]:
    return [[(kind, m, p) for kind, m in chain] for p, chain in enumerate(chains)]


def causal(chains: Chains) -> set[tuple[Placed, Placed]]:
    """The causal order as pairs, by transitive closure."""
    rows = placed(chains)
    every = [e for row in rows for e in row]
    before = {(a, b) for row in rows for i, a in enumerate(row) for b in row[i + 1 :]}
    before |= {(a, b) for a in every for b in every if (a[0], b[0]) == ("s", "r") and a[1] == b[1]}
    for k in every:
        for a in every:
            if (a, k) in before:
                before |= {(a, b) for b in every if (k, b) in before}
    return before


def executions(chains: Chains) -> Iterator[tuple[Placed, ...]]:
    """All linear extensions; none where there is a cycle."""
    rows = placed(chains)
    done: list[Placed] = []
    sent: set[int] = set()
    at = [0] * len(rows)
    total = sum(map(len, rows))

    def go() -> Iterator[tuple[Placed, ...]]:
        if len(done) == total:
            yield tuple(done)
            return
        for p, row in enumerate(rows):
            if at[p] < len(row):
                event = row[at[p]]
                if event[0] == "r" and event[1] not in sent:
                    continue
                at[p] += 1
                done.append(event)
                if event[0] == "s":
                    sent.add(event[1])
                yield from go()
                if event[0] == "s":
                    sent.discard(event[1])
                done.pop()
                at[p] -= 1

    return go()


def satisfied(execution: tuple[Placed, ...], before: set[tuple[Placed, Placed]]) -> frozenset[str]:
    """The orderings of Table 1 that an execution satisfies; each reception of a multicast counts."""
    place = {e: i for i, e in enumerate(execution)}
    send = {e[1]: e for e in execution if e[0] == "s"}
    receptions = [e for e in execution if e[0] == "r"]
    broken = set()
    for x in receptions:
        sx = send[x[1]]
        if any(place[sx] < place[s] < place[x] for s in send.values() if s[1] != x[1]):
            broken.add("rsc")
        for y in receptions:
            sy = send[y[1]]
            if x[1] == y[1] or place[sx] > place[sy] or place[x] < place[y]:
                continue
            broken.add("fifo-n-n")
            if sx[2] == sy[2]:
                broken.add("fifo-1-n")
            if x[2] == y[2]:
                broken.add("fifo-n-1")
                if (sx, sy) in before:
                    broken.add("causal")
                if sx[2] == sy[2]:
                    broken.add("fifo-1-1")
    return frozenset(NAMES) - broken


@cache
def verdicts(chains: Chains) -> dict[str, tuple[bool, bool]]:
    """Closure and interior of each ordering."""
    before = causal(chains)
    every = [satisfied(execution, before) for execution in executions(chains)]
    some, all_ = frozenset().union(*every), frozenset(NAMES).intersection(*every)
    return {name: (name in some, name in all_) for name in NAMES}


def one_queue(chains: Chains) -> bool:
    """Whether one queue for all peers can carry a fully received computation: the closure of Fifo n-n.

    Tries every schedule in which each reception takes the head of the queue, no state twice.
    """
    rows = placed(chains)
    stack: list[tuple[tuple[int, ...], tuple[int, ...]]] = [((0,) * len(rows), ())]
    seen = set(stack)
    while stack:
        at, queue = stack.pop()
        if all(i == len(row) for i, row in zip(at, rows, strict=True)):
            return True
        for p, row in enumerate(rows):
            if at[p] == len(row):
                continue
            kind, m, _ = row[at[p]]
            if kind == "s":
                after = (*queue, m)
            elif queue and queue[0] == m:
                after = queue[1:]
            else:
                continue
            state = ((*at[:p], at[p] + 1, *at[p + 1 :]), after)
            if state not in seen:
                seen.add(state)
                stack.append(state)
    return False


@cache
def computations(messages: int, peers: int, lossless: bool = False) -> tuple[Chains, ...]:
    """All point-to-point ones with exactly so many messages, one of each isomorphism class, sorted.

    Or only the fully received ones (`lossless`). Leaving a message out leaves a computation, so those with
    one more arise by insertion.
    """
    if messages == 0:
        return ((),)
    found = set()
    for chains in computations(messages - 1, peers, lossless):
        for p, sent in _inserted(chains, ("s", messages - 1), peers):
            if not lossless:
                found.add(canonical(sent))
            for q, received in _inserted(sent, ("r", messages - 1), peers):
                if q != p and next(executions(received), None) is not None:
                    found.add(canonical(received))
    return tuple(sorted(found))


@cache
def multicasts(messages: int, peers: int) -> tuple[Chains, ...]:
    """All with exactly so many messages, each received by any other peers, up to isomorphism, sorted."""
    if messages == 0:
        return ((),)
    m = messages - 1
    found: set[Chains] = set()
    for chains in multicasts(m, peers):
        waiting = [(sent, frozenset({p})) for p, sent in _inserted(chains, ("s", m), peers)]
        seen = set(waiting)
        while waiting:
            sent, have = waiting.pop()
            found.add(canonical(sent))
            for q, received in _inserted(sent, ("r", m), peers):
                after = (received, have | {q})
                if q not in have and after not in seen and next(executions(received), None) is not None:
                    seen.add(after)
                    waiting.append(after)
    return tuple(sorted(found))


def shown(chains: Chains) -> str:
    """In the notation of the pages, messages from 1."""
    return "|".join(" ".join(f"{kind}{m + 1}" for kind, m in chain) for chain in chains)


def _inserted(chains: Chains, event: Event, peers: int) -> Iterator[tuple[int, Chains]]:
    for p, chain in enumerate(chains):
        for at in range(len(chain) + 1):
            yield p, (*chains[:p], (*chain[:at], event, *chain[at:]), *chains[p + 1 :])
    if len(chains) < peers:
        yield len(chains), (*chains, (event,))


def canonical(chains: Chains) -> Chains:
    """The least form under renaming of peers and messages: least beginnings go on with the least."""
    least: Chains = ()
    begun: list[tuple[dict[int, int], Chains]] = [({}, chains)]
    for _ in chains:
        longer = []
        for names, left in begun:
            for at, chain in enumerate(left):
                known = names.copy()
                form = tuple((kind, known.setdefault(m, len(known))) for kind, m in chain)
                longer.append((form, known, (*left[:at], *left[at + 1 :])))
        next_ = min(form for form, _, _ in longer)
        least = (*least, next_)
        begun = [(known, left) for form, known, left in longer if form == next_]
    return least
