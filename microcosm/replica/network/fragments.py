"""Messages of exchanges in pieces that fit into packets.

A piece names its message by a digest, so that the pieces of a message that is sent again, after some were
lost, complete the ones that came before. What is never completed is dropped when newer messages need room:
each peer has its share, and all together have a bound. What is dropped is asked for again by a later round.
"""

from __future__ import annotations

import struct
from collections.abc import Iterator
from hashlib import blake2b

HEAD = struct.Struct(">16sHH")
"""Digest of the message, the place of the piece, and how many there are."""

MOST_PIECES = 256
MOST_UNFINISHED = 16
"""So many messages of a peer are kept in part."""

MOST_BYTES = 4 << 20
"""Bytes that are kept of the unfinished messages of all peers together."""

PIECE_COST = 128
"""Bytes that a piece is reckoned to take besides its own."""


def pieces(message: bytes, size: int) -> Iterator[bytes]:
    """The pieces of a message, each at most `size` bytes; none where there would be more than `MOST_PIECES`.

    >>> [len(piece) for piece in pieces(b"x" * 100, 60)]
    [60, 60, 40]
    """
    room = size - HEAD.size
    count = max(1, -(-len(message) // room))
    if count > MOST_PIECES:
        return
    digest = blake2b(message, digest_size=16).digest()
    for at in range(count):
        yield HEAD.pack(digest, at, count) + message[at * room : (at + 1) * room]


class Assembly:
    """Puts the pieces of all peers together.

    >>> one, two, three = pieces(b"x" * 100, 60)
    >>> assembly = Assembly()
    >>> [assembly.add("phone", piece) for piece in (three, one, one)], len(assembly.add("phone", two))
    ([None, None, None], 100)
    """

    def __init__(self, most_bytes: int = MOST_BYTES) -> None:
        self._most = most_bytes
        self._unfinished: dict[tuple[str, bytes], dict[int, bytes]] = {}
        """By peer and digest, the one that a piece came for last at the end."""
        self.size = 0
        """Bytes that are kept."""
        self.malformed = 0
        self.dropped = 0
        """Unfinished messages that had to make room."""

    def add(self, peer: str, piece: bytes) -> bytes | None:
        """The message that a piece completes. What is no piece completes nothing.

        Cost: the pieces of the message that it completes, and the unfinished messages.
        """
        if len(piece) < HEAD.size:
            self.malformed += 1
            return None
        digest, at, count = HEAD.unpack_from(piece)
        content = piece[HEAD.size :]
        if not at < count <= MOST_PIECES:
            self.malformed += 1
            return None
        if count == 1:
            return content
        key = peer, digest
        parts = self._unfinished[key] = self._unfinished.pop(key, {})
        self.size += len(content) - len(parts[at]) if at in parts else len(content) + PIECE_COST
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
    return sum(len(part) + PIECE_COST for part in parts.values())
