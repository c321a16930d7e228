"""A delivery protocol at one process, without I/O.

Inputs are `causal_send`, `receive` and `tick`; outputs are packets and deliveries, appended to `out` in the
order in which they occur and fetched with `take`. What the host owes a machine:

1. hand every packet of `out` to the network, and what the network brings to `receive`, one at a time;
2. call `tick` now and then while something is missing, if packets can be lost (or the class `NEEDS_TICKS`);
3. react to a delivery by `causal_send` from within `on_deliver`, or at any later time.

`receive` raises nothing, whatever arrives: what makes no sense is refused, and counted by reason.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections import Counter, deque
from collections.abc import Callable, Container, Iterable
from typing import Any, ClassVar, Generic, NamedTuple, TypeVar

from microcosm.errors import ProtocolError
from microcosm.protocol.packets import Packet

NOT_A_PACKET = "no packet of this protocol"
UNKNOWN_PROCESS = "unknown process"
UNSOUND = "absurd fields"
DUPLICATE = "duplicate"
OUT_OF_WINDOW = "out of the window"
STRANGER = "from no addressee"

WINDOW = 1 << 20
"""By default, so far may ids run ahead of what was delivered, and so many packets are held a sender."""


class Send(NamedTuple):
    """Give this packet to the network, for process `to`."""

    to: int
    packet: Packet


class Delivery(NamedTuple):
    """Hand this payload up to the application. `packet` is what it came in, None for a message to oneself."""

    sender: int
    payload: Any
    packet: Packet | None


MachineOutput = Send | Delivery


class Machine(ABC):
    """What all protocols have in common.

    `me` is this process, `known` the processes there are (None: any). `operations` counts elementary
    steps on the state, `refused` the packets that were ignored, by reason.
    """

    __slots__ = ("_draining", "_local", "known", "me", "on_deliver", "operations", "out", "refused")

    MULTICAST: ClassVar[bool] = True
    """Whether a message may have several receivers."""
    TOLERATES: ClassVar[frozenset[str]] = frozenset()
    """What the network may do: `loss`, `duplicate`, `reorder`."""
    NEEDS_TICKS: ClassVar[bool] = False
    """Whether `tick` is needed even where no packet is lost."""
    HANDLERS: ClassVar[dict[type, str]] = {}
    """The method for each shape of packet; it returns why the packet was refused, or None."""

    def __init__(self, me: int, known: Container[int] | None = None) -> None:
        self.me = me
        self.known = known
        self.on_deliver: Callable[[Delivery], None] | None = None
        self.out: list[MachineOutput] = []
        self.operations = 0
        self.refused: Counter[str] = Counter()
        self._local: deque[Delivery] = deque()
        self._draining = False

    def causal_send(self, to: Iterable[int], payload: Any = None) -> int:
        """Send a message; its id, which counts the messages of this process to others, or 0 if it had none.

        A copy to oneself is delivered at once and never travels: an id of its own would break the
        proof of Hybrid Buffering, Proposition 4.2. Raises `ProtocolError` for receivers that cannot be. Cost:
        linear in the receivers, and what the protocol says.
        """
        receivers = self._receivers(to)
        mine = self.me in receivers
        others = tuple(j for j in receivers if j != self.me) if mine else receivers
        mid = self._send(others, payload) if others else 0
        if mine:
            self._deliver_locally(Delivery(self.me, payload, None))
        return mid

    def receive(self, sender: int, packet: object) -> None:
        """Take a packet (or its bytes) off the wire. Raises nothing; a refusal is counted in `refused`.

        Cost: linear in the packet, and what the protocol says.
        """
        if type(packet) is bytes:
            from microcosm.protocol.packets import decode

            packet = decode(packet)
        handler = self.HANDLERS.get(type(packet))
        if handler is None:
            self.refused[NOT_A_PACKET] += 1
        elif (
            type(sender) is not int
            or sender == self.me
            or (self.known is not None and sender not in self.known)
        ):
            self.refused[UNKNOWN_PROCESS] += 1
        elif not packet.sound():  # type: ignore[attr-defined]
            self.refused[UNSOUND] += 1
        else:
            reason: str | None = getattr(self, handler)(sender, packet)
            if reason is not None:
                self.refused[reason] += 1

    def tick(self) -> None:  # noqa: B027
        """Repeat what may have been lost. By default nothing ever is. Cost: what the protocol says."""

    def take(self) -> list[MachineOutput]:
        """The outputs since the last time, in the order in which they occurred. Cost: constant."""
        taken = self.out
        self.out = []
        return taken

    @abstractmethod
    def _send(self, to: tuple[int, ...], payload: Any) -> int:
        """Send to other processes, at least one; the id of the message."""

    @abstractmethod
    def idle(self) -> bool:
        """Whether nothing is missing, so that ticks can stop.

        Cost: what the protocol says, at most linear in the state.
        """

    @abstractmethod
    def integers(self) -> int:
        """How many integers and ids the state holds about causality, buffered messages included.

        Cost: at most linear in the state.
        """

    @property
    def unsent(self) -> int:
        """Messages that were causally sent and have not been given to the network; by default none wait."""
        return 0

    def settles(self, sender: int, packet: Packet, silent: bool, reorder: bool, once: bool) -> bool:
        """Whether it makes no difference when this packet is taken, whatever else comes before it.

        That is: it delivers nothing, and taken before or after any other input it leaves the same machine and
        the same packets. `silent`: this process sends nothing more of its own; `reorder`: packets overtake
        each other, so the order of answers does not show; `once`: no packet comes twice, and there are no
        ticks. For explorations, which need not try other moments (`simulation/explore`); by default unknown.
        Cost: constant.
        """
        return False

    def _check(self) -> None:
        """Assert every invariant."""
        assert not self._draining

    def _receivers(self, to: Iterable[int]) -> tuple[int, ...]:
        receivers = to if type(to) is tuple and len(to) == 1 else tuple(dict.fromkeys(to))
        if not receivers:
            raise ProtocolError("a message needs a receiver")
        if len(receivers) > 1 and not self.MULTICAST:
            raise ProtocolError(f"a message has one receiver here, not {len(receivers)}")
        for j in receivers:
            if (
                type(j) is not int
                or j < 0
                or (self.known is not None and j != self.me and j not in self.known)
            ):
                raise ProtocolError(f"{j!r} is no process")
        return receivers

    def _emit(self, to: int, packet: Packet) -> None:
        self.out.append(Send(to, packet))

    def _deliver(self, delivery: Delivery) -> None:
        self.out.append(delivery)
        if self.on_deliver is not None:
            self.on_deliver(delivery)

    def _deliver_locally(self, delivery: Delivery) -> None:
        """At once; but a reaction to a message to oneself that sends another waits its turn: no recursion."""
        self._local.append(delivery)
        if self._draining:
            return
        self._draining = True
        try:
            while self._local:
                self._deliver(self._local.popleft())
        finally:
            self._draining = False


class FixedGroup(Machine):
    """A machine that knows from the start which processes there are: 0 to `size` - 1."""

    __slots__ = ("size",)

    def __init__(self, me: int, size: int) -> None:
        super().__init__(me, range(size))
        self.size = size

    def _among(self, receivers: tuple[int, ...]) -> bool:
        """Whether it is one of some receivers, which are all processes."""
        return self.me in receivers and max(receivers) < self.size


P = TypeVar("P", bound=Packet)


class Receiving(FixedGroup, Generic[P]):
    """A machine that sends at once and holds at the receiver what came too early."""

    __slots__ = ("_clock", "_held")

    def __init__(self, me: int, size: int) -> None:
        super().__init__(me, size)
        self._clock = 0
        self._held: dict[tuple[int, int], P] = {}
        """Packets that wait, by their sender and their number among those that it sent here."""

    def _hold(self, sender: int, number: int, packet: P, delivered: bool) -> str | None:
        """Keep a packet, and accept all that waits for nothing any more."""
        if delivered or (sender, number) in self._held:
            return DUPLICATE
        if len(self._held) >= WINDOW and not self._is_next(packet):
            return OUT_OF_WINDOW  # what need not wait always fits, whoever has filled it
        self._held[sender, number] = packet
        while (
            ready := next((key for key, one in self._held.items() if self._is_next(one)), None)
        ) is not None:
            self._accept(ready[0], self._held.pop(ready))
        return None

    @abstractmethod
    def _is_next(self, packet: P) -> bool:
        """Whether all that a packet has to wait for has been delivered."""

    @abstractmethod
    def _accept(self, sender: int, packet: P) -> None:
        """Deliver a packet."""

    def idle(self) -> bool:
        return not self._held

    def integers(self) -> int:
        return self._kept() + sum(packet.integers for packet in self._held.values())

    @abstractmethod
    def _kept(self) -> int:
        """How many integers the state holds but for those of packets that wait."""
