"""Stamps: Lamport times and physical intervals, which can rule an order out and never prove one.

`a !< b` where L(a) >= L(b), or where the earliest time of a lies after the latest of b. n stamps say so of
up to n² pairs; they are kept sorted, and a row of such pairs is a prefix of the order.
"""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections.abc import Iterator, Mapping
from functools import cached_property

from microcosm.relations.bits import from_positions
from microcosm.relations.givens import Stamp


def rules_out(a: Stamp, b: Stamp) -> bool:
    """Whether the stamps of two events rule out that the first is before the second.

    >>> rules_out(5, 5), rules_out((2.0, 3.0), (0.0, 1.5)), rules_out(7, (0.0, 1.0))
    (True, True, False)
    """
    if isinstance(a, tuple) and isinstance(b, tuple):
        return a[0] > b[1]
    return not isinstance(a, tuple) and not isinstance(b, tuple) and a >= b


class StampRows:
    """`rules_out` as a relation over positions. Cost: n log n to sort; a pair is one comparison, a row
    linear in its length.
    """

    def __init__(self, stamps: Mapping[int, Stamp]) -> None:
        self._stamps = dict(stamps)

    def holds(self, a: int, b: int) -> bool:
        one, other = self._stamps.get(a), self._stamps.get(b)
        return a != b and one is not None and other is not None and rules_out(one, other)

    def row(self, a: int) -> int:
        return self._row(self.ruled_out(a), a)

    def col(self, b: int) -> int:
        return self._row(self.ruling_out(b), b)

    def support(self) -> tuple[int, int]:
        every = self._row(iter(self._stamps), -1)
        return every, every

    def ruled_out(self, a: int) -> Iterator[int]:
        """Every b with `a !< b` by the stamps, a itself perhaps among them."""
        stamp = self._stamps.get(a)
        if stamp is not None:
            keys, events = self._sorted[0 if isinstance(stamp, tuple) else 2]
            # Intervals by their latest time below the earliest of a, Lamport times up to a's own.
            end = bisect_left(keys, stamp[0]) if isinstance(stamp, tuple) else bisect_right(keys, stamp)
            yield from events[:end]

    def ruling_out(self, b: int) -> Iterator[int]:
        """Every a with `a !< b` by the stamps, b itself perhaps among them."""
        stamp = self._stamps.get(b)
        if stamp is not None:
            keys, events = self._sorted[1 if isinstance(stamp, tuple) else 2]
            start = bisect_right(keys, stamp[1]) if isinstance(stamp, tuple) else bisect_left(keys, stamp)
            yield from events[start:]

    @cached_property
    def _sorted(self) -> tuple[tuple[list[float], list[int]], ...]:
        """Intervals by latest and by earliest time, and Lamport times."""
        intervals = [(s, at) for at, s in self._stamps.items() if isinstance(s, tuple)]
        times = [(s, at) for at, s in self._stamps.items() if not isinstance(s, tuple)]
        keyed = (
            sorted((s[1], at) for s, at in intervals),
            sorted((s[0], at) for s, at in intervals),
            sorted(times),
        )
        return tuple(([key for key, _ in pairs], [at for _, at in pairs]) for pairs in keyed)

    def _row(self, positions: Iterator[int], but: int) -> int:
        listed = [at for at in positions if at != but]
        return from_positions(listed, max(listed) + 1) if listed else 0
