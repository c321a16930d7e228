"""Kshemkalyani and Singhal (1998): of the causal past, only what is still needed.

The log holds, for message t of sender s, the receivers for which delivery is not yet known to be ensured.
A receiver is dropped once a later message to it is on its way (that one will wait for the earlier one), or
once the message was delivered there; an entry without receivers is kept only as the newest of its sender,
to tell others what they need not remember. For reliable networks; delivers as early as RST.
"""

from __future__ import annotations

from typing import Any, ClassVar

from microcosm.protocol.machine import DUPLICATE, OUT_OF_WINDOW, UNSOUND, WINDOW, Delivery, FixedGroup
from microcosm.protocol.packets import Logged

Log = dict[tuple[int, int], frozenset[int]]
"""From sender and clock to receivers."""


class KS(FixedGroup):
    """One of `size` processes. Time and space n² a message in the worst case, much less as a rule."""

    __slots__ = ("_clock", "_delivered", "_held", "_log")

    def __init__(self, me: int, size: int) -> None:
        super().__init__(me, size)
        self._clock = 0
        self._delivered = [0] * size
        """For each sender the clock of its last message delivered here."""
        self._held: dict[tuple[int, int], Logged] = {}
        self._log: Log = {}

    def _send(self, to: tuple[int, ...], payload: Any) -> int:
        self._clock += 1
        receivers = frozenset(to)
        for j in to:
            carried = {
                key: (left - receivers) | (left & {j})  # this message waits at j for what is left for j
                for key, left in self._log.items()
            }
            self.operations += len(carried)
            self._emit(j, Logged(self._clock, to, _written(_purged(carried)), payload))
        self._log = {key: left - receivers for key, left in self._log.items()}
        self._log[self.me, self._clock] = receivers
        self._log = _purged(self._log)
        self.operations += 2 * len(self._log)
        return self._clock

    def _on_logged(self, sender: int, packet: Logged) -> str | None:
        if self.me not in packet.to or any(
            s >= self.size or any(j >= self.size for j in left) for s, _, left in packet.log
        ):
            return UNSOUND
        if packet.clock <= self._delivered[sender] or (sender, packet.clock) in self._held:
            return DUPLICATE
        if len(self._held) >= WINDOW:
            return OUT_OF_WINDOW
        self._held[sender, packet.clock] = packet
        while (ready := self._ready()) is not None:
            self._accept(ready[0], self._held.pop(ready))
        return None

    def _ready(self) -> tuple[int, int] | None:
        for key, packet in self._held.items():
            self.operations += len(packet.log)
            if all(clock <= self._delivered[s] for s, clock, left in packet.log if self.me in left):
                return key
        return None

    def _accept(self, sender: int, packet: Logged) -> None:
        self._delivered[sender] = packet.clock
        carried = {(s, clock): frozenset(left) - {self.me} for s, clock, left in packet.log}
        others = frozenset(packet.to) - {self.me}
        for key in carried:
            carried[key] -= others  # the message itself is on its way to them, and will wait there
        carried[sender, packet.clock] = others
        mine = {key: left - {self.me} if self._seen(key) else left for key, left in self._log.items()}
        self._log = _purged(_merged(mine, carried))
        self.operations += 4 * (len(carried) + len(mine))
        self._deliver(Delivery(sender, packet.payload, packet))

    def _seen(self, key: tuple[int, int]) -> bool:
        """Whether this process has delivered what it had to of that message and the sender's earlier ones."""
        return key[1] <= self._delivered[key[0]]

    def idle(self) -> bool:
        return not self._held

    def integers(self) -> int:
        kept = sum(2 + len(left) for left in self._log.values())
        return 1 + self.size + kept + sum(packet.integers for packet in self._held.values())

    @property
    def unsent(self) -> int:
        return 0

    HANDLERS: ClassVar[dict[type, str]] = {Logged: "_on_logged"}


def _newest(log: Log) -> dict[int, int]:
    newest: dict[int, int] = {}
    for sender, clock in log:
        newest[sender] = max(clock, newest.get(sender, 0))
    return newest


def _purged(log: Log) -> Log:
    """Without the entries that say nothing: empty ones, where a newer one of the same sender exists."""
    newest = _newest(log)
    return {key: left for key, left in log.items() if left or key[1] == newest[key[0]]}


def _merged(a: Log, b: Log) -> Log:
    """What both remember; what one side has forgotten, though it knows a newer message, is settled."""
    newest = _newest(a), _newest(b)
    merged: Log = {}
    for mine, theirs, known in ((a, b, newest[1]), (b, a, newest[0])):
        for key, left in mine.items():
            if key in theirs:
                merged[key] = left & theirs[key]
            elif key[1] > known.get(key[0], 0):
                merged[key] = left
    return merged


def _written(log: Log) -> tuple[tuple[int, int, tuple[int, ...]], ...]:
    return tuple((s, clock, tuple(sorted(left))) for (s, clock), left in sorted(log.items()))
