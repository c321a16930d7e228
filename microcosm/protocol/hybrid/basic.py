"""The basic hybrid protocol: Hybrid Buffering, Algorithm 1, as corrected (E1, E2, E6 to E9, E12 to E14).

It enforces CSPS: a message goes to the network only when everything that happened before it, sent by
any process that sent to this one, has been delivered (Definition 4.3).
"""

from __future__ import annotations

from abc import abstractmethod
from collections import deque
from collections.abc import Container
from typing import Any, Generic, Protocol, TypeVar

from microcosm.protocol.hybrid.common import Hybrid, Outgoing
from microcosm.protocol.hybrid.sliding import SlidingArray
from microcosm.protocol.machine import STRANGER, WINDOW
from microcosm.protocol.packets import Permit


class Queued(Protocol):
    """A message in the queue: it goes out once all permits before index `waits` are there."""

    mid: int
    waits: int


M = TypeVar("M", bound=Queued)


class HybridQueue(Hybrid, Generic[M]):
    """What Algorithms 1 and 3 share: messages leave in the order of their causal sends.

    They stand in a queue while permits are missing, then in a sliding array while unacknowledged.
    """

    __slots__ = ("_clock", "_unacked", "_waiting")

    def __init__(self, me: int, known: Container[int] | None = None, window: int = WINDOW) -> None:
        super().__init__(me, known, window)
        self._clock = 1  # from 1: absent entries of the maps are 0 (E1)
        self._unacked = SlidingArray[M](1)
        self._waiting: deque[M] = deque()

    def _send(self, to: tuple[int, ...], payload: Any) -> int:
        mid = self._clock
        pids = self._predecessors(to, mid)
        self._waiting.append(self._message(to, mid, pids, payload))
        self._clock += 1
        self.operations += len(to)
        self._try_send()
        return mid

    @abstractmethod
    def _message(self, to: tuple[int, ...], mid: int, pids: list[int], payload: Any) -> M:
        """A message for the queue."""

    @abstractmethod
    def _try_send(self) -> None:
        """Send what waits for nothing any more."""

    def _await_permit(self, sender: int, mid: int) -> None:
        self.operations += 1
        self._missing.add((sender, mid))

    def _permit(self, sender: int, mid: int) -> str | None:
        self._missing.remove((sender, mid))
        self._try_send()
        return None

    @property
    def _window(self) -> SlidingArray[M]:
        return self._unacked

    def idle(self) -> bool:
        return not (self._waiting or len(self._unacked) or len(self._missing))

    @property
    def unsent(self) -> int:
        return len(self._waiting)

    def _check(self) -> None:
        super()._check()
        assert self._unacked.next + len(self._waiting) == self._clock
        assert all(message.mid == mid for mid, message in enumerate(self._unacked, self._unacked.first))
        assert not self._waiting or self._missing.first < self._waiting[0].waits


class HybridBasic(HybridQueue[Outgoing]):
    """Algorithm 1 at one process. Amortised constant time a packet; three integers a message.

    >>> a, b = HybridBasic(1), HybridBasic(2)
    >>> a.causal_send([2], "hello")
    1
    >>> [(to, packet)] = a.take()
    >>> b.receive(1, packet)
    >>> [type(output).__name__ for output in b.take()]
    ['Delivery', 'Send']
    """

    __slots__ = ()

    MULTICAST = False

    def _message(self, to: tuple[int, ...], mid: int, pids: list[int], payload: Any) -> Outgoing:
        return Outgoing(to[0], mid, pids[0], self._missing.next, payload)

    def _try_send(self) -> None:
        waiting, unacked = self._waiting, self._unacked
        while waiting and self._missing.first >= waiting[0].waits:
            message = waiting.popleft()
            message.permit = unacked.first < unacked.next  # before it is added itself
            message.sent = True
            unacked.add(message)
            self.operations += 1
            self._emit(message.receiver, message.packet())

    def _acknowledge(self, sender: int, mid: int, message: Outgoing) -> str | None:
        unacked = self._unacked
        if message.receiver != sender:
            return STRANGER
        message.acked = True
        message.payload = None
        if mid == unacked.first:
            unacked.remove()
            while unacked.first < unacked.next:
                message = unacked.peek
                self.operations += 1
                if message.permit:
                    self._emit(message.receiver, Permit(message.mid))
                if not message.acked:
                    break
                unacked.remove()
        return None

    def _outgoing_integers(self) -> int:
        return 1 + 5 * (len(self._unacked) + len(self._waiting))

    def _check(self) -> None:
        super()._check()
        assert not len(self._unacked) or not self._unacked.peek.acked
