"""What goes with a message: the name of its sending, 40 bytes of ASCII at most, however many processes.

    1~alice:6~pZ8_k3f9x2a

The version, the process and its event, for people, and 64 random bits. The log of the sender has this name,
the log of each receiver has it, and that is how their lines are matched. The random bits are drawn when the
message is sent and are nowhere before: who can name a sending has heard of it, from the sender or through
others, so that what matches is in the order told. A name that was made up matches nothing.
"""

from __future__ import annotations

import os
import re
from base64 import urlsafe_b64encode

KEY = "causality"
"""What the header is called where messages have headers: in HTTP, gRPC and Kafka."""

LONGEST = 40
"""Bytes of a header."""

_VERSION = "1~"
_SHOWN = 12
"""Characters of the name of a process that a header shows."""
_DRAWN = 8 * 512
"""Random bytes that are drawn at a time: a call of the system for each would cost more than all else."""

_strange = re.compile(r"[^A-Za-z0-9._#/-]")
_header = re.compile(r"1~([A-Za-z0-9._#/-]{0,12}:[0-9]{1,13}~[A-Za-z0-9_-]{11})", re.ASCII)


def shown(process: str) -> str:
    """The name of a process as headers have it: short, and without what some transport would not carry.

    >>> shown("the web server"), shown("alice")
    ('the_web_serv', 'alice')
    """
    return _strange.sub("_", process[:_SHOWN])


class Names:
    """Names that nobody can guess, for messages. Not for several threads at a time."""

    def __init__(self) -> None:
        self._drawn = b""
        self._at = 0

    def draw(self) -> str:
        """Eleven letters of 64 random bits."""
        if self._at >= len(self._drawn):
            self._drawn, self._at = os.urandom(_DRAWN), 0
        bits = self._drawn[self._at : self._at + 8]
        self._at += 8
        return urlsafe_b64encode(bits)[:11].decode("ascii")

    def forget(self) -> None:
        """Draw anew: after a fork both sides would have the same names in store."""
        self._drawn, self._at = b"", 0


def header_of(message: str) -> str:
    """The header that carries the name of a message.

    >>> header_of("alice:6~pZ8_k3f9x2a")
    '1~alice:6~pZ8_k3f9x2a'
    """
    return _VERSION + message


def message_of(header: object) -> str | None:
    """The name of the message in a header; None where it is no header of this kind. Raises nothing.

    >>> message_of("1~alice:6~pZ8_k3f9x2a"), message_of(b"1~alice:6~pZ8_k3f9x2a")
    ('alice:6~pZ8_k3f9x2a', 'alice:6~pZ8_k3f9x2a')
    >>> message_of("00-4bf92f3577b34da6-01"), message_of(None), message_of(7)
    (None, None, None)
    """
    if isinstance(header, bytes | bytearray | memoryview):
        if len(header) > LONGEST:
            return None
        header = bytes(header).decode("latin-1")
    found = _header.fullmatch(header) if isinstance(header, str) else None
    return found[1] if found else None
