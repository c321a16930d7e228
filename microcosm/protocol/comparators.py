"""Three protocols that send what a receiver has to wait for: a matrix (RST), a log (KS), a clock (Newtop)."""

from __future__ import annotations

from heapq import heappop, heappush
from typing import Any, ClassVar

from microcosm.protocol.machine import (
    DUPLICATE,
    OUT_OF_WINDOW,
    UNSOUND,
    WINDOW,
    Delivery,
    FixedGroup,
    Receiving,
)
from microcosm.protocol.packets import Counts, LamportClocked, Logged, MatrixStamped


class RST(Receiving[MatrixStamped]):
    """Raynal, Schiper and Toueg (1991): every message carries a matrix of what was sent from whom to whom.

    SENT[k][j] counts the messages from k to j in the causal past. A message is delivered when all those to
    its receiver that its matrix counts have been. Nobody waits longer than causality demands, and every
    message costs n² integers. For reliable networks, in any order.

    One of `size` processes. Time and space n² a message.
    """

    __slots__ = ("_delivered", "_sent")

    TOLERATES = frozenset({"reorder"})

    def __init__(self, me: int, size: int) -> None:
        super().__init__(me, size)
        self._sent: list[Counts] = [(0,) * size] * size
        self._delivered = [0] * size

    def _send(self, to: tuple[int, ...], payload: Any) -> int:
        packet = MatrixStamped(tuple(self._sent), to, payload)  # before the increment
        for j in to:
            self._emit(j, packet)
        self._sent[self.me] = self._raised(self._sent[self.me], to)
        self._clock += 1
        self.operations += len(to)
        return self._clock

    def _on_stamped(self, sender: int, packet: MatrixStamped) -> str | None:
        matrix = packet.matrix
        if len(matrix) != self.size or any(len(row) != self.size for row in matrix):
            return UNSOUND
        if self.me not in packet.to or any(j >= self.size for j in packet.to):
            return UNSOUND
        number = matrix[sender][self.me]
        return self._hold(sender, number, packet, number < self._delivered[sender])

    def _is_next(self, packet: MatrixStamped) -> bool:
        self.operations += self.size
        return all(row[self.me] <= done for row, done in zip(packet.matrix, self._delivered, strict=True))

    def _accept(self, sender: int, packet: MatrixStamped) -> None:
        self._delivered[sender] += 1
        self.operations += self.size**2
        self._sent = [tuple(map(max, a, b)) for a, b in zip(self._sent, packet.matrix, strict=True)]
        counted = self._raised(packet.matrix[sender], packet.to)
        self._sent[sender] = tuple(map(max, self._sent[sender], counted))
        self._deliver(Delivery(sender, packet.payload, packet))

    def _raised(self, row: Counts, to: tuple[int, ...]) -> Counts:
        return tuple(count + 1 if j in to else count for j, count in enumerate(row))

    @property
    def vectors(self) -> tuple[Counts, ...]:
        """For each process j, how many messages from each process to j are in the causal past: columns."""
        return tuple(zip(*self._sent, strict=True))

    def _kept(self) -> int:
        return self.size**2 + self.size

    HANDLERS: ClassVar[dict[type, str]] = {MatrixStamped: "_on_stamped"}


NeededLog = dict[tuple[int, int], frozenset[int]]
"""From sender and clock to receivers."""


class KS(Receiving[Logged]):
    """Kshemkalyani and Singhal (1998): of the causal past, only what is still needed.

    The log holds, for message t of sender s, the receivers for which delivery is not yet known to be ensured.
    A receiver is dropped once a later message to it is on its way (that one will wait for the earlier one),
    or once the message was delivered there; an entry without receivers is kept only as the newest of its
    sender, to tell others what they need not remember. For reliable networks; delivers as early as RST.

    One of `size` processes. Time and space n² a message in the worst case, much less as a rule.
    """

    __slots__ = ("_delivered", "_log")

    def __init__(self, me: int, size: int) -> None:
        super().__init__(me, size)
        self._delivered = [0] * size
        """For each sender the clock of its last message delivered here."""
        self._log: NeededLog = {}

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
        return self._hold(sender, packet.clock, packet, packet.clock <= self._delivered[sender])

    def _is_next(self, packet: Logged) -> bool:
        self.operations += len(packet.log)
        return all(clock <= self._delivered[s] for s, clock, left in packet.log if self.me in left)

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

    def _kept(self) -> int:
        return 1 + self.size + sum(2 + len(left) for left in self._log.values())

    HANDLERS: ClassVar[dict[type, str]] = {Logged: "_on_logged"}


def _newest(log: NeededLog) -> dict[int, int]:
    newest: dict[int, int] = {}
    for sender, clock in log:
        newest[sender] = max(clock, newest.get(sender, 0))
    return newest


def _purged(log: NeededLog) -> NeededLog:
    """Without the entries that say nothing: empty ones, where a newer one of the same sender exists."""
    newest = _newest(log)
    return {key: left for key, left in log.items() if left or key[1] == newest[key[0]]}


def _merged(a: NeededLog, b: NeededLog) -> NeededLog:
    """What both remember; what one side has forgotten, though it knows a newer message, is settled."""
    newest = _newest(a), _newest(b)
    merged: NeededLog = {}
    for mine, theirs, known in ((a, b, newest[1]), (b, a, newest[0])):
        for key, left in mine.items():
            if key in theirs:
                merged[key] = left & theirs[key]
            elif key[1] > known.get(key[0], 0):
                merged[key] = left
    return merged


def _written(log: NeededLog) -> tuple[tuple[int, int, tuple[int, ...]], ...]:
    return tuple((s, clock, tuple(sorted(left))) for (s, clock), left in sorted(log.items()))


class Newtop(FixedGroup):
    """The causal part of Newtop (Ezhilchelvan, Macêdo and Shrivastava 1995): one Lamport clock a message.

    Every message goes to all processes, to those that it is not meant for as a null. A process delivers in
    the order of clock and sender, up to the least of the last clocks it heard from each process: an idle
    one holds up all others until it breaks its silence, by a null of its own on `tick`.
    For reliable FIFO networks.

    One of `size` processes.
    """

    __slots__ = ("_announced", "_heard", "_held", "_wanted", "clock")

    NEEDS_TICKS = True

    def __init__(self, me: int, size: int) -> None:
        super().__init__(me, size)
        self.clock = 0
        self._announced = 0
        """The last clock that this process sent to all."""
        self._wanted = 0
        """The highest clock of a message, whoever it is for: some wait for everyone to pass it."""
        self._heard = [0] * size
        self._held: list[tuple[int, int, Any, LamportClocked]] = []

    def _send(self, to: tuple[int, ...], payload: Any) -> int:
        self.clock += 1
        self._announced = self.clock
        for j in range(self.size):
            if j != self.me:
                self.operations += 1
                self._emit(
                    j, LamportClocked(self.clock, 0, payload) if j in to else LamportClocked(self.clock, 1)
                )
        self._wanted = self.clock
        return self.clock

    def _on_clocked(self, sender: int, packet: LamportClocked) -> str | None:
        self.operations += 1
        if packet.clock <= self._heard[sender]:
            return DUPLICATE
        if packet.clock > self.clock + WINDOW or len(self._held) >= WINDOW:
            return OUT_OF_WINDOW
        self._heard[sender] = packet.clock
        self.clock = max(self.clock, packet.clock)
        if packet.null < 2:
            self._wanted = max(self._wanted, packet.clock)
        if packet.null == 0:
            heappush(self._held, (packet.clock, sender, packet.payload, packet))
        self._deliver_up_to()
        return None

    def _deliver_up_to(self) -> None:
        self.operations += self.size
        self._heard[self.me] = self.clock
        least = min(self._heard)
        while self._held and self._held[0][0] <= least:
            _, sender, payload, packet = heappop(self._held)
            self.operations += 1
            self._deliver(Delivery(sender, payload, packet))

    def tick(self) -> None:
        """Break the silence, if somebody may be waiting for it.

        Cost: a null to each other process, and what can be delivered then.
        """
        if self._announced < self._wanted:
            self.clock += 1
            self._announced = self.clock
            for j in range(self.size):
                if j != self.me:
                    self.operations += 1
                    self._emit(j, LamportClocked(self.clock, 2))
            self._deliver_up_to()

    def idle(self) -> bool:
        return not self._held and self._announced >= self._wanted

    def integers(self) -> int:
        return 3 + self.size + 2 * len(self._held)

    HANDLERS: ClassVar[dict[type, str]] = {LamportClocked: "_on_clocked"}
