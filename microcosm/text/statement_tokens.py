"""The words of statements as regular expressions, and the names that they stand for.

What is matched here is what `statements.lark` matches. No pattern needs more than linear time, and none
remembers more than a place for what it repeats: lines may be as long as memory allows.
"""

from __future__ import annotations

import re

from microcosm.errors import MicrocosmError
from microcosm.text.names import KEYWORDS, NAME, STRING, unfit, unquote

OPERAND = rf"(?:{STRING}|(?!-)[\w.:@/-]++(?<!-))"
"""A name where blanks or a sign must follow: nothing of it is given back when they do not."""

SIGN = r"(?:<>?|\|\||>|!<(?!>)|!>|[≺≻→∥≬≮])"
"""What may stand between two events."""

TOKEN = re.compile(rf"{OPERAND}|{NAME}|->|{SIGN}|#.*|\S")
"""A word or sign of a statement (clocks and numbers apart). A comment is one token, the last."""

COUNT = r"[0-9]++"

PROCESS = rf"(?:{STRING}|(?>{NAME}(?=\s*:)))"
"""The process of a clock entry: the last colon ends its name."""

ENTRY = rf"{PROCESS}\s*:\s*{COUNT}"

WORD_END = r"(?![\w.:@/-])\s*"
"""After a keyword."""

LINE_END = r"\s*(?:#.*)?\Z"


class Declined(MicrocosmError):
    """Not recognised: the grammar must look at it."""


class Names(dict[str, str]):
    """The names that tokens stand for, each decoded and checked once.

    >>> Names()['"log in"']
    'log in'
    """

    def __missing__(self, token: str) -> str:
        """Raises `Declined` for a token that is no name."""
        if token.startswith('"') and len(token) > 1:
            name = text_of(token)
            if not name:
                raise Declined
        elif _is_plain(token) and token not in KEYWORDS:
            name = token
        else:
            raise Declined
        self[token] = name
        return name

    def of_all(self, tokens: list[str]) -> list[str]:
        """The names of many tokens; plain ones are checked without being remembered. Raises `Declined`."""
        if not KEYWORDS.isdisjoint(tokens):
            raise Declined
        if all(map(_is_plain, tokens)):
            return tokens
        return [self[token] for token in tokens]


_is_plain = re.compile(NAME).fullmatch


def text_of(token: str) -> str:
    """The text of a quoted token. Raises `Declined`."""
    if not token.startswith('"') or len(token) == 1:
        raise Declined
    try:
        text = unquote(token)
    except ValueError:
        raise Declined from None
    if text and unfit(text):
        raise Declined
    return text
