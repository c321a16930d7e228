"""The lines of a log of etcd's raft, put aside: what each says, and in what order those of files stand.

Lines stand in the order of time. Where time goes back in a file, lines of elsewhere were put behind: of
another node, of an earlier time, or of another run.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from heapq import merge
from itertools import repeat
from operator import itemgetter
from typing import Any, NamedTuple

from microcosm.traces.formats.raft import FIRST, term_of
from microcosm.traces.report import Report
from microcosm.traces.text.spool import Spool

_PARTS = 1000
"""So often time may go back in a file; then its lines are taken as they stand."""


class Line(NamedTuple):
    """A line that is an event, as it was put aside."""

    process: str
    name: str
    kind: str
    content: str
    to: tuple[str, ...]
    more: dict[str, Any]
    time: float | None
    number: int


@dataclass(slots=True)
class Part:
    """Lines of a file, in the order of time: from which on, and when each node began and ended there."""

    start: int
    anew: bool = False
    """Whether a node begins again with it."""
    times: dict[str, tuple[float, float]] = field(default_factory=dict)
    run: int = 0

    def overlaps(self, times: dict[str, tuple[float, float]]) -> bool:
        """Whether a node of it does something while it does something else elsewhere."""
        return any(
            first < times[node][1] and times[node][0] < last
            for node, (first, last) in self.times.items()
            if node in times
        )


class File:
    """The lines of a file, put aside, in parts that begin where time goes back."""

    def __init__(self, name: str) -> None:
        self.name = name
        self.spool = Spool()
        self.parts = [Part(0)]
        self.times: set[float | None] = set()
        """Up to two of the times, to see whether they tell anything."""
        self._latest = float("-inf")
        self._nodes: dict[str, tuple[float | None, int]] = {}

    def add(self, line: Line, report: Report) -> None:
        """Put the next line aside; what is odd about its time is reported."""
        time, term = line.time, term_of(line.more)
        last, known = self._nodes.get(line.process, (None, -1))
        if time is not None and last is not None and time < last:
            said = f"{line.process}: {line.name} has an earlier time than the line before it"
            report.add("clock-inversion", said, file=self.name, line=line.number)
        anew = line.name == FIRST and term < known
        if anew or (time is not None and time < self._latest and len(self.parts) < _PARTS):
            self.parts.append(Part(len(self.spool), anew))
            self._latest = float("-inf")
        if time is not None:
            times = self.parts[-1].times
            first, end = times.get(line.process, (time, time))
            times[line.process] = first if first < time else time, end if end > time else time
            self._latest = max(self._latest, time)
        if len(self.times) < 2:
            self.times.add(time)
        self._nodes[line.process] = (time, term)
        self.spool.add(line)

    def lines(self, number: int) -> Iterator[Line]:
        """The lines of a part."""
        stop = self.parts[number + 1].start if number + 1 < len(self.parts) else len(self.spool)
        return map(Line._make, self.spool.read(self.parts[number].start, stop))

    def timed(self, number: int) -> Iterator[tuple[float, str, Line]]:
        """The lines of a part, each with its time and file; one that has none with the time before it."""
        latest = float("-inf")
        for line in self.lines(number):
            if line.time is not None and line.time > latest:
                latest = line.time
            yield latest, self.name, line


def merged(parts: list[tuple[File, int]]) -> Iterator[tuple[str, Line]]:
    """The lines of some parts in the order of time, with their files."""
    if len(parts) == 1:
        file, number = parts[0]
        return zip(repeat(file.name), file.lines(number))
    timed = (file.timed(number) for file, number in parts)
    return ((name, line) for _, name, line in merge(*timed, key=itemgetter(0)))
