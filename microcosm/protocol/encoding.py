"""Packets as bytes: a version, a code for the shape, then the fields in their order (MessagePack).

Reading raises nothing: what is no packet of this version is None, with the reason counted by the caller.
"""

from __future__ import annotations

from dataclasses import fields
from typing import Any

from microcosm.protocol import packets
from microcosm.protocol.packets import Packet

VERSION = 1

SHAPES: tuple[type[Packet], ...] = (
    packets.HybridMessage,
    packets.Ack,
    packets.Permit,
    packets.Serial,
    packets.Secret,
    packets.YouCanTell,
    packets.MatrixStamped,
    packets.Vectored,
    packets.Logged,
    packets.LamportClocked,
    packets.Routed,
    packets.TreeChange,
    packets.Welcome,
    packets.Dependent,
    packets.Marker,
    packets.Posted,
    packets.Migration,
)
"""The code of a shape is its place here: append only."""

_CODE = {shape: code for code, shape in enumerate(SHAPES)}
_FIELDS = {shape: tuple(field.name for field in fields(shape)) for shape in SHAPES}

LARGEST_PACKET = 1 << 24
"""Longer ones are not read."""


def encode(packet: Packet) -> bytes:
    """The bytes of a packet. Raises `TypeError` for a payload that MessagePack cannot write.

    Cost: linear in what is written.

    >>> len(encode(packets.Ack(7)))
    4
    >>> decode(encode(packets.HybridMessage(3, 1, True, "hello")))
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

    >>> decode(b"") is decode(b"garbage") is decode(encode(packets.Ack(7))[:-1]) is None
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
