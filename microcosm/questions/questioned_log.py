"""A log as questions see it: its events, what is known of their order with `know` and `complete`, what
patterns match, and what of that is chosen for the variables of a formula.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from difflib import get_close_matches
from functools import cached_property
from typing import NamedTuple

from microcosm.engine.engine import Engine
from microcosm.errors import NotComplete
from microcosm.givens.event_table import EventRow, EventTable, EventTableBuilder
from microcosm.givens.givens import Givens
from microcosm.order.bits import bits, from_positions
from microcosm.order.order import lacking
from microcosm.queries.events import as_text
from microcosm.questions import language, patterns
from microcosm.questions.judged import Frame, Judgements, arranged
from microcosm.questions.patterns import Columns, Interval, Values
from microcosm.text.names import quote
from microcosm.tuning import gc_paused
from microcosm.worlds.search import Stop


class Candidates:
    """What a pattern matches: events, or the intervals of a state, and the parameters of each."""

    def __init__(
        self, events: Sequence[int], values: list[Values], states: list[Interval] | None = None
    ) -> None:
        self.events = events
        """The event of each, or the one at which the interval begins."""
        self.values = values
        self.states = states
        self._keyed: dict[tuple[int, ...], dict[Values, list[int]]] = {}

    def __len__(self) -> int:
        return len(self.events)

    def keyed(self, at: tuple[int, ...]) -> dict[Values, list[int]]:
        """Their numbers by their parameters at some places. Cost: one pass for each choice of places."""
        if at not in self._keyed:
            found: dict[Values, list[int]] = {}
            whole = at == (*range(len(at)),) and all(len(mine) == len(at) for mine in self.values[:1])
            keys = self.values if whole else (tuple([mine[place] for place in at]) for mine in self.values)
            for number, key in enumerate(keys):
                found.setdefault(key, []).append(number)
            self._keyed[at] = found
        return self._keyed[at]


class Group:
    """Some candidates of one pattern, with frames of their events. Rows over it are numbered as `members`."""

    def __init__(self, candidates: Candidates, members: list[int], judged: Judgements) -> None:
        self.candidates, self._judged = candidates, judged
        order = arranged(judged, [candidates.events[member] for member in members])
        self.members = [members[at] for at in order]
        self.every = (1 << len(members)) - 1

    @cached_property
    def frame(self) -> Frame:
        """Of the events, or of the starts of intervals."""
        return self._judged.frame([self.candidates.events[member] for member in self.members])

    @cached_property
    def ends(self) -> Frame:
        """Of the ends of intervals; of the last event where the log has none."""
        states = self.candidates.states
        assert states is not None
        return self._judged.frame([states[member].until for member in self.members])

    def marked(self, holds: Callable[[Interval], bool]) -> int:
        """The intervals of which something holds."""
        states = self.candidates.states
        assert states is not None
        marked = [at for at, member in enumerate(self.members) if holds(states[member])]
        return from_positions(marked, len(self.members))

    @cached_property
    def broken(self) -> int:
        """The intervals that a gap of the log may have interrupted."""
        return self.marked(lambda one: one.broken)

    @cached_property
    def endless(self) -> int:
        """The intervals without an end in the log."""
        return self.marked(lambda one: one.end is None)


class QuestionedLog:
    """One log and some patterns: what they match, and what is known of the events.

    `like` is a log of the same events of which less is known: what patterns match is the same. Cost: that of
    `Judgements`; of a pattern one pass, when it is first named.
    """

    def __init__(
        self,
        givens: Givens,
        engine: Engine,
        questions: language.Questions,
        stop: Stop | None = None,
        like: QuestionedLog | None = None,
    ) -> None:
        self.givens, self.questions = givens, questions
        if like is None:
            self.table = _events_of(givens)
            self.columns = Columns(self.table)
            self._matched: dict[str, Candidates] = {}
        else:
            self.table, self.columns, self._matched = like.table, like.columns, like._matched
            self.complete = like.complete
        self.warnings: list[str] = []
        self._groups: dict[tuple[str, tuple[int, ...], Values], Group] = {}
        self.judged = Judgements(engine, givens, self.table.names, stop)
        if self.judged.partial:
            self.warnings.append(
                f"{len(self.table):,} events are too many to look at more than what orders them:"
                " clocks, stamps, || and <> are left out"
            )

    @cached_property
    def missing(self) -> dict[str, int]:
        """How many events the log lacks, by process, as far as it numbers them. Cost: one pass."""
        return patterns.missing(self.columns)

    def lost(self) -> str:
        """Where the log lacks the events that it lacks, in words: of the first processes."""
        return ", ".join(
            f"{count} of {quote(process)}" for process, count in sorted(self.missing.items())[:5]
        )

    @cached_property
    def complete(self) -> bool:
        """Whether what is not in the log did not happen."""
        return self.givens.complete is True and not self.missing and lacking(self.givens) is None

    def pattern(self, name: str) -> language.Pattern:
        """A pattern by its name."""
        return self.questions.patterns[name]

    def matching(self, name: str) -> Candidates:
        """All that a pattern matches. Raises `TextError` where a process of a state is in no known order."""
        found = self._matched.get(name)
        if found is None:
            pattern = self.pattern(name)
            with gc_paused():
                if isinstance(pattern, language.EventPattern):
                    found = Candidates(*patterns.matched(pattern, self.columns))
                else:
                    found = self._states(pattern)
                self._warn_of_fields(pattern)
            self._matched[name] = found
        return found

    def group(self, reference: language.Reference, parameters: dict[str, str]) -> Group:
        """The candidates of a reference, its arguments being what is bound, or new."""
        at, values, first = list[int](), list[str](), dict[str, int]()
        repeated = []
        for place, argument in enumerate(reference.arguments):
            value = None
            if isinstance(argument, language.Value):
                value = as_text(argument.value)
            elif isinstance(argument, language.Parameter):
                value = parameters.get(argument.name)
                if value is None and argument.name in first:
                    repeated.append((first[argument.name], place))
                first.setdefault(argument.name, place)
            if value is not None:
                at.append(place)
                values.append(value)
        name = reference.name + "".join(f" {a}={b}" for a, b in repeated)
        key = name, tuple(at), tuple(values)
        found = self._groups.get(key)
        if found is None:
            candidates = self.matching(reference.name)
            members = candidates.keyed(tuple(at)).get(tuple(values), [])
            if repeated:
                mine = candidates.values
                members = [m for m in members if all(mine[m][a] == mine[m][b] for a, b in repeated)]
            if len(self._groups) > KEPT:
                self._groups.clear()
            found = self._groups[key] = Group(candidates, members, self.judged)
        return found

    # -- inside --------------------------------------------------------------------------------------------

    def _states(self, pattern: language.StatePattern) -> Candidates:
        try:
            found, ended = patterns.intervals(pattern, self.columns, self.judged.before)
        except patterns.Unordered as error:
            raise self.questions.fault(f"{pattern.name}: {error}", pattern.place) from None
        if found and not ended:
            self.warnings.append(
                f"{self.at(pattern.place)}the state {pattern.name} never ends: no event matches its `until`"
            )
        return Candidates([one.begin for one in found], [one.values for one in found], found)

    def _warn_of_fields(self, pattern: language.Pattern) -> None:
        """Say which fields of a pattern no event has: they may be misspelt."""
        for name in patterns.fields_missing(pattern, self.columns):
            attributes = {key for row in self.table.attributes[:1000] for key in row}
            near = get_close_matches(name, {*language.COLUMNS, *attributes}, 3)
            meant = f"; did you mean {' or '.join(f'`{one}`' for one in near)}?" if near else ""
            self.warnings.append(f"{self.at(pattern.place)}no event has the field `{name}`{meant}")

    def at(self, place: language.Place) -> str:
        """A place of the questions, before what is said of it."""
        return f"{self.questions.file or 'questions'}:{place.line}:{place.column}: "


KEPT = 4096
"""So many groups are remembered at once."""


def _events_of(givens: Givens) -> EventTable:
    """The events of the log, and those that are known besides: supposed, merged, added. Cost: linear."""
    table = givens.events
    if table is not None and {*table.names}.issuperset(givens.named()):
        return table
    return table_of(givens) if table is None else table.joined(table_of(givens))


def table_of(givens: Givens) -> EventTable:
    """The events of a microcosm that was read from no log: their names, and what its messages say of them."""
    stated: dict[str, tuple[str, str, str | None]] = {}
    for message in givens.messages:
        stated.setdefault(message.event, (message.process, message.kind, message.message))
    for event, clock in givens.clocks.items():
        stated.setdefault(event, (clock.process, "", None))
    builder = EventTableBuilder()
    for name in givens.named():
        process, kind, message_name = stated.get(name, ("", "", None))
        seq = 0
        if not process and ":" in name and (end := name.rpartition(":"))[2].isdigit():
            process, seq = end[0], int(end[2])
        builder.add(EventRow(name, process, seq, kind, message_name))
    return builder.table()


TRUE, FALSE, OPEN = 1, -1, 0
"""Kleene's values."""

Row = tuple[int, int]
"""Those of a group for which a formula is true, and those for which it is false."""


class Chosen(NamedTuple):
    """What is chosen for a variable: a candidate of a pattern."""

    candidates: Candidates
    number: int

    @property
    def event(self) -> int:
        """Its event; of an interval the first."""
        return self.candidates.events[self.number]

    @property
    def interval(self) -> Interval:
        """Its interval."""
        assert self.candidates.states is not None
        return self.candidates.states[self.number]


@dataclass(frozen=True)
class Scope:
    """What is chosen for variables, and what their parameters are."""

    variables: dict[str, Chosen] = field(default_factory=dict)
    parameters: dict[str, str] = field(default_factory=dict)

    def with_choice(
        self, name: str, reference: language.Reference, candidates: Candidates, number: int
    ) -> Scope:
        """The scope with one more variable."""
        values = candidates.values[number]
        parameters = self.parameters
        new = {
            argument.name: value
            for argument, value in zip(reference.arguments, values, strict=True)
            if isinstance(argument, language.Parameter) and argument.name not in parameters
        }
        return Scope(
            {**self.variables, name: Chosen(candidates, number)}, {**parameters, **new} if new else parameters
        )


class Part(NamedTuple):
    """Tuples that differ in the last variable only: those that there are (`among`), and their values."""

    scope: Scope
    last: language.Binder
    group: Group
    among: int
    row: Row

    @property
    def open(self) -> int:
        """Those that are neither true nor false."""
        return self.among & ~(self.row[0] | self.row[1])

    def rows(self) -> dict[int, int]:
        """Those that have each value."""
        return {TRUE: self.row[0], FALSE: self.row[1], OPEN: self.open}

    def scopes(self, row: int) -> Iterator[Scope]:
        """What is chosen in each tuple of a row."""
        for at in bits(row & self.among):
            yield self.scope.with_choice(*self.last, self.group.candidates, self.group.members[at])


def stated_complete(log: QuestionedLog, known: Givens) -> str | None:
    """State of givens of a log that it is complete; why it is not, in words, or None.

    Cost: that of `microcosm.order.order.lacking`.
    """
    if log.missing:
        return f"events are missing ({log.lost()})"
    try:
        known.state_complete()
    except NotComplete as refusal:
        return refusal.signs[0]
    return lacking(known)
