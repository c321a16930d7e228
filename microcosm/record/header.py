"""What goes with a message: the name of its sending, 40 bytes of ASCII at most, however many processes.

    1~alice:6~pZ8_k3f9x2a

The version, the process and its event, for people, and 66 random bits. The log of the sender has this name,
the log of each receiver has it, and that is how their lines are matched. The random bits are drawn when the
message is sent and are nowhere before: who can name a sending has heard of it, from the sender or through
others, so that what matches is in the order told. A name that was made up matches nothing.
"""

from __future__ import annotations

import os
import re
from base64 import urlsafe_b64encode
from typing import Any

KEY = "causality"
"""What the header is called where messages have headers: in HTTP, gRPC and Kafka."""

LONGEST = 40
"""Bytes of a header."""

_VERSION = "1~"
_SHOWN = 12
"""Characters of the name of a process that a header shows."""
_DRAWN = 3 * 1024
"""Random bytes that are drawn at a time: a call of the system for each would cost more than all else."""

_strange = re.compile(r"[^A-Za-z0-9._#/-]")
_header = re.compile(
    r"1~([A-Za-z0-9._#/-]{0,12}:[0-9]{1,13}~[A-Za-z0-9_-]{11})(?:;(.+))?", re.ASCII
).fullmatch


def shown(process: str) -> str:
    """The name of a process as headers have it: short, and without what some transport would not carry.

    >>> shown("the web server"), shown("alice")
    ('the_web_serv', 'alice')
    """
    return _strange.sub("_", process[:_SHOWN])


class Names:
    """Names that nobody can guess, for messages. Not for several threads at a time."""

    def __init__(self) -> None:
        self._drawn = ""
        self._at = 0

    def draw(self) -> str:
        """Eleven letters of 66 random bits."""
        at = self._at
        if at + 11 > len(self._drawn):
            self._drawn, at = urlsafe_b64encode(os.urandom(_DRAWN)).decode("ascii"), 0
        self._at = at + 11
        return self._drawn[at : at + 11]

    def forget(self) -> None:
        """Draw anew: after a fork both sides would have the same names in store."""
        self._drawn, self._at = "", 0


def header_of(message: str, clock: dict[str, int] | None = None) -> str:
    """The header that carries the name of a message; where clocks are recorded, with the sender's.

    >>> header_of("alice:6~pZ8_k3f9x2a")
    '1~alice:6~pZ8_k3f9x2a'
    """
    if not clock:
        return _VERSION + message
    from urllib.parse import quote

    return f"{_VERSION}{message};" + ",".join(f"{quote(name)}={count}" for name, count in clock.items())


def message_of(header: object) -> str | None:
    """The name of the message in a header, which is that of its sending in a replica that is fed.

    >>> message_of("1~alice:6~pZ8_k3f9x2a"), message_of("another header")
    ('alice:6~pZ8_k3f9x2a', None)
    """
    return read(header)[0]


def read(header: object) -> tuple[str | None, dict[str, int] | None]:
    """The name of the message in a header, and the clock of its sender if it is there. Raises nothing.

    None is the name where it is no header of this kind.

    >>> read("1~alice:6~pZ8_k3f9x2a"), read(b"1~alice:6~pZ8_k3f9x2a;alice=6,bob=2")
    (('alice:6~pZ8_k3f9x2a', None), ('alice:6~pZ8_k3f9x2a', {'alice': 6, 'bob': 2}))
    >>> read("00-4bf92f3577b34da6-01"), read(None), read(7)
    ((None, None), (None, None), (None, None))
    """
    if not isinstance(header, str):
        if not isinstance(header, bytes | bytearray | memoryview):
            return None, None
        header = bytes(header).decode("latin-1")
    found = _header(header)
    if found is None:
        return None, None
    return found[1], _clock(found[2]) if found[2] else None


def _clock(text: str) -> dict[str, int] | None:
    """A clock as a header has it; None where there is more in it than a clock can have."""
    from urllib.parse import unquote

    clock = {}
    for entry in text.split(","):
        name, _, count = entry.partition("=")
        if not (name and count.isascii() and count.isdecimal() and len(count) < 19):
            return None
        clock[unquote(name)] = int(count)
    return clock


def inject(headers: Any, header: str) -> Any:
    """Put a header among those of a message, and return these.

    `headers` may be a mapping, a list of pairs with values of bytes, as Kafka's clients have, or None.

    >>> inject({"a": "1"}, "1~alice:6~pZ8_k3f9x2a")
    {'a': '1', 'causality': '1~alice:6~pZ8_k3f9x2a'}
    >>> inject(None, "1~alice:6~pZ8_k3f9x2a")
    [('causality', b'1~alice:6~pZ8_k3f9x2a')]
    """
    if headers is None:
        headers = []
    if isinstance(headers, list):
        headers.append((KEY, header.encode("ascii")))
    else:
        headers[KEY] = header
    return headers


def extract(headers: Any) -> str | bytes | None:
    """The header among those of a message, a mapping or pairs; None where there is none. Raises nothing.

    >>> extract([("a", b"1"), ("causality", b"1~alice:6~pZ8_k3f9x2a")])
    b'1~alice:6~pZ8_k3f9x2a'
    >>> extract({"Causality": "1~alice:6~pZ8_k3f9x2a"}), extract(None)
    ('1~alice:6~pZ8_k3f9x2a', None)
    """
    try:
        pairs = headers.items() if hasattr(headers, "items") else headers or ()
        for pair in pairs:
            name, value = pair[0], pair[1]
            if (name.decode("latin-1") if isinstance(name, bytes) else name).lower() == KEY:
                return value if isinstance(value, str | bytes) else str(value)
    except (AttributeError, IndexError, KeyError, TypeError, ValueError):
        pass
    return None
