"""Text logs with a right vector time at every event, in columns: the fast lane of `extract` for ShiViz.

Most such logs are records of two lines, a text and a process with its clock in JSON. Where all of them are,
the processes count their events from 1 in the order of the lines, and each clock is the merge of the one
before it and those that it has newly seen, nothing is odd, and the microcosm is the clocks. Where an event
has heard of nothing, its clock has the text of the one before it but for one number; of any other clock only
the entries are read that are not as they were. Whatever else a log has or lacks is for the careful reader:
then there is no answer here. A property test keeps both of one mind.
"""

from __future__ import annotations

import re
from array import array
from dataclasses import dataclass, field
from functools import partial
from itertools import compress
from operator import ne
from typing import Any

from microcosm.givens.clock_columns import COMPONENT, FIELD, ClockColumns, covering, guards, merged
from microcosm.givens.event_table import NOTHING, EventTable, Mapped, Repeated
from microcosm.givens.givens import Givens
from microcosm.traces.columns import Opening
from microcosm.traces.formats import shiviz
from microcosm.traces.formats.shiviz import event_first
from microcosm.traces.reading import detect
from microcosm.traces.report import Extraction, Report
from microcosm.tuning import CLOCKED_PROCESSES

_TEXT = r"(?![^ \n]+ \{)(.*)"
"""A line that cannot be taken for a process and its clock."""
_TIME = r"([^\s{]\S*) \{(.+)\}[^\S\n]*"
_RECORDS = {
    True: re.compile(rf"^{_TEXT}\n{_TIME}$", re.MULTILINE),
    False: re.compile(rf"^{_TIME}\n{_TEXT}$", re.MULTILINE),
}
"""Whether the text stands first, as ShiViz has it, or last, as GoVector does."""

_DIGITS = 9
"""A count of no more digits is below the guard of its component."""
_ENTRY = re.compile(rf'("([^"\\\x00-\x1f]+)": ?)(0|[1-9][0-9]{{0,{_DIGITS - 1}}})').fullmatch
_BETWEEN = ", ", ","
"""What stands between two entries of a clock."""


def read_clocked(opening: Opening) -> ClockedLog | None:
    """The columns of a log; None if it is not plain."""
    unseen = Report()
    with opening(unseen) as stream:
        begins = _begins(stream.head)
        if begins is None or detect(stream.head, stream.file).NAME != shiviz.NAME:
            return None
        log = ClockedLog(stream.file, *begins)
        held = ""
        for at, piece in enumerate(stream.texts()):
            text = held + piece if at else piece.split("\n", log.skipped)[-1]
            held = ""
            if text.count("\n") % 2 == 0:  # it ends within a record
                text, _, held = text.rpartition("\n")
                held += "\n"
            if text and not log.take(text):
                return None
    return log if not (unseen.counts or held.strip()) and log.settle() else None


def _begins(head: str) -> tuple[int, bool] | None:
    """How many lines are before the records, and whether the text stands first; None if it is not plain."""
    first, _, rest = head.partition("\n")
    shape = shiviz.known(first.strip())
    if shape is not None:
        blank = len(rest) - len(rest.lstrip("\n"))
        return (1 + blank, shape is event_first) if blank else None
    return next(((0, first) for first, records in _RECORDS.items() if records.match(head)), None)


@dataclass(slots=True)
class _Process:
    """What is known of a process so far: its number, its events, and the clock of the last of them.

    The text of that clock is `before`, its own component and `after`; `pieces` are the entries of the last
    one that was read, each of which begins with one of `keys`, in the order of the processes of `shape`.
    """

    number: int
    thread: array[int] = field(default_factory=partial(array, "q"))
    before: str = "\n"
    after: str = ""
    pieces: list[str] = field(default_factory=list)
    keys: tuple[str, ...] = ()
    shape: tuple[int, ...] = ()
    vector: int = 0
    total: int = 0


Seen = list[tuple[int, int]]
"""Processes of which a clock has seen more than the one before it, and how much."""


class ClockedLog:
    """The columns of a log, an event of which is the number of its record, from 0."""

    def __init__(self, file: str, skipped: int, text_first: bool) -> None:
        self._file, self.skipped, self._text_first = file, skipped, text_first
        self._records = _RECORDS[text_first].findall
        self._between = _BETWEEN[0]
        self._numbers: dict[str, int] = {}
        """The processes that events or clocks have named so far, by name."""
        self._known: dict[str, _Process] = {}
        """Those that have events, in their order."""
        self._threads: list[array[int]] = []
        """The events of each process."""
        self._guard = 0
        self._forms: dict[tuple[object, ...], tuple[object, ...]] = {}
        """One tuple for all that are equal."""
        self._names: list[str] = []
        self._labels: list[str] = []
        self._owners: array[int] = array("q")
        self._counts: array[int] = array("q")
        self._totals: array[int] = array("q")
        self._vectors: list[int] = []
        self._shapes: list[tuple[int, ...]] = []
        self._merges = 0
        """How many events have heard of others."""
        self._ahead: list[tuple[int, int, Seen]] = []
        """Events that have seen some of which the lines come later; the vector before, and what is new."""

    def take(self, text: str) -> bool:
        """Take in some whole records; whether all are plain, and nothing is odd about them."""
        found = self._records(text)
        if 2 * len(found) != text.count("\n") + 1:
            return False
        columns = [*zip(*found, strict=True)]
        labels = columns.pop(0 if self._text_first else -1)
        self._labels += map(str.rstrip, labels)
        names, owners, counts = self._names, self._owners, self._counts
        totals, vectors, shapes = self._totals, self._vectors, self._shapes
        for at, (host, time) in enumerate(zip(*columns, strict=True), len(names)):
            process = self._known.get(host) or self._begin(host)
            process.thread.append(at)
            own = len(process.thread)
            was, seen = process.vector, None
            process.total += 1
            if time != f"{process.before}{own}{process.after}":
                seen = self._read(process, time, own)
                if seen is None:
                    return False
            names.append(f"{host}:{own}")
            owners.append(process.number)
            counts.append(own)
            totals.append(process.total)
            vectors.append(process.vector)
            shapes.append(process.shape)
            if seen:
                self._merges += 1
                if not self._agrees(at, was, seen):
                    return False
        return True

    def settle(self) -> bool:
        """Whether clocks agree with those whose lines came later; all is read."""
        ahead, self._ahead = self._ahead, []
        return bool(self._names) and all(self._agrees(*event) for event in ahead) and not self._ahead

    def extraction(self, report: Report) -> Extraction:
        """The microcosm, as `extract` makes it of the same events."""
        many = len(self._names)
        processes = [*self._numbers]
        givens = Givens()
        givens.clocks = clocks = ClockColumns(
            self._names,
            processes,
            {process.number: process.thread for process in self._known.values()},
            self._owners,
            self._counts,
            self._vectors,
            self._totals,
            self._shapes,
        )
        givens.events = EventTable(
            self._names,
            Mapped(self._owners, processes.__getitem__),
            self._counts,
            Repeated("internal", many),
            Repeated(None, many),
            labels=self._labels,
            traces=Repeated(None, many),
            attributes=Repeated(NOTHING, many),
            times=Repeated(None, many),
            files=Repeated(self._file, many),
            lines=range(self.skipped + 1, self.skipped + 1 + 2 * many, 2),
        )
        return Extraction(
            givens=givens,
            events=len(clocks),
            processes=len(self._known),
            messages=self._merges,
            reported=dict(report.counts),
        )

    def _begin(self, host: str) -> _Process:
        """The first event of a process."""
        number = self._number(host)
        process = self._known[host] = _Process(number, self._threads[number])
        return process

    def _number(self, process: str) -> int:
        number = self._numbers.setdefault(process, len(self._threads))
        if number == len(self._threads):
            self._threads.append(array("q"))
            self._guard = guards(number + 1)
        return number

    def _read(self, process: _Process, time: str, own: int) -> Seen | None:
        """Take in a clock with news; None where it is none of a process that has counted so far."""
        pieces = time.split(self._between)
        seen = self._changed(process, pieces, own)
        if seen is None:
            seen = self._anew(process, time, own)
            if seen is None:
                return None
        else:
            process.pieces = pieces
        at = process.shape.index(process.number)
        begins = sum(map(len, process.pieces[:at])) + at * len(self._between) + len(process.keys[at])
        process.before, process.after = time[:begins], time[begins + len(str(own)) :]
        return seen

    def _changed(self, process: _Process, pieces: list[str], own: int) -> Seen | None:
        """As `_read`, of a clock that has the entries of the one before it, in their order; else None."""
        if len(pieces) != len(process.pieces):
            return None
        vector, total = process.vector, process.total
        seen: Seen = []
        ticked = False
        for at in compress(range(len(pieces)), map(ne, pieces, process.pieces)):
            digits = pieces[at].removeprefix(process.keys[at])
            count = int(digits) if len(digits) <= _DIGITS and digits.isdecimal() else 0
            if str(count) != digits:
                return None
            number = process.shape[at]
            if number == process.number:
                ticked = count == own
            else:
                more = count - (vector >> number * FIELD & COMPONENT)
                if more <= 0:
                    return None
                vector += more << number * FIELD
                total += more
                seen.append((number, count))
        if not ticked:
            return None
        process.vector, process.total = vector, total
        return seen

    def _anew(self, process: _Process, time: str, own: int) -> Seen | None:
        """As `_read`, of any clock."""
        for between in _BETWEEN:
            pieces = time.split(between)
            found = [match for piece in pieces if (match := _ENTRY(piece)) is not None]
            if len(found) == len(pieces):
                break
        else:
            return None
        self._between = between
        entries = [(self._number(match[2]), int(match[3])) for match in found]
        counts = dict(entries)
        if len(counts) < len(entries) or counts.pop(process.number, 0) != own:
            return None
        if len(self._numbers) > CLOCKED_PROCESSES:
            return None
        was = process.vector
        vector = sum(count << number * FIELD for number, count in counts.items())
        if not covering(vector, was, self._guard):
            return None
        process.total = own + sum(counts.values())
        process.vector, process.pieces = vector, pieces
        process.keys = self._one(tuple(match[1] for match in found))
        process.shape = self._one(tuple(number for number, _ in entries))
        return [(n, count) for n, count in counts.items() if count > was >> n * FIELD & COMPONENT]

    def _one(self, form: tuple[Any, ...]) -> tuple[Any, ...]:
        return self._forms.setdefault(form, form)

    def _agrees(self, event: int, was: int, seen: Seen) -> bool:
        """Whether a clock covers those of the events that it has newly seen, none of which has seen its own.

        Where one of these is still to be read, that is put off.
        """
        threads, totals, vectors = self._threads, self._totals, self._vectors
        latest = []
        for number, count in seen:
            if count > len(threads[number]):
                self._ahead.append((event, was, seen))
                return True
            other = threads[number][count - 1]
            latest.append((totals[other], other, number, count))
        latest.sort(reverse=True)
        mine, known = self._owners[event] * FIELD, was
        for _, other, number, count in latest:
            if known >> number * FIELD & COMPONENT < count:  # nor has one that came later seen it
                heard = vectors[other] | self._counts[other] << self._owners[other] * FIELD
                own = heard >> mine & COMPONENT
                if own >= self._counts[event]:
                    return False
                known = merged(known, heard ^ own << mine, self._guard)
        return known == vectors[event]
