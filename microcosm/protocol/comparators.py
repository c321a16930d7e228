"""Five protocols of the literature to compare with.

Three send what a receiver has to wait for: a matrix (RST), a log (KS), a clock (Newtop). Two wait for acks
before they send, or before a receiver may act: MF and Cykas.

What a matrix or a log says of third processes is believed: who invents a message has its receivers, and all
who hear of it through them, wait for ever. What it says of the receiver's own sendings is checked.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Container
from heapq import heappop, heappush
from typing import Any, ClassVar

from microcosm.protocol.machine import (
    DUPLICATE,
    OUT_OF_WINDOW,
    STRANGER,
    UNSOUND,
    WINDOW,
    Delivery,
    FixedGroup,
    Machine,
    Receiving,
    Send,
)
from microcosm.protocol.packets import (
    Ack,
    Counts,
    LamportClocked,
    Logged,
    MatrixStamped,
    Secret,
    Serial,
    YouCanTell,
)


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
        matrix = packet.vectors
        if [*map(len, matrix)] != [self.size] * self.size or not self._among(packet.to):
            return UNSOUND
        if any(map(int.__gt__, matrix[self.me], self._sent[self.me])):
            return UNSOUND  # this process has not sent so much
        number = matrix[sender][self.me]
        return self._hold(sender, number, packet, number < self._delivered[sender])

    def _is_next(self, packet: MatrixStamped) -> bool:
        self.operations += self.size
        return all(row[self.me] <= done for row, done in zip(packet.vectors, self._delivered, strict=True))

    def _accept(self, sender: int, packet: MatrixStamped) -> None:
        self._delivered[sender] += 1
        self.operations += self.size**2
        self._sent = [tuple(map(max, a, b)) for a, b in zip(self._sent, packet.vectors, strict=True)]
        counted = self._raised(packet.vectors[sender], packet.to)
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
        named = (max(s, *left) if left else s for s, _, left in packet.log)
        invented = any(s == self.me and clock > self._clock for s, clock, _ in packet.log)
        if invented or not self._among(packet.to) or any(each >= self.size for each in named):
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
        self._announce(lambda j, clock: LamportClocked(clock, *((0, payload) if j in to else (1,))))
        self._wanted = self.clock
        return self.clock

    def _announce(self, packet: Callable[[int, int], LamportClocked]) -> None:
        """Send everybody what is made for each process of the next clock."""
        self.clock += 1
        self._announced = self.clock
        for j in range(self.size):
            if j != self.me:
                self.operations += 1
                self._emit(j, packet(j, self.clock))

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
            self._announce(lambda _, clock: LamportClocked(clock, 2))
            self._deliver_up_to()

    def idle(self) -> bool:
        return not self._held and self._announced >= self._wanted

    def integers(self) -> int:
        return 3 + self.size + 2 * len(self._held)

    HANDLERS: ClassVar[dict[type, str]] = {LamportClocked: "_on_clocked"}


class MF(Machine):
    """Mattern and Fünfrocken (1994): one message at a time, the next when this one's ack is there.

    What happened before a message has been delivered before it is sent, so it is delivered at once. One
    integer a message; throughput is one message a round trip. For one receiver a message: of two, one
    could act on the message before the other has it.

    One process. Constant time a message.
    """

    __slots__ = ("_clock", "_delivered", "_outstanding", "_queue")

    MULTICAST = False
    TOLERATES = frozenset({"loss", "duplicate", "reorder"})

    def __init__(self, me: int, known: Container[int] | None = None) -> None:
        super().__init__(me, known)
        self._clock = 0
        self._queue: deque[Send] = deque()
        self._outstanding: Send | None = None
        self._delivered: dict[int, int] = {}

    def _send(self, to: tuple[int, ...], payload: Any) -> int:
        self._clock += 1
        self._queue.append(Send(to[0], Serial(self._clock, payload)))
        self.operations += 1
        self._next()
        return self._clock

    def _next(self) -> None:
        if self._outstanding is None and self._queue:
            self._outstanding = self._queue.popleft()
            self.operations += 1
            self.out.append(self._outstanding)

    def _on_plain(self, sender: int, packet: Serial) -> str | None:
        self.operations += 1
        fresh = packet.mid > self._delivered.get(sender, 0)
        if fresh:
            self._delivered[sender] = packet.mid
            self._deliver(Delivery(sender, packet.payload, packet))
        self._emit(sender, Ack(packet.mid))
        return None if fresh else DUPLICATE

    def _on_ack(self, sender: int, ack: Ack) -> str | None:
        self.operations += 1
        current = self._outstanding
        outstanding = self._clock - len(self._queue)
        if ack.mid > outstanding:
            return OUT_OF_WINDOW
        if current is None or ack.mid < outstanding:  # it was acknowledged long ago
            return DUPLICATE
        if sender != current.to:
            return STRANGER
        self._outstanding = None
        self._next()
        return None

    def tick(self) -> None:
        """Send the outstanding message again. Cost: constant."""
        if self._outstanding is not None:
            self.out.append(self._outstanding)

    def idle(self) -> bool:
        return self._outstanding is None

    def integers(self) -> int:
        return 2 + 2 * len(self._delivered) + 2 * len(self._queue)

    @property
    def unsent(self) -> int:
        return len(self._queue)

    HANDLERS: ClassVar[dict[type, str]] = {Serial: "_on_plain", Ack: "_on_ack"}


class Cykas(Machine):
    """Cykas, "can you keep a secret?" (Tong and Kuper 2024), as Hybrid Buffering, section 4.3, describes it.

    A message that goes out while earlier ones are unacknowledged is a secret: its receiver delivers it, and
    sends nothing until told that it can. One counter a process holds all secrets, so others' later secrets
    keep it from sending: it can starve. One message is in transit to each receiver.

    As described it is unsafe on a reordering network: the permission can overtake the acknowledged message.
    Here a permission waits for the message's own ack as well.

    One process. For reliable networks, in any order.
    """

    __slots__ = ("_clock", "_in_flight", "_queue", "_unacked", "_untold", "mode")

    MULTICAST = False
    TOLERATES = frozenset({"reorder"})

    def __init__(self, me: int, known: Container[int] | None = None) -> None:
        super().__init__(me, known)
        self._clock = 0
        self.mode = 0
        """How many secrets this process keeps; it sends nothing unless 0."""
        self._queue: deque[tuple[int, int, Any]] = deque()
        self._in_flight: dict[int, int] = {}
        self._unacked: dict[int, int] = {}
        self._untold: deque[tuple[int, int]] = deque()
        """Secrets whose receivers are to be told, by id: once it and all before it are acknowledged."""

    def _send(self, to: tuple[int, ...], payload: Any) -> int:
        self._clock += 1
        self._queue.append((to[0], self._clock, payload))
        self.operations += 1
        self._flush()
        return self._clock

    def _flush(self) -> None:
        while not self.mode and self._queue and self._queue[0][0] not in self._in_flight:
            to, mid, payload = self._queue.popleft()
            eager = bool(self._unacked)
            self._in_flight[to] = mid
            self._unacked[mid] = to
            self.operations += 1
            if eager:
                self._untold.append((mid, to))
            self._emit(to, Secret(mid, eager, payload))

    def _on_secret(self, sender: int, packet: Secret) -> str | None:
        self.operations += 1
        if packet.eager:
            self.mode += 1
        self._deliver(Delivery(sender, packet.payload, packet))
        self._emit(sender, Ack(packet.mid))
        return None

    def _on_ack(self, sender: int, ack: Ack) -> str | None:
        self.operations += 1
        if self._unacked.get(ack.mid) != sender:
            return STRANGER if ack.mid <= self._clock else OUT_OF_WINDOW
        del self._unacked[ack.mid]
        del self._in_flight[sender]
        oldest = next(iter(self._unacked), self._clock + 1)
        while self._untold and self._untold[0][0] < oldest:
            self.operations += 1
            self._emit(self._untold.popleft()[1], YouCanTell())
        self._flush()
        return None

    def _on_you_can_tell(self, sender: int, packet: YouCanTell) -> str | None:
        self.operations += 1
        if not self.mode:
            return STRANGER
        self.mode -= 1
        self._flush()
        return None

    def idle(self) -> bool:
        return not (self._queue or self._unacked or self._untold or self.mode)

    def integers(self) -> int:
        return 2 + 2 * (len(self._in_flight) + len(self._unacked) + len(self._untold) + len(self._queue))

    @property
    def unsent(self) -> int:
        return len(self._queue)

    HANDLERS: ClassVar[dict[type, str]] = {
        Secret: "_on_secret",
        Ack: "_on_ack",
        YouCanTell: "_on_you_can_tell",
    }
