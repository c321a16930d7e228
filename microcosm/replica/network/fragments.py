"""Messages of exchanges in fragments that fit into packets.

A fragment names its message by a digest, so that the fragments of a message that is sent again, after some
were lost, complete the ones that came before. What is never completed is dropped when newer messages need
room: each peer has its share, and all together have a bound. What is dropped is asked for again by a later
round.
"""

from __future__ import annotations

import struct
from collections.abc import Iterator
from hashlib import blake2b

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

    def _check(self) -> None:
        assert self.size == sum(map(_size, self._unfinished.values())) <= self._most


def _size(parts: dict[int, bytes]) -> int:
    return sum(len(part) + FRAGMENT_COST for part in parts.values())
