"""The six message orderings (Orderings Beyond Causality, Table 1, in its corrected form), and their monitors.

Orders are strict, and messages distinct.

The predicates are checked event by event as they happen. A violation of any is a pair of messages: the first
is sent first and received last (RSC: the second is sent between the first one's send and its reception). The
same checks decide whether a whole execution satisfies an ordering. What is remembered is bounded by the peers
and the messages in transit: one vector for each message that may still be received.

`Stream` watches an unbounded execution in bounded memory. A monitor remembers the messages in transit. Which
those are is known where sends name their receivers; of others, and of messages that are lost, the oldest are
forgotten when there are more than a limit.
"""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Collection, Iterable, Sequence
from enum import StrEnum

from microcosm.errors import MicrocosmError
from microcosm.orderings.computation import Computation


class Ordering(StrEnum):
    """What a network may keep: whatever is sent first, in a sense, is received first.

    Members stand in the order of the table; `weaker` has what each implies (Lemma 4).
    """

    FIFO_1_1 = "fifo-1-1"
    """Per channel: one sender, one receiver."""
    CAUSAL = "causal"
    """Per receiver, where the sends are causally ordered."""
    FIFO_N_1 = "fifo-n-1"
    """Per receiver (a mailbox), however the sends are ordered."""
    FIFO_1_N = "fifo-1-n"
    """Per sender (an outbox), whoever receives."""
    FIFO_N_N = "fifo-n-n"
    """One queue for all."""
    RSC = "rsc"
    """Realizable with synchronous communication: nothing is sent between a send and its reception."""

    def weaker(self, multicast: bool) -> tuple[Ordering, ...]:
        """The orderings that this one implies directly: of messages with one receiver each, or of any.

        Where a message has several, one of them may send what follows from it to another, which then need
        not have it yet: Fifo 1-n compares messages of one sender only, and no longer implies Causal. Cost:
        constant.

        >>> [one.value for one in Ordering.FIFO_N_N.weaker(multicast=True)]
        ['fifo-n-1', 'fifo-1-n']
        >>> [[*map(str, Ordering.FIFO_1_N.weaker(multicast))] for multicast in (False, True)]
        [['causal'], ['fifo-1-1']]
        """
        if multicast and self is Ordering.FIFO_1_N:
            return (Ordering.FIFO_1_1,)
        return _WEAKER[self]

    @staticmethod
    def strongest(held: Collection[Ordering], multicast: bool) -> list[Ordering]:
        """Those that no other one of them implies, in the order of the table.

        Cost: constant.

        >>> Ordering.strongest([Ordering.CAUSAL, Ordering.FIFO_1_N], multicast=True)
        [<Ordering.CAUSAL: 'causal'>, <Ordering.FIFO_1_N: 'fifo-1-n'>]
        """
        implied: set[Ordering] = set()
        for one in reversed(Ordering):
            if one in held or one in implied:
                implied.update(one.weaker(multicast))
        return [one for one in Ordering if one in held and one not in implied]


_WEAKER = {
    Ordering.FIFO_1_1: (),
    Ordering.CAUSAL: (Ordering.FIFO_1_1,),
    Ordering.FIFO_N_1: (Ordering.CAUSAL,),
    Ordering.FIFO_1_N: (Ordering.CAUSAL,),
    Ordering.FIFO_N_N: (Ordering.FIFO_N_1, Ordering.FIFO_1_N),
    Ordering.RSC: (Ordering.FIFO_N_N,),
}


MessagePair = tuple[str, str]
"""Two messages, by their names."""


Clock = dict[int, int]
"""By peer a number of sends; 0 of whom it does not name."""

_EMPTY: Clock = {}

_FEW = 32
"""A record of so many peers is not searched for what can be forgotten."""


class Monitor:
    """What an execution has violated so far: `violated[ordering]` is the first inverted pair.

    `receive` returns the orderings that are violated for the first time. Receptions of
    unknown messages raise `KeyError`. `forget` releases a message that nobody will receive any more.
    Cost: constant an event, and for Causal, which is passed over without `clocks`, linear in the peers of
    which something is in transit; memory likewise.

    >>> monitor = Monitor()
    >>> for message in "ab":
    ...     monitor.send("p", message)
    >>> monitor.receive("q", "b")
    []
    >>> [one.value for one in monitor.receive("r", "a")], monitor.violated[Ordering.FIFO_1_N]
    (['rsc', 'fifo-n-n', 'fifo-1-n'], ('a', 'b'))
    """

    def __init__(self, clocks: bool = True) -> None:
        self.violated: dict[Ordering, MessagePair] = {}
        self._with_clocks = clocks
        self._peers: dict[str, int] = {}
        self._sent = 0
        self._last = ""
        self._transit: dict[str, tuple[int, int, int, Clock]] = {}  # position, sender, own count, clock
        self._counts: list[int] = []  # how often each peer sent
        self._open: list[OrderedDict[int, None]] = []  # of each peer which of its sends are in transit
        self._clocks: list[Clock] = []  # how many sends of each peer a peer has seen
        self._seen: list[Clock] = []  # how many sends of each peer precede a send received by a peer
        self._witness: list[dict[int, str]] = []  # by sender: the message received that had seen most of it
        # By sender and receiver (-1: any): the latest send that has been received, and its message.
        self._boxes: dict[tuple[int, int], tuple[int, str]] = {}
        self._queue = (0, "")

    def _peer(self, name: str) -> int:
        peer = self._peers.get(name)
        if peer is None:
            peer = self._peers[name] = len(self._counts)
            self._counts.append(0)
            if self._with_clocks:
                self._open.append(OrderedDict())
                self._clocks.append({})
                self._seen.append({})
                self._witness.append({})
        return peer

    def send(self, peer: str, message: str) -> None:
        """The next event sends `message`; nothing can be violated by it."""
        sender = self._peer(peer)
        self._sent += 1
        self._counts[sender] += 1
        own, clock = self._counts[sender], _EMPTY
        if self._with_clocks:
            self._open[sender][own] = None
            clock = self._clocks[sender] = self._still_open(self._clocks[sender])
            clock[sender] = own
        self._transit[message] = (self._sent, sender, own, clock)
        self._last = message

    def _still_open(self, clock: Clock) -> Clock:
        """What a clock says of peers of which a send that it counts is in transit; no other one matters."""
        found: Clock = {}
        for peer, count in clock.items():
            sends = self._open[peer]
            if sends and next(iter(sends)) <= count:
                found[peer] = count
        return found

    def forget(self, message: str) -> None:
        """Nobody will receive this message any more."""
        known = self._transit.pop(message, None)
        if known is not None and self._with_clocks:
            del self._open[known[1]][known[2]]

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

    def _receive_causally(self, receiver: int, message: str, sender: int, own: int, clock: Clock) -> None:
        seen, witness = self._seen[receiver], self._witness[receiver]
        if seen.get(sender, 0) >= own:
            self.violated[Ordering.CAUSAL] = (message, witness[sender])
            return
        clock = self._still_open(clock)
        if len(seen) > _FEW + 2 * len(clock):
            seen = self._seen[receiver] = self._still_open(seen)
            self._witness[receiver] = witness = {peer: witness[peer] for peer in seen}
        known = self._clocks[receiver].copy()
        for peer, count in clock.items():
            if seen.get(peer, 0) < count:
                seen[peer] = count
                witness[peer] = message
            if known.get(peer, 0) < count:
                known[peer] = count
        self._clocks[receiver] = known


def violations(computation: Computation, order: Iterable[int]) -> dict[Ordering, MessagePair]:
    """The orderings that an execution violates, each with its first inverted pair.

    `order` must be a linear extension of the computation. Cost: O(events × peers).
    """
    return _watch(computation, order, Monitor(), None)


def violation(computation: Computation, order: Iterable[int], ordering: Ordering) -> MessagePair | None:
    """The first pair that violates one ordering, or None. Cost: linear, but for Causal as above."""
    clocks = ordering is Ordering.CAUSAL
    return _watch(computation, order, Monitor(clocks), ordering).get(ordering)


def _watch(
    computation: Computation, order: Iterable[int], monitor: Monitor, only: Ordering | None
) -> dict[Ordering, MessagePair]:
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


class Unfit(MicrocosmError):
    """An event fits no computation; `kind` says in which way, as irregularities of logs are named."""

    def __init__(self, kind: str, message: str) -> None:
        super().__init__(message)
        self.kind = kind


class Watch:
    """A monitor for events that may be anything, with at most `most` messages in transit.

    `sent`, `received` and `forgotten` count. Cost: as the monitor, per event.

    >>> watch = Watch(100)
    >>> watch.send("p", "a", ["q"]), watch.send("p", "b", ["q"])
    (None, None)
    >>> [one.value for one in watch.receive("q", "b")], [one.value for one in watch.receive("q", "a")]
    ([], ['rsc', 'fifo-n-n', 'fifo-1-n', 'fifo-n-1', 'fifo-1-1', 'causal'])
    """

    def __init__(self, most: int) -> None:
        self.sent = self.received = self.forgotten = 0
        self._most = most
        self._monitor = Monitor()
        self._transit: OrderedDict[str, tuple[str, set[str], set[str]]] = OrderedDict()
        """By message its sender, the receivers that it still has to reach, and those that have it."""

    @property
    def violated(self) -> dict[Ordering, MessagePair]:
        """The orderings violated so far, each with its first inverted pair."""
        return self._monitor.violated

    def send(self, peer: str, message: str, to: Sequence[str] = ()) -> None:
        """The next event sends `message`. Raises `Unfit` for one that is in transit already."""
        known = self._transit.get(message)
        if known is not None:
            raise Unfit("repeated-send", f"{known[0]} sent {message} already")
        self.sent += 1
        self._monitor.send(peer, message)
        self._transit[message] = (peer, set(to) - {peer}, set())
        if len(self._transit) > self._most:
            oldest, _ = self._transit.popitem(last=False)
            self._monitor.forget(oldest)
            self.forgotten += 1

    def receive(self, peer: str, message: str) -> list[Ordering]:
        """The next event receives `message`; what is violated for the first time. Raises `Unfit`."""
        known = self._transit.get(message)
        if known is None:
            raise Unfit("unmatched-receive", f"{message} is not in transit: not sent, received or forgotten")
        sender, awaited, reached = known
        if peer == sender:
            raise Unfit("self-send", f"{peer} receives {message}, which it sent itself")
        if peer in reached:
            raise Unfit("duplicate-receive", f"{peer} receives {message} again")
        if awaited and peer not in awaited:
            raise Unfit("wrong-receiver", f"{message} was not sent to {peer}")
        found = self._monitor.receive(peer, message)
        self.received += 1
        reached.add(peer)
        if awaited and len(awaited) == 1:
            del self._transit[message]
            self._monitor.forget(message)
        else:
            awaited.discard(peer)
        return found
