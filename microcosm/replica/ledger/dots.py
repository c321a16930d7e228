"""Dots, which name evolutions, and sets of them as runs of numbers.

A dot is (replica, incarnation, number): a replica numbers its evolutions from 1, and takes a new incarnation
where it may have lost some (Worlds of Events knows neither; they are what makes a removal and a restart
harmless). A set of dots is small where it is nearly all of the first n of each stream, which is what a
replica has seen.
"""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections.abc import Iterable, Iterator
from hashlib import blake2b
from typing import NamedTuple

import msgpack

Stream = tuple[str, int]
"""The evolutions of one incarnation of a replica."""


LAST_NUMBER = 1 << 48
"""No stream has more evolutions: what comes with a greater number is no dot."""

LAST_INCARNATION = (1 << 63) - 1

FARTHEST = 1 << 32
"""A dot is not taken that is more than so many beyond the last one that was seen of its stream."""


class Dot(NamedTuple):
    """The name of an evolution; dots are in order of replica, incarnation, number."""

    replica: str
    incarnation: int
    number: int

    @property
    def stream(self) -> Stream:
        """Whose evolution it is."""
        return (self.replica, self.incarnation)

    @property
    def run(self) -> DotRun:
        """It alone, as a run."""
        return DotRun(*self, self.number + 1)

    def __str__(self) -> str:
        return f"{self.replica}.{self.incarnation}.{self.number}"


class DotRun(NamedTuple):
    """The dots of a stream numbered from `first` up to, not including, `end`."""

    replica: str
    incarnation: int
    first: int
    end: int

    @property
    def stream(self) -> Stream:
        """Whose evolutions they name."""
        return (self.replica, self.incarnation)


FIRST = Dot("", 0, 0)
"""No dot is before this one."""


class Dots:
    """A set of dots. Cost: of a question log of the stream's runs; of a change, the stream's runs.

    >>> seen = Dots([DotRun("phone", 1, 1, 4)])
    >>> seen.add(Dot("phone", 1, 6)), Dot("phone", 1, 3) in seen, Dot("phone", 1, 4) in seen
    (True, True, False)
    >>> list(seen - Dots([DotRun("phone", 1, 2, 9)]))
    [DotRun(replica='phone', incarnation=1, first=1, end=2)]
    """

    __slots__ = ("_bounds",)

    def __init__(self, runs: Iterable[DotRun] = ()) -> None:
        self._bounds: dict[Stream, list[int]] = {}
        """Where runs begin and end, in turn: a number is in the set after an odd number of bounds."""
        self.update(runs)

    def __contains__(self, dot: Dot) -> bool:
        bounds = self._bounds.get((dot[0], dot[1]))
        return bounds is not None and bisect_right(bounds, dot[2]) & 1 == 1

    def __iter__(self) -> Iterator[DotRun]:
        """The runs, in order; no two of them touch."""
        for stream in sorted(self._bounds):
            bounds = self._bounds[stream]
            for at in range(0, len(bounds), 2):
                yield DotRun(*stream, bounds[at], bounds[at + 1])

    @property
    def count(self) -> int:
        """How many dots there are.

        It is no `len`, by which a list of the runs would be given room for so many: one who invents may tell
        of 2⁴⁸ in one run.
        """
        return sum(sum(bounds[1::2]) - sum(bounds[::2]) for bounds in self._bounds.values())

    def __bool__(self) -> bool:
        return bool(self._bounds)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Dots) and self._bounds == other._bounds

    __hash__ = None  # type: ignore[assignment]

    def __repr__(self) -> str:
        return f"Dots({list(self)!r})"

    def copy(self) -> Dots:
        """An independent set."""
        other = Dots()
        other._bounds = {stream: list(bounds) for stream, bounds in self._bounds.items()}
        return other

    def last(self, stream: Stream) -> int:
        """The greatest number of a stream, 0 where there is none."""
        bounds = self._bounds.get(stream)
        return bounds[-1] - 1 if bounds else 0

    def streams(self) -> list[Stream]:
        """Whose evolutions there are, sorted."""
        return sorted(self._bounds)

    def run_at(self, dot: Dot) -> DotRun:
        """The run that a dot of the set is in."""
        bounds = self._bounds[dot.stream]
        at = bisect_right(bounds, dot.number)
        return DotRun(*dot.stream, bounds[at - 1], bounds[at])

    def end_before(self, dot: Dot) -> int:
        """Where the last run of a stream ends that is before a dot which is in none; 1 if there is none."""
        bounds = self._bounds.get(dot.stream, [])
        at = bisect_right(bounds, dot.number)
        return bounds[at - 1] if at else 1

    def add(self, dot: Dot) -> bool:
        """Put a dot in; whether it was not there."""
        replica, incarnation, number = dot
        bounds = self._bounds.get((replica, incarnation))
        if bounds is not None and bounds[-1] == number:
            bounds[-1] = number + 1  # the next one, as nearly always
            return True
        if bounds is not None and bisect_right(bounds, number) & 1:
            return False
        self.add_run(DotRun(replica, incarnation, number, number + 1))
        return True

    def add_run(self, run: DotRun) -> None:
        """Put a run of dots in."""
        if run.first >= run.end:
            return
        bounds = self._bounds.get((run[0], run[1]))
        if bounds is None:
            self._bounds[run[0], run[1]] = [run[2], run[3]]
            return
        if bounds[-1] == run.first:
            bounds[-1] = run.end
            return
        low, high = bisect_right(bounds, run.first), bisect_right(bounds, run.end)
        if low and bounds[low - 1] == run.first and low % 2 == 0:
            low -= 1  # a run that it touches is taken in
        kept = ([] if low & 1 else [run.first]) + ([] if high & 1 else [run.end])
        bounds[low:high] = kept

    def update(self, other: Iterable[DotRun]) -> None:
        """Put runs of dots in."""
        for run in other:
            self.add_run(run)

    def __or__(self, other: Dots) -> Dots:
        union = self.copy()
        union.update(other)
        return union

    def __sub__(self, other: Dots) -> Dots:
        left = Dots()
        for stream, bounds in self._bounds.items():
            theirs = other._bounds.get(stream)
            if bounds == theirs:
                continue
            kept = _minus(bounds, theirs) if theirs else list(bounds)
            if kept:
                left._bounds[stream] = kept
        return left

    def dots(self) -> Iterator[Dot]:
        """The dots one by one, in order."""
        for replica, incarnation, first, end in self:
            for number in range(first, end):
                yield Dot(replica, incarnation, number)

    def within(self, low: Dot, high: Dot | None) -> list[DotRun]:
        """The runs from `low` up to, not including, `high` (None: to the end), cut off at both.

        Cost: the streams, and the runs that are found.
        """
        found: list[DotRun] = []
        least, most = low.stream, high.stream if high is not None else None
        for stream in sorted(self._bounds):
            if stream < least or (most is not None and stream > most):
                continue
            bounds = self._bounds[stream]
            if high is not None and stream == most:
                bounds = _up_to(bounds, high.number)
            if stream == least:
                bounds = _from(bounds, low.number)
            found += [DotRun(*stream, *bounds[at : at + 2]) for at in range(0, len(bounds), 2)]
        return found


def fingerprint(runs: Iterable[DotRun]) -> bytes:
    """16 bytes that stand for a set of dots: BLAKE2b of its runs, in order, as MessagePack."""
    return blake2b(msgpack.packb([*runs]), digest_size=16).digest()


def _from(bounds: list[int], number: int) -> list[int]:
    """The bounds of what is at least `number`."""
    at = bisect_right(bounds, number)
    return [number, *bounds[at:]] if at & 1 else bounds[at:]


def _up_to(bounds: list[int], number: int) -> list[int]:
    """The bounds of what is less than `number`."""
    at = bisect_left(bounds, number)
    return [*bounds[:at], number] if at & 1 else bounds[:at]


def _minus(one: list[int], other: list[int]) -> list[int]:
    """The bounds of what is in the first set and not in the second."""
    if len(one) == len(other) == 2 and one[0] == other[0]:  # most of what is compared has no gaps
        return [other[1], one[1]] if one[1] > other[1] else []
    kept: list[int] = []
    places = sorted({*one, *other})
    at_one = at_other = 0
    inside = False
    for place in places:
        at_one += at_one < len(one) and one[at_one] == place
        at_other += at_other < len(other) and other[at_other] == place
        now = bool(at_one & 1) and not at_other & 1
        if now != inside:
            kept.append(place)
            inside = now
    return kept
