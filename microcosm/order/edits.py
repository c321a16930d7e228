"""Changes that wait: links, and events that come last, beside a closure that was made without them.

A link between two events in the middle of an order may change thousands of rows. Some hundred such links are
rather kept apart, closed among themselves: a row of the whole is then that of the closure and those that
the links lead on to, and one pass takes them all in when they have become many. Meanwhile the closure may
take in links that have nothing to do with these.
"""

from __future__ import annotations

from collections.abc import Iterator
from heapq import heappop, heappush
from itertools import compress
from threading import Lock

from microcosm import tuning
from microcosm.order.bits import from_positions

_BIT = tuple((bytes(1 << bit) + b"\1" * (1 << bit)) * (128 >> bit) for bit in range(8))
"""For each bit the table that turns bytes into 1 where they have it, else 0."""

_DIGIT = tuple(table.translate(b"01" + bytes(254)) for table in _BIT)
"""For each bit the table that turns bytes into the digit 1 where they have it, else 0."""

_MARK = bytes.maketrans(b"01", b"\0\1")


class Pending:
    """Links u → v beside a closure that does not change meanwhile, over `size` positions.

    Every link has an *upper* row, its u and all before that, those links counted in that were there when it
    came; and a *lower* one, its v and all after. A set of links is a row, link k being position k, and one
    strided slice of the rows in the closure, one below the other, says which links a position leads to. `put`
    and the questions cost a byte a link, and a question a row operation for each link that is not counted in
    by a newer one. Room is made for `most` links at once.

    >>> pending = Pending(4)
    >>> pending.put(1, 2, 0b0001, 0b1000)  # 1 < 2, where the closure has 0 < 1 and 2 < 3
    >>> pending.before(0, 2), bin(pending.past(2, 0)), bin(pending.future(0, 0b0010))
    (True, '0b11', '0b1110')
    """

    def __init__(self, size: int, most: int = 0) -> None:
        self.links: list[tuple[int, int]] = []
        self.earlier = 0
        """The positions whose futures the links change,"""
        self.later = 0
        """and those whose pasts they do."""
        self._numbers: list[int] = []  # of the links
        self._width = (size >> 3) + 1  # bytes of a row
        room = most * self._width
        self._pasts = bytearray(room)  # of each link u and its past in the closure
        self._futures = bytearray(room)  # of each link v and its future in the closure
        self._onward: list[int] = []  # for each link the set of those that it leads on to, itself among them
        self._inward: list[int] = []  # and of those that lead on to it
        self._uppers = _Counted()
        self._lowers = _Counted()
        self._late: list[tuple[int, int]] = []  # what lower ones are made of that nobody asked for yet
        self._starts: dict[int, int] = {}  # what `_from` found, and `_into`, since the last link came
        self._ends: dict[int, int] = {}

    def __len__(self) -> int:
        return len(self.links)

    def fits(self, size: int) -> bool:
        """Whether rows of so many positions fit in."""
        return size >> 3 < self._width

    def put(self, u: int, v: int, past: int, future: int) -> None:
        """Add a link; `past` is that of u in the closure, `future` that of v."""
        number = len(self.links)
        upper, lower, itself = past | 1 << u, future | 1 << v, 1 << number
        inward, onward = _closed(self._into(u), self._inward), _closed(self._from(v), self._onward)
        start, end = number * self._width, (number + 1) * self._width
        self._pasts[start:end] = upper.to_bytes(self._width, "little")
        self._futures[start:end] = lower.to_bytes(self._width, "little")
        self._numbers.append(number)
        self.links.append((u, v))
        self.earlier |= upper
        self.later |= lower
        self._uppers.append(upper, inward)
        self._late.append((lower, onward))
        before, after = inward | itself, onward | itself
        rows = self._inward
        for link in self._listed(onward):
            rows[link] |= before
        rows.append(before)
        rows = self._onward
        for link in self._listed(inward):
            rows[link] |= after
        rows.append(after)
        self._starts.clear()
        self._ends.clear()

    def independent(self, a: int, b: int) -> bool:
        """Whether no link leads to a, nor b to any: a < b may come into the closure, and changes nothing."""
        return not (self._into(a) or self._from(b))

    def before(self, a: int, b: int) -> bool:
        """Whether links lead from a to b."""
        starts = self._from(a)
        if not starts:
            return False
        ends = self._into(b)
        while starts and ends:
            link = starts.bit_length() - 1
            onward = self._onward[link]
            if onward & ends:
                return True
            starts ^= starts & onward
        return False

    def past(self, b: int, past: int) -> int:
        """The past of b, with that in the closure."""
        return self._uppers.union(past, _closed(self._into(b), self._inward))

    def future(self, a: int, future: int) -> int:
        """The future of a, with that in the closure."""
        for lower, onward in self._late:
            self._lowers.append(lower, onward)
        self._late.clear()
        return self._lowers.union(future, _closed(self._from(a), self._onward))

    def _listed(self, links: int) -> Iterator[int]:
        """The links of a set."""
        return compress(self._numbers, f"{links:b}".encode()[::-1].translate(_MARK))

    def _from(self, a: int) -> int:
        """The links that a leads to in the closure."""
        found = self._starts.get(a)
        if found is None:
            found = self._starts[a] = self._column(self._pasts, a)
        return found

    def _into(self, b: int) -> int:
        """The links that lead to b in the closure."""
        found = self._ends.get(b)
        if found is None:
            found = self._ends[b] = self._column(self._futures, b)
        return found

    def _column(self, rows: bytearray, at: int) -> int:
        """The links whose rows have a position, one row below the other."""
        column = rows[at >> 3 : len(self.links) * self._width : self._width]
        digits = column.translate(_DIGIT[at & 7])
        return int(digits[::-1], 2) if b"1" in digits else 0


class _Counted:
    """A row a link, which counts in those of older links."""

    def __init__(self) -> None:
        self.rows: list[int] = []
        self._counted_in: list[int] = []  # the links whose rows are within a row, its own among them

    def append(self, row: int, links: int) -> None:
        """The row of one more link, with those of others."""
        self._counted_in.append(links | 1 << len(self.rows))
        self.rows.append(self.union(row, links))

    def union(self, row: int, links: int) -> int:
        """A row with those of some links."""
        while links:
            link = links.bit_length() - 1
            row |= self.rows[link]
            links ^= links & self._counted_in[link]
        return row


def _closed(links: int, beyond: list[int]) -> int:
    """Some links and all those beyond them."""
    every = 0
    while links:
        more = beyond[links.bit_length() - 1]
        every |= more
        links ^= links & more
    return every


def propagate(rows: list[int], start: int, gained: int, onwards: list[set[int]]) -> list[int]:
    """Put what `start` gains into its row and those beyond it, stopping at rows that hold all of it.

    Returns whose rows changed. Cost: a row operation for each of these and each of their neighbours.

    >>> rows = [0, 0b1, 0]
    >>> propagate(rows, 2, 0b11, [{1}, set(), set()]), rows
    ([2], [0, 1, 3])
    """
    changed = []
    stack = [start]
    while stack:
        y = stack.pop()
        row = rows[y]
        new = row | gained
        if new != row:
            rows[y] = new
            changed.append(y)
            stack.extend(onwards[y])
    return changed


def recompute(
    rows: list[int], start: int, inwards: list[set[int]], onwards: list[set[int]], believed: int = -1
) -> list[int]:
    """Recompute the row of `start` and whatever rests on it, stopping where a row comes out unchanged.

    Returns whose rows changed, as far as they are `believed`. The size of the old row orders the work:
    whatever a row rests on has no larger one, and seldom one as large (then a row may be met twice).
    """
    heap = [((rows[start] & believed).bit_count(), start)]
    queued = {start}
    changed = []
    while heap:
        _, v = heappop(heap)
        queued.discard(v)
        row = 0
        for w in inwards[v]:
            row |= rows[w] | 1 << w
        if not (row ^ rows[v]) & believed:
            continue
        rows[v] = row
        changed.append(v)
        for w in onwards[v]:
            if w not in queued:
                queued.add(w)
                heappush(heap, ((rows[w] & believed).bit_count(), w))
    return changed


_laying = Lock()


class LateEvents:
    """Events about which rows of the future are not believed, with their pasts, one below the other.

    An event that comes last is in the future of everything before it: putting it into every such row would
    cost n row operations an event. Here a strided slice of the pasts has one bit of each. Where events come
    with rising positions, places in between are left empty, so that their bits make a row. (Once these were
    narrow rows after a while; a pass over all rows, a little later, costs no more.)

    >>> late = LateEvents()
    >>> late.put(2, 0b011); late.put(4, 0b101); late.future(0, 0, 8), late.future(0b1000, 1, 8)
    (20, 12)
    """

    def __init__(self) -> None:
        self.looked_up = 0
        """How many times one of them was looked at."""
        self.row = 0
        """The row of all of them."""
        self._first = 0  # the least of them
        self._width = 64
        self._pasts = bytearray()
        self._events: list[int] = []  # and places that are left empty
        self._place: dict[int, int | None] = {}
        self._late: dict[int, int] = {}  # pasts that nobody has asked about so far
        self._rising = True

    def __len__(self) -> int:
        return len(self._place)

    def __contains__(self, event: int) -> bool:
        return event in self._place

    def put(self, y: int, past: int) -> None:
        """The past of y is this."""
        if y not in self._place:
            self.row |= 1 << y
            self._first = min(y, self._first) if self._place else y
            self._place[y] = None
        self._late[y] = past

    def _lay(self, y: int, past: int) -> None:
        """Put a past below the others, or in the place of the one before."""
        if past.bit_length() > 8 * self._width:
            self._widen(past.bit_length() // 4)
        place = self._place.get(y)
        if place is None:
            if self._events and self._rising:
                last = self._events[-1]
                if last < y <= last + tuning.HOLES:
                    self._pasts += bytes((y - last - 1) * self._width)
                    self._events += range(last + 1, y)
                else:
                    self._rising = False
            place = self._place[y] = len(self._events)
            self._events.append(y)
        start = place * self._width
        self._pasts[start : start + self._width] = past.to_bytes(self._width, "little")

    def future(self, row: int, a: int, size: int) -> int:
        """The future of a, given the row that is kept of it. Cost: a byte each; a copy of what came since."""
        self.looked_up += len(self)
        if row.bit_length() > self._first:
            row ^= row & self.row
        return row | self._after(a, size)

    def _after(self, a: int, size: int) -> int:
        """The row of those with a in their past."""
        if self._late:
            with _laying:  # questions may come from several threads
                for y in sorted(self._late):
                    self._lay(y, self._late[y])
                self._late = {}
        if a >> 3 >= self._width:
            return 0
        digits = self._pasts[a >> 3 :: self._width].translate(_DIGIT[a & 7])
        if b"1" not in digits:
            return 0
        if self._rising:
            return int(digits[::-1], 2) << self._events[0]
        return from_positions(compress(self._events, digits.translate(_MARK)), size)

    def _widen(self, width: int) -> None:
        before, self._width = self._width, width
        more = bytes(width - before)
        pasts = [self._pasts[at : at + before] + more for at in range(0, len(self._pasts), before)]
        self._pasts = bytearray().join(pasts)
