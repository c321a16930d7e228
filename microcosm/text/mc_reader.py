"""Reads microcosm files, text or JSON, into givens.

A document is JSON if its first character that is no blank is `{`, and else a list of statements, one
a line. Plain lines take the short cut, neighbours of one kind together; the other readers are loaded only for
what it does not know.

What may be stated once only: the name, the clock and the stamp of an event, the events of a token. A
second `internal` line continues the chain of the first. A correspondence given twice keeps the source
that it was first given with; an ordering stated twice is one.
"""

from __future__ import annotations

import re
from collections.abc import Container
from dataclasses import dataclass, field

from microcosm import tuning
from microcosm.errors import TextError
from microcosm.givens.columns import MessageBuilder, OrderBuilder, messages_of
from microcosm.givens.event_table import EventTableBuilder
from microcosm.givens.givens import Givens
from microcosm.givens.relation import Correspondence, Relation
from microcosm.text import statement as st
from microcosm.text.names import KEYWORDS
from microcosm.text.short_cut import WORD, read_correspondences, read_events, read_messages, short_cut
from microcosm.text.statement import BadStatement, Correspondences, Statement, shown, unquote
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
        return _McReader(file, "line " if file is None else f"{file}:").read(text)


def parse_statement(text: str, file: str | None = None) -> Statement:
    """The one statement in `text`. Raises `TextError`, also where there is none.

    >>> parse_statement("b > a").facts[0]
    Correspondence(left='a', relation=Relation.BEFORE, right='b', source=None)
    """
    text = text.rstrip("\r\n")
    if "\n" in text:
        raise TextError("more than one line", file=file, hint="Write one statement.")
    statement = _statement(text, file, None)
    if statement is None:
        raise TextError("no statement", file=file, hint="Write a correspondence such as `a < b`.")
    return statement


def parse_correspondences(text: str) -> list[Correspondence]:
    """The correspondences of exactly one correspondence statement; refuted ones are allowed."""
    statement = parse_statement(text)
    if not isinstance(statement, Correspondences):
        hint = "Write a pair such as `a < b`, `a || b`, `a <> b`."
        raise TextError("not a correspondence", column=1, text=text, hint=hint)
    return statement.facts


@dataclass(slots=True)
class _McReader:
    """One pass over the text of a document."""

    file: str | None
    place: str
    """What stands before the number of a line in the source of what it says."""
    givens: Givens = field(default_factory=Givens)
    internal: set[str] = field(default_factory=set)
    events: EventTableBuilder | None = None
    linking: OrderBuilder | None = field(default_factory=OrderBuilder)
    """What is external, as long as all of it is `<`."""
    messages: MessageBuilder | None = None
    """The messages, as long as all of them are of runs."""

    def read(self, text: str) -> Givens:
        if not text.endswith("\n"):
            text += "\n"
        at, number = 0, 1
        while at < len(text):
            end, run = read_correspondences(text, at, self.place, number)
            lines = 0
            if run is not None:
                self._add(run)
                lines = len(run.signs)
            elif text.startswith(BEGINNINGS, at):
                end, lines = self._read_log(text, at)
            if not lines:
                end = end if end > at else text.index("\n", at) + 1
                for lines, line in enumerate(text[at : end - 1].split("\n"), 1):
                    self._read_line(line, number + lines - 1)
            at, number = end, number + lines
        linking, owners = self.linking, None
        if linking is not None and (len(linking.ends) < 2 * tuning.COLUMNS_FROM or linking.repeated):
            self.givens.external, linking = linking.facts(), None
        if self.messages is not None and linking is None:
            self._settle_messages(self.messages)
        elif self.messages is not None and linking is not None:
            columns, owners = self.messages.columns(linking.numbers)
            self.givens.set_message_columns(columns)
        if linking is not None:
            self.givens.set_order_columns(linking.links(owners))
        if self.events is not None:
            self.givens.events = self.events.table()
            self.givens.add_processes_of_table()
        return self.givens

    def _read_log(self, text: str, at: int) -> tuple[int, int]:
        """Take in the messages, or what is said of events, on the lines from a place on: up to where, and
        how many lines that is; none where they are to be read one by one."""
        if (messages := read_messages(text, at)) is not None:
            end, columns = messages
            if self.messages is None and not self.givens.messages:
                self.messages = MessageBuilder()
            if self.messages is not None:
                self.messages.extend(columns)
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

    def _settle_messages(self, messages: MessageBuilder) -> None:
        self.givens.messages, self.messages = messages.messages(), None

    def _add(self, stated: Correspondences) -> None:
        """`Givens.add` of each, with short cuts for the commonest relation."""
        givens, linking, before = self.givens, self.linking, Relation.BEFORE
        if linking is not None and stated.signs.count("<") == len(stated.signs):
            linking.extend(stated.ends, stated.sources)
            return
        facts = stated.facts
        if linking is not None:
            if all(fact.relation is before for fact in facts):
                ends = [end for fact in facts for end in (fact.left, fact.right)]
                linking.extend(ends, [fact.source for fact in facts])
                return
            givens.external, self.linking = linking.facts(), None
        first = givens.external.setdefault
        for fact in facts:
            if fact.relation is before:
                first((fact.left, "<", fact.right), fact)
            else:
                givens.add(fact)

    def _read_line(self, line: str, number: int) -> None:
        statement = _statement(line, self.file, number, f"{self.place}{number}")
        if statement is None:
            return
        givens = self.givens
        try:
            match statement:
                case Correspondences():
                    self._add(statement)
                case st.Clocked(event, clock):
                    _first_time(event, givens.clocks, "the clock of")
                    givens.set_clock(event, clock)
                case st.Stamped(event, stamp):
                    _first_time(event, givens.stamps, "the stamp of")
                    givens.stamps[event] = stamp
                case st.Messaged(message):
                    if self.messages is not None:
                        self._settle_messages(self.messages)
                    givens.messages.append(message)
                case st.Internal(events):
                    for event in events:
                        if event in self.internal:
                            hint = "A second `internal` line continues the chain of the first."
                            fault = f"{shown(event)} is in the internal chain already"
                            raise BadStatement(fault, hint, name=event)
                    self.internal.update(events)
                    givens.internal.extend(events)
                case st.Token(name, events):
                    _first_time(name, givens.tokens, "the token")
                    givens.tokens[name] = events
                case st.Owned(process, events):
                    known = givens.processes.get(process, ())
                    for event in events:
                        if event in known:
                            raise st.twice(f"{shown(event)} of {shown(process)}", name=event)
                    givens.processes[process] = (*known, *events)
                case st.Ordered(ordering):
                    if ordering not in givens.orderings:
                        givens.orderings.append(ordering)
                case st.Complete(processes):
                    if givens.complete is not True:
                        named = dict.fromkeys((*(givens.complete or ()), *processes))
                        givens.complete = tuple(named) if processes else True
                case st.LoggedEvent(row):
                    self.events = EventTableBuilder() if self.events is None else self.events
                    _first_time(row.name, self.events, "the event")
                    self.events.add(row)
                case st.OwnName(name):
                    if givens.name is not None:
                        raise st.twice("the name of the microcosm", name=name)
                    givens.name = name
        except BadStatement as fault:
            raise _located(fault, line, self.file, number) from None


def _first_time(name: str, stated: Container[str], what: str) -> None:
    if name in stated:
        raise st.twice(f"{what} {shown(name)}", name=name)


def _statement(
    line: str, file: str | None, number: int | None, source: str | None = None
) -> Statement | None:
    """The statement on a line; None for a blank line or a comment. Raises `TextError`.

    Correspondences that state no other source have `source`. Cost: linear in the line.
    """
    content = line.lstrip()
    if not content or content[0] == "#":
        return None
    try:
        if "event" in line:
            from microcosm.text.event_line import event_on

            if (row := event_on(line)) is not None:
                return st.LoggedEvent(row)
        if (found := short_cut(line, source)) is not None:
            return found
        from microcosm.text.statement_reader import by_words

        return by_words(line, source)
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
