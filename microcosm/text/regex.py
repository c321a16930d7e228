r"""Regular expressions that find events: refused where they may run away.

Python's matcher goes back as often as a pattern lets it. Repetitions multiply the ways in which it may do so
where the same characters may be of the one or of the other, and so may be all that must stand between them:
`\d+:\d+` fits a text in one way, `.*:.*` in many. At most `WIDE` repetitions may multiply so, five times as
many of what is there or not; and none with itself within another one, which would be exponentially many ways.
What is left takes at most a power of the length of a text, whose exponent is `WIDE` and one more. Nothing
stops a match at run time: Python's matcher cannot be stopped.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from importlib import import_module
from itertools import chain
from math import log2
from string import printable
from typing import Any

WIDE = 4
"""So many repetitions may follow one another that the same characters fit."""
_BITS = 5
"""As so many choices of two does one of them count."""
_DEEPEST = 6
"""So deep may repetitions be nested."""

_GROUP = re.compile(r"\\.|\(\?<(?=[^\W\d])", re.DOTALL)
_RUNS_AWAY = (
    f"repetitions that the same text fits may run away: at most {WIDE} may follow one another, none within "
    "another; write `a+` for `(a+)+`, `[ab]*` for `(a|b)*`, `[^;]*;` for `.*;`, or make it atomic, `(?>…)`"
)

Paths = dict[tuple[int, tuple[int, ...]], float]
"""Repetitions that multiply: the characters of the last one, which of these may be what has to follow it, and
the choices of all.
"""


def read_regex(text: str) -> re.Pattern[str]:
    r"""The pattern that a text says. Raises `ValueError`, whose message says why not and, if known, where.

    >>> read_regex(r"write (?<key>\w+)").search("write x=1")["key"]
    'x'
    >>> read_regex("(a+)+$")  # doctest: +ELLIPSIS
    Traceback (most recent call last):
    ValueError: repetitions that the same text fits may run away: ...
    """
    spelled = _GROUP.sub(lambda found: "(?P<" if found[0] == "(?<" else found[0], text)
    try:
        parsed = import_module("re._parser").parse(spelled)
        compiled = re.compile(spelled)
        _Ways(parsed.state, spelled).behind(parsed, {})
    except (re.error, RecursionError, OverflowError) as error:
        message = getattr(error, "msg", "too deep or too large")
        raise ValueError(f"the regular expression does not compile: {message}") from None
    return compiled


class _Ways:
    """The ways in which a pattern may fit a text; looked at are the usual characters, and those it names."""

    def __init__(self, state: Any, spelled: str) -> None:
        self._state = state
        self._signs = [*dict.fromkeys(f"{printable}\0é\u0663\u2003{spelled}{spelled.swapcase()}")]
        self._met = 0
        """The characters that some of the nodes so far fit, a bit for each."""

    def behind(self, nodes: Iterable[Any], before: Paths, within: int = 0) -> Paths:
        """What multiplies behind some nodes, be they `within` repetitions. Raises `ValueError`."""
        for code, argument in nodes:
            name = str(code)
            if name in ("LITERAL", "NOT_LITERAL", "ANY", "IN"):
                fits = self._fitting((code, argument))
                self._met |= fits
                before = {(own, (*must, own & fits)): n for (own, must), n in before.items() if own & fits}
            elif name in ("MAX_REPEAT", "MIN_REPEAT", "POSSESSIVE_REPEAT"):
                keeps = name == "POSSESSIVE_REPEAT"
                before = self._behind_repetition(argument, before, 0 if keeps else within, keeps)
            elif name == "SUBPATTERN":
                before = self.behind(argument[3], before, within)
            elif name == "BRANCH" and within:
                raise ValueError(_RUNS_AWAY)
            elif name in ("BRANCH", "GROUPREF_EXISTS"):
                ways = argument[1] if name == "BRANCH" else argument[1:]
                before = _any_of([self.behind(each or (), before, within) for each in ways])
            elif name in ("ASSERT", "ASSERT_NOT", "ATOMIC_GROUP"):
                self.behind(argument if name == "ATOMIC_GROUP" else argument[1], {})
        return before

    def _behind_repetition(
        self, repeated: tuple[int, int, Any], before: Paths, within: int, keeps: bool
    ) -> Paths:
        least, most, inner = repeated
        met, self._met = self._met, 0
        within += most > 1 and not keeps
        once = self.behind(inner, {}, within)
        own = -1 if inner.getwidth()[0] == 0 else self._met  # to repeat nothing is as to leave it out
        self._met |= met
        if within > _DEEPEST:
            raise ValueError(_RUNS_AWAY)
        if most > 1 and not keeps:  # what multiplies with the next time does so without end
            self.behind(inner, dict.fromkeys(once, WIDE * _BITS), within)
        passed = self.behind(inner, {} if keeps else before, within) if least else before
        if keeps or least == most:
            return passed
        meeting = [many for (signs, must), many in before.items() if all(own & one for one in (signs, *must))]
        many = max(meeting, default=0) + min(log2(most - least + 1), _BITS)
        if many > WIDE * _BITS:
            raise ValueError(_RUNS_AWAY)
        return _any_of([passed, {(own, ()): many}])

    def _fitting(self, node: Any) -> int:
        part = import_module("re._parser").SubPattern(self._state, [node])
        fits = import_module("re._compiler").compile(part).fullmatch
        return sum((fits(sign) is not None) << at for at, sign in enumerate(self._signs))


def _any_of(every: Iterable[Paths]) -> Paths:
    """What multiplies behind one of several ways."""
    found: Paths = {}
    for path, many in chain.from_iterable(map(dict.items, every)):
        found[path] = max(many, found.get(path, 0))
    return found
