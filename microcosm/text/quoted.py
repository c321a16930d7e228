"""Many names and other texts as microcosm files write them, at once; texts as HTML and XML have them."""

from __future__ import annotations

import re
from collections.abc import Sequence
from string import ascii_letters, digits

from microcosm.text.names import KEYWORDS, NAME, plain, quote

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
