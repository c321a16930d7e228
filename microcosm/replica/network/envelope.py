"""What a replica puts behind the payload of a message: the evolution of its sending.

Who gets a message learns more than that it was sent before it was delivered: where its sending stands among
the events of the sender. That is the sender's own evolution (its name follows from the message's), so it is
taken as such, before any exchange brings it, and nothing has to be recorded twice.
"""

from __future__ import annotations

import struct
from typing import NamedTuple

from microcosm.replica.ledger.dots import Dot
from microcosm.replica.ledger.evolution import Append

_TAIL = struct.Struct(">dQ")
"""When it was sent (not a number: nobody said), and the number of the event."""

SIZE = _TAIL.size
"""Bytes behind each payload."""


class OpenedEnvelope(NamedTuple):
    """A payload, and the event of its sending."""

    payload: bytes
    sent: Append

    @property
    def message(self) -> str:
        """The name of the message."""
        return str(self.sent.dot)


def closed(payload: bytes, sent: Append) -> bytes:
    """A payload with the event of its sending.

    >>> letter = opened(closed(b"look", Append(Dot("phone", 1, 7), "c:phone.1.7")), "phone", 1)
    >>> letter.payload, letter.message, letter.sent.event
    (b'look', 'phone.1.7', 'c:phone.1.7')
    """
    return payload + _TAIL.pack(float("nan") if sent.at is None else sent.at, sent.dot.number)


def opened(content: bytes, sender: str, incarnation: int) -> OpenedEnvelope | None:
    """What `closed` made, from this sender; None for anything else."""
    if len(content) < SIZE:
        return None
    at, number = _TAIL.unpack(content[-SIZE:])
    if not number:
        return None
    dot = Dot(sender, incarnation, number)
    return OpenedEnvelope(content[:-SIZE], Append(dot, f"c:{dot}", at if at == at else None))  # noqa: PLR0124


def number_in(part: bytes) -> int:
    """The number of the event, from the last part of a message. The part is long enough."""
    number: int = _TAIL.unpack(part[-SIZE:])[1]
    return number
