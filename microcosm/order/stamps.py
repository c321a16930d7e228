"""Event stamps as orders of numbers: what they rule out is a comparison, never a list of pairs.

A Lamport time rules `a < b` out where L(a) >= L(b), a physical interval where a begins after b has
ended (calculus of Worlds of Events, extended by negative givens). A stamp proves no order.
"""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections.abc import Iterable, Mapping, Sequence
from functools import cached_property
from itertools import accumulate
from math import inf
from operator import or_
from typing import TYPE_CHECKING, TypeAlias

from microcosm import tuning
from microcosm.givens.relation import Stamp, too_late
from microcosm.order.bits import from_positions

if TYPE_CHECKING:
    from microcosm.givens.exact import Number


class StampOrder:
    """The stamps of some positions, in order. Cost: n log n to build.

    >>> order = StampOrder({0: 5, 1: 5, 2: 9, 3: (1.0, 2.0), 4: (2.5, 3.0)})
    >>> order.holds(0, 1), order.holds(0, 2), order.holds(4, 3), order.holds(0, 3)
    (True, False, True, False)
    >>> bin(order.row(2)), bin(order.row(4)), order.row(7)
    ('0b11', '0b1000', 0)
    """

    def __init__(self, stamps: Mapping[int, Stamp] | None = None) -> None:
        self.of = dict(stamps or {})
        times = [(stamp, at) for at, stamp in self.of.items() if isinstance(stamp, int)]
        ends = [(stamp[1], at) for at, stamp in self.of.items() if isinstance(stamp, tuple)]
        begins = [(stamp[0], at) for at, stamp in self.of.items() if isinstance(stamp, tuple)]
        self._times, self._ends, self._begins = _Prefixes(times), _Prefixes(ends), _Prefixes(begins)

    def __bool__(self) -> bool:
        return bool(self.of)

    def row(self, a: int) -> int:
        """Every b ≠ a whose stamp rules a < b out. Cost: a bisection, after n·n/64 for all prefixes."""
        stamp = self.of.get(a)
        if stamp is None:
            return 0
        row = self._times.up_to(stamp) if isinstance(stamp, int) else self._ends.below(stamp[0])
        return row & ~(1 << a)

    def col(self, b: int) -> int:
        """Every a ≠ b whose stamp rules a < b out. Cost: as `row`."""
        stamp = self.of.get(b)
        if stamp is None:
            return 0
        if isinstance(stamp, int):
            row = self._times.everything & ~self._times.below(stamp)
        else:
            row = self._begins.everything & ~self._begins.up_to(stamp[1])
        return row & ~(1 << b)

    def holds(self, a: int, b: int) -> bool:
        """Whether the stamps of two different events rule a < b out."""
        return a != b and too_late(self.of.get(a), self.of.get(b))

    def support(self) -> tuple[int, int]:
        """The stamped events, twice: every event that can stand on either side."""
        return self._stamped, self._stamped

    @cached_property
    def _stamped(self) -> int:
        return from_positions(self.of, max(self.of, default=0) + 1)

    def bounds(self, order: Sequence[int], successors: Sequence[Iterable[int]]) -> StampBounds:
        """What the stamps rule out once `<` is counted in; `order` extends it. Cost: O(V + E)."""
        return StampBounds(self, order, successors)


class StampBounds:
    """`a !< b` by stamps and `<`: some u at or before a, and some v at or after b, whose stamps say so.

    Four numbers an event: the latest Lamport time and the latest beginning of what is at or before it,
    the earliest time and the earliest end of what is at or after it.

    >>> bounds = StampOrder({0: 7, 2: 4}).bounds([0, 1, 2], [[1], [], []])
    >>> bounds.rules_out(1, 2), bounds.rules_out(2, 1), bounds.contradiction()
    (True, False, None)
    """

    def __init__(self, stamps: StampOrder, order: Sequence[int], successors: Sequence[Iterable[int]]) -> None:
        size = len(successors)
        self._order, self._successors = order, successors
        self._own: list[tuple[_Bound, _Bound, _Bound, _Bound]] = [_NONE] * size
        for at, stamp in stamps.of.items():
            self._own[at] = (
                (stamp, stamp, -inf, inf) if isinstance(stamp, int) else (-inf, inf, stamp[0], stamp[1])
            )
        self._time, self._begin = [own[0] for own in self._own], [own[2] for own in self._own]
        self._until, self._end = [own[1] for own in self._own], [own[3] for own in self._own]
        for v in order:
            time, begin = self._time[v], self._begin[v]
            for w in successors[v]:
                self._time[w] = max(self._time[w], time)
                self._begin[w] = max(self._begin[w], begin)
        for v in reversed(order):
            for w in successors[v]:
                self._until[v] = min(self._until[v], self._until[w])
                self._end[v] = min(self._end[v], self._end[w])

    def rules_out(self, a: int, b: int) -> bool:
        """Whether a < b is ruled out."""
        return self._time[a] >= self._until[b] or self._begin[a] > self._end[b]

    def contradiction(self) -> tuple[int, int] | None:
        """A link u < v of the order that the stamps rule out, if there is one."""
        for u in self._order:
            for v in self._successors[u]:
                if self.rules_out(u, v):
                    return u, v
        return None


_Bound: TypeAlias = "Number | float"
"""A number, or nothing known: an infinity."""

_NONE: tuple[_Bound, _Bound, _Bound, _Bound] = (-inf, inf, -inf, inf)


class _Prefixes:
    """Positions sorted by a number, and the row of each prefix, made when first asked for."""

    def __init__(self, numbers: Iterable[tuple[Number, int]]) -> None:
        listed = sorted(numbers)
        self._keys = [key for key, _ in listed]
        self._at = [at for _, at in listed]
        self._rows: list[int] | None = None

    def up_to(self, number: Number) -> int:
        return self._prefix(bisect_right(self._keys, number))

    def below(self, number: Number) -> int:
        return self._prefix(bisect_left(self._keys, number))

    @property
    def everything(self) -> int:
        return self._prefix(len(self._keys))

    def _prefix(self, length: int) -> int:
        if len(self._at) > tuning.STAMP_ROWS_UP_TO:
            return from_positions(self._at[:length], max(self._at) + 1)
        if self._rows is None:
            self._rows = list(accumulate((1 << at for at in self._at), or_, initial=0))
        return self._rows[length]
