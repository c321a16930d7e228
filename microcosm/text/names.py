"""How events and other things are named in microcosm files: plainly, or as any text in double quotes."""

from __future__ import annotations

import json
import re
from json.encoder import encode_basestring

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
