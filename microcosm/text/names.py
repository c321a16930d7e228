"""How events and other things are named in microcosm files: plainly, or as any text in double quotes.

One by one or many at once; and how texts stand in HTML and XML.
"""

from __future__ import annotations

import json
import re
from collections.abc import Sequence
from json.encoder import encode_basestring
from string import ascii_letters, digits

KEYWORDS = frozenset(
    ("name", "internal", "stamp", "clock", "from", "send", "receive",
     "ordering", "interior", "complete", "token", "unticked")
)  # fmt: skip
"""Words that must be quoted to be names."""

NAME = r"(?!-)[\w.:@/-]*[\w.:@/]"
"""A plain name: letters, digits and _ . : @ / -, neither first nor last a hyphen."""

plain = re.compile(NAME).fullmatch  # whether a text is such a name


def quote(name: str) -> str:
    r"""`name` as microcosm files write it: plain where it can be, else quoted with JSON escapes.

    >>> print(quote("e-1"), quote("log in"), quote("from"), quote("a\nb"))
    e-1 "log in" "from" "a\nb"
    """
    return name if plain(name) and name not in KEYWORDS else string(name)


def string(text: str) -> str:
    """`text` in double quotes, as JSON writes it; what a terminal would not show (controls, odd spaces,
    direction marks) is escaped."""
    text = encode_basestring(text)
    if text.isprintable():
        return text
    return "".join(c if c.isprintable() else json.dumps(c)[1:-1] for c in text)


_plain_lines = re.compile(rf"(?:{NAME}\n)*+{NAME}").fullmatch
_PLAIN_ASCII = (ascii_letters + digits + "_.:@/-").encode()
"""Of what plain names of ASCII are made."""


def all_quoted(names: Sequence[str]) -> Sequence[str]:
    """`quote` of each name; at a quarter of its price where all are plain, at half where nothing is escaped.

    >>> all_quoted(["a", "log in"]), all_quoted(["a", "b"])
    (['a', '"log in"'], ['a', 'b'])
    """
    parts = [names[at : at + 1000] for at in range(0, len(names), 1000)]
    if KEYWORDS.isdisjoint(names) and all(_plain_parts("\n".join(part), len(part)) for part in parts):
        return names
    found: list[str] = []
    for part in parts:
        if KEYWORDS.isdisjoint(part) and as_they_are(part):
            found += [name if plain(name) else f'"{name}"' for name in part]
        else:
            found += map(quote, part)
    return found


def _plain_parts(text: str, many: int) -> bool:
    """Whether so many names, one a line, are all plain; at a fifth of the price where they are ASCII."""
    if text.isascii():
        lines = f"\n{text}\n"
        in_turn = lines.encode().translate(None, _PLAIN_ASCII) == b"\n" * (many + 1)
        return in_turn and not any(odd in lines for odd in ("\n\n", "\n-", "-\n"))
    return text.count("\n") == many - 1 and _plain_lines(text) is not None


def as_they_are(texts: Sequence[str]) -> bool:
    """Whether `string` puts each of these texts into quotes as it is.

    >>> as_they_are(["log in", ""]), as_they_are(["a", 'b"'])
    (True, False)
    """
    together = "".join(texts)
    return together.isprintable() and '"' not in together and "\\" not in together


def readable(text: str) -> str:
    """`text` for HTML and XML: escaped, without what these cannot have or a reader would not see."""
    from html import escape

    return escape("".join(c if c.isprintable() else "\N{REPLACEMENT CHARACTER}" for c in text))


class Quoted(dict[str, str]):
    """Names as written, each quoted once."""

    def __missing__(self, name: str) -> str:
        written = self[name] = quote(name)
        return written
