"""What one line of a microcosm file says: its words, what they say as data, and the checks that it can fail.

Whoever reads lines, word by word or sooner, builds statements through the functions here, so that all agree;
whoever writes many names has them quoted here at once.

Where a given came from is stated by `from "…"`, or else the place in the file, which need not be written. A
source is plain text. One that reads like a place in a file is taken for the default and not written, unless
someone stated it: then it is `Stated`, and kept.
"""

from __future__ import annotations

import json
import re
from collections.abc import Sequence
from itertools import pairwise
from operator import eq
from string import ascii_letters, digits
from typing import NamedTuple

from microcosm.errors import MicrocosmError, Undefined
from microcosm.givens.columns import Message, many
from microcosm.givens.event_table import EventRow, Repeated
from microcosm.givens.relation import Clock, Correspondence, Relation, Stamp
from microcosm.givens.spelling import SPELLINGS, expect_text
from microcosm.text.names import KEYWORDS, NAME, plain, quote

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


def is_count(digits: str) -> bool:
    """Whether a text is a number of an event or a line, as files have them: digits, at most 19."""
    return digits.isascii() and digits.isdecimal() and len(digits) < 20


def expect_named(*events: str) -> None:
    """Raise `Undefined` for what cannot name an event, as no file could say it. Cost: linear."""
    expect_text(*events)
    for fault in filter(None, map(unfit, events)):
        raise Undefined(fault)


def spelled(fact: Correspondence) -> str:
    """A correspondence as a file states it, without its source. Cost: linear in the names.

    >>> spelled(Correspondence("log in", Relation.CONCURRENT, "upload", "message m7"))
    '"log in" || upload'
    """
    return f"{quote(fact.left)} {fact.relation} {quote(fact.right)}"


def shown(text: str) -> str:
    """A text in an error, quoted and short.

    >>> shown("upload"), len(shown("x" * 1_000_000))
    ("'upload'", 43)
    """
    return repr(str(text) if len(text) <= SHOWN else text[:SHOWN] + "…")


SHOWN = 40
"""An error shows at most so many characters of what it found."""


ORDERINGS = ("fifo-1-1", "causal", "fifo-n-1", "fifo-1-n", "fifo-n-n", "rsc")
"""The message orderings of Orderings Beyond Causality that a network may be known to keep."""

KINDS = ("internal", "send", "receive", "causal_send", "deliver")
"""What an event may be."""

INTERIOR = " interior"
"""What follows an ordering's name in `Givens.orderings` where its interior is meant."""

JOINS = {
    sign: (relation.converse, True) if relation in (Relation.AFTER, Relation.NOT_AFTER) else (relation, False)
    for sign, relation in SPELLINGS.items()
    if relation not in (Relation.UNKNOWN, Relation.NOT_CONCURRENT, Relation.NOT_RELATED)
}
"""The signs that may stand between two events: the relation given, and whether of the right to the left."""


_is_place = re.compile(r"(?:(?:.*:|line )\d+|(?:.*:)?(?:external|refuted)\[\d+\])\Z", re.DOTALL).match


def might_be_place(text: str) -> bool:
    """Whether a source that is in a text may be a place. Most are none by these tests, which cost little."""
    return ":" in text or "]" in text or "line " in text


def _place(source: str) -> bool:
    return might_be_place(source) and _is_place(source) is not None


class Stated(str):
    """A source that looks like a place in a file and yet was stated in words."""

    __slots__ = ()


def stated(source: str) -> str:
    """`source`, marked where that is needed to tell it from a default.

    >>> is_default(stated("node.log:12")), is_default("album.mc:12"), is_default("message m7")
    (False, True, False)
    """
    return Stated(source) if _place(source) else source


def all_stated(sources: list[str]) -> Sequence[str]:
    """`stated` of each of some sources: of one that all are, once.

    >>> [*all_stated(["process p"] * 2)], [*map(is_default, all_stated(["message m", "line 3"]))]
    (['process p', 'process p'], [False, False])
    """
    if sources.count(sources[0]) == len(sources):
        return Repeated(stated(sources[0]), len(sources))
    return [*map(stated, sources)] if might_be_place("".join(sources)) else sources


def is_default(source: str | None) -> bool:
    """Whether nobody stated this source: it is none at all, or a place given by a reader."""
    return source is None or (not isinstance(source, Stated) and _place(source))


class OwnName(NamedTuple):
    """`name phone`: the microcosm's own name."""

    name: str


class Internal(NamedTuple):
    """`internal e1 < e2`: these events come next in the internal chain."""

    events: tuple[str, ...]


class Correspondences(NamedTuple):
    """`a < b || c`: a correspondence for each consecutive pair, refuted ones included; or many lines of them.

    `ends` are the left and right ends by turns.
    """

    ends: Sequence[str]
    signs: Sequence[str]
    sources: Sequence[str | None]

    @property
    def facts(self) -> list[Correspondence]:
        """One by one, without `>`, with one string for each name: neighbours mostly speak of the same events.

        A million are made this way at a time.
        """
        once = dict(zip(self.ends, self.ends, strict=True))
        ends = [*map(once.__getitem__, self.ends)]
        lefts, rights = ends[0::2], ends[1::2]
        if self.signs.count("<") == len(self.signs):
            return many(lefts, Relation.BEFORE, rights, self.sources)
        facts = []
        for left, sign, right, source in zip(lefts, self.signs, rights, self.sources, strict=True):
            relation, turned = JOINS[sign]
            pair = (right, relation, left) if turned else (left, relation, right)
            facts.append(Correspondence(*pair, source))
        return facts


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


class LoggedEvent(NamedTuple):
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
    | LoggedEvent
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


def twice(what: str, *, column: int | None = None, name: str | None = None) -> BadStatement:
    """The fault of stating once more what may be stated once."""
    return BadStatement(f"{what} is stated twice", "Keep one of the two.", column=column, name=name)


Word = tuple[str, int]
"""A word as it is written, and its column."""


def name_at(word: Word) -> str:
    """The name that a word is, plain or quoted. Raises `BadStatement`."""
    name = text_at(word)
    if fault := unfit(name):
        raise BadStatement(fault, None, column=word[1])
    return name


def text_at(word: Word) -> str:
    """The text that a word is. Raises `BadStatement`."""
    written, column = word
    if not written.startswith('"'):
        return written
    try:
        text = unquote(written)
    except json.JSONDecodeError as error:
        hint = r"Escapes are those of JSON: \" \\ \n \t \u0041 …"
        raise BadStatement("not an escape", hint, column=column + error.pos) from None
    if text and (fault := unfit(text)):
        raise BadStatement(fault, None, column=column)
    return text


def keyword(word: str, column: int) -> BadStatement:
    """The fault of a keyword where a name should be."""
    return BadStatement(f"`{word}` is a keyword", f'Quote it to use it as a name: "{word}".', column=column)


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
    ends = [end for pair in pairwise(events) for end in pair]
    return Correspondences(ends, signs, [source] * len(signs))


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
