"""How events and other things are named in microcosm files: plainly, or as any text in double quotes."""

from __future__ import annotations

import json
import re
from collections.abc import Sequence
from json.encoder import encode_basestring

KEYWORDS = frozenset(
    ("name", "internal", "stamp", "clock", "from", "send", "receive",
     "ordering", "interior", "complete", "token", "unticked")
)  # fmt: skip
"""Words that must be quoted to be names."""

NAME = r"(?!-)[\w.:@/-]*[\w.:@/]"
"""A plain name: letters, digits and _ . : @ / -, neither first nor last a hyphen."""

STRING = r'"[^"\\\x00-\x1f]*+(?:\\.[^"\\\x00-\x1f]*+)*+"'
"""A quoted text, its escapes unchecked. Possessive throughout, so that length costs no memory."""

PLAIN = r"(?!-)[\w.:@/-]++(?<!-)"
"""A plain name where a blank must follow: nothing of it is given back when none does."""

OPERAND = rf"(?:{STRING}|{PLAIN})"
"""A name where blanks or a sign must follow: nothing of it is given back when they do not."""

SIGN = r"(?:<>?|\|\||>|!<(?!>)|!>|[≺≻→∥≬≮])"
"""What may be stated between two events."""

_plain = re.compile(NAME).fullmatch
_plain_lines = re.compile(rf"(?:{NAME}\n)*+{NAME}").fullmatch


def quote(name: str) -> str:
    r"""`name` as microcosm files write it: plain where it can be, else quoted with JSON escapes.

    >>> print(quote("e-1"), quote("log in"), quote("from"), quote("a\nb"))
    e-1 "log in" "from" "a\nb"
    """
    return name if _plain(name) and name not in KEYWORDS else string(name)


def all_quoted(names: Sequence[str]) -> Sequence[str]:
    """`quote` of each name; a quarter of its price where all are plain.

    >>> all_quoted(["a", "log in"]), all_quoted(["a", "b"])
    (['a', '"log in"'], ['a', 'b'])
    """
    if KEYWORDS.isdisjoint(names):
        parts = [names[at : at + 1000] for at in range(0, len(names), 1000)]
        if all(_plain_parts("\n".join(part), len(part)) for part in parts):
            return names
    return [*map(quote, names)]


def _plain_parts(text: str, many: int) -> bool:
    return text.count("\n") == many - 1 and _plain_lines(text) is not None


class Quoted(dict[str, str]):
    """Names as written, each quoted once."""

    def __missing__(self, name: str) -> str:
        written = self[name] = quote(name)
        return written


def string(text: str) -> str:
    """`text` in double quotes, as JSON writes it; what a terminal would not show (controls, odd spaces,
    direction marks) is escaped."""
    text = encode_basestring(text)
    if text.isprintable():
        return text
    return "".join(c if c.isprintable() else json.dumps(c)[1:-1] for c in text)


def unquote(token: str) -> str:
    r"""The text of a double-quoted token. Raises `ValueError` (a `JSONDecodeError`) for a bad escape.

    >>> unquote('"log\\u0020in"')
    'log in'
    """
    return token[1:-1] if "\\" not in token else str(json.loads(token))


def unfit(name: str) -> str | None:
    """Why `name` cannot name an event, or None: it must be some text that UTF-8 can write."""
    if not name:
        return "a name cannot be empty"
    if name.isascii():
        return None
    try:
        name.encode()
    except UnicodeEncodeError:
        return "a name cannot contain half of a surrogate pair"
    return None


def shown(text: str) -> str:
    """A text in an error, quoted and short.

    >>> shown("upload"), len(shown("x" * 1_000_000))
    ("'upload'", 43)
    """
    return repr(str(text) if len(text) <= SHOWN else text[:SHOWN] + "…")


SHOWN = 40
"""An error shows at most so many characters of what it found."""
