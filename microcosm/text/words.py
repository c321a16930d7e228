"""The words of microcosm files: patterns for what they may be, and what is wrong with a text as a name."""

from __future__ import annotations

import json

STRING = r'"[^"\\\x00-\x1f]*+(?:\\.[^"\\\x00-\x1f]*+)*+"'
"""A quoted text, its escapes unchecked. Possessive throughout, so that length costs no memory."""

PLAIN = r"(?!-)[A-Za-z0-9_.:@/\w-]++(?<!-)"
"""A plain name where a blank must follow: nothing of it is given back when none does. `\\w` has the letters
of ASCII already; named, they are looked up in a table, in half of the time."""

OPERAND = rf"(?:{STRING}|{PLAIN})"
"""A name where blanks or a sign must follow: nothing of it is given back when they do not."""

SIGN = r"(?:<>?|\|\||>|!<(?!>)|!>|[≺≻→∥≬≮])"
"""What may be stated between two events."""


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
