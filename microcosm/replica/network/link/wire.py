"""What packets say, as MessagePack: greetings, and contents with several messages, acks and permits each.

What is read was sealed by a member, and is checked all the same: whatever is not exactly of a known form is
None. Nothing here raises on input.
"""

from __future__ import annotations

from typing import Any, NamedTuple

from microcosm.protocol.packets import natural, naturals
from microcosm.replica.network.durable.membership import Fence

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


def packed(value: Greeting | Content) -> bytes:
    """The bytes of a greeting or content."""
    import msgpack

    written: bytes = msgpack.packb(value)
    return written


def read_greeting(content: bytes) -> Greeting | None:
    """The greeting that these bytes are, or None."""
    parts = _unpacked(content, len(Greeting._fields))
    if parts is None or not (naturals(parts[0]) and all(map(natural, parts[1:6])) and type(parts[6]) is bool):
        return None
    return Greeting(*parts)


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
    return Content(
        acks,
        permits,
        copies,
        tuple(Fence(*fence) for fence in fences),
        tuple(Fence(*fence) for fence in kept),
    )


def _unpacked(content: bytes, length: int) -> tuple[Any, ...] | None:
    import msgpack

    try:
        parts: Any = msgpack.unpackb(content, use_list=False)
    except Exception:  # msgpack raises nine kinds, of three families, and RecursionError
        return None
    return parts if type(parts) is tuple and len(parts) == length else None


def _copy(value: object) -> bool:
    return (
        type(value) is tuple
        and len(value) == 4
        and type(value[0]) is int
        and type(value[1]) is int
        and type(value[2]) is bool
        and type(value[3]) is bytes
    )


def _fences(value: object) -> bool:
    return type(value) is tuple and all(
        type(fence) is tuple and len(fence) == 2 and type(fence[0]) is str and natural(fence[1])
        for fence in value
    )
