"""What one line of a microcosm file says, as data, the checks that it can fail, and a way to read it soon.

Statements are made word by word (`text.statement_reader`) or by the short cut, which reads lines that are
right and of the common kinds in half the time: the words of a line are cut and looked at all at once, and
whatever is not plain enough is left to the other. Both build through the functions here, so that they agree.

Where a given came from is stated by `from "…"`, or else the place in the file, which need not be written. A
source is plain text. One that reads like a place in a file is taken for the default and not written, unless
someone stated it: then it is `Stated`, and kept.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from functools import cache
from itertools import repeat
from operator import eq
from sys import intern
from typing import NamedTuple

from microcosm.errors import MicrocosmError
from microcosm.givens import exact
from microcosm.givens.clock import Clock, Stamp
from microcosm.givens.columns import Message, many
from microcosm.givens.event_table import EventRow
from microcosm.givens.relation import SPELLINGS, Correspondence, Relation
from microcosm.text.names import KEYWORDS, NAME, OPERAND, SIGN, STRING, shown, unfit, unquote

ORDERINGS = ("fifo-1-1", "causal", "fifo-n-1", "fifo-1-n", "fifo-n-n", "rsc")
"""The message orderings of Orderings Beyond Causality that a network may be known to keep."""

INTERIOR = " interior"
"""What follows an ordering's name in `Givens.orderings` where its interior is meant."""

JOINS = {
    sign: (relation.converse, True) if relation in (Relation.AFTER, Relation.NOT_AFTER) else (relation, False)
    for sign, relation in SPELLINGS.items()
    if relation not in (Relation.UNKNOWN, Relation.NOT_CONCURRENT, Relation.NOT_RELATED)
}
"""The signs that may stand between two events: the relation given, and whether of the right to the left."""


_is_place = re.compile(r"(?:(?:.*:|line )\d+|(?:.*:)?(?:external|refuted)\[\d+\])\Z", re.DOTALL).match


def _place(source: str) -> bool:
    # Most texts are none by tests that cost little.
    might = ":" in source or source.endswith("]") or source.startswith("line ")
    return might and _is_place(source) is not None


class Stated(str):
    """A source that looks like a place in a file and yet was stated in words."""

    __slots__ = ()


def stated(source: str) -> str:
    """`source`, marked where that is needed to tell it from a default.

    >>> is_default(stated("node.log:12")), is_default("album.mc:12"), is_default("message m7")
    (False, True, False)
    """
    return Stated(source) if _place(source) else source


def is_default(source: str | None) -> bool:
    """Whether nobody stated this source: it is none at all, or a place given by a reader."""
    return source is None or (not isinstance(source, Stated) and _place(source))


def line_of(file: str | None, line: int) -> str:
    """The default source of what stands on a line."""
    return f"line {line}" if file is None else f"{file}:{line}"


def member_of(file: str | None, field: str, index: int) -> str:
    """The default source of a member of a JSON list."""
    return f"{field}[{index}]" if file is None else f"{file}:{field}[{index}]"


class OwnName(NamedTuple):
    """`name phone`: the microcosm's own name."""

    name: str


class Internal(NamedTuple):
    """`internal e1 < e2`: these events come next in the internal chain."""

    events: tuple[str, ...]


class Correspondences(NamedTuple):
    """`a < b || c`: a correspondence for each consecutive pair, refuted ones included; none says `>`."""

    facts: tuple[Correspondence, ...]


class Stamped(NamedTuple):
    """`stamp e = 5` or `stamp e = [10.0, 12.5]`."""

    event: str
    stamp: Stamp


class Clocked(NamedTuple):
    """`clock e = p {p: 3, q: 1}`."""

    event: str
    clock: Clock


class Messaged(NamedTuple):
    """`send e = m1 p -> q, r` or `receive f = m1 q`."""

    message: Message


class Ordered(NamedTuple):
    """`ordering causal`, `ordering causal interior`: the string that `Givens.orderings` keeps."""

    ordering: str


class Complete(NamedTuple):
    """`complete`: nothing that happened is missing from the log; or nothing of some processes."""

    processes: tuple[str, ...] = ()


class Token(NamedTuple):
    """`token lock = a, b`: these events are under one mutual exclusion."""

    name: str
    events: tuple[str, ...]


class Owned(NamedTuple):
    """`process alice = a, b`: these events are of one process."""

    process: str
    events: tuple[str, ...]


class Told(NamedTuple):
    """`event e process p "log in" at a.log:3`: what a log says of an event."""

    row: EventRow


Statement = (
    OwnName
    | Internal
    | Correspondences
    | Stamped
    | Clocked
    | Messaged
    | Owned
    | Ordered
    | Complete
    | Token
    | Told
)


class BadStatement(MicrocosmError):
    """What is wrong with a statement, and where: at `column`, or at the `nth` mention of `name`."""

    def __init__(
        self,
        message: str,
        hint: str | None = None,
        *,
        column: int | None = None,
        name: str | None = None,
        nth: int = 1,
    ) -> None:
        super().__init__(message)
        self.message = message
        self.hint = hint
        self.column = column
        self.name = name
        self.nth = nth


def correspondences(events: Sequence[str], signs: Sequence[str], source: str | None) -> Correspondences:
    """The consecutive pairs of `events`, joined by `signs` (one fewer)."""
    if any(map(eq, events, events[1:])):
        at = next(at for at in range(1, len(events)) if events[at] == events[at - 1])
        raise BadStatement(
            f"an event stands in no relation to itself: {shown(events[at])}",
            "Name two different events.",
            name=events[at],
            nth=events[: at + 1].count(events[at]),
        )
    return Correspondences(tuple(facts_of(events[:-1], signs, events[1:], repeat(source))))


def facts_of(
    lefts: Sequence[str], signs: Sequence[str], rights: Sequence[str], sources: Iterable[str | None]
) -> list[Correspondence]:
    """The correspondences of four columns, without `>`. A million are made this way at a time."""
    if signs.count("<") == len(signs):
        return many(lefts, Relation.BEFORE, rights, sources)
    facts = []
    for left, sign, right, source in zip(lefts, signs, rights, sources, strict=False):
        relation, turned = JOINS[sign]
        pair = (right, relation, left) if turned else (left, relation, right)
        facts.append(Correspondence(*pair, source))
    return facts


def internal(events: Sequence[str], signs: Sequence[str]) -> Internal:
    """The chain `e1 < e2 < …`, or `… > e2 > e1`, which says the same."""
    _once(events, "in the internal chain")
    forwards, backwards = (Relation.BEFORE, False), (Relation.BEFORE, True)
    if signs and all(JOINS[sign] == backwards for sign in signs):
        return Internal(tuple(reversed(events)))
    for at, sign in enumerate(signs, 1):
        if JOINS[sign] != forwards:
            raise BadStatement(
                f"internal events are joined by `<`, not by `{sign}`",
                "Write the chain in order: internal e1 < e2 < e3.",
                name=events[at],
            )
    return Internal(tuple(events))


def token(name: str, events: Sequence[str]) -> Token:
    """A mutual-exclusion group."""
    _once(events, f"under the token {shown(name)}", (name,))
    return Token(name, tuple(events))


def owned(process: str, events: Sequence[str]) -> Owned:
    """The events of a process."""
    _once(events, f"in the process {shown(process)}", (process,))
    return Owned(process, tuple(events))


def clocked_twice(process: str, column: int | None) -> BadStatement:
    """The fault of a clock with two entries for one process, the second at `column`."""
    return BadStatement(f"the clock has two entries for {shown(process)}", "Keep one of them.", column=column)


def ordering(name: str, interior: bool) -> Ordered:
    """A known ordering, or its interior."""
    if name not in ORDERINGS:
        raise BadStatement(
            f"unknown ordering {shown(name)}", f"Known orderings: {', '.join(ORDERINGS)}.", name=name
        )
    return Ordered(name + INTERIOR if interior else name)


def _once(events: Sequence[str], where: str, mentioned_before: tuple[str, ...] = ()) -> None:
    if len(set(events)) == len(events):
        return
    seen: set[str] = set()
    for event in events:
        if event in seen:
            nth = mentioned_before.count(event) + 2
            raise BadStatement(f"{shown(event)} stands twice {where}", "Name it once.", name=event, nth=nth)
        seen.add(event)


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
    (name,) = names_of([event])
    try:
        stamp = int(time) if time is not None else (exact.number(earliest), exact.number(latest))
    except (ValueError, OverflowError):
        raise Unusual from None
    if isinstance(stamp, tuple) and stamp[0] > stamp[1]:
        raise Unusual
    return Stamped(name, stamp)
