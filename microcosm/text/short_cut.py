"""Lines of a microcosm file that are right and of a common kind, read sooner than word by word.

The words of one correspondence, clock or sending are cut and looked at all at once, in half the time.
Neighbouring lines are read up to a thousand at a time: a microcosm of a million links is a million lines such
as `a < b` or `a < b from "message m7"`, and a log of a million events is as many lines of messages, and of
what the log says of its events. A regular expression finds how far such lines go on, and the run is then
taken apart column by column, at a third to a fifth of the price of lines read alone. Whatever is not plain
enough is left to who reads word by word, and tells what is wrong with it.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cache
from operator import eq
from sys import intern
from typing import overload

from microcosm.errors import MicrocosmError
from microcosm.givens.columns import Message
from microcosm.givens.event_table import NOTHING, EventTable, Repeated
from microcosm.givens.relation import Clock
from microcosm.text import statement as st
from microcosm.text.names import KEYWORDS, NAME, plain


class Unusual(MicrocosmError):
    """Not what a short cut reads: it must be read word by word."""


WORD = re.compile(rf"{st.OPERAND}|{NAME}|->|{st.SIGN}|#.*|\S")
"""A name or sign of a correspondence or a sending. A comment is one word, the last."""

_WORD_END = r"(?![\w.:@/-])\s*+"
_LINE_END = r"\s*+(?:#.*)?\Z"
_COUNT = r"[0-9]++"
_PLAIN_ENTRY = rf"\s*+(?!-)[\w.@/-]++(?<!-)\s*+:\s*+{_COUNT}\s*+"
_PROCESS = rf"{st.STRING}|(?>{NAME}(?=\s*+:))"
_ENTRY = rf"\s*+(?:{_PROCESS})\s*+:\s*+{_COUNT}\s*+"
_CLOCK_LINE = (
    rf"\s*clock{_WORD_END}({st.OPERAND})\s*=\s*({st.OPERAND})\s*\{{"
    rf"(?:((?:{_PLAIN_ENTRY},)*+{_PLAIN_ENTRY}|\s*+(?=\}}))|((?:{_ENTRY},)*+{_ENTRY}))"
    rf"\}}\s*(unticked{_WORD_END})?(?:in{_WORD_END}({st.OPERAND}))?{_LINE_END}"
)
_PROCESS_COUNT = rf"({_PROCESS})\s*+:\s*+({_COUNT})"
_compiled = cache(re.compile)
"""Patterns that few microcosms need: compiled when a line does."""


def short_cut(line: str, source: str | None = None) -> st.Statement | None:
    """The correspondences, the clock, or the sending to some receivers, on a line that is right, else None.

    Raises `BadStatement` for an event in relation to itself. Cost: linear in the line.
    """
    try:
        if "{" in line and (match := _compiled(_CLOCK_LINE).match(line)) is not None:
            return _clocked(*match.groups())
        words = WORD.findall(line)
        if words and words[-1].startswith("#"):
            words.pop()
        if words[0:6:5] == ["send", "->"]:
            if words[2] != "=" or len(words) % 2 == 0 or not {","}.issuperset(words[7::2]):
                return None
            event, message, process, *receivers = names_of([words[1], *words[3:5], *words[6::2]])
            return st.Messaged(Message("send", event, message, intern(process), (*receivers,)))
        if words[-2:-1] == ["from"]:
            source = st.stated(text_of(words[-1]))
            del words[-2:]
        signs = words[1::2]
        if not signs or len(words) % 2 == 0 or not st.JOINS.keys() >= set(signs):
            return None
        return st.correspondences(names_of(words[0::2]), signs, source)
    except Unusual:
        return None


def names_of(words: Sequence[str]) -> Sequence[str]:
    """The names that words are. Raises `Unusual`."""
    if not KEYWORDS.isdisjoint(words):
        raise Unusual
    if all(map(plain, words)):
        return words
    names = [word if plain(word) else text_of(word) for word in words]
    if not all(names):
        raise Unusual
    return names


def text_of(word: str) -> str:
    """The text of a quoted word."""
    if not word.startswith('"') or len(word) == 1:
        raise Unusual
    try:
        text = st.unquote(word)
    except ValueError:
        raise Unusual from None
    if text and st.unfit(text):
        raise Unusual
    return text


def _clocked(
    event: str, process: str, plain: str | None, body: str, unticked: str | None, execution: str | None
) -> st.Statement:
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
    event, process, *named = names_of([event, process] if execution is None else [event, process, execution])
    return st.Clocked(event, Clock(intern(process), times, not unticked, *map(intern, named)))


# -- neighbouring lines: correspondences -----------------------------------------------------------

_PLAIN_LINES = rf"(?:[ \t]*+{st.PLAIN}[ \t]++(?:<>?|>|\|\|)[ \t]++{st.PLAIN}[ \t]*+\n){{2,1000}}"
_SOURCED_LINES = (
    rf'(?:{st.PLAIN} (?:<>?|>|\|\|) {st.PLAIN} from "[^"\\\x00-\x1f\ud800-\udfff]*+"\n){{2,1000}}'
)


@dataclass(frozen=True, slots=True)
class LineSources(Sequence[str]):
    """The sources of what stands on neighbouring lines, stated by nobody, made when asked for.

    `place` is what stands before the number of each.
    """

    place: str
    lines: range

    def __len__(self) -> int:
        return len(self.lines)

    def __iter__(self) -> Iterator[str]:
        return map(self.place.__add__, map(str, self.lines))

    @overload
    def __getitem__(self, at: int) -> str: ...
    @overload
    def __getitem__(self, at: slice) -> Sequence[str]: ...
    def __getitem__(self, at: int | slice) -> str | Sequence[str]:
        if isinstance(at, slice):
            return LineSources(self.place, self.lines[at])
        return f"{self.place}{self.lines[at]}"


def read_correspondences(text: str, at: int, place: str, line: int) -> tuple[int, st.Correspondences | None]:
    """Where the run of correspondence lines that begins at `at` ends, and what it says, a fact a line.

    An end of `at` means that no run begins here. None for the facts: some line of the run is no
    correspondence after all, or relates an event to itself, and each is to be looked at alone.
    """
    if plain := _compiled(_PLAIN_LINES).match(text, at):
        end, words = plain.end(), plain.group().split()
        if not KEYWORDS.isdisjoint(words):
            return end, None
        signs: Sequence[str] = words[1::3]
        del words[1::3]
        names: Sequence[str] = words
        sources: Sequence[str | None] = LineSources(place, range(line, line + len(signs)))
    elif sourced := _compiled(_SOURCED_LINES).match(text, at):
        end, parts = sourced.end(), sourced.group().split('"')
        words = " ".join(parts[0:-1:2]).split()
        del words[3::4]
        signs = words[1::3]
        del words[1::3]
        if not KEYWORDS.isdisjoint(words):
            return end, None
        names, sources = words, st.all_stated(parts[1::2])
    else:
        return at, None
    if any(map(eq, names[0::2], names[1::2])):
        return end, None
    return end, st.Correspondences(names, signs, sources)


# -- neighbouring lines: messages, and what a log says of its events -------------------------------

_TEXT = r'"[^"\\\x00-\x1f\ud800-\udfff]*+"'
"""A text in double quotes that stands for itself."""

_NAMED = rf"(?:{st.PLAIN}|(?!\"\"){_TEXT})"
_MESSAGE = rf"(?:send|receive) {_NAMED} = {_NAMED} {_NAMED}\n"
_EVENT = (
    rf"event ({_NAMED})(?: process ({st.PLAIN}|{_TEXT}))?(?: seq ([0-9]{{1,18}}))?"
    rf"(?: kind ({'|'.join(st.KINDS)}))?(?: message ({st.PLAIN}|{_TEXT}))?"
    rf"(?: ({_TEXT}))?(?: at ({st.PLAIN}|{_TEXT}))?\n"
)
_MESSAGES = rf"(send|receive) ({_NAMED}) = ({_NAMED}) ({_NAMED})\n"


def read_messages(text: str, at: int) -> tuple[int, list[Sequence[str]]] | None:
    r"""Where the run of messages without receivers that begins at `at` ends, and its columns; None for none.

    >>> read_messages('send a = m p\nreceive b = m "q 1"\n', 0)
    (33, [['send', 'receive'], ['a', 'b'], ['m', 'm'], ['p', 'q 1']])
    """
    if (found := _compiled(f"(?:{_MESSAGE}){{2,1000}}").match(text, at)) is None:
        return None
    lines = found.group()
    words: list[str] = lines.split()
    columns: Sequence[Sequence[str]] = words[0::5], words[1::5], words[3::5], words[4::5]
    quoted = '"' in lines
    if quoted:
        columns = [*zip(*_compiled(_MESSAGES).findall(lines), strict=True)]
    if not all(map(KEYWORDS.isdisjoint, columns[1:])):
        return None
    kinds, events, messages, processes = map(_texts, columns) if quoted else columns
    once = dict(zip(processes, processes, strict=True))
    processes = [*map(once.__getitem__, processes)]
    return found.end(), [[*map(intern, kinds)], events, messages, processes]


def read_events(text: str, at: int) -> tuple[int, EventTable] | None:
    """Where the run of `event` lines without attributes that begins at `at` ends, and what they say."""
    if (found := _compiled(f"(?:{_EVENT}){{2,1000}}").match(text, at)) is None:
        return None
    names, processes, seqs, kinds, messages, labels, places = zip(
        *_compiled(_EVENT).findall(found.group()), strict=True
    )
    files, colons, lines = zip(*(place.rpartition(":") for place in _texts(places)), strict=True)
    placed = [*map(bool, places)]
    if (
        [*map(bool, colons)] != placed
        or [*map(st.is_count, lines)] != placed
        or not KEYWORDS.isdisjoint(names)
    ):
        return None
    many = len(names)
    nothing, no_time = Repeated(NOTHING, many), Repeated(None, many)
    once: dict[str, str] = {}
    return found.end(), EventTable(
        _texts(names),
        [*map(once.setdefault, owners := _texts(processes), owners)],
        [int(seq or 0) for seq in seqs],
        kinds,
        _texts_or_none(messages),
        _texts_or_none(labels),
        no_time,
        nothing,
        no_time,
        [*map(once.setdefault, files, files)],
        [int(line or 0) for line in lines],
    )


def _texts(words: Sequence[str]) -> Sequence[str]:
    return [word[1:-1] if word[:1] == '"' else word for word in words]


def _texts_or_none(words: Sequence[str]) -> Sequence[str | None]:
    """The texts that words are, and None for a word that is not there."""
    return [text if word else None for word, text in zip(words, _texts(words), strict=True)]
