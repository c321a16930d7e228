"""Closure of Fifo n-n, one queue for all: left open by Orderings Beyond Causality (section 3.3).

Let ⊲ be the least transitive relation that holds of causally ordered events and, whenever a reception
of message a is ⊲ before one of another message b, also of their sends. **Theorem.** Some causally equivalent
execution is Fifo n-n iff ⊲ is irreflexive. If it is: place any send all of whose ⊲-predecessors are
placed, and where there is none receive the message at the head of the queue. Something of it can always
be received: what it waits for begins with receptions that wait for nothing, and the message of such a
one was sent before the head, or is the head. `docs/theory/fifo-n-n.md` has the proof, and why no
bounded pattern exists.

The relation is worked out backwards: `later[e][q]` counts the last events of peer q that are e itself or
⊲-after e. The send of m is ready when all that follows it is done and, for each peer q, the send
answered by the earliest reception of q that is ⊲-after a reception of m.

That takes a number for each event and peer. Where these are too many, an execution is laid out along the
derived edges found so far, again and again (`Rounds`). Wherever the head of the queue cannot be received, it
waits for a reception of a message that was sent later: a derived edge that was not known yet.
"""

from __future__ import annotations

from itertools import pairwise

from microcosm.errors import MicrocosmError
from microcosm.orderings.closures import AddedEdges, along, cycle_path, mailbox_edges, shortest
from microcosm.orderings.computation import Computation, parse, predecessors

VECTORS = 1 << 24
"""More numbers than these, a hundred megabytes, are not kept where rounds tell the answer."""

ROUNDS, STEPS = 100, 64
"""So many rounds are made at most, with so many steps back for each event on average."""


def queue_execution(computation: Computation) -> list[int] | None:
    """A causally equivalent execution that is Fifo n-n, or None.

    Cost: O(events × peers), and as much again for each derived edge that is kept; where these are many, and
    mostly some dozen rounds are enough, linear for each.

    >>> queue_execution(parse("s1 r2|s2 r1")), queue_execution(parse("s1 r2|s2 s3|r3 s4|r4 r1"))
    ([2, 0, 1, 3], None)
    """
    if _many(computation):
        try:
            return Rounds(computation).execution()
        except Unsettled:
            pass
    derived = DerivedOrder(computation).run()
    return None if derived is None else Rounds(computation, derived).laid_out()[0]


def _many(computation: Computation) -> bool:
    return len(computation) * len(computation.chains) > VECTORS


class DerivedOrder:
    """The derived edges from sends to sends, found from the ends of the chains (Kahn, backwards)."""

    def __init__(self, computation: Computation) -> None:
        self._of = computation
        count = len(computation)
        chains = computation.chains
        self._done = bytearray(count) + b"\1"  # the last one stands for "no event"
        self._from_end = [
            len(chains[p]) - i for p, i in zip(computation.peer, computation.index, strict=True)
        ]
        self._from_end.append(0)
        self._home = [*computation.peer, 0]
        self._earliest = [self._answered(chain) for chain in chains]
        self._later: list[list[int] | None] = [None] * (count + 1)
        self._awaited: dict[int, list[int]] = {}
        self.edges: AddedEdges = {}
        """The derived edges found, but those that follow from others."""
        self.blocked: dict[int, int] = {}
        """For the event at which each peer stands still the later one that it waits for."""
        self._waiting: list[int] = []

    def _answered(self, chain: list[int]) -> list[int]:
        """By the number of last events of a peer: the send that the earliest reception among them answers."""
        found = [-1]
        for event in reversed(chain):
            found.append(found[-1] if self._of.sends(event) else self._of.send[self._of.message[event]])
        return found

    def run(self) -> AddedEdges | None:
        """The edges, or None where ⊲ is reflexive somewhere. Cost: events times peers."""
        chains = self._of.chains
        left = [len(chain) - 1 for chain in chains]
        self._waiting = list(range(len(chains)))
        placed = 0
        while self._waiting:
            p = self._waiting.pop()
            chain, at = chains[p], left[p]
            while at >= 0 and self._place(chain[at], chain[at + 1] if at + 1 < len(chain) else -1):
                at -= 1
                placed += 1
            left[p] = at
        return self.edges if placed == len(self._of) else None

    def _place(self, event: int, after: int) -> bool:
        of = self._of
        m = of.message[event]
        p = of.peer[event]
        later = self._later[after] or [0] * len(of.chains)
        if of.send[m] == event and of.receptions[m]:
            found = self._received(event, m, later)
            if found is None:
                return False
            later = found
        else:
            later = later.copy()
        later[p] = self._from_end[event]
        self._later[event] = later
        self._done[event] = 1
        self.blocked.pop(event, None)
        self._waiting += self._awaited.pop(event, ())
        return True

    def _received(self, event: int, m: int, later: list[int]) -> list[int] | None:
        """What is ⊲-after the send of a received message; None, and a wake-up, if not known yet."""
        of, done, home, from_end = self._of, self._done, self._home, self._from_end
        receptions = of.receptions[m]
        for reception in receptions:
            if not done[reception]:
                self._wait(event, reception)
                return None
        after = self._later[receptions[0]]
        assert after is not None
        for reception in receptions[1:]:
            other = self._later[reception]
            assert other is not None
            after = [a if a > b else b for a, b in zip(after, other, strict=True)]
        first = [answered[count] for answered, count in zip(self._earliest, after, strict=True)]
        for reception in receptions:
            q = of.peer[reception]
            if first[q] == event:
                first[q] = self._earliest[q][from_end[reception] - 1]
        for send in first:
            if not done[send]:
                self._wait(event, send)
                return None
        found = [a if a > b else b for a, b in zip(later, after, strict=True)]
        targets = []
        nearest = of.peer[receptions[0]]
        for send in (first[nearest], *first):
            if found[home[send]] < from_end[send]:
                beyond = self._later[send]
                assert beyond is not None
                found = [a if a > b else b for a, b in zip(found, beyond, strict=True)]
                targets.append(send)
        if targets:
            self.edges[event] = targets
        for reception in receptions:
            if not of.index[reception] or done[reception - 1]:
                self._later[reception] = None  # nobody asks any more
        return found

    def _wait(self, event: int, later: int) -> None:
        self.blocked[event] = later
        self._awaited.setdefault(later, []).append(self._of.peer[event])


class Unsettled(MicrocosmError):
    """After so many rounds it was not known whether there is an execution."""


class Rounds:
    """Derived edges found by laying out executions; `found` says of each in which round, from 0.

    Cost: linear in the events, and the derived edges that are found.
    """

    def __init__(self, computation: Computation, edges: AddedEdges | None = None) -> None:
        """It begins with `edges`, which are all that there are, or with those that are seen at once."""
        self._of = computation
        self._edges = mailbox_edges(computation) if edges is None else edges
        self._before: AddedEdges = {}
        self.found: dict[tuple[int, int], int] = {}
        for a, later in self._edges.items() if edges is None else ():
            for b in later:
                self._before.setdefault(b, []).append(a)
                self.found[a, b] = 0

    def execution(self) -> list[int] | None:
        """An execution that is Fifo n-n, None where there is none. Raises `Unsettled`. Cost: see `ROUNDS`."""
        for number in range(1, ROUNDS):
            order, missing = self.laid_out()
            if len(order) < len(self._of):
                return None
            if not missing:
                return order
            for a, b in missing:
                self._edges.setdefault(a, []).append(b)
                self._before.setdefault(b, []).append(a)
                self.found[a, b] = number
        raise Unsettled("it takes too many rounds to tell whether one queue can carry all messages")

    def cycle(self) -> list[int]:
        """As `queue_cycle`; `execution` was None. Cost: a shortest path for each derived edge."""
        way = cycle_path(self._of, self._edges)
        messages = {self._of.message[event] for event in way}
        reasons = dict.fromkeys(pair for pair in pairwise(way) if pair in self.found)
        waiting = [*reasons]
        while waiting:
            way = self._reason(*waiting.pop())
            messages.update(self._of.message[event] for event in way)
            more = [pair for pair in pairwise(way) if pair in self.found and pair not in reasons]
            reasons.update(dict.fromkeys(more))
            waiting += more
        return sorted(messages)

    def _reason(self, a: int, b: int) -> list[int]:
        """Why a derived edge is one: a path between receptions, along edges that were found before it."""
        receptions, message, found = self._of.receptions, self._of.message, self.found
        number, jumps = found[a, b], along(self._of, self._edges)

        def earlier(event: int) -> list[int]:
            return [target for target in jumps(event) if found.get((event, target), -1) < number]

        ways = (shortest(self._of, r, receptions[message[b]], earlier) for r in receptions[message[a]])
        return next(way for way in ways if way is not None)

    def laid_out(self) -> tuple[list[int], set[tuple[int, int]]]:
        """An execution along the edges, as far as they have no cycle, and the edges that it lacks.

        Sends as soon as they can be placed, else receptions of the message at the head of the queue. Cost:
        linear, and `STEPS` for what is awaited.
        """
        of = self._of
        send, message = of.send, of.message
        waiting = predecessors(of, self._edges)
        sends = [event for event, count in enumerate(waiting) if not count]
        left = [*map(len, of.receptions)]
        ready: dict[int, list[int]] = {}
        queue: list[int] = []
        head = 0
        placed = bytearray(len(of))
        order: list[int] = []
        lacking: set[tuple[int, int]] = set()
        self._steps = STEPS * len(of)
        while True:
            if sends:
                event = sends.pop()
                m = message[event]
                after = [*of.successors(event), *self._edges.get(event, ())]
                if left[m]:
                    queue.append(m)
            else:
                while head < len(queue) and not left[queue[head]]:
                    head += 1
                if head == len(queue):
                    return order, lacking
                m = queue[head]
                if not ready.get(m):
                    at = next(r for r in of.receptions[m] if not placed[r])
                    first = self._awaited(at, waiting, placed)
                    if first is None:
                        return order, lacking
                    lacking.add((send[message[first]], send[m]))
                    m = message[first]
                    ready[m].remove(first)
                    event = first
                else:
                    event = ready[m].pop()
                left[m] -= 1
                after = of.successors(event)
            placed[event] = 1
            order.append(event)
            for target in after:
                waiting[target] -= 1
                if not waiting[target]:
                    if of.sends(target):
                        sends.append(target)
                    else:
                        ready.setdefault(message[target], []).append(target)

    def _awaited(self, event: int, waiting: list[int], placed: bytearray) -> int | None:
        """An event before this one that waits for none; None where the edges run in a cycle."""
        of = self._of
        seen: set[int] = set()
        while waiting[event]:
            if event in seen:
                return None
            seen.add(event)
            self._steps -= 1
            if self._steps < 0:
                raise Unsettled("it takes too many steps to tell whether one queue can carry all messages")
            sending = of.send[of.message[event]]
            earlier = [event - 1] if of.index[event] else []
            earlier += self._before.get(event, ()) if sending == event else (sending,)
            event = next(e for e in earlier if not placed[e])
        return event


def queue_cycle(computation: Computation) -> list[int]:
    """Messages of a short cycle of ⊲, with those that justify its derived edges; there must be one.

    Cost: that of the derivation, and of a shortest path for each derived edge.
    """
    if _many(computation):
        rounds = Rounds(computation)
        try:
            assert rounds.execution() is None
            return rounds.cycle()
        except Unsettled:
            pass
    derivation = DerivedOrder(computation)
    assert derivation.run() is None
    blocked, peer, message = derivation.blocked, computation.peer, computation.message
    stands = {peer[event]: event for event in blocked}
    at = next(iter(blocked))
    passed: list[int] = []
    while at not in passed:  # what it waits for is not after where that peer stands
        passed.append(at)
        at = stands[peer[blocked[at]]]
    unjustified = [(event, blocked[event]) for event in passed[passed.index(at) :]]
    found = {message[event] for pair in unjustified for event in pair}
    edges = along(computation, derivation.edges)
    justified: set[tuple[int, int]] = set()
    while unjustified:
        pair = unjustified.pop()
        m, n = (message[event] for event in pair)
        if m == n or pair in justified:
            continue
        justified.add(pair)
        receptions = computation.receptions
        paths = (shortest(computation, r, receptions[n], edges) for r in receptions[m])
        way = next(path for path in paths if path is not None)
        found.update(map(message.__getitem__, way))
        unjustified += [(a, b) for a, b in pairwise(way) if peer[a] != peer[b] and message[a] != message[b]]
    return sorted(found)


def ladder(rungs: int) -> Computation:
    """The k-ladder: 2k + 2 messages, not Fifo n-n in any execution, and minimal in this.

    Cost: linear in the rungs.

    >>> str(ladder(1))
    'sc0 sb0|rb0 sb1|sc1 rc0|rb1 rc1'
    """
    steps = [f"rb{i - 1} sb{i}|sc{i} rc{i - 1}" for i in range(1, rungs + 1)]
    return parse("|".join(["sc0 sb0", *steps, f"rb{rungs} rc{rungs}"]))
