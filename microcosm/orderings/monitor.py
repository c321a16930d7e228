"""The six predicates over executions (seed 004, Table 1), checked event by event as they happen.

A violation of any is a pair of messages: the first is sent first and received last (RSC: the second
is sent between the first one's send and its reception). The same checks decide whether a whole
execution satisfies an ordering. What is remembered is bounded by the peers and the messages in
transit: one vector for each message that may still be received.
"""

from __future__ import annotations

from collections.abc import Iterable

from microcosm.orderings.computation import Computation
from microcosm.orderings.ordering import Ordering

Pair = tuple[str, str]
"""Two messages, by their names."""


class Monitor:
    """What an execution has violated so far: `violated[ordering]` is the first inverted pair.

    `send` and `receive` return the orderings that are violated for the first time. Receptions of
    unknown messages raise `KeyError`. `forget` releases a message that nobody will receive any more.
    Cost: constant an event, and linear in the peers for Causal, which is passed over without `clocks`.

    >>> monitor = Monitor()
    >>> for message in "ab":
    ...     _ = monitor.send("p", message)
    >>> monitor.receive("q", "b")
    []
    >>> [one.value for one in monitor.receive("r", "a")], monitor.violated[Ordering.FIFO_1_N]
    (['rsc', 'fifo-n-n', 'fifo-1-n'], ('a', 'b'))
    """

    def __init__(self, clocks: bool = True) -> None:
        self.violated: dict[Ordering, Pair] = {}
        self._with_clocks = clocks
        self._peers: dict[str, int] = {}
        self._sent = 0
        self._last = ""
        self._transit: dict[str, tuple[int, int, int, list[int]]] = {}  # position, sender, own count, clock
        self._clocks: list[list[int]] = []  # how many sends of each peer a peer has seen
        self._seen: list[list[int]] = []  # how many sends of each peer precede a send received by a peer
        self._witness: list[dict[int, str]] = []  # by sender: the message received that had seen most of it
        # By sender and receiver (-1: any): the latest send that has been received, and its message.
        self._boxes: dict[tuple[int, int], tuple[int, str]] = {}
        self._queue = (0, "")

    def _peer(self, name: str) -> int:
        peer = self._peers.get(name)
        if peer is None:
            peer = self._peers[name] = len(self._clocks)
            for vectors in (self._clocks, self._seen):
                for vector in vectors:
                    vector.append(0)
                vectors.append([0] * (peer + 1))
            self._witness.append({})
        return peer

    def send(self, peer: str, message: str) -> list[Ordering]:
        """The next event sends `message`; nothing can be violated yet."""
        sender = self._peer(peer)
        self._sent += 1
        clock = self._clocks[sender]
        clock[sender] += 1
        known = clock.copy() if self._with_clocks else clock
        self._transit[message] = (self._sent, sender, clock[sender], known)
        self._last = message
        return []

    def forget(self, message: str) -> None:
        """Nobody will receive this message any more."""
        self._transit.pop(message, None)

    def receive(self, peer: str, message: str) -> list[Ordering]:
        """The next event receives `message`; the orderings that are violated from now on."""
        receiver = self._peer(peer)
        position, sender, own, clock = self._transit[message]
        violated, boxes = self.violated, self._boxes
        before = len(violated)
        if message != self._last:
            violated.setdefault(Ordering.RSC, (message, self._last))
        if position < self._queue[0]:
            violated.setdefault(Ordering.FIFO_N_N, (message, self._queue[1]))
        else:
            self._queue = (position, message)
        for ordering, of in (
            (Ordering.FIFO_1_N, (sender, -1)),
            (Ordering.FIFO_N_1, (-1, receiver)),
            (Ordering.FIFO_1_1, (sender, receiver)),
        ):
            latest = boxes.get(of)
            if latest is None or latest[0] <= position:
                boxes[of] = (position, message)
            else:
                violated.setdefault(ordering, (message, latest[1]))
        if self._with_clocks and Ordering.CAUSAL not in violated:
            self._receive_causally(receiver, message, sender, own, clock)
        if len(violated) == before:
            return []
        return [ordering for ordering, _ in list(violated.items())[before:]]

    def _receive_causally(self, receiver: int, message: str, sender: int, own: int, clock: list[int]) -> None:
        seen, witness = self._seen[receiver], self._witness[receiver]
        if seen[sender] >= own:
            self.violated[Ordering.CAUSAL] = (message, witness[sender])
            return
        if len(clock) < len(seen):
            clock = clock + [0] * (len(seen) - len(clock))
        for at in [at for at, (new, old) in enumerate(zip(clock, seen, strict=True)) if new > old]:
            witness[at] = message
            seen[at] = clock[at]
        known = self._clocks[receiver]
        self._clocks[receiver] = [a if a > b else b for a, b in zip(known, clock, strict=True)]


def violations(computation: Computation, order: Iterable[int]) -> dict[Ordering, Pair]:
    """The orderings that an execution violates, each with its first inverted pair.

    `order` must be a linear extension of the computation. Cost: O(events × peers).
    """
    return _watch(computation, order, Monitor(), None)


def violation(computation: Computation, order: Iterable[int], ordering: Ordering) -> Pair | None:
    """The first pair that violates one ordering, or None. Cost: linear, but for Causal as above."""
    clocks = ordering is Ordering.CAUSAL
    return _watch(computation, order, Monitor(clocks), ordering).get(ordering)


def _watch(
    computation: Computation, order: Iterable[int], monitor: Monitor, only: Ordering | None
) -> dict[Ordering, Pair]:
    left = list(map(len, computation.receptions))
    peers, messages = computation.peers, computation.messages
    peer, message, send = computation.peer, computation.message, computation.send
    for event in order:
        m = message[event]
        if send[m] == event:
            monitor.send(peers[peer[event]], messages[m])
        else:
            if only in monitor.receive(peers[peer[event]], messages[m]):
                break
            left[m] -= 1
        if not left[m]:
            monitor.forget(messages[m])
    return monitor.violated
