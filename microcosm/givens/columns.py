"""Messages one by one, and messages and `a < b` in columns: names once each, numbers in their place.

A log of a million events is some million such correspondences. What reads them, numbers them and orders
them needs no object for each; whoever asks for one gets all of them made (`Givens.external`). The same is
true of messages (`Givens.messages`).
"""

from __future__ import annotations

from array import array
from bisect import bisect_right
from collections import defaultdict, deque
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import accumulate, chain, compress, count, islice, repeat
from operator import add, eq, mul
from typing import Literal, NamedTuple

from microcosm import tuning
from microcosm.givens.relation import Correspondence, Relation


class Message(NamedTuple):
    """`send event = message process -> receivers`, or `receive event = message process`."""

    kind: Literal["send", "receive"]
    event: str
    message: str
    process: str
    receivers: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True, eq=False)
class MessageColumns:
    """The columns of a log, and the order in which its rows are stated; none of its messages has receivers.

    A row without a kind is no message. `unlinked` are the rows whose events no link of the same log names.

    >>> kinds, processes = ["send", "", "receive"], ["p", "p", "q"]
    >>> columns = MessageColumns([1, 0, 2], kinds, ["a", "b", "c"], ["m", "", "m"], processes, [])
    >>> columns.messages()[1]
    Message(kind='receive', event='c', message='m', process='q', receivers=())
    >>> [*columns.events()]
    ['a', 'c']
    """

    order: Sequence[int]
    kind: Sequence[str]
    event: Sequence[str]
    message: Sequence[str]
    process: Sequence[str]
    unlinked: Sequence[int]

    def __len__(self) -> int:
        return sum(map(bool, map(self.kind.__getitem__, self.order)))

    def events(self) -> Iterator[str]:
        """The events that sent or received, once for each time."""
        return map(self.event.__getitem__, self.rows())

    def processes(self) -> Iterator[str]:
        """Whose these are."""
        return map(self.process.__getitem__, self.rows())

    def messages(self) -> list[Message]:
        """One by one. Cost: linear, in one pass over each column."""
        return messages_of(self.columns())

    def columns(self) -> tuple[Sequence[str], ...]:
        """The kind, the event, the message and the process of each message. Cost: linear."""
        rows = [*self.rows()]
        names = (self.event, self.message, self.process)
        event, message, process = ([*map(column.__getitem__, rows)] for column in names)
        return [*map(self.kind.__getitem__, rows)], event, message, process

    def rows(self) -> Iterator[int]:
        """The rows that are messages, in the order in which they are stated."""
        return compress(self.order, map(self.kind.__getitem__, self.order))


def messages_of(columns: Iterable[Sequence[str]]) -> list[Message]:
    """Messages of columns of kinds, events, messages and processes; none has receivers.

    >>> messages_of([["send"], ["a"], ["m"], ["p"]])
    [Message(kind='send', event='a', message='m', process='p', receivers=())]
    """
    return [*map(tuple.__new__, repeat(Message), zip(*columns, repeat(()), strict=False))]


_TOGETHER = 1000
"""So many events of messages are looked for together."""


class MessageBuilder:
    """Messages without receivers, as columns come.

    >>> builder = MessageBuilder()
    >>> builder.extend([["send"], ["a"], ["m"], ["p"]])
    >>> columns, owners = builder.columns({"a": 0}); [*columns.events()], columns.unlinked, owners
    (['a'], [], ['p'])
    """

    def __init__(self) -> None:
        self._columns = tuple[list[str], list[str], list[str], list[str]](([], [], [], []))

    def __len__(self) -> int:
        return len(self._columns[0])

    def extend(self, columns: Iterable[Sequence[str]]) -> None:
        """Add columns of kinds, events, messages and processes."""
        for column, values in zip(self._columns, columns, strict=True):
            column.extend(values)

    def messages(self) -> list[Message]:
        """All of them one by one. Cost: linear."""
        return messages_of(self._columns)

    def columns(self, linked: Mapping[str, int]) -> tuple[MessageColumns, list[str] | None]:
        """All of them, where links name these events, which are numbered; and the process of each of these.

        The latter is None where messages do not name all of them. Cost: linear.
        """
        kinds, events, messages, processes = self._columns
        names, expected = [*linked], 0
        many, unlinked = len(names), list[int]()
        owners: list[str | None] = [None] * (many + 1)  # the last is that of any other name
        for at in range(0, len(events), _TOGETHER):
            rows = slice(at, at + _TOGETHER)
            part = events[rows]
            to = expected + len(part)
            if names[expected:to] == part:  # stated in the order of the links
                events[rows] = names[expected:to]  # one string a name
                owners[expected:to], expected = processes[rows], to
                continue
            numbers = [*map(linked.get, part, repeat(many))]
            deque(map(owners.__setitem__, numbers, processes[rows]), maxlen=0)
            if many in numbers:
                unlinked += compress(count(at), map(many.__eq__, numbers))
            else:
                events[rows] = map(names.__getitem__, numbers)
            expected = numbers[-1] + 1
        del owners[many]
        result = MessageColumns(range(len(events)), kinds, events, messages, processes, unlinked)
        known = [process for process in owners if process is not None]
        return result, known if len(known) == len(names) else None


Facts = dict[tuple[str, str, str], Correspondence]
"""Correspondences by their keys."""


class NameNumbers:
    """The number of each of some names, no two of them equal: its place among them, from 0.

    Names that are expected are looked for in one pass. When passes have cost about as much as to number all
    names, that is done, and from then on each question is a look-up.

    >>> numbers = NameNumbers(["a", "b"])
    >>> numbers.expect(["b", "c"]); numbers.of("b"), numbers.of("c"), numbers.of("a")
    (1, None, 0)
    """

    __slots__ = ("_found", "_missed", "_names", "_passes")

    def __init__(self, names: Sequence[str]) -> None:
        self._names = names
        self._found: dict[str, int] = {}
        self._missed: set[str] | None = set()
        """Names that passes did not find; None when all are numbered."""
        self._passes = tuning.PASSES if len(names) > tuning.COLUMNS_FROM else 0

    def expect(self, names: Iterable[str]) -> None:
        """These are asked for next. Cost: a pass, where some of them are new."""
        if self._missed is None:
            return
        new = {name for name in names if name not in self._found and name not in self._missed}
        if new and not self._passes:
            self._found = dict(zip(self._names, count(), strict=False))
            self._missed = None
        elif new:
            self._passes -= 1
            for at in compress(count(), map(new.__contains__, self._names)):
                self._found[self._names[at]] = at
            self._missed |= new.difference(self._found)

    def of(self, name: str) -> int | None:
        """The number of a name; None where there is no such. Cost: constant, or a pass."""
        at = self._found.get(name)
        if at is None and self._missed is not None:
            self.expect([name])
            at = self._found.get(name)
        return at


@dataclass(slots=True)
class _LinksInto:
    """The links into events that somebody asked about, found in passes as names are (`NameNumbers`)."""

    names: NameNumbers | None = None
    source: dict[int, str | None] = field(default_factory=dict)
    """The source of each link that was found, by both its numbers in one."""
    ends: set[int] | None = field(default_factory=set)
    """The numbers of events all links into which were found; None when all links were."""
    passes: int = field(default_factory=lambda: tuning.PASSES)


@dataclass(frozen=True, slots=True, eq=False)
class OrderColumns:
    """`names[lefts[i]] < names[rights[i]]` for each i, no two of them equal; each of `names` is in one.

    `sources` are pieces of the column of their sources; `processes` says whose event each of `names` is,
    where all is known.

    >>> links = OrderColumns(["a", "b", "c"], [0, 1], [1, 2], [["m1", None]])
    >>> links.facts()[("a", "<", "b")].source, links.fact("b", "c"), links.fact("b", "a")
    ('m1', Correspondence(left='b', relation=Relation.BEFORE, right='c', source=None), None)
    """

    names: Sequence[str]
    lefts: Sequence[int]
    rights: Sequence[int]
    sources: Sequence[Sequence[str | None]]
    processes: Sequence[str] | None = None
    _into: _LinksInto = field(default_factory=_LinksInto, init=False, repr=False)

    def __len__(self) -> int:
        return len(self.lefts)

    def __reduce__(self) -> tuple[object, ...]:
        return OrderColumns, (self.names, self.lefts, self.rights, self.sources, self.processes)

    def fact(self, left: str, right: str) -> Correspondence | None:
        """`left < right`, where a link says so. Cost: constant where `right` was expected, else a pass."""
        self.expect([right])
        numbers = self._numbers()
        at, to = numbers.of(left), numbers.of(right)
        if at is None or to is None:
            return None
        key = at * len(self.names) + to
        source = self._into.source
        return Correspondence(left, Relation.BEFORE, right, source[key]) if key in source else None

    def expect(self, events: Collection[str]) -> None:
        """Links into these events are asked for next. Cost: a pass over the links, or none.

        After some passes, which cost about as much, all links are kept at hand.
        """
        into, numbers = self._into, self._numbers()
        if into.ends is None:
            return
        numbers.expect(events)
        new = {at for event in events if (at := numbers.of(event)) is not None} - into.ends
        if not new:
            return
        size = len(self.names)
        if not into.passes or len(self) <= tuning.COLUMNS_FROM:
            keys = map(add, map(mul, self.lefts, repeat(size)), self.rights)
            into.source = dict(zip(keys, chain.from_iterable(self.sources), strict=True))
            into.ends = None
            return
        into.passes -= 1
        begins = [0, *accumulate(map(len, self.sources))]
        for link in compress(count(), map(new.__contains__, self.rights)):
            piece = bisect_right(begins, link) - 1
            key = self.lefts[link] * size + self.rights[link]
            into.source[key] = self.sources[piece][link - begins[piece]]
        into.ends |= new

    def _numbers(self) -> NameNumbers:
        if self._into.names is None:
            self._into.names = NameNumbers(self.names)
        return self._into.names

    def placed(self, places: Iterable[int]) -> tuple[Iterator[int], Iterator[int]]:
        """The left ends and the right ends of the links, by the `places` of its names. Cost: linear."""
        place = [*places].__getitem__
        return map(place, self.lefts), map(place, self.rights)

    def facts(self) -> Facts:
        """One by one, in their order. Cost: linear, in one pass over each column."""
        name = self.names.__getitem__
        lefts, rights = [*map(name, self.lefts)], [*map(name, self.rights)]
        facts = many(lefts, Relation.BEFORE, rights, chain.from_iterable(self.sources))
        return dict(zip(zip(lefts, repeat("<"), rights, strict=False), facts, strict=True))


def many(
    lefts: Sequence[str], relation: Relation, rights: Iterable[str], sources: Iterable[str | None]
) -> list[Correspondence]:
    """The correspondences of three columns, all of one relation; a quarter of the price of one by one.

    >>> many(["a", "b"], Relation.BEFORE, ["b", "c"], repeat("m1"))[1]
    Correspondence(left='b', relation=Relation.BEFORE, right='c', source='m1')
    """
    made = [*map(object.__new__, repeat(Correspondence, len(lefts)))]
    columns = {"left": lefts, "relation": repeat(relation), "right": rights, "source": sources}
    for name, column in columns.items():
        # The slot itself, for the class lets nobody set a field.
        deque(map(getattr(Correspondence, name).__set__, made, column), maxlen=0)
    return made


class OrderBuilder:
    """`a < b` as they come.

    >>> links = OrderBuilder()
    >>> links.extend(["a", "b", "b", "c"], ["line 1", "line 2"]); [*links.links().lefts]
    [0, 1]
    """

    def __init__(self) -> None:
        self._number: defaultdict[str, int] = defaultdict(count().__next__)
        self.ends = array("I")
        """The numbers of names, left and right by turns."""
        self._sources: list[Sequence[str | None]] = []

    @property
    def numbers(self) -> Mapping[str, int]:
        """The number of each name so far."""
        return self._number

    def extend(self, ends: Sequence[str], sources: Sequence[str | None]) -> None:
        """Add links by their ends, left and right by turns, with the sources of each."""
        self.ends.extend(map(self._number.__getitem__, ends))
        self._sources.append(sources)

    @property
    def repeated(self) -> bool:
        """Whether some link came twice."""
        # Both numbers of each in one. Sorted, as links mostly come in some order: a set takes longer.
        keys = sorted(memoryview(self.ends).cast("B").cast("Q"))
        return any(map(eq, keys, islice(keys, 1, None)))

    def links(self, processes: Sequence[str] | None = None) -> OrderColumns:
        """All of them; none may have come twice."""
        return OrderColumns([*self._number], self.ends[0::2], self.ends[1::2], self._sources, processes)

    def facts(self) -> Facts:
        """All of them one by one; of those that came twice the first. Cost: linear."""
        name, ends = [*self._number].__getitem__, self.ends
        lefts, rights = [*map(name, ends[0::2])], [*map(name, ends[1::2])]
        facts = many(lefts, Relation.BEFORE, rights, chain.from_iterable(self._sources))
        found = dict(zip(zip(lefts, repeat("<"), rights, strict=False), facts, strict=True))
        if len(found) < len(facts):
            found = {}
            for fact in facts:
                found.setdefault(fact.key(), fact)
        return found
