"""Messages of exchanges in pieces that fit into packets.

A piece names its message by a digest, so that the pieces of a message that is sent again, after some were
lost, complete the ones that came before. What is never completed is dropped when newer messages need room.
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
    """Puts the pieces of one peer together.

    >>> one, two, three = pieces(b"x" * 100, 60)
    >>> assembly = Assembly()
    >>> [assembly.add(piece) for piece in (three, one, one)], len(assembly.add(two))
    ([None, None, None], 100)
    """

    def __init__(self) -> None:
        self._unfinished: dict[bytes, dict[int, bytes]] = {}
        self.malformed = 0

    def add(self, piece: bytes) -> bytes | None:
        """The message that a piece completes. What is no piece completes nothing."""
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
        parts = self._unfinished.pop(digest, {})
        parts[at] = content
        if len(parts) == count and max(parts) < count:
            message = b"".join(parts[each] for each in range(count))
            if blake2b(message, digest_size=16).digest() == digest:
                return message
            self.malformed += 1
            return None
        self._unfinished[digest] = parts
        while len(self._unfinished) > MOST_UNFINISHED:
            del self._unfinished[next(iter(self._unfinished))]
        return None
