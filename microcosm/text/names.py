"""How events and other things are named in microcosm files: plainly, or as any text in double quotes."""

from __future__ import annotations

import json
import re

KEYWORDS = frozenset(
    ("name", "internal", "stamp", "clock", "from", "send", "receive",
     "ordering", "interior", "complete", "token", "unticked")
)  # fmt: skip
"""Words that must be quoted to be names."""

NAME = r"(?!-)[\w.:@/-]*[\w.:@/]"
"""A plain name: letters, digits and _ . : @ / -, neither first nor last a hyphen."""

STRING = r'"[^"\\\x00-\x1f]*+(?:\\.[^"\\\x00-\x1f]*+)*+"'
"""A quoted text, its escapes unchecked. Possessive throughout, so that length costs no memory."""

OPERAND = rf"(?:{STRING}|(?!-)[\w.:@/-]++(?<!-))"
"""A name where blanks or a sign must follow: nothing of it is given back when they do not."""

SIGN = r"(?:<>?|\|\||>|!<(?!>)|!>|[≺≻→∥≬≮])"
"""What may be stated between two events."""

_plain = re.compile(NAME).fullmatch


def quote(name: str) -> str:
    r"""`name` as microcosm files write it: plain where it can be, else quoted with JSON escapes.

    >>> print(quote("e-1"), quote("log in"), quote("from"), quote("a\nb"))
    e-1 "log in" "from" "a\nb"
    """
    return name if _plain(name) and name not in KEYWORDS else string(name)


class Quoted(dict[str, str]):
    """Names as written, each quoted once."""

    def __missing__(self, name: str) -> str:
        written = self[name] = quote(name)
        return written


def string(text: str) -> str:
    """`text` in double quotes, as JSON writes it; what a terminal would not show (controls, odd spaces,
    direction marks) is escaped."""
    text = json.dumps(text, ensure_ascii=False)
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
