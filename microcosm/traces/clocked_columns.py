"""Text logs with a right vector time at every event, in columns: the fast lane of `extract` for ShiViz.

Most such logs are records of two lines, a text and a process with its clock in JSON. Where all of them are,
the processes count their events from 1 in the order of the lines, and each clock is the merge of the one
before it and those that it has newly seen, nothing is odd, and the microcosm is the clocks. Where an event
has heard of nothing, its clock has the text of the one before it but for one number; all other clocks of a
block of lines are read at once. Whatever else a log has or lacks is for the careful reader:
then there is no answer here. A property test keeps both of one mind.
"""

from __future__ import annotations

import json
import re
from array import array
from collections import defaultdict, deque
from collections.abc import Iterable, Iterator, Sequence, Set
from dataclasses import dataclass, field
from functools import partial
from itertools import chain, count, repeat
from operator import add, getitem, sub
from typing import Any, NamedTuple, TypeAlias

from microcosm.givens.clock_columns import COMPONENT, FIELD, ClockColumns, guards, merged, vectors_of
from microcosm.givens.event_table import NOTHING, EventTable, Mapped, Repeated, in_turn
from microcosm.givens.givens import Givens
from microcosm.traces.columns import Opening
from microcosm.traces.formats import shiviz
from microcosm.traces.formats.shiviz import event_first
from microcosm.traces.reading import detect
from microcosm.traces.report import Extraction, Report
from microcosm.tuning import CLOCKED_PROCESSES

_LIKE_TIME = r"[^ \n]+ \{"
"""How a line begins that may be taken for a process and its clock."""
_TIME = r"[^\s{]\S* \{.+\}[^\S\n]*"
_RECORDS = {
    True: re.compile(rf"(?!{_LIKE_TIME}).*\n{_TIME}$", re.MULTILINE),
    False: re.compile(rf"{_TIME}\n(?!{_LIKE_TIME})", re.MULTILINE),
}
"""How a log begins whose texts stand first, as ShiViz has them, or last, as GoVector does."""
_any_like_time = re.compile(f"^{_LIKE_TIME}", re.MULTILINE).search
_is_host = re.compile(r'[^\s{:"\\][^\s"\\]*').fullmatch
"""A name of which `"name":` stands in a clock only where it is the key of an entry."""
_ODD = "\\", "true", "false"
"""What is in no clock, but perhaps in names: escapes, and what Python takes for the numbers 1 and 0."""


def read_clocked(openings: Iterable[Opening]) -> ClockedLog | None:
    """The columns of a log in some files; None if it is not plain."""
    unseen, log = Report(), ClockedLog()
    for opening in openings:
        with opening(unseen) as stream:
            begins = _begins(stream.head)
            if begins is None or detect(stream.head, stream.file).NAME != shiviz.NAME:
                return None
            log.open(stream.file, *begins)
            held = ""
            for at, piece in enumerate(stream.texts()):
                text = held + piece if at else piece.split("\n", begins[0])[-1]
                held = ""
                if text.count("\n") % 2 == 0:  # it ends within a record
                    text, _, held = text.rpartition("\n")
                    held += "\n"
                if text and not log.take(text):
                    return None
        if unseen.counts or held.strip():
            return None
    return log if log.settle() else None


def _begins(head: str) -> tuple[int, bool] | None:
    """How many lines are before the records, and whether the text stands first; None if it is not plain."""
    first, _, rest = head.partition("\n")
    shape = shiviz.known(first.strip())
    if shape is not None:
        begun = rest.lstrip("\n")
        blank = len(rest) - len(begun)
        if not blank or (shape is event_first and _any_like_time(begun.partition("\n")[0])):
            return None  # the last blank line is the text of a record
        return 1 + blank, shape is event_first
    return next(((0, first) for first, records in _RECORDS.items() if records.match(head)), None)


@dataclass(slots=True)
class _Process:
    """What is known of a process so far: its number, and of each of its events what `ClockColumns` has of it.

    Of the last of its lines with a clock `before` is the text up to its own count, and `after` the rest.
    """

    name: str
    number: int
    places: array[int] = field(default_factory=lambda: array("q", [-1]))
    """Its events, which are counted from 1; no event stands before them."""
    vectors: list[int] = field(default_factory=list)
    totals: array[int] = field(default_factory=partial(array, "q"))
    shapes: list[tuple[int, ...]] = field(default_factory=list)
    before: str = "\n"
    after: str = ""

    def learn(
        self,
        changed: Sequence[int],
        vectors: Sequence[int],
        totals: Sequence[int],
        shapes: Sequence[tuple[int, ...]],
    ) -> None:
        """Take in the clocks of its last events: of those that changed, whose clock others share."""
        first, last = len(self.vectors), len(self.places)
        lengths = [*map(sub, [*changed, last], [first + 1, *changed])]
        if first:
            vectors = [self.vectors[-1], *vectors]
            totals = [self.totals[-1] - first, *totals]
            shapes = [self.shapes[-1], *shapes]
        else:
            del lengths[0]
        self.vectors += chain.from_iterable(map(repeat, vectors, lengths))
        totals_of_others = chain.from_iterable(map(repeat, totals, lengths))
        self.totals.extend(map(add, totals_of_others, range(first + 1, last)))
        self.shapes += chain.from_iterable(map(repeat, shapes, lengths))


class _File(NamedTuple):
    """A file of a log, from `skipped` lines on, and what was read before it: events, and whose these are."""

    name: str
    skipped: int
    text_first: bool
    first: int
    before: Set[str]

    def lines(self, end: int) -> range:
        """Those of its records, up to the one before the event numbered `end`."""
        return range(self.skipped + 1, self.skipped + 1 + 2 * (end - self.first), 2)


_News: TypeAlias = tuple["_Process", int, int, int, "array[int]"]
"""An event of a process that has heard of others: its number there, the vector before it, its own, and the
components of that.
"""


class ClockedLog:
    """The columns of a log, an event of which is the number of its record, from 0."""

    def __init__(self) -> None:
        self._opened: list[_File] = []
        """The last one is at hand."""
        self._numbers: dict[str, int] = {}
        """The processes that events or clocks have named so far, by name."""
        self._processes: list[_Process] = []
        """The processes that events or clocks have named so far, by number."""
        self._places: list[array[int]] = []
        """The events of each of them."""
        self._known: dict[str, _Process] = {}
        """Those that have events, in their order."""
        self._shapes: dict[tuple[str, ...], tuple[int, ...]] = {}
        """The numbers of the processes that a clock names."""
        self._guard = 0
        self._labels: list[str] = []
        self._merges = 0
        """How many events have heard of others."""
        self._ahead: list[_News] = []
        """Events that have seen some of which the lines come later."""

    def open(self, file: str, skipped: int, text_first: bool) -> None:
        """What is taken from now on are the records of that file, so many lines from its beginning."""
        self._opened.append(_File(file, skipped, text_first, len(self._labels), {*self._known}))

    def take(self, text: str) -> bool:
        """Take in some whole records; whether all are plain, and nothing is odd about them."""
        lines, file = text.split("\n"), self._opened[-1]
        labels, times = lines[not file.text_first :: 2], lines[file.text_first :: 2]
        joined = "\n".join(labels)
        if len(labels) != len(times) or (" {" in joined and _any_like_time(joined)):
            return False
        first = len(self._labels)
        self._labels += map(str.rstrip, labels)
        hosts = [time.partition(" ")[0] for time in times]
        events: defaultdict[str, list[int]] = defaultdict(list)
        deque(map(list.append, map(events.__getitem__, hosts), range(len(hosts))), maxlen=0)
        if not all(map(_is_host, events.keys() - self._known.keys())) or events.keys() & file.before:
            return False
        changed: list[tuple[_Process, array[int]]] = []
        bodies: list[str] = []
        for host, places in events.items():
            process = self._known.setdefault(host, self._processes[self._number(host)])
            found = _changes(process, map(times.__getitem__, places), bodies)
            if found is None:
                return False
            process.places.extend(map(first.__add__, places))
            changed.append((process, found))
        return self._learn(changed, bodies)

    def _learn(self, changed: Sequence[tuple[_Process, array[int]]], bodies: Sequence[str]) -> bool:
        """Take in the clocks of events, process by process; whether they are right."""
        clocks = _decoded(bodies)
        if clocks is None:
            return False
        named = [*map(tuple, clocks)]
        try:
            table = self._table(clocks, named)
        except (TypeError, OverflowError):  # what is no whole number from 0 on
            return False
        many, begin = len(self._numbers), 0
        for process, owns in changed:
            end = begin + len(owns)
            own = slice(begin * many + process.number, end * many, many)
            if table[own] != owns:
                return False
            table[own] = array("I", bytes(table.itemsize * len(owns)))
            begin = end
        vectors = vectors_of(table, many)
        if many > CLOCKED_PROCESSES or any(map(self._guard.__and__, vectors)):
            return False
        rows = [table[at : at + many] for at in range(0, len(table), many)]
        totals, shapes = [*map(sum, rows)], [*map(self._shapes.__getitem__, named)]
        news: list[Iterator[_News]] = []
        begin = 0
        for process, owns in changed:
            new = slice(begin, begin := begin + len(owns))
            was = [process.vectors[-1] if process.vectors else 0, *vectors[new]]
            process.learn(owns, vectors[new], totals[new], shapes[new])
            news.append(zip(repeat(process), owns, was, vectors[new], rows[new], strict=False))
        return self._agree(chain.from_iterable(news))

    def _table(self, clocks: Sequence[dict[str, int]], named: Sequence[tuple[str, ...]]) -> array[int]:
        """The counts of clocks, one for each process; `named` are those that each names, in its order.

        Raises `TypeError` or `OverflowError` for what is none.
        """
        alike: defaultdict[tuple[str, ...], list[int]] = defaultdict(list)
        deque(map(list.append, map(alike.__getitem__, named), range(len(named))), maxlen=0)
        for names in alike.keys() - self._shapes.keys():
            self._shapes[names] = tuple(map(self._number, names))
        many = len(self._numbers)
        table = array("I", bytes(array("I").itemsize * many * len(clocks)))
        for names, rows in alike.items():
            counts = array("I", chain.from_iterable(map(dict.values, map(clocks.__getitem__, rows))))
            part = table if len(alike) == 1 else array("I", bytes(table.itemsize * many * len(rows)))
            for at, number in enumerate(self._shapes[names]):
                part[number::many] = counts[at :: len(names)]
            if part is not table:
                for at, row in enumerate(rows):
                    table[row * many : (row + 1) * many] = part[at * many : (at + 1) * many]
        return table

    def settle(self) -> bool:
        """Whether clocks agree with those whose lines came later; all is read."""
        ahead, self._ahead = self._ahead, []
        return bool(self._labels) and self._agree(ahead) and not self._ahead

    def extraction(self, report: Report) -> Extraction:
        """The microcosm, as `extract` makes it of the same events."""
        many = len(self._labels)
        processes, known = [*self._numbers], self._known.values()
        threads = {process.number: process.places[1:] for process in known}
        digits = [*map(str, range(1, max(map(len, self._places))))]
        ends = [file.first for file in self._opened[1:]]
        lines = [file.lines(end) for file, end in zip(self._opened, (*ends, many), strict=True)]
        givens = Givens()
        givens.clocks = clocks = ClockColumns(
            names := self._in_order(map(f"{process.name}:".__add__, digits) for process in known),
            processes,
            threads,
            array("q", self._in_order(repeat(process.number) for process in known)),
            array("q", self._in_order(count(1) for _ in known)),
            self._in_order(process.vectors for process in known),
            array("q", self._in_order(process.totals for process in known)),
            self._in_order(process.shapes for process in known),
        )
        givens.events = EventTable(
            names,
            Mapped(clocks.owners, processes.__getitem__),
            clocks.counts,
            Repeated("internal", many),
            Repeated(None, many),
            labels=self._labels,
            traces=Repeated(None, many),
            attributes=Repeated(NOTHING, many),
            times=Repeated(None, many),
            files=in_turn(map(Repeated, (file.name for file in self._opened), map(len, lines))),
            lines=in_turn(lines),
        )
        return Extraction(
            givens=givens,
            events=len(clocks),
            processes=len(self._known),
            messages=self._merges,
            reported=dict(report.counts),
        )

    def _in_order(self, columns: Iterable[Iterable[Any]]) -> list[Any]:
        """What columns say of the events of each process that has some, in the order of all."""
        found = [None] * len(self._labels)
        for process, column in zip(self._known.values(), columns, strict=True):
            deque(map(found.__setitem__, process.places[1:], column), maxlen=0)
        return found

    def _number(self, name: str) -> int:
        number = self._numbers.setdefault(name, len(self._processes))
        if number == len(self._processes):
            self._processes.append(process := _Process(name, number))
            self._places.append(process.places)
            self._guard = guards(number + 1)
        return number

    def _agree(self, news: Iterable[_News]) -> bool:
        """Whether clocks are those of the events that they have newly seen, and the one before, merged.

        None of these may have seen the event that has the clock.

        Where one of these is still to be read, that is put off.
        """
        every, known = self._processes, self._places
        for event in news:
            process, own, was, vector, counts = event
            if vector == was:
                continue
            try:
                places = [*map(getitem, known, counts)]
            except IndexError:
                self._ahead.append(event)
                continue
            self._merges += 1
            mine, heard = process.number * FIELD, was
            while heard != vector:
                place = max(places)  # who is read last has mostly seen what the others have
                if place < 0:
                    return False
                number = places.index(place)
                places[number], count = -1, counts[number]
                if count > was >> number * FIELD & COMPONENT:
                    other = every[number].vectors[count - 1] | count << number * FIELD
                    seen = other >> mine & COMPONENT
                    if seen >= own:
                        return False
                    heard = merged(heard, other ^ seen << mine, self._guard)
        return True


def _changes(process: _Process, times: Iterable[str], bodies: list[str]) -> array[int] | None:
    """The next events of a process whose clock is not as the one before it but for their own count.

    What is in the braces of each comes to `bodies`. None where a line is no process and its clock.
    """
    before, after = process.before, process.after
    begins, key = len(process.name) + 2, f'"{process.name}":'
    found = array("I")
    for own, time in enumerate(times, len(process.places)):
        if time != f"{before}{own}{after}":
            at = time.find(key, begins) + len(key)
            at += time.startswith(" ", at)
            body = time[begins:].rstrip()
            if at < begins + len(key) or time[begins - 1] != "{" or not body.endswith("}"):
                return None
            before, after = time[:at], time[at + len(str(own)) :]
            bodies.append(body[:-1])
            found.append(own)
    process.before, process.after = before, after
    return found


def _decoded(bodies: Sequence[str]) -> list[dict[str, int]] | None:
    """The clocks of which these are the entries; None where one is none, or names a process twice."""
    text = f"[{{{'},{'.join(bodies)}}}]" if bodies else "[]"
    if any(odd in text for odd in _ODD) or text.count("}") != len(bodies):
        return None
    try:
        clocks: list[dict[str, int]] = json.loads(text)
    except (ValueError, RecursionError):
        return None
    return clocks if len(clocks) == len(bodies) and text.count('"') == 2 * sum(map(len, clocks)) else None
