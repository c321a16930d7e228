"""What goes into packets, as bytes: greetings, contents of several messages, fragments, envelopes.

What is read was sealed by a member, and is checked all the same: whatever is not exactly of a known form is
None. Nothing here raises on input.

A message of an exchange that is too large for a packet goes in *fragments*, which name it by a digest, so
that the fragments of a message that is sent again, after some were lost, complete the ones that came before.
What is never completed is dropped when newer messages need room: each peer has its share, and all together
have a bound. What is dropped is asked for again by a later round.

The *envelope* is what a replica puts behind the payload of a message: the evolution of its sending. Who gets
a message learns more than that it was sent before it was delivered: where its sending stands among the events
of the sender. That is the sender's own evolution (its name follows from the message's), so it is taken as
such, before any exchange brings it, and nothing has to be recorded twice.
"""

from __future__ import annotations

import struct
from collections.abc import Iterator
from hashlib import blake2b
from typing import Any, NamedTuple

from microcosm.errors import Malformed
from microcosm.protocol.packets import natural, naturals
from microcosm.replica.ledger.dots import LAST_INCARNATION, LAST_NUMBER, Dot
from microcosm.replica.ledger.evolution import Append, read
from microcosm.replica.network.keys import LONGEST_NAME
from microcosm.replica.network.process import NOTHING_KNOWN, Fence, LastKnown

VERSIONS = (1,)
"""The versions of packets that this program reads and writes, oldest first. A greeting is of the oldest."""


class Greeting(NamedTuple):
    """Who is there: boot and generation of the sender's key, and what it has heard of the receiver.

    `echo_incarnation` and `echo_boot` are those of the last genuine greeting of the receiver: only one that
    names the receiver's current boot is no recording. `heard` is the generation of the receiver's key that
    the sender accepts (0: none), `met` whether it knows that its own is accepted.
    """

    versions: tuple[int, ...]
    boot: int
    generation: int
    echo_incarnation: int
    echo_boot: int
    heard: int
    met: bool
    life: bytes = b""
    """The hash of the sender's start."""
    known: LastKnown = NOTHING_KNOWN
    """What the sender remembers of the receiver."""
    diverged: bool = False
    """Whether the sender's memory is not the one that the receiver remembers."""
    exchanges: tuple[int, ...] = ()
    """The versions of exchanges that the sender reads."""


Copied = tuple[int, int, bool, bytes]
"""A copy of a message: id, predecessor, whether a permit follows, part."""

COPY_BYTES = 26
"""At most so many bytes are needed for a copy besides its part, and so many as below for an id."""
ID_BYTES = 9
FRAME_BYTES = 24
FENCE_BYTES = 220


class Content(NamedTuple):
    """What one packet says. Of several acks, and permits, each also stands for all smaller ones."""

    acks: tuple[int, ...] = ()
    permits: tuple[int, ...] = ()
    copies: tuple[Copied, ...] = ()
    fences: tuple[Fence, ...] = ()
    """Those that the sender keeps and asks the receiver to keep."""
    kept: tuple[Fence, ...] = ()
    """Those that the sender keeps, durably, having been asked."""


def read_greeting(content: bytes) -> Greeting | None:
    """The greeting that these bytes are, or None."""
    parts = _unpacked(content, len(Greeting._fields))
    if parts is None or not (naturals(parts[0]) and all(map(natural, parts[1:6])) and naturals(parts[10])):
        return None
    met, life, known, diverged = parts[6:10]
    if not (type(met) is type(diverged) is bool and type(life) is bytes and _memory(known)):
        return None
    return Greeting(*parts)._replace(known=LastKnown(*known))


def read_content(content: bytes) -> Content | None:
    """The content that these bytes are, or None."""
    parts = _unpacked(content, len(Content._fields))
    if parts is None or not (naturals(parts[0]) and naturals(parts[1])):
        return None
    acks, permits, copies, fences, kept = parts
    if type(copies) is not tuple or not all(map(_copy, copies)):
        return None
    if not (_fences(fences) and _fences(kept)):
        return None
    stated, confirmed = (tuple(Fence(*fence) for fence in some) for some in (fences, kept))
    return Content(acks, permits, copies, stated, confirmed)


def _unpacked(content: bytes, length: int) -> tuple[Any, ...] | None:
    try:
        parts = read(content)
    except Malformed:
        return None
    return parts if type(parts) is tuple and len(parts) == length else None


def _memory(value: object) -> bool:
    match value:
        case (boot, bytes(), delivered, acked):
            return naturals((boot, delivered, acked))
    return False


def _copy(value: object) -> bool:
    return type(value) is tuple and (*map(type, value),) == (int, int, bool, bytes)


def _fences(value: object) -> bool:
    return type(value) is tuple and all(
        type(fence) is tuple
        and (*map(type, fence),) == (str, int)
        and len(fence[0].encode()) <= LONGEST_NAME  # all have to fit into packets
        and natural(fence[1])
        for fence in value
    )


HEAD = struct.Struct(">16sHH")
"""Digest of the message, the place of the fragment, and how many there are."""

MOST_FRAGMENTS = 256
MOST_UNFINISHED = 16
"""So many messages of a peer are kept in part."""

MOST_BYTES = 4 << 20
"""Bytes that are kept of the unfinished messages of all peers together."""

FRAGMENT_COST = 128
"""Bytes that a fragment is reckoned to take besides its own."""


def fragments(message: bytes, size: int) -> Iterator[bytes]:
    """The fragments of a message, each at most `size` bytes; none where they are more than `MOST_FRAGMENTS`.

    >>> [len(fragment) for fragment in fragments(b"x" * 100, 60)]
    [60, 60, 40]
    """
    room = size - HEAD.size
    count = max(1, -(-len(message) // room))
    if count > MOST_FRAGMENTS:
        return
    digest = blake2b(message, digest_size=16).digest()
    for at in range(count):
        yield HEAD.pack(digest, at, count) + message[at * room : (at + 1) * room]


class Assembly:
    """Puts the fragments of all peers together.

    >>> one, two, three = fragments(b"x" * 100, 60)
    >>> assembly = Assembly()
    >>> [assembly.add("phone", fragment) for fragment in (three, one, one)], len(assembly.add("phone", two))
    ([None, None, None], 100)
    """

    def __init__(self, most_bytes: int = MOST_BYTES) -> None:
        self._most = most_bytes
        self._unfinished: dict[tuple[str, bytes], dict[int, bytes]] = {}
        """By peer and digest, the one that a fragment came for last at the end."""
        self.size = 0
        """Bytes that are kept."""
        self.malformed = 0
        self.dropped = 0
        """Unfinished messages that had to make room."""

    def add(self, peer: str, fragment: bytes) -> bytes | None:
        """The message that a fragment completes. What is no fragment completes nothing.

        Cost: the fragments of the message that it completes, and the unfinished messages.
        """
        if len(fragment) < HEAD.size:
            self.malformed += 1
            return None
        digest, at, count = HEAD.unpack_from(fragment)
        content = fragment[HEAD.size :]
        if not at < count <= MOST_FRAGMENTS:
            self.malformed += 1
            return None
        if count == 1:
            return content
        key = peer, digest
        parts = self._unfinished[key] = self._unfinished.pop(key, {})
        self.size += len(content) - len(parts[at]) if at in parts else len(content) + FRAGMENT_COST
        parts[at] = content
        if len(parts) < count or max(parts) >= count:
            self._make_room(peer)
            return None
        self._drop(key)
        message = b"".join(parts[each] for each in range(count))
        if blake2b(message, digest_size=16).digest() != digest:
            self.malformed += 1
            return None
        return message

    def _make_room(self, peer: str) -> None:
        """Drop the oldest of a peer that has too many, and the oldest of all if they take too much."""
        of_peer = [key for key in self._unfinished if key[0] == peer]
        for key in of_peer[: max(0, len(of_peer) - MOST_UNFINISHED)]:
            self._drop(key)
            self.dropped += 1
        while self.size > self._most:
            self._drop(next(iter(self._unfinished)))
            self.dropped += 1

    def _drop(self, key: tuple[str, bytes]) -> None:
        self.size -= _size(self._unfinished.pop(key))


def _size(parts: dict[int, bytes]) -> int:
    return sum(len(part) + FRAGMENT_COST for part in parts.values())


_TAIL = struct.Struct(">dQQ")
"""When it was sent (not a number: nobody said), incarnation and number of the event."""

ENVELOPE_BYTES = _TAIL.size
"""Bytes behind each payload."""


class OpenedEnvelope(NamedTuple):
    """A payload, and the event of its sending."""

    payload: bytes
    sent: Append

    @property
    def message(self) -> str:
        """The name of the message."""
        return str(self.sent.dot)


def enveloped(payload: bytes, sent: Append) -> bytes:
    """A payload with the event of its sending.

    >>> letter = envelope_of(enveloped(b"look", Append(Dot("phone", 1, 7), "c:phone.1.7")), "phone")
    >>> letter.payload, letter.message, letter.sent.event
    (b'look', 'phone.1.7', 'c:phone.1.7')
    """
    return payload + _TAIL.pack(float("nan") if sent.at is None else sent.at, *sent.dot[1:])


def envelope_of(content: bytes, sender: str) -> OpenedEnvelope | None:
    """What `enveloped` made, from this sender; None for anything else."""
    if len(content) < ENVELOPE_BYTES:
        return None
    at, incarnation, number = _TAIL.unpack(content[-ENVELOPE_BYTES:])
    if not (0 < incarnation <= LAST_INCARNATION and 0 < number <= LAST_NUMBER):
        return None
    dot = Dot(sender, incarnation, number)
    return OpenedEnvelope(content[:-ENVELOPE_BYTES], Append(dot, f"c:{dot}", at if at == at else None))  # noqa: PLR0124


def envelope_number(part: bytes) -> str:
    """Incarnation and number of the event, as in its dot, from the last part of a message, long enough."""
    return "{}.{}".format(*_TAIL.unpack(part[-ENVELOPE_BYTES:])[1:])
