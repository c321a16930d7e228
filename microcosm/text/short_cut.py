"""A line of a microcosm file that is right and of a common kind, read in half the time.

The words of a line are cut and looked at all at once. Whatever is not plain enough is left to who reads word
by word, and tells what is wrong with it.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from functools import cache
from sys import intern

from microcosm.errors import MicrocosmError
from microcosm.givens.clock import Clock
from microcosm.givens.columns import Message
from microcosm.text.names import KEYWORDS, NAME
from microcosm.text.statement import (
    JOINS,
    Clocked,
    Messaged,
    OwnName,
    Stamped,
    Statement,
    correspondences,
    internal,
    owned,
    stated,
    token,
)
from microcosm.text.words import OPERAND, SIGN, STRING, unfit, unquote


class Unusual(MicrocosmError):
    """Not what a short cut reads: it must be read word by word."""


WORD = re.compile(rf"{OPERAND}|{NAME}|->|{SIGN}|#.*|\S")
"""A word or sign of a statement (clocks and numbers apart). A comment is one word, the last."""

_WORD_END = r"(?![\w.:@/-])\s*+"
_LINE_END = r"\s*+(?:#.*)?\Z"
_COUNT = r"[0-9]++"
_PLAIN_ENTRY = rf"\s*+(?!-)[\w.@/-]++(?<!-)\s*+:\s*+{_COUNT}\s*+"
_PROCESS = rf"{STRING}|(?>{NAME}(?=\s*+:))"
_ENTRY = rf"\s*+(?:{_PROCESS})\s*+:\s*+{_COUNT}\s*+"
_CLOCK_LINE = (
    rf"\s*clock{_WORD_END}({OPERAND})\s*=\s*({OPERAND})\s*\{{"
    rf"(?:((?:{_PLAIN_ENTRY},)*+{_PLAIN_ENTRY}|\s*+(?=\}}))|((?:{_ENTRY},)*+{_ENTRY}))"
    rf"\}}\s*(unticked{_WORD_END})?(?:in{_WORD_END}({OPERAND}))?{_LINE_END}"
)
_REAL = rf"-?{_COUNT}(?:\.{_COUNT})?(?:[eE][-+]?{_COUNT})?"
_STAMP_LINE = (
    rf"\s*stamp{_WORD_END}({OPERAND})\s*=\s*"
    rf"(?:(-?{_COUNT})|\[\s*({_REAL})\s*,\s*({_REAL})\s*\]){_LINE_END}"
)
_PROCESS_COUNT = rf"({_PROCESS})\s*+:\s*+({_COUNT})"
_compiled = cache(re.compile)
"""Patterns that few microcosms need: compiled when a line does."""
_is_plain = re.compile(NAME).fullmatch


def short_cut(line: str, source: str | None = None) -> Statement | None:
    """The statement on a line that is right and of the common ones, else None.

    Raises `BadStatement` for chains and groups that repeat an event. Cost: linear in the line.
    """
    try:
        return _common(line, source)
    except Unusual:
        return None


def _common(line: str, source: str | None) -> Statement | None:
    if "{" in line and (match := _compiled(_CLOCK_LINE).match(line)) is not None:
        return _clocked(*match.groups())
    words = WORD.findall(line)
    if words and words[-1].startswith("#"):
        words.pop()
    if len(words) < 2:
        return None
    first = words[0]
    if first == "internal":
        return internal(*_chain(words[1:]))
    if first == "token":
        return token(names_of(words[1:2])[0], _group(words[3:])) if words[2:3] == ["="] else None
    if first == "process" and words[2:3] == ["="]:
        return owned(names_of(words[1:2])[0], _group(words[3:]))
    if first in ("send", "receive"):
        if words[2:3] != ["="] or (len(words) != 5 and (first == "receive" or words[5:6] != ["->"])):
            return None
        event, message, process = names_of([words[1], *words[3:5]])
        receivers = _group(words[6:]) if len(words) > 5 else ()
        return Messaged(
            Message("send" if first == "send" else "receive", event, message, intern(process), (*receivers,))
        )
    if first == "stamp":
        return None if (match := _compiled(_STAMP_LINE).match(line)) is None else _stamped(*match.groups())
    if first == "name" and len(words) == 2:
        return OwnName(names_of(words[1:])[0])
    if first in KEYWORDS:
        return None
    if words[-2] == "from":
        source = stated(text_of(words[-1]))
        del words[-2:]
    events, signs = _chain(words)
    return correspondences(events, signs, source) if signs else None


def _chain(words: list[str]) -> tuple[Sequence[str], list[str]]:
    """Names joined by signs."""
    signs = words[1::2]
    if len(words) % 2 == 0 or not JOINS.keys() >= set(signs):
        raise Unusual
    return names_of(words[0::2]), signs


def _group(words: list[str]) -> Sequence[str]:
    """Names separated by commas."""
    commas = words[1::2]
    if len(words) % 2 == 0 or commas.count(",") != len(commas):
        raise Unusual
    return names_of(words[0::2])


def names_of(words: Sequence[str]) -> Sequence[str]:
    """The names that words are. Raises `Unusual`."""
    if not KEYWORDS.isdisjoint(words):
        raise Unusual
    if all(map(_is_plain, words)):
        return words
    names = [word if _is_plain(word) else text_of(word) for word in words]
    if not all(names):
        raise Unusual
    return names


def text_of(word: str) -> str:
    """The text of a quoted word."""
    if not word.startswith('"') or len(word) == 1:
        raise Unusual
    try:
        text = unquote(word)
    except ValueError:
        raise Unusual from None
    if text and unfit(text):
        raise Unusual
    return text


def _clocked(
    event: str, process: str, plain: str | None, body: str, unticked: str | None, execution: str | None
) -> Statement:
    """A clock; `plain` are its entries where no name of a process is quoted or has a colon, else `body`."""
    names: Sequence[str]
    counts: Sequence[str]
    if plain is not None:
        parts = "".join(plain.split()).replace(",", ":").split(":") if ":" in plain else []
        names, counts = parts[0::2], parts[1::2]
    else:
        names, counts = zip(*_compiled(_PROCESS_COUNT).findall(body), strict=True)
    if plain is None and '"' in body:
        names = names_of(names)
    elif not KEYWORDS.isdisjoint(names):
        raise Unusual
    try:
        times = dict(zip(map(intern, names), map(int, counts), strict=True))
    except ValueError:  # thousands of digits
        raise Unusual from None
    if len(times) != len(names):
        raise Unusual
    event, process, *apart = names_of([event, process] if execution is None else [event, process, execution])
    return Clocked(event, Clock(intern(process), times, not unticked, *map(intern, apart)))


def _stamped(event: str, time: str | None, earliest: str, latest: str) -> Statement:
    from microcosm.givens import exact

    (name,) = names_of([event])
    try:
        stamp = int(time) if time is not None else (exact.number(earliest), exact.number(latest))
    except (ValueError, OverflowError):
        raise Unusual from None
    if isinstance(stamp, tuple) and stamp[0] > stamp[1]:
        raise Unusual
    return Stamped(name, stamp)
