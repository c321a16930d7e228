"""Microcosm files: text to givens, and the doors to everything else about their text.

A document is JSON if its first character that is no blank is `{`, and else a list of statements, one
a line. Plain lines take the fast lane; the other readers are loaded only for what the lane does not know.

What may be said once only: the name, the clock and the stamp of an event, the events of a token. A
second `internal` line continues the chain of the first. A correspondence given twice keeps the source
that it was first given with; an ordering stated twice is one.

Runs of correspondence lines are read up to a thousand at a time. A microcosm of a million links is a million
lines such as `a < b` or `a < b from "message m7"`. Here a regular expression finds how far such lines go on,
and the whole run is then taken apart column by column, at a third of the price of lines read alone.
"""

from __future__ import annotations

import re
from collections.abc import Container, Iterator, Sequence
from dataclasses import dataclass
from operator import eq
from typing import NamedTuple, overload

from microcosm import tuning
from microcosm.errors import TextError
from microcosm.givens.columns import MessageBuilder, OrderBuilder, messages_of
from microcosm.givens.event_table import EventTableBuilder
from microcosm.givens.givens import Givens
from microcosm.givens.relation import Correspondence, Relation
from microcosm.text import statement as st
from microcosm.text.names import KEYWORDS
from microcosm.text.short_cut import WORD, Unusual, names_of, short_cut, text_of
from microcosm.text.statement import BadStatement, Statement, all_stated, facts_of, line_of, stated
from microcosm.text.words import OPERAND, PLAIN, SIGN, STRING, shown, unquote
from microcosm.tuning import gc_paused

BEGINNINGS = ("send ", "receive ", "event ")
"""What the first line of a run of messages, or of what a log says of its events, begins with."""

_is_json = re.compile(r"\s*+\{").match


def read_givens(text: str, file: str | None = None) -> Givens:
    """The givens of a document, `.mc` or JSON; `file` is its name in errors and provenances.

    Raises `TextError`. Contradictions are not looked for here. Cost: linear in the text.

    >>> read_givens("a < b < c").external[("b", "<", "c")].source
    'line 1'
    """
    text = text.removeprefix("\ufeff")
    with gc_paused():
        if _is_json(text):
            from microcosm.text.json_form import read_json

            return read_json(text, file)
        if "\r" in text:
            text = text.replace("\r\n", "\n").replace("\r", "\n")
        return _McReader(file).read(text)


def parse_statement(text: str, file: str | None = None) -> Statement:
    """The one statement in `text`. Raises `TextError`, also where there is none.

    >>> parse_statement("b > a").facts[0]
    Correspondence(left='a', relation=Relation.BEFORE, right='b', source=None)
    """
    text = text.rstrip("\r\n")
    if "\n" in text:
        raise TextError("more than one line", file=file, hint="Write one statement.")
    statement = _statement(text, file, None, None)
    if statement is None:
        raise TextError("no statement", file=file, hint="Write a correspondence such as `a < b`.")
    return statement


def parse_correspondences(text: str, file: str | None = None) -> list[Correspondence]:
    """The correspondences of exactly one correspondence statement; refuted ones are allowed."""
    statement = parse_statement(text, file)
    if not isinstance(statement, st.Correspondences):
        raise TextError(
            "not a correspondence",
            file=file,
            column=1,
            text=text,
            hint="Write a pair such as `a < b`, `a || b`, `a <> b`.",
        )
    return list(statement.facts)


class _McReader:
    """One pass over the text of a document."""

    def __init__(self, file: str | None) -> None:
        self.file = file
        self.givens = Givens()
        self.internal: set[str] = set()
        self.events: EventTableBuilder | None = None
        self.linking: OrderBuilder | None = OrderBuilder()
        """What is external, as long as all of it is `<`."""

        self.told: MessageBuilder | None = None
        """The messages, as long as all of them are of runs."""

    def read(self, text: str) -> Givens:
        if not text.endswith("\n"):
            text += "\n"
        at, number = 0, 1
        while at < len(text):
            end, run = read_run(text, at, self.file, number)
            lines = 0
            if run is not None:
                if self.linking is not None and run.links:
                    self.linking.extend(run.ends, run.sources)
                else:
                    self._add(run.facts())
                lines = len(run.signs)
            elif text.startswith(BEGINNINGS, at):
                end, lines = self._read_told(text, at)
            if not lines:
                end = end if end > at else text.index("\n", at) + 1
                for lines, line in enumerate(text[at : end - 1].split("\n"), 1):
                    self._read_line(line, number + lines - 1)
            at, number = end, number + lines
        linking, whose = self.linking, None
        if linking is not None and (len(linking.ends) < 2 * tuning.COLUMNS_FROM or linking.repeated):
            self.givens.external, linking = linking.facts(), None
        if self.told is not None and linking is None:
            self._settle_messages(self.told)
        elif self.told is not None and linking is not None:
            told, whose = self.told.told(linking.numbers)
            self.givens.tell(told)
        if linking is not None:
            self.givens.link(linking.links(whose))
        if self.events is not None:
            self.givens.events = self.events.table()
            self.givens.own_told()
        return self.givens

    def _read_told(self, text: str, at: int) -> tuple[int, int]:
        """Take in the messages, or what is said of events, on the lines from a place on: up to where, and
        how many lines that is; none where they are to be read one by one."""
        from microcosm.text.told_lines import read_events, read_messages

        if (messages := read_messages(text, at)) is not None:
            end, columns = messages
            if self.told is None and not self.givens.messages:
                self.told = MessageBuilder()
            if self.told is not None:
                self.told.extend(columns)
            else:
                self.givens.messages += messages_of(columns)
            return end, len(columns[0])
        if (events := read_events(text, at)) is not None:
            end, table = events
            into = EventTableBuilder() if self.events is None else self.events
            if len(set(table.names)) == len(table) and not any(map(into.__contains__, table.names)):
                into.extend(table)
                self.events = into
                return end, len(table)
        return at, 0

    def _settle_messages(self, told: MessageBuilder) -> None:
        """Give up the columns of messages."""
        self.givens.messages, self.told = told.messages(), None

    def _settle(self, linking: OrderBuilder) -> None:
        """Give up the columns."""
        self.givens.external, self.linking = linking.facts(), None

    def _add(self, facts: Sequence[Correspondence]) -> None:
        """`Givens.add` of each, with short cuts for the commonest relation."""
        givens, before = self.givens, Relation.BEFORE
        if self.linking is not None:
            if all(fact.relation is before for fact in facts):
                ends = [end for fact in facts for end in (fact.left, fact.right)]
                self.linking.extend(ends, [fact.source for fact in facts])
                return
            self._settle(self.linking)
        first = givens.external.setdefault
        for fact in facts:
            if fact.relation is before:
                first((fact.left, "<", fact.right), fact)
            else:
                givens.add(fact)

    def _read_line(self, line: str, number: int) -> None:
        statement = _statement(line, self.file, number, line_of(self.file, number))
        if statement is None:
            return
        try:
            self._include(statement)
        except BadStatement as fault:
            raise _located(fault, line, self.file, number) from None

    def _include(self, statement: Statement) -> None:
        givens = self.givens
        match statement:
            case st.Correspondences(facts):
                self._add(facts)
            case st.Clocked(event, clock):
                _first_time(event, givens.clocks, "the clock of")
                givens.time(event, clock)
            case st.Stamped(event, stamp):
                _first_time(event, givens.stamps, "the stamp of")
                givens.stamps[event] = stamp
            case st.Messaged(message):
                if self.told is not None:
                    self._settle_messages(self.told)
                givens.messages.append(message)
            case st.Internal(events):
                for event in events:
                    if event in self.internal:
                        hint = "A second `internal` line continues the chain of the first."
                        raise BadStatement(
                            f"{shown(event)} is in the internal chain already", hint, name=event
                        )
                self.internal.update(events)
                givens.internal.extend(events)
            case st.Token(name, events):
                _first_time(name, givens.tokens, "the token")
                givens.tokens[name] = events
            case st.Owned(process, events):
                known = givens.processes.get(process, ())
                for event in events:
                    if event in known:
                        fault = f"{shown(event)} is said to be of {shown(process)} already"
                        raise BadStatement(fault, "Name it once.", name=event)
                givens.processes[process] = (*known, *events)
            case st.Ordered(ordering):
                if ordering not in givens.orderings:
                    givens.orderings.append(ordering)
            case st.Complete(processes):
                if givens.complete is not True:
                    named = dict.fromkeys((*(givens.complete or ()), *processes))
                    givens.complete = tuple(named) if processes else True
            case st.Told(row):
                self.events = EventTableBuilder() if self.events is None else self.events
                _first_time(row.name, self.events, "the event")
                self.events.add(row)
            case st.OwnName(name):
                if givens.name is not None:
                    raise BadStatement("the microcosm is named twice", "Keep one of the names.", name=name)
                givens.name = name


def _first_time(name: str, stated: Container[str], what: str) -> None:
    if name in stated:
        raise BadStatement(
            f"{what} {shown(name)} is stated twice", "Keep one of the two statements.", name=name
        )


def _statement(line: str, file: str | None, number: int | None, source: str | None) -> Statement | None:
    """The statement on a line; None for a blank line or a comment. Raises `TextError`."""
    said = line.lstrip()
    if not said or said[0] == "#":
        return None
    try:
        if "event" not in line and (found := short_cut(line, source)) is not None:
            return found
        from microcosm.text.statement_reader import read_statement

        return read_statement(line, source)
    except BadStatement as fault:
        raise _located(fault, line, file, number) from None


def _located(fault: BadStatement, line: str, file: str | None, number: int | None) -> TextError:
    column = fault.column
    if column is None and fault.name is not None:
        column = _mention(line, fault.name, fault.nth)
    return TextError(fault.message, file=file, line=number, column=column, text=line, hint=fault.hint)


def _mention(line: str, name: str, nth: int) -> int | None:
    """The column of the nth token of a line that names `name`."""
    written = {name} - KEYWORDS
    for match in WORD.finditer(line):
        token = match.group()
        if token in written or (token[0] == '"' and len(token) > 1 and unquote(token) == name):
            nth -= 1
            if nth == 0:
                return match.start() + 1
    return None


_plain_lines = re.compile(rf"(?:[ \t]*+{PLAIN}[ \t]++(?:<>?|>|\|\|)[ \t]++{PLAIN}[ \t]*+\n){{2,1000}}").match
_sourced_lines = re.compile(
    rf'(?:{PLAIN} (?:<>?|>|\|\|) {PLAIN} from "[^"\\\x00-\x1f\ud800-\udfff]*+"\n){{2,1000}}'
).match


def _line(group: str) -> str:
    """One line of any two operands; `group` opens each of the four groups."""
    b = r"[^\S\n]*+"
    return (
        rf"{b}{group}{OPERAND}){b}{group}{SIGN}){b}{group}{OPERAND}){b}"
        rf"(?:from{b}{group}{STRING}){b})?(?:#.*)?\n"
    )


_linked_lines = re.compile(f"(?:{_line('(?:')}){{1,1000}}").match
_columns = re.compile(_line("(")).findall


class RunOfLines(NamedTuple):
    """What a run says, a fact a line: events and signs as they stand, and the sources."""

    ends: Sequence[str]
    """Left and right by turns."""
    signs: Sequence[str]
    sources: Sequence[str | None]
    links: bool
    """Whether every fact says `<`."""

    def facts(self) -> list[Correspondence]:
        """One by one, with one string for each name: neighbouring lines mostly speak of the same events."""
        once = dict(zip(self.ends, self.ends, strict=True))
        ends = [*map(once.__getitem__, self.ends)]
        return facts_of(ends[0::2], self.signs, ends[1::2], self.sources)


@dataclass(frozen=True, slots=True)
class LineSources(Sequence[str]):
    """The sources of the facts of neighbouring lines, stated by nobody (`line_of`), made when asked for."""

    file: str | None
    lines: range

    def __len__(self) -> int:
        return len(self.lines)

    def __iter__(self) -> Iterator[str]:
        place = "line " if self.file is None else f"{self.file}:"
        return map(place.__add__, map(str, self.lines))

    @overload
    def __getitem__(self, at: int) -> str: ...
    @overload
    def __getitem__(self, at: slice) -> Sequence[str]: ...
    def __getitem__(self, at: int | slice) -> str | Sequence[str]:
        if isinstance(at, slice):
            return LineSources(self.file, self.lines[at])
        return line_of(self.file, self.lines[at])


def read_run(text: str, at: int, file: str | None, line: int) -> tuple[int, RunOfLines | None]:
    """Where the run of correspondence lines that begins at `at` ends, and what it says, a fact a line.

    An end of `at` means that no run begins here. None for the facts: some line of the run is no
    correspondence after all, or relates an event to itself, and each is to be looked at alone.
    """
    if plain := _plain_lines(text, at):
        end, words = plain.end(), plain.group().split()
        if not KEYWORDS.isdisjoint(words):
            return end, None
        signs: Sequence[str] = words[1::3]
        del words[1::3]
        names: Sequence[str] = words
        sources: Sequence[str | None] = LineSources(file, range(line, line + len(signs)))
    elif sourced := _sourced_lines(text, at):
        end, parts = sourced.end(), sourced.group().split('"')
        words = " ".join(parts[0:-1:2]).split()
        del words[3::4]
        signs = words[1::3]
        del words[1::3]
        if not KEYWORDS.isdisjoint(words):
            return end, None
        names, sources = words, all_stated(parts[1::2])
    elif linked := _linked_lines(text, at):
        end = linked.end()
        lefts, signs, rights, origins = zip(*_columns(linked.group()), strict=True)
        places = LineSources(file, range(line, line + len(signs)))
        try:
            sources = [
                stated(text_of(origin)) if origin else place
                for origin, place in zip(origins, places, strict=True)
            ]
            names = names_of([end for pair in zip(lefts, rights, strict=True) for end in pair])
        except Unusual:
            return end, None
    else:
        return at, None
    if any(map(eq, names[0::2], names[1::2])):
        return end, None
    return end, RunOfLines(names, signs, sources, signs.count("<") == len(signs))
