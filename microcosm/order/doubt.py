"""Columns that rows of the future do not keep, for events whose past changed a short while ago.

An event that comes last is in the future of everything before it: putting it into every such row would
cost n row operations an event. Here it waits, first with its past (`Waiting`), then, with some hundred
others, as one bit in a narrow row of each event (`settle`), until all rows are computed anew.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from itertools import compress
from threading import Lock

from microcosm import tuning
from microcosm.order.bits import bits, from_positions

_DIGIT = tuple(bytes(48 + (byte >> bit & 1) for byte in range(256)) for bit in range(8))
"""For each bit the table that turns bytes into the digit 1 where they have it, else 0."""

_MARK = bytes.maketrans(b"01", b"\0\1")


_laying = Lock()


class Waiting:
    """Some events with their pasts, one below the other: a strided slice has one bit of each past.

    Where they come with rising positions, places in between are left empty, so that their bits make a row.

    >>> waiting = Waiting()
    >>> waiting.put(2, 0b011); waiting.put(4, 0b101); waiting.after(0, 8), waiting.after(1, 8)
    (20, 4)
    """

    def __init__(self) -> None:
        self._row: int | None = 0
        self.first = 0
        """The least of them."""
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

    def __iter__(self) -> Iterator[int]:
        return iter(self._place)

    def put(self, y: int, past: int) -> None:
        """The past of y is this."""
        if y not in self._place:
            self._row = None
            self.first = min(y, self.first) if self._place else y
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

    @property
    def row(self) -> int:
        """The row of all of them."""
        if self._row is None:
            self._row = from_positions(self._place, max(self._place) + 1)
        return self._row

    def after(self, a: int, size: int) -> int:
        """The row of those with a in their past. Cost: a byte each; a copy of what came since."""
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


class Doubt:
    """Whom rows of the future are not believed about, and what is so of these.

    >>> doubt = Doubt()
    >>> doubt.put(2, 0b011); doubt.row(0b1000, 1, 4)
    12
    """

    def __init__(self) -> None:
        self.looked_up = 0
        """How many times recent events were looked at since the last `settle`."""
        self._recent = Waiting()
        self._first = 0
        self._listed: list[int] = []  # the positions of the bits in narrow rows, if these are no window
        self._narrow: list[int] = []
        self._own: dict[int, int] = {}
        self._own_row = 0

    def __len__(self) -> int:
        return len(self._recent) + len(self._own)

    def among(self, events: list[int], recent_only: bool = False) -> list[int]:
        """Those of some events about whom rows of the future are not believed; or only the recent ones."""
        recent, own = self._recent, {} if recent_only else self._own
        return [y for y in events if y in recent or y in own]

    def narrow(self, size: int) -> list[int]:
        """The narrow rows, one a position below `size`, to be changed by whoever adds a link."""
        self._narrow += [0] * (size - len(self._narrow))
        return self._narrow

    def bit(self, y: int) -> int:
        """The bit of an event in narrow rows; 0 where it has none."""
        return self._own.get(y, 0)

    @property
    def believed(self) -> int:
        """A mask of the events about whom the rows of the future are right."""
        return ~(self._own_row | self._recent.row)

    def put(self, y: int, past: int) -> None:
        """The past of y is this from now on."""
        self._recent.put(y, past)

    def row(self, row: int, a: int, size: int) -> int:
        """The future of a, given the row that is kept of it."""
        row &= ~self._own_row
        if self._own and a < len(self._narrow) and (narrow := self._narrow[a]):
            if self._listed:
                row |= from_positions([self._listed[at] for at in bits(narrow)], size)
            else:
                row |= narrow << self._first
        recent = self._recent
        if waiting := len(recent):
            self.looked_up += waiting
            if row.bit_length() > recent.first:
                row &= ~recent.row
            row |= recent.after(a, size)
        return row

    def settle(self, order: Iterable[int], successors: list[set[int]]) -> None:
        """Move the recent ones into narrow rows, in an order where each comes after its successors."""
        events = sorted({*self._own, *self._recent})
        self._recent = Waiting()
        self.looked_up, self._first = 0, events[0]
        if events[-1] - events[0] < tuning.HOLES * len(events):
            self._listed, own = [], {y: 1 << (y - events[0]) for y in events}
        else:
            self._listed, own = events, {y: 1 << at for at, y in enumerate(events)}
        narrow = [0] * len(successors)
        for v in order:
            row = 0
            for w in successors[v]:
                row |= narrow[w]
                if w in own:
                    row |= own[w]
            narrow[v] = row
        self._own, self._narrow = own, narrow
        self._own_row = from_positions(events, events[-1] + 1)
