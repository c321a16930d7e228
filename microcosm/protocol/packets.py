"""What travels: immutable packets of every protocol, one class a shape.

`integers` counts what a packet carries about causality. Payload and addresses are not counted, for no
protocol. `sound()` says whether the fields are what they are declared to be, and plausible by themselves:
a packet may have come from anywhere.

As bytes a packet is a version, a code for the shape, then the fields in their order (MessagePack). Reading
raises nothing: what is no packet of this version is None, with the reason counted by the caller.
"""

from __future__ import annotations

from dataclasses import dataclass, fields
from typing import Any, ClassVar

LARGEST = 2**63 - 1
"""Ids and clocks are 64-bit."""

Counts = tuple[int, ...]


def natural(value: object, least: int = 0) -> bool:
    """Whether a value is an id or a count: an integer (no bool) from `least` to 2⁶³ - 1. Cost: constant."""
    return type(value) is int and least <= value <= LARGEST


def naturals(values: object) -> bool:
    """Whether a value is a tuple of ids or counts. Cost: linear."""
    return type(values) is tuple and all(map(natural, values))


def _matrix(values: object) -> bool:
    return type(values) is tuple and all(naturals(row) for row in values)


def _addressed(to: object) -> bool:
    return type(to) is tuple and bool(to) and naturals(to) and len(set(to)) == len(to)


@dataclass(frozen=True, slots=True)
class Packet:
    """What packets of all shapes have in common."""

    integers: ClassVar[int] = 0
    """How many integers it carries about causality."""

    def sound(self) -> bool:
        """Whether each field is what it has to be. Cost: linear in the packet."""
        return True


@dataclass(frozen=True, slots=True)
class HybridMessage(Packet):
    """Hybrid protocols: message `mid`, its predecessor to the same receiver, whether a permit follows."""

    mid: int
    pid: int
    permit: bool
    payload: Any = None

    integers = 3

    def sound(self) -> bool:
        mid, pid = self.mid, self.pid
        return (
            type(mid) is int
            and type(pid) is int
            and 0 <= pid < mid <= LARGEST
            and (self.permit is True or self.permit is False)
        )


Dependency = tuple[int, int, int]
"""Message number n of a process to another may be undelivered: sender, receiver, n."""


@dataclass(frozen=True, slots=True)
class Dependent(HybridMessage):
    """A hybrid message that names what it depends on: what may be undelivered. None: it does not say."""

    needs: tuple[Dependency, ...] | None = None

    @property
    def integers(self) -> int:  # type: ignore[override]  # of its length here, a constant there
        return 3 + 3 * len(self.needs or ())

    def sound(self) -> bool:
        needs = self.needs
        if not HybridMessage.sound(self) or self.permit is not (needs != ()):
            return False
        return needs is None or (_matrix(needs) and all(len(one) == 3 and one[2] > 0 for one in needs))


@dataclass(frozen=True, slots=True)
class _Identified(Packet):
    mid: int

    integers = 1

    def sound(self) -> bool:
        return natural(self.mid, 1)


@dataclass(frozen=True, slots=True)
class Ack(_Identified):
    """Message `mid` of the receiver of this packet has been delivered."""


@dataclass(frozen=True, slots=True)
class Permit(_Identified):
    """What the sender had sent to others before message `mid` has been delivered."""


@dataclass(frozen=True, slots=True)
class Serial(_Identified):
    """Mattern and Fünfrocken: message `mid`, all earlier ones of this sender being delivered."""

    payload: Any = None


@dataclass(frozen=True, slots=True)
class Secret(_Identified):
    """Cykas: a message; an eager one puts its receiver into secret mode until a `YouCanTell`."""

    eager: bool
    payload: Any = None

    def sound(self) -> bool:
        return _Identified.sound(self) and type(self.eager) is bool


@dataclass(frozen=True, slots=True)
class YouCanTell(Packet):
    """Cykas: one secret is none any more. It carries no id: counting it twice is an error nobody sees."""


@dataclass(frozen=True, slots=True)
class _Stamped(Packet):
    vectors: tuple[Counts, ...]
    to: tuple[int, ...]
    """All receivers."""
    payload: Any = None

    @property
    def integers(self) -> int:  # type: ignore[override]
        return sum(map(len, self.vectors))

    def sound(self) -> bool:
        return _matrix(self.vectors) and _addressed(self.to)


@dataclass(frozen=True, slots=True)
class MatrixStamped(_Stamped):
    """Raynal, Schiper, Toueg: the rows of the sender's matrix before this message."""


@dataclass(frozen=True, slots=True)
class Vectored(_Stamped):
    """Monitor: for each monitor, how many messages of each process to it are in the causal past."""


LogEntry = tuple[int, int, tuple[int, ...]]
"""Sender, its clock, and the receivers for which delivery is not known to be ensured."""


@dataclass(frozen=True, slots=True)
class Logged(Packet):
    """Kshemkalyani and Singhal: the sender's clock and what is left to remember of the causal past."""

    clock: int
    to: tuple[int, ...]
    log: tuple[LogEntry, ...]
    payload: Any = None

    @property
    def integers(self) -> int:  # type: ignore[override]
        return 1 + sum(2 + len(receivers) for _, _, receivers in self.log)

    def sound(self) -> bool:
        log = self.log
        return natural(self.clock, 1) and _addressed(self.to) and type(log) is tuple and all(map(_entry, log))


def _entry(entry: object) -> bool:
    if type(entry) is not tuple or len(entry) != 3:
        return False
    return naturals(entry[:2]) and naturals(entry[2])


@dataclass(frozen=True, slots=True)
class LamportClocked(Packet):
    """Newtop: the sender's Lamport clock; a null has no payload and is not delivered.

    `null` is 0 for a message, 1 where the message is for others, 2 for a null that only breaks a silence.
    """

    clock: int
    null: int = 0
    payload: Any = None

    integers = 1

    def sound(self) -> bool:
        return natural(self.clock, 1) and natural(self.null) and self.null <= 2


@dataclass(frozen=True, slots=True)
class Routed(Packet):
    """Tree: a message of `origin` on its way to the receivers in `to`. Addresses, and no metadata at all."""

    origin: int
    to: tuple[int, ...]
    payload: Any = None

    def sound(self) -> bool:
        return natural(self.origin) and _addressed(self.to)


CHANGES = ("joined", "retire", "last", "done", "gone")


@dataclass(frozen=True, slots=True)
class TreeChange(Packet):
    """Changing tree: what happens to `node`; `other` is its parent where it joins, itself else."""

    what: int
    node: int
    other: int

    def sound(self) -> bool:
        return natural(self.what) and self.what < len(CHANGES) and natural(self.node) and natural(self.other)


@dataclass(frozen=True, slots=True)
class Welcome(Packet):
    """Changing tree: the nodes and their parents, for one that joins."""

    parents: tuple[tuple[int, int], ...]

    def sound(self) -> bool:
        return _matrix(self.parents) and all(len(pair) == 2 for pair in self.parents)


@dataclass(frozen=True, slots=True)
class Marker(Packet):
    """Snapshot of a tree: all that comes behind it was sent after its sender recorded its state."""

    origin: int
    number: int

    integers = 2

    def sound(self) -> bool:
        return natural(self.origin) and natural(self.number, 1)


@dataclass(frozen=True, slots=True)
class Posted(Packet):
    """Tree with actors: a message of one actor on its way to another. Addresses, and no metadata."""

    origin: int
    to: int
    payload: Any = None

    def sound(self) -> bool:
        return natural(self.origin) and natural(self.to)


MOVES = ("move", "flush", "flushed")


@dataclass(frozen=True, slots=True)
class Migration(Packet):
    """Tree with actors: one moves along this link, on its way to node `goal`; or the link back is emptied."""

    what: int
    actor: int
    goal: int
    payload: Any = None

    def sound(self) -> bool:
        return natural(self.what) and self.what < len(MOVES) and natural(self.actor) and natural(self.goal)


VERSION = 1

SHAPES: tuple[type[Packet], ...] = (
    HybridMessage,
    Ack,
    Permit,
    Serial,
    Secret,
    YouCanTell,
    MatrixStamped,
    Vectored,
    Logged,
    LamportClocked,
    Routed,
    TreeChange,
    Welcome,
    Dependent,
    Marker,
    Posted,
    Migration,
)
"""The code of a shape is its place here: append only."""

_CODE = {shape: code for code, shape in enumerate(SHAPES)}
_FIELDS = {shape: tuple(field.name for field in fields(shape)) for shape in SHAPES}

LARGEST_PACKET = 1 << 24
"""Longer ones are not read."""


def encode(packet: Packet) -> bytes:
    """The bytes of a packet. Raises `TypeError` for a payload that MessagePack cannot write.

    Cost: linear in what is written.

    >>> len(encode(Ack(7)))
    4
    >>> decode(encode(HybridMessage(3, 1, True, "hello")))
    HybridMessage(mid=3, pid=1, permit=True, payload='hello')
    """
    import msgpack

    shape = type(packet)
    written: bytes = msgpack.packb(
        [VERSION, _CODE[shape], *(getattr(packet, name) for name in _FIELDS[shape])]
    )
    return written


def decode(content: bytes) -> Packet | None:
    """The packet that `content` is, or None: truncated, of another version, or not sound.

    Payloads come back as MessagePack has them: a list is a tuple. Cost: linear in the bytes.

    >>> decode(b"") is decode(b"garbage") is decode(encode(Ack(7))[:-1]) is None
    True
    """
    import msgpack

    if len(content) > LARGEST_PACKET:
        return None
    try:
        parts: Any = msgpack.unpackb(content, use_list=False)
    except Exception:  # msgpack raises nine kinds, of three families, and RecursionError
        return None
    if type(parts) is not tuple or len(parts) < 2 or parts[0] != VERSION or type(parts[1]) is not int:
        return None
    if not 0 <= parts[1] < len(SHAPES):
        return None
    shape = SHAPES[parts[1]]
    if len(parts) != 2 + len(_FIELDS[shape]):
        return None
    packet: Packet = shape(*parts[2:])
    return packet if packet.sound() else None
