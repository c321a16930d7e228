"""The message orderings of an unbounded execution: events as they come, in bounded memory.

A monitor remembers the messages in transit. Which those are is known where sends name their receivers; of
others, and of messages that are lost, the oldest are forgotten when there are more than a limit.
"""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Sequence

from microcosm.errors import MicrocosmError
from microcosm.orderings.monitor import Monitor, Pair
from microcosm.orderings.ordering import Ordering


class Unfit(MicrocosmError):
    """An event fits no computation; `kind` says in which way, as irregularities of logs are named."""

    def __init__(self, kind: str, said: str) -> None:
        super().__init__(said)
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
    def violated(self) -> dict[Ordering, Pair]:
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
