"""Links that wait: what they add to a closure that was made without them.

A link between two events in the middle of an order changes thousands of rows. Some hundred such links are
rather kept apart, closed among themselves: a row of the whole is then that of the closure and those that
the links lead on to, and one pass takes them all in when they have become many.
"""

from __future__ import annotations

from microcosm.relations.bits import bits, from_positions


class Pending:
    """Links u → v beside a closure that does not change meanwhile.

    Every link has an *upper* row, its u and all before that, the other links counted in; and a *lower* one,
    its v and all after. `put` and the questions cost a bit test a link, and a row operation for each link
    whose rows change or which no other makes superfluous.

    >>> pending = Pending()
    >>> pending.put(1, 2, 0b0001, 0b1000)  # 1 < 2, where the closure has 0 < 1 and 2 < 3
    >>> pending.before(0, 2, 0), bin(pending.past(2, 0)), bin(pending.future(0, 0b0010))
    (True, '0b11', '0b1110')
    """

    def __init__(self) -> None:
        self._lower: list[int] = []  # the v of each link
        self._closed: list[bytes] = []  # u and its past in the closure
        self._onward: list[int] = []  # for each link the set of those that it leads on to, itself among them
        self._inward: list[int] = []  # and of those that lead on to it
        self._uppers: list[int] = []
        self._lowers: list[int] = []

    def __len__(self) -> int:
        return len(self._lower)

    def put(self, u: int, v: int, past: int, future: int) -> None:
        """Add a link; `past` is that of u in the closure, `future` that of v."""
        number, upper, lower = len(self), past | 1 << u, future | 1 << v
        inward, onward = self._holding(_as_bytes(upper)), self._through(v)
        closed = _as_bytes(upper)
        upper, inward = _gathered(upper, inward, self._uppers, self._inward)
        lower, onward = _gathered(lower, onward, self._lowers, self._onward)
        self._lower.append(v)
        self._closed.append(closed)
        self._uppers.append(upper)
        self._lowers.append(lower)
        self._inward.append(inward | 1 << number)
        self._onward.append(onward | 1 << number)
        for link in bits(onward):
            self._uppers[link] |= upper
            self._inward[link] |= self._inward[number]
        for link in bits(inward):
            self._lowers[link] |= lower
            self._onward[link] |= self._onward[number]

    def before(self, a: int, b: int, past: int) -> bool:
        """Whether links lead from a to b, whose past in the closure is `past`."""
        starts = self._through(a)
        if not starts:
            return False
        ends = self._holding(_as_bytes(past | 1 << b))
        return any(self._onward[link] & ends for link in bits(starts))

    def past(self, b: int, past: int) -> int:
        """The past of b, with that in the closure."""
        return _gathered(past, self._holding(_as_bytes(past | 1 << b)), self._uppers, self._inward)[0]

    def future(self, a: int, future: int) -> int:
        """The future of a, with that in the closure."""
        return _gathered(future, self._through(a), self._lowers, self._onward)[0]

    def _through(self, a: int) -> int:
        """The links that a leads to in the closure."""
        byte, bit = a >> 3, 1 << (a & 7)
        found = [at for at, row in enumerate(self._closed) if byte < len(row) and row[byte] & bit]
        return from_positions(found, len(self)) if found else 0

    def _holding(self, row: bytes) -> int:
        """The links whose lower end a row holds."""
        size = len(row) << 3
        found = [at for at, v in enumerate(self._lower) if v < size and row[v >> 3] & 1 << (v & 7)]
        return from_positions(found, len(self)) if found else 0


def _gathered(row: int, links: int, rows: list[int], implied: list[int]) -> tuple[int, int]:
    """A row with those of some links, and all that these imply, whose rows are within those of the former."""
    every = 0
    while links:
        link = links.bit_length() - 1
        row |= rows[link]
        every |= implied[link]
        links &= ~every
    return row, every


def _as_bytes(row: int) -> bytes:
    return row.to_bytes((row.bit_length() + 7) // 8, "little")
