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
    Cost: a reception takes time linear in the peers, a send too.

    >>> monitor = Monitor()
    >>> monitor.send("p", "a"), monitor.send("p", "b"), monitor.receive("q", "b")[0]
    ([], [], <Ordering.RSC: 'rsc'>)
    """

    def __init__(self) -> None:
        self.violated: dict[Ordering, Pair] = {}
        self._peers: dict[str, int] = {}
        self._sent = 0
        self._last = ""
        self._transit: dict[str, tuple[int, int, int, list[int]]] = {}  # position, sender, own count, clock
        self._clocks: list[list[int]] = []  # how many sends of each peer a peer has seen
        self._seen: list[list[int]] = []  # how many sends of each peer precede a send received by a peer
        self._witness: list[dict[int, str]] = []  # by sender: the message received that had seen most of it
        self._channel: dict[tuple[int, int], tuple[int, str]] = {}
        self._mailbox: dict[int, tuple[int, str]] = {}
        self._outbox: dict[int, tuple[int, str]] = {}
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
        self._transit[message] = (self._sent, sender, clock[sender], clock.copy())
        self._last = message
        return []

    def forget(self, message: str) -> None:
        """Nobody will receive this message any more."""
        self._transit.pop(message, None)

    def receive(self, peer: str, message: str) -> list[Ordering]:
        """The next event receives `message`; the orderings that are violated from now on."""
        receiver = self._peer(peer)
        position, sender, own, clock = self._transit[message]
        violated = self.violated
        before = len(violated)
        if message != self._last:
            violated.setdefault(Ordering.RSC, (message, self._last))
        if position < self._queue[0]:
            violated.setdefault(Ordering.FIFO_N_N, (message, self._queue[1]))
        else:
            self._queue = (position, message)
        for boxes, key, ordering in (
            (self._outbox, sender, Ordering.FIFO_1_N),
            (self._mailbox, receiver, Ordering.FIFO_N_1),
            (self._channel, (sender, receiver), Ordering.FIFO_1_1),
        ):
            latest = boxes.get(key)  # type: ignore[attr-defined]
            if latest is None or latest[0] <= position:
                boxes[key] = (position, message)  # type: ignore[index]
            else:
                violated.setdefault(ordering, (message, latest[1]))
        seen = self._seen[receiver]
        if Ordering.CAUSAL not in violated:
            if seen[sender] >= own:
                violated[Ordering.CAUSAL] = (message, self._witness[receiver][sender])
            elif len(clock) < len(seen):
                clock = clock + [0] * (len(seen) - len(clock))
        if Ordering.CAUSAL not in violated:
            witness = self._witness[receiver]
            grown = [at for at, (new, old) in enumerate(zip(clock, seen, strict=True)) if new > old]
            for at in grown:
                witness[at] = message
                seen[at] = clock[at]
            known = self._clocks[receiver]
            self._clocks[receiver] = [a if a > b else b for a, b in zip(known, clock, strict=True)]
        if len(violated) == before:
            return []
        return [ordering for ordering, _ in list(violated.items())[before:]]


def violations(computation: Computation, order: Iterable[int]) -> dict[Ordering, Pair]:
    """The orderings that an execution violates, each with its first inverted pair.

    `order` must be a linear extension of the computation. Cost: O(events × peers).
    """
    monitor = Monitor()
    left = list(map(len, computation.receptions))
    peers, messages = computation.peers, computation.messages
    for event in order:
        m = computation.message[event]
        if computation.send[m] == event:
            monitor.send(peers[computation.peer[event]], messages[m])
        else:
            monitor.receive(peers[computation.peer[event]], messages[m])
            left[m] -= 1
        if not left[m]:
            monitor.forget(messages[m])
    return monitor.violated
