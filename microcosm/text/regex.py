"""Regular expressions that find events: refused where they may run away.

Python's matcher goes back as often as a pattern lets it. What may be repeated within a repetition lets it try
exponentially many ways, and so it is refused when it is read, whatever the log; what is left takes at most a
power of the length of a text, whose exponent is how many repetitions follow one another, and one more. Of
those of any character there are at most `WIDE`. Nothing stops a match at run time: Python's matcher cannot be
stopped.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from importlib import import_module
from typing import Any

WIDE = 4
"""So many repetitions of what nearly any character fits may stand in one pattern."""

_GROUP = re.compile(r"\\.|\(\?<(?=[^\W\d])", re.DOTALL)


def read_regex(text: str) -> re.Pattern[str]:
    """The pattern that a text says. Raises `ValueError`, whose message says why not and, if known, where.

    >>> read_regex(r"write (?<key>\\w+)").search("write x=1")["key"]
    'x'
    >>> read_regex("(a+)+$")
    Traceback (most recent call last):
    ValueError: a repetition within a repetition may run away: write `a+` for `(a+)+`
    """
    spelled = _GROUP.sub(lambda found: "(?P<" if found[0] == "(?<" else found[0], text)
    try:
        parsed = import_module("re._parser").parse(spelled)
        compiled = re.compile(spelled)
    except (re.error, RecursionError, OverflowError) as error:
        message = getattr(error, "msg", "too deep or too large")
        raise ValueError(f"the regular expression does not compile: {message}") from None
    _expect_tame(list(parsed))
    return compiled


def _expect_tame(parsed: list[Any]) -> None:
    wide = 0
    for name, argument, repeats in _nodes(parsed):
        if repeats > 1:
            raise ValueError("a repetition within a repetition may run away: write `a+` for `(a+)+`")
        if name == "BRANCH" and repeats:
            raise ValueError(
                "alternatives within a repetition may run away: write `[ab]*` for `(a|b)*`, or atomic `(?>…)`"
            )
        if name in ("MAX_REPEAT", "MIN_REPEAT"):
            wide += argument[1] > 64 and any(_is_wide(str(code), what) for code, what in argument[2])
    if wide > WIDE:
        raise ValueError(f"{wide} repetitions of any character may run away: at most {WIDE} are allowed")


def _nodes(parsed: list[Any]) -> Iterator[tuple[str, Any, int]]:
    """Each node, and how many repetitions without a limit it stands in, itself included."""
    stack = [(node, 0) for node in parsed]
    while stack:
        (code, argument), repeats = stack.pop()
        name = str(code)
        inner: list[Any] = []
        if name in ("MAX_REPEAT", "MIN_REPEAT"):
            repeats += argument[1] > 1
            inner = list(argument[2])
        elif name in ("POSSESSIVE_REPEAT", "ATOMIC_GROUP"):
            inner, repeats = list(argument[2] if name == "POSSESSIVE_REPEAT" else argument), 0
        elif name == "SUBPATTERN":
            inner = list(argument[3])
        elif name == "BRANCH":
            inner = [node for branch in argument[1] for node in branch]
        elif name in ("ASSERT", "ASSERT_NOT"):
            inner = list(argument[1])
        elif name == "GROUPREF_EXISTS":
            inner = [*argument[1], *(argument[2] or ())]
        yield name, argument, repeats
        stack += [(node, repeats) for node in inner]


def _is_wide(name: str, argument: Any) -> bool:
    if name == "IN":
        return any(str(part[0]) == "NEGATE" or "NOT" in str(part[1]) for part in argument)
    return name in ("ANY", "NOT_LITERAL")
