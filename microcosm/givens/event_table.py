"""What a log says of each of its events, in columns: its words, its place, and what else is known of it.

Nothing is deduced from any of this. It goes from the reader of a log to whoever shows an answer, so that an
event can be shown in the words of the log. A log of a million events has a million rows here, and no object
for any of them: a row is made when somebody asks for it.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence, Set
from dataclasses import dataclass, field, replace
from itertools import chain, repeat
from operator import le, ne
from types import MappingProxyType
from typing import Any, Generic, NamedTuple, TypeVar, overload

from microcosm.givens.columns import NameNumbers

Value = TypeVar("Value")
Stored = TypeVar("Stored")

NOTHING: Mapping[str, object] = MappingProxyType({})
"""The attributes of an event that has none; shared, because most have none."""


class EventRow(NamedTuple):
    """What is known of one event.

    `name` is its name in the microcosm and `process` that of its process there, with the execution in front
    where a log holds several; `seq` its position there, from 1, or 0. `kind` is one of `internal`, `send`,
    `receive`, `causal_send` and `deliver`, or empty; `message` what it sends or receives. `time` is what the
    log says of the time of day, as written. `file` and `line` are where it was read, empty and 0 where nobody
    knows.
    """

    name: str
    process: str = ""
    seq: int = 0
    kind: str = ""
    message: str | None = None
    label: str | None = None
    trace: str | None = None
    attributes: Mapping[str, object] = NOTHING
    time: object | None = None
    file: str = ""
    line: int = 0

    def __reduce__(self) -> tuple[object, ...]:
        return EventRow, (*self._replace(attributes=dict(self.attributes)),)

    @property
    def place(self) -> str | None:
        """`file:line`; None where it is not known.

        >>> EventRow("p:1", file="a.log", line=3).place, EventRow("p:1").place
        ('a.log:3', None)
        """
        return f"{self.file}:{self.line}" if self.file and self.line else None


@dataclass(slots=True, eq=False, repr=False)
class EventTable:
    """The events of a log, an entry for each in every column, in the order of reading; never changed.

    The columns are the fields of `EventRow`, in the plural. No two events have the same name. Cost: none to
    make; the first look-ups of names that were not expected are linear in the events, others constant.

    >>> builder = EventTableBuilder()
    >>> builder.add(EventRow("p:1", label="start", file="a.log", line=7))
    >>> table = builder.table()
    >>> table.label("p:1"), table.place("p:1"), table.row("q:1"), len(table), "p:1" in table
    ('start', 'a.log:7', None, 1, True)
    """

    names: Sequence[str]
    processes: Sequence[str]
    seqs: Sequence[int]
    kinds: Sequence[str]
    messages: Sequence[str | None]
    labels: Sequence[str | None]
    traces: Sequence[str | None]
    attributes: Sequence[Mapping[str, object]]
    times: Sequence[object | None]
    files: Sequence[str]
    lines: Sequence[int]
    _numbers: NameNumbers | None = field(default=None, init=False)

    @property
    def columns(self) -> tuple[Sequence[Any], ...]:
        """All columns, in the order of the fields of `EventRow`."""
        return (
            self.names, self.processes, self.seqs, self.kinds, self.messages, self.labels, self.traces,
            self.attributes, self.times, self.files, self.lines,
        )  # fmt: skip

    @property
    def has_words(self) -> bool:
        """Whether some event has a label, an attribute or a time: more than its name and place."""
        columns = (self.labels, self.attributes, self.times)
        labels, attributes, times = (each[:1] if isinstance(each, Repeated) else each for each in columns)
        return any(label is not None for label in labels) or any(attributes) or any(times)

    def __len__(self) -> int:
        return len(self.names)

    def __iter__(self) -> Iterator[EventRow]:
        """The rows, one by one. Cost: linear."""
        return map(EventRow._make, zip(*self.columns, strict=True))

    def __contains__(self, name: object) -> bool:
        return isinstance(name, str) and self.number(name) is not None

    def number(self, name: str) -> int | None:
        """The place of an event in the columns, from 0; None where it is not in the table."""
        return self._numbered().of(name)

    def expect(self, names: Iterable[str]) -> None:
        """These events are asked for next. Cost: a pass over the names, or none (`NameNumbers`)."""
        self._numbered().expect(names)

    def _numbered(self) -> NameNumbers:
        if self._numbers is None:
            self._numbers = NameNumbers(self.names)
        return self._numbers

    def at(self, number: int) -> EventRow:
        """The row at a place. Raises `IndexError`."""
        return EventRow._make([column[number] for column in self.columns])

    def row(self, name: str) -> EventRow | None:
        """All that is known of an event; None where it is not in the table."""
        number = self.number(name)
        return None if number is None else self.at(number)

    def place(self, name: str) -> str | None:
        """`file:line` of an event; None where nobody knows."""
        row = self.row(name)
        return None if row is None else row.place

    def label(self, name: str) -> str | None:
        """What the log calls an event; None where it says nothing."""
        number = self.number(name)
        return None if number is None else self.labels[number]

    __hash__ = None  # type: ignore[assignment]  # equal by what it says, which may be much

    def __eq__(self, other: object) -> bool:
        """Whether two tables have the same rows in the same order. Cost: linear."""
        if not isinstance(other, EventTable):
            return NotImplemented
        return len(self) == len(other) and all(map(EventRow.__eq__, self, other))

    def __repr__(self) -> str:
        return f"<EventTable of {len(self)} events>"

    def by_place(self, files: Iterable[str]) -> EventTable:
        """The same events, file by file and line by line; events of one line stay as they are.

        Cost: that of sorting what is nearly sorted.
        """
        rank = {file: at for at, file in enumerate(files)}
        lines, order = self.lines, list(range(len(self.names)))
        if len(rank) > 1:
            ranks = [*map(rank.__getitem__, self.files)]
            order.sort(key=lambda at: (ranks[at], lines[at]))
        else:
            order.sort(key=lines.__getitem__)
        if all(map(le, order, order[1:])):
            return self
        return EventTable(*([*map(column.__getitem__, order)] for column in self.columns))

    def joined(self, other: EventTable) -> EventTable:
        """The events of both tables; of an event that is in both, what the first says. Cost: linear."""
        builder = EventTableBuilder()
        builder.extend(self)
        for row in other:
            if row.name not in builder:
                builder.add(row)
        return builder.table()

    def without_process(self, events: Set[str]) -> EventTable:
        """The table, some of its events being of no process any more. Cost: linear."""
        owned = zip(self.names, self.processes, strict=True)
        processes = ["" if name in events else process for name, process in owned]
        return replace(self, processes=processes) if any(map(ne, processes, self.processes)) else self

    def __reduce__(self) -> tuple[object, ...]:
        attributes = [dict(each) if each else None for each in self.attributes]
        columns = [attributes if each is self.attributes else each for each in self.columns]
        return _unpickled, (columns,)


def _unpickled(columns: Sequence[Any]) -> EventTable:
    """A table of columns, with None for the attributes of an event that has none: what is shared stays so."""
    table = EventTable(*columns)
    table.attributes = [NOTHING if each is None else each for each in table.attributes]
    return table


class EventTableBuilder:
    """A table as its rows come.

    >>> builder = EventTableBuilder()
    >>> builder.add(EventRow("p:1", "p", 1, label="start")); builder.table().label("p:1")
    'start'
    """

    def __init__(self) -> None:
        self._columns: tuple[list[Any], ...] = tuple([] for _ in EventRow._fields)
        self._names: set[str] = set()

    def __len__(self) -> int:
        return len(self._columns[0])

    def add(self, row: EventRow) -> None:
        """One more event, whose name no other one has."""
        self._names.add(row.name)
        for column, value in zip(self._columns, row, strict=True):
            column.append(value)

    def extend(self, table: EventTable) -> None:
        """The events of a table, none of which is there already. Cost: linear."""
        self._names.update(table.names)
        for column, values in zip(self._columns, table.columns, strict=True):
            column.extend(values)

    def __contains__(self, name: object) -> bool:
        return name in self._names

    def table(self) -> EventTable:
        """All of them; nothing may be added afterwards."""
        return EventTable(*self._columns)


class Repeated(Sequence[Value]):
    """One value, many times.

    >>> [*Repeated("a.log", 3)], Repeated(0, 5)[1:3]
    (['a.log', 'a.log', 'a.log'], [0, 0])
    """

    __slots__ = ("_many", "_value")

    def __init__(self, value: Value, many: int) -> None:
        self._value, self._many = value, many

    def __len__(self) -> int:
        return self._many

    def __iter__(self) -> Iterator[Value]:
        return repeat(self._value, self._many)

    @overload
    def __getitem__(self, at: int) -> Value: ...
    @overload
    def __getitem__(self, at: slice) -> Sequence[Value]: ...
    def __getitem__(self, at: int | slice) -> Value | Sequence[Value]:
        if isinstance(at, slice):
            return [self._value] * len(range(self._many)[at])
        range(self._many)[at]
        return self._value


def in_turn(columns: Iterable[Sequence[Value]]) -> Sequence[Value]:
    """One column of some, of which there must be one; that one if it is alone.

    >>> in_turn([range(2), range(3)]), in_turn([range(2)])
    ([0, 1, 0, 1, 2], range(0, 2))
    """
    first, *others = columns
    return [*first, *chain.from_iterable(others)] if others else first


class Mapped(Sequence[Value], Generic[Stored, Value]):
    """A column that is worked out of another one, entry by entry, when it is asked for.

    >>> [*Mapped(["p:1", "p:12"], len)], Mapped(["p:1"], len)[-1]
    ([3, 4], 3)
    """

    __slots__ = ("_column", "_of")

    def __init__(self, column: Sequence[Stored], of: Callable[[Stored], Value]) -> None:
        self._column, self._of = column, of

    def __len__(self) -> int:
        return len(self._column)

    def __iter__(self) -> Iterator[Value]:
        return map(self._of, self._column)

    @overload
    def __getitem__(self, at: int) -> Value: ...
    @overload
    def __getitem__(self, at: slice) -> Sequence[Value]: ...
    def __getitem__(self, at: int | slice) -> Value | Sequence[Value]:
        if isinstance(at, slice):
            return [*map(self._of, self._column[at])]
        return self._of(self._column[at])
