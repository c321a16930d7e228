"""Whether every message of a run went to the network in time (SPS and CSPS), from its events alone.

SPS (Hybrid Buffering, Definition 4.1): process i gives the copy of m for j to the network only when every
copy of a message before m, to others than i, from a process k other than j (and i) that sent to i, has been
delivered. CSPS (Definition 4.3) makes no exception for j, nor for copies to i. With FIFO either implies
causal delivery (Propositions 4.2 and 4.4); what one sender sent before is a matter of FIFO, not of these.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Iterator
from enum import Enum

from microcosm.order.bits import bits
from microcosm.simulation.run import CAUSAL_SEND, DELIVER, SEND, Event, Violation


class Strategy(Enum):
    """When a message may go to the network."""

    SPS = "SPS"
    CSPS = "CSPS"


class SendCheck:
    """Watches a run, event by event; causal pasts are bit sets, so it is for runs of some thousand messages.

    For unicast and multicast; a message to oneself never travels and is not looked at.
    """

    def __init__(self, strategy: Strategy) -> None:
        self.strategy = strategy
        self.violations: list[Violation] = []
        self._sender: dict[int, int] = {}
        self._before: dict[int, int] = {}
        self._past: defaultdict[int, int] = defaultdict(int)
        self._heard: defaultdict[int, set[int]] = defaultdict(set)
        """Who has sent to a process, as far as it has delivered."""
        self._sources: dict[int, frozenset[int]] = {}
        """Of each message, who had sent to its sender."""
        self._missing: dict[int, set[int]] = {}
        """Of each message, the receivers that have not delivered it."""
        self._open = 0
        """The messages that some receiver misses, as bits."""
        self._sent: set[tuple[int, int]] = set()

    def see(self, event: Event) -> None:
        """Take note of the next event."""
        if event.kind == CAUSAL_SEND:
            self._ask(event)
        elif event.kind == SEND and event.process == self._sender.get(event.message):
            [j] = event.to
            if (event.message, j) not in self._sent:
                self._sent.add((event.message, j))
                self._judge(event.process, j, event.message)
        elif event.kind == DELIVER:
            self._deliver(event)

    def _ask(self, event: Event) -> None:
        i, message = event.process, event.message
        self._sender[message] = i
        self._before[message] = self._past[i]
        self._sources[message] = frozenset(self._heard[i])
        self._missing[message] = set(event.to) - {i}
        self._past[i] |= 1 << message
        if self._missing[message]:
            self._open |= 1 << message

    def _deliver(self, event: Event) -> None:
        j, message = event.process, event.message
        self._past[j] |= self._before[message] | 1 << message
        if self._sender[message] != j:
            self._heard[j].add(self._sender[message])
        self._missing[message].discard(j)
        if not self._missing[message]:
            self._open &= ~(1 << message)

    def _judge(self, i: int, j: int, message: int) -> None:
        for other in self._hindering(i, j, message):
            self.violations.append(Violation(f"sent too early for {self.strategy.value}", i, message, other))

    def _hindering(self, i: int, j: int, message: int) -> Iterator[int]:
        """The messages whose copies had to be delivered first, and are not."""
        for other in bits(self._before[message] & self._open):
            k = self._sender[other]
            if k == i or k not in self._sources[message]:
                continue
            if self.strategy is Strategy.SPS:
                if k != j and self._missing[other] - {i}:
                    yield other
            else:
                yield other


def sent_too_early(events: Iterable[Event], strategy: Strategy) -> list[Violation]:
    """The network sends of a run that its strategy forbids."""
    watcher = SendCheck(strategy)
    for event in events:
        watcher.see(event)
    return watcher.violations
