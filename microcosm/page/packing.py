"""Columns as bytes: numbers as LEB128 or single bytes, texts as lines; each packed to stand in an HTML file.

A table of the small numbers, which nearly all are, makes the pass over a column one look-up a number.
"""

from __future__ import annotations

import base64
import gzip
import json
import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from functools import cache, cached_property
from itertools import chain, pairwise
from typing import Literal

from microcosm.traces.event import writable

Kind = Literal["u8", "leb", "zigzag", "lines", "json"]
"""How the bytes of a column are to be read."""


@dataclass(frozen=True)
class Column:
    """One column of a page: `count` entries as bytes, which are told to the page by its `kind`."""

    name: str
    kind: Kind
    count: int
    data: bytes

    @cached_property
    def packed(self) -> str:
        """The bytes as gzip in base64; the same bytes give the same text. Cost: linear."""
        return base64.b64encode(
            gzip.compress(self.data, 9 if len(self.data) < 1 << 20 else 6, mtime=0)
        ).decode()


def leb(number: int) -> bytes:
    """A number from 0 on, seven bits a byte, the lowest first.

    >>> leb(0), leb(127), leb(300)
    (b'\\x00', b'\\x7f', b'\\xac\\x02')
    """
    found = bytearray()
    while number > 127:
        found.append(number & 127 | 128)
        number >>= 7
    found.append(number)
    return bytes(found)


def zigzag(number: int) -> int:
    """A number from 0 on for any number, small for those near 0.

    >>> [zigzag(number) for number in (0, -1, 1, -2)]
    [0, 1, 2, 3]
    """
    return 2 * number if number >= 0 else -2 * number - 1


def naturals(name: str, numbers: Iterable[int]) -> Column:
    """A column of numbers from 0 on. Cost: linear."""
    parts = [*map(cache(leb), numbers)]
    return Column(name, "leb", len(parts), b"".join(parts))


def integers(name: str, numbers: Iterable[int]) -> Column:
    """A column of any whole numbers, those near 0 shortest. Cost: linear."""
    parts = [*map(cache(lambda number: leb(zigzag(number))), numbers)]
    return Column(name, "zigzag", len(parts), b"".join(parts))


def steps(name: str, numbers: Iterable[int]) -> Column:
    """A column of how much each number is above the one before it, the first above 0. Cost: linear."""
    listed = [0, *numbers]
    return integers(name, [b - a for a, b in pairwise(listed)])


def small(name: str, numbers: bytes | bytearray) -> Column:
    """A column of bytes."""
    return Column(name, "u8", len(numbers), bytes(numbers))


def lines(name: str, texts: Iterable[str]) -> Column:
    r"""A column of texts, a line each: what would break a line, a backslash and half characters are escaped.

    >>> lines("names", ["a\nb", "\\", "\ud800", "é"]).data.decode()
    'a\\nb\n\\\\\n\\ud800\né\n'
    """
    listed = [*texts]
    whole = "\n".join(listed)
    if whole.count("\n") >= len(listed) or "\\" in whole or "\r" in whole or not writable(whole):
        listed = [*map(escaped, listed)]
    return Column(name, "lines", len(listed), "".join([f"{text}\n" for text in listed]).encode())


def words(name: str, texts: Sequence[str], first: Iterable[str] = ()) -> Iterator[Column]:
    """Columns of texts of which many are the same: each of them once, and which of these each entry is.

    One column `name` of lines where most are different; else `name.of` says which line each entry has. Those
    that stand `first`, all of them of `texts`, are first.
    """
    number = {text: at for at, text in enumerate(dict.fromkeys(chain(first, texts)))}
    if 4 * len(number) > len(texts):
        yield lines(name, texts)
    else:
        yield lines(name, number)
        which = map(number.__getitem__, texts)
        yield small(f"{name}.of", bytes(which)) if len(number) <= 256 else naturals(f"{name}.of", which)


def numbered(name: str, texts: Sequence[str]) -> Iterator[Column]:
    """Columns of texts, some empty, which are often one word and a counter: the word, and the numbers.

    Where all are, `name` is the word alone, and `name.n` says of each entry how much its number plus one is
    above the last, 0 where the entry is empty; else all are lines of one column `name`. Cost: linear.

    >>> [(c.name, c.data) for c in numbered("messages", ["m0", "", "m2"])]
    [('messages', b'm\\n'), ('messages.n', b'\\x02\\x00\\x04')]
    """
    word = next(filter(None, texts), "").rstrip("0123456789")
    counted = re.compile(re.escape(word) + "(0|[1-9][0-9]{0,8})", re.DOTALL).fullmatch
    last, found = 0, []
    for text in texts:
        if text:
            number = counted(text)
            if number is None or int(number[1]) + 1 == last:
                yield lines(name, texts)
                return
            last = int(number[1]) + 1
        found.append(last)
    yield lines(name, [word])
    yield steps(f"{name}.n", found)


def escaped(text: str) -> str:
    """A text without what would break a line: that, a backslash and half characters are escaped."""
    text = text.replace("\\", "\\\\").replace("\n", "\\n").replace("\r", "\\r")
    return text if writable(text) else "".join(c if writable(c) else f"\\u{ord(c):04x}" for c in text)


def nibbles(name: str, digits: str) -> Column:
    """A column of hexadecimal digits, two a byte, the first one above the second."""
    return Column(name, "u8", len(digits), bytes.fromhex(digits + "0" * (len(digits) % 2)))


def as_json(name: str, value: object) -> Column:
    """A column that is JSON."""
    return Column(name, "json", 1, json.dumps(value, separators=(",", ":")).encode())


def moments(times: Sequence[object]) -> list[int] | None:
    """Times of day as whole numbers of microseconds; None where one is not known."""
    found: list[int] = []
    for time in times:
        if isinstance(time, bool) or time is None:
            return None
        try:
            if isinstance(time, int | float):
                found.append(int(time * 1_000_000))
            else:
                moment = datetime.fromisoformat(str(time))
                moment = moment if moment.tzinfo is not None else moment.replace(tzinfo=UTC)
                found.append((moment - _EPOCH) // timedelta(microseconds=1))
        except (ValueError, OverflowError):
            return None
    return found or None


_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
