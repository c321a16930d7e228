"""What the four hybrid protocols share: FIFO at the receiver, and permits (Hybrid Buffering).

A message carries three integers: its id, the id of its predecessor to the same receiver, and whether a
permit will follow. The receiver delivers in the order of the predecessors (FIFO). The sender keeps a
message back while a permit is missing for one that it delivered before; a permit comes once
everything sent before the flagged message, to others, has been delivered. FIFO and permits together
give causal delivery (Propositions 4.2 and 4.4).

Both ends keep windows over growing indexes (section 5.3): an element is added at `next` and keeps its index
for good; what is before `first` is forgotten. Every operation of these takes amortised constant time, and
memory follows the window, not the indexes.

Corrections of the paper's algorithms are numbered E1 to E14 in docs/theory/errata-protocols.md.
"""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Container, Hashable, Iterator
from dataclasses import dataclass
from typing import Any, ClassVar, Generic, TypeVar

from microcosm.protocol.machine import DUPLICATE, OUT_OF_WINDOW, UNSOUND, WINDOW, Delivery, Machine
from microcosm.protocol.packets import Ack, HybridMessage, Packet, Permit

T = TypeVar("T")
K = TypeVar("K", bound=Hashable)

SLACK = 32
"""Forgotten places are given back in one go, once there are more of them than these and than live ones."""


class SlidingArray(Generic[T]):
    """Elements by index; only the oldest can be removed.

    >>> u = SlidingArray[str](1)
    >>> u.add("a"), u.add("b")
    (1, 2)
    >>> u.remove(), u.first, u.next, u[2]
    ('a', 2, 3, 'b')
    """

    __slots__ = ("_items", "_skip", "first", "next")

    def __init__(self, base: int = 0) -> None:
        self.first = self.next = base
        self._items: list[T] = []
        self._skip = 0

    def __len__(self) -> int:
        return self.next - self.first

    def __iter__(self) -> Iterator[T]:
        """The elements, oldest first."""
        for at in range(self.first, self.next):
            yield self[at]

    def __getitem__(self, index: int) -> T:
        """The element at `first <= index < next`; `IndexError` outside."""
        if not self.first <= index < self.next:
            raise IndexError(index)
        return self._items[index - self.first + self._skip]

    def __setitem__(self, index: int, element: T) -> None:
        if not self.first <= index < self.next:
            raise IndexError(index)
        self._items[index - self.first + self._skip] = element

    @property
    def peek(self) -> T:
        """The oldest element; `IndexError` when there is none."""
        return self._items[self._skip]

    def add(self, element: T) -> int:
        """Append an element; its index. Cost: constant, amortised."""
        self._items.append(element)
        self.next += 1
        return self.next - 1

    def remove(self) -> T:
        """Remove and return the oldest element; `IndexError` when there is none.

        Cost: constant, amortised.
        """
        element = self._items[self._skip]
        self._skip += 1
        self.first += 1
        if self._skip > SLACK and self._skip > self.next - self.first:
            self.compact()
        return element

    def compact(self) -> None:
        """Give back all forgotten places at once. Cost: linear."""
        del self._items[: self._skip]
        self._skip = 0

    def _check(self) -> None:
        assert len(self._items) == self._skip + len(self)
        assert self._skip <= max(SLACK, len(self)) + 1


class SlidingMap(Generic[K]):
    """Keys by the order in which they were added; any can be removed, and leaves None behind.

    The sliding map of section 5.3 and its indexable one are the same here: one costs what the other does.

    >>> p = SlidingMap[str]()
    >>> for key in "abc": _ = p.add(key)
    >>> p.remove("b"), p.first, p[1], p[2], p.index("c"), p.index("b")
    (True, 0, None, 'c', 2, None)
    >>> p.remove("a"), p.first, p.remove("x")
    (True, 2, False)
    """

    __slots__ = ("_index", "_keys")

    def __init__(self, base: int = 0) -> None:
        self._index: dict[K, int] = {}
        self._keys = SlidingArray[K | None](base)

    def __len__(self) -> int:
        return len(self._index)

    def __iter__(self) -> Iterator[K]:
        """The keys, oldest first."""
        return iter(self._index)

    def __contains__(self, key: object) -> bool:
        return key in self._index

    @property
    def first(self) -> int:
        """The index of the oldest key; `next` when there is none."""
        return self._keys.first

    @property
    def next(self) -> int:
        """The index that the next key will get."""
        return self._keys.next

    def __getitem__(self, index: int) -> K | None:
        """The key at an index of the window, or None where it was removed; `IndexError` outside."""
        return self._keys[index]

    def index(self, key: K) -> int | None:
        """The index of a key, or None. Cost: constant."""
        return self._index.get(key)

    def add(self, key: K) -> int:
        """Append a key that is not there; its index. Raises `ValueError` for one that is.

        Cost: constant, amortised.
        """
        if key in self._index:
            raise ValueError(f"{key!r} is there already")
        self._index[key] = at = self._keys.add(key)
        return at

    def remove(self, key: K) -> bool:
        """Remove a key; whether it was there. Cost: constant, amortised."""
        at = self._index.pop(key, None)
        if at is None:
            return False
        keys = self._keys
        keys[at] = None
        while len(keys) and keys.peek is None:
            keys.remove()
        return True

    def compact(self) -> None:
        """Give back all forgotten places at once. Cost: linear."""
        self._keys.compact()

    def _check(self) -> None:
        self._keys._check()
        assert {key: at for at, key in enumerate(self._keys, self.first) if key is not None} == self._index
        assert not len(self._keys) or self._keys.peek is not None


@dataclass(slots=True, eq=False)
class Outgoing:
    """A message to one receiver on its way out, from its causal send to its ack."""

    receiver: int
    mid: int
    pid: int
    waits: int
    """It depends on the missing permits before this index."""
    payload: Any
    permit: bool = False
    """Whether the receiver has to wait for a permit."""
    sent: bool = False
    acked: bool = False

    def packet(self) -> HybridMessage:
        """What is sent of it. Cost: constant."""
        return HybridMessage(self.mid, self.pid, self.permit, self.payload)

    def again(self) -> Iterator[tuple[int, HybridMessage]]:
        """What is on the network of it without an ack, with its receivers. Cost: linear."""
        if self.sent and not self.acked:
            yield self.receiver, self.packet()


class Hybrid(Machine):
    """A process that buffers at the sender and at the receiver.

    `window` bounds what is held of one sender, and how far a permit may run ahead (E13, E14).
    """

    __slots__ = ("_buffered", "_delivered", "_last_sent", "_missing", "_permitted", "window")

    TOLERATES = frozenset({"loss", "duplicate", "reorder"})

    def __init__(self, me: int, known: Container[int] | None = None, window: int = WINDOW) -> None:
        super().__init__(me, known)
        self.window = window
        self._last_sent: dict[int, int] = {}
        self._delivered: dict[int, int] = {}
        self._permitted: dict[int, int] = {}
        self._buffered: dict[int, dict[int, HybridMessage]] = {}
        self._missing = SlidingMap[tuple[int, int]]()
        """The missing permits: senders and ids."""

    def _on_message(self, sender: int, message: HybridMessage) -> str | None:
        last = self._delivered.get(sender, 0)
        self.operations += 1
        if message.mid <= last:
            self._emit(sender, Ack(message.mid))
            return DUPLICATE
        if message.pid < last:
            return UNSOUND  # its predecessor is older than the message delivered last
        held = self._buffered.get(sender)
        if held is None:
            held = self._buffered[sender] = {}
        if len(held) >= self.window and message.pid != last and message.pid not in held:
            return OUT_OF_WINDOW  # the message that all others wait for always fits
        held[message.pid] = message
        self._deliver_held(sender)
        return None

    def _deliver_held(self, sender: int) -> None:
        """Deliver what has come of a sender, as far as nothing is missing."""
        last, held = self._delivered.get(sender, 0), self._buffered.get(sender, {})
        while last in held and not self._holds_back(sender, held[last]):
            next_one = held.pop(last)
            last = self._delivered[sender] = next_one.mid
            self.operations += 1
            # A permit may have overtaken its message, and permits are cumulative (E7).
            if next_one.permit and last > self._permitted.get(sender, 0):
                self._await_permit(sender, next_one)
            self._deliver(Delivery(sender, next_one.payload, next_one))
            self._emit(sender, Ack(last))  # after it, so that an ack proves a delivery
        if not held:
            self._buffered.pop(sender, None)

    def _on_permit(self, sender: int, permit: Permit) -> str | None:
        mid = permit.mid
        self.operations += 1
        if mid > self._delivered.get(sender, 0) + self.window:
            return OUT_OF_WINDOW
        if mid > self._permitted.get(sender, 0):
            self._permitted[sender] = mid
        return self._permit(sender, mid)

    def permits(self, receiver: int) -> int:
        """Up to which id permits to a receiver are due, whatever was lost of them. Cost: constant."""
        return min(self._last_sent.get(receiver, 0), self._window.first - 1)

    def _predecessors(self, to: tuple[int, ...], mid: int) -> list[int]:
        """The id of the last message to each receiver; from now on it is this one (E10)."""
        pids = [self._last_sent.get(j, 0) for j in to]
        for j in to:
            self._last_sent[j] = mid
        return pids

    @abstractmethod
    def _await_permit(self, sender: int, message: HybridMessage) -> None:
        """A flagged message has been delivered."""

    @abstractmethod
    def _permit(self, sender: int, mid: int) -> str | None:
        """A permit has come."""

    def _on_ack(self, sender: int, ack: Ack) -> str | None:
        window, mid = self._window, ack.mid
        self.operations += 1
        if mid < window.first:
            self._emit(sender, Permit(mid))  # an earlier one may have been lost
            return None
        if mid >= window.next:
            return OUT_OF_WINDOW
        return self._acknowledge(sender, mid, window[mid])

    @property
    @abstractmethod
    def _window(self) -> SlidingArray[Any]:
        """The messages on their way out by their ids; those before are acknowledged by all receivers."""

    @abstractmethod
    def _acknowledge(self, sender: int, mid: int, message: Any) -> str | None:
        """A message of the window has been delivered at a process."""

    def tick(self) -> None:
        """Send again what is unacknowledged, and ask again for missing permits.

        Cost: the send buffer and the missing permits.
        """
        for message in self._window:
            for receiver, packet in message.again():
                self._emit(receiver, packet)
        for sender, mid in self._missing:
            self._emit(sender, Ack(mid))

    def settles(self, sender: int, packet: Packet, silent: bool, reorder: bool, once: bool) -> bool:
        """Packets that came before, permits and acks that only count; why is said at each of them.

        What is delivered, the permits that are missing and what is unacknowledged are three separate parts
        of the state. Sending alone connects them: without anything to send they do not interact. Cost:
        constant.
        """
        delivered = self._delivered.get(sender, 0)
        silent = silent and not self.unsent
        if isinstance(packet, HybridMessage):
            # It came before: acknowledged again, now or at any later time, and nothing changes.
            return reorder and packet.mid <= delivered
        if isinstance(packet, Permit):
            # Its message is delivered, so nothing will be found missing on its account any more. It lets
            # nothing be sent where nothing is to be sent, or if it came before. It has no answer.
            return packet.mid <= delivered and (silent or (sender, packet.mid) not in self._missing)
        if isinstance(packet, Ack) and reorder:
            # Of a message that all have acknowledged: the permit again, now or at any later time. Else, what
            # is unacknowledged shrinks in any order to the same, and each permit goes out once, when all
            # that it waits for is there. (Not so if acks come twice: the answer depends on what came first.)
            return packet.mid < self._window.first or (silent and once and self._awaits(sender, packet.mid))
        return False

    def _awaits(self, receiver: int, mid: int) -> bool:
        """Whether a copy of message `mid` is on its way to this receiver, unacknowledged."""
        window = self._window
        return window.first <= mid < window.next and self._lacks_ack(receiver, window[mid])

    def _lacks_ack(self, receiver: int, message: Any) -> bool:
        """Whether a message of the window is on its way to this receiver, unacknowledged."""
        return bool(message.receiver == receiver and message.sent and not message.acked)

    def _holds_back(self, sender: int, message: HybridMessage) -> bool:
        """Whether a message waits for messages of other senders, though its predecessor is delivered."""
        return False

    def integers(self) -> int:
        maps = len(self._last_sent) + len(self._delivered) + len(self._permitted) + len(self._missing)
        return self._outgoing_integers() + 2 * maps + sum(3 * len(held) for held in self._buffered.values())

    @abstractmethod
    def _outgoing_integers(self) -> int:
        """How many integers are kept of the messages on their way out."""

    def _check(self) -> None:
        super()._check()
        self._window._check()
        self._missing._check()
        for sender, held in self._buffered.items():
            last = self._delivered.get(sender, 0)
            assert 0 < len(held) <= self.window + 1
            assert last not in held or self._holds_back(sender, held[last])
            assert all(message.pid == pid for pid, message in held.items())

    HANDLERS: ClassVar[dict[type, str]] = {HybridMessage: "_on_message", Ack: "_on_ack", Permit: "_on_permit"}
