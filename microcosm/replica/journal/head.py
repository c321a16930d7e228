"""The head file: how far the journal was durable when that was last acknowledged.

It lies beside the journal and is synced on its own, so that a journal that lost its end, its write-ahead log
or its latest snapshot is known for what it is. Two slots are written in turn, each within a sector of its
own: a sector is taken to be written whole or not at all, so a slot that does not check is damage. All other
bytes are 0.
"""

from __future__ import annotations

import struct
from dataclasses import dataclass, replace
from hashlib import blake2b
from pathlib import Path

from microcosm.errors import MicrocosmError
from microcosm.replica.journal.disk import Disk

SLOT = 4096
SIZE = 2 * SLOT
MAGIC = b"mc head\n"
MODES = ("full", "normal", "off")
_FORM = struct.Struct(">8sQIB16sQ32sQQ32s")
_CHECK = 16


@dataclass(frozen=True, slots=True)
class Head:
    """What was durable: the last record with its chain, and the snapshot with its seal.

    `turn` counts the writes of the file; `mode` is that of the writer, which says what `durable` was worth.
    """

    turn: int
    schema: int
    mode: str
    instance: bytes
    number: int
    chain: bytes
    through: int
    edition: int
    seal: bytes

    def pack(self) -> bytes:
        """The bytes of a slot, with their own hash."""
        content = _FORM.pack(
            *(MAGIC, self.turn, self.schema, MODES.index(self.mode), self.instance),
            *(self.number, self.chain, self.through, self.edition, self.seal),
        )
        return content + blake2b(content, digest_size=_CHECK).digest()


class BadHead(MicrocosmError):
    """A head file that does not check; the text says how."""


def read(path: Path) -> Head | None:
    """The newest head of a file; None where there is no file. Raises `BadHead`."""
    try:
        content = path.read_bytes()
    except FileNotFoundError:
        return None
    if len(content) != SIZE:
        raise BadHead(f"the head file has {len(content)} bytes in place of {SIZE}")
    slots = [_slot(content[at : at + SLOT], parity) for parity, at in enumerate((0, SLOT))]
    heads = sorted((head for head in slots if head), key=lambda head: head.turn)
    turns = [head.turn for head in heads]
    if turns != [0] and turns[1:] != [turn + 1 for turn in turns[:1]]:
        raise BadHead("a slot of the head file is missing")
    return heads[-1]


def _slot(content: bytes, parity: int) -> Head | None:
    if not any(content):
        return None
    body, check = content[: _FORM.size], content[_FORM.size : _FORM.size + _CHECK]
    good = blake2b(body, digest_size=_CHECK).digest() == check and not any(content[_FORM.size + _CHECK :])
    if good:
        magic, turn, schema, mode, *rest = _FORM.unpack(body)
        if magic == MAGIC and turn % 2 == parity and mode < len(MODES):
            return Head(turn, schema, MODES[mode], *rest)
    raise BadHead("a slot of the head file does not check")


class HeadFile:
    """A head file open for writing."""

    def __init__(self, disk: Disk, path: Path, head: Head) -> None:
        self._flat = disk.flat(path)
        self.head = head

    @classmethod
    def create(cls, disk: Disk, path: Path, head: Head) -> HeadFile:
        """A new file, synced, with `head` as its first turn."""
        path.unlink(missing_ok=True)
        file = cls(disk, path, replace(head, turn=0))
        file._flat.write(0, file.head.pack().ljust(SIZE, b"\0"))
        file._flat.sync()
        return file

    @property
    def next(self) -> int:
        """The turn of the next write."""
        return self.head.turn + 1

    def advance(self, head: Head, sync: bool = True) -> None:
        """Write `head`, which is of the `next` turn; durable on return, unless told otherwise."""
        assert head.turn == self.next
        self._flat.write(head.turn % 2 * SLOT, head.pack())
        if sync:
            self._flat.sync()
        self.head = head

    def close(self) -> None:
        """Let go of the file."""
        self._flat.close()
