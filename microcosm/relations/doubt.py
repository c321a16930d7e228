"""Columns that rows of the future do not keep, for events whose past changed a short while ago.

An event that comes last is in the future of everything before it: putting it into every such row would
cost n row operations an event. Here it waits, first with its past (`recent`), then, with some hundred
others, as one bit in a narrow row of each event (`settle`), until all rows are computed anew.
"""

from __future__ import annotations

from collections.abc import Iterable

from microcosm.relations.bits import bits, from_positions


class Doubt:
    """Whom rows of the future are not believed about, and what is so of these.

    >>> doubt = Doubt()
    >>> doubt.put(2, 0b011); doubt.row(0b1000, 1, 4)
    12
    """

    def __init__(self) -> None:
        self.looked_up = 0
        """How many times recent events were looked at, one by one, since the last `settle`."""
        self._recent: dict[int, bytes] = {}
        self._recent_row = 0
        self._listed: list[int] = []
        self._narrow: list[int] = []
        self._own: dict[int, int] = {}
        self._believed = -1

    def __len__(self) -> int:
        return len(self._recent) + len(self._listed)

    def among(self, events: list[int], recent_only: bool = False) -> list[int]:
        """Those of some events about whom rows of the future are not believed; or only the recent ones."""
        if not self:
            return []
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
        return self._believed

    @property
    def recent(self) -> int:
        """How many events wait for `settle`, being looked up one by one until then."""
        return len(self._recent)

    def put(self, y: int, past: int) -> None:
        """The past of y is this from now on."""
        self._recent[y] = past.to_bytes((past.bit_length() + 7) // 8, "little")
        self._recent_row |= 1 << y
        self._believed &= ~(1 << y)

    def row(self, row: int, a: int, size: int) -> int:
        """The future of a, given the row that is kept of it."""
        row &= self._believed
        if self._listed and a < len(self._narrow):
            narrow, first = self._narrow[a], self._listed[0]
            if self._listed[-1] - first == len(self._listed) - 1:
                row |= narrow << first
            else:
                row |= from_positions([self._listed[at] for at in bits(narrow)], size)
        self.looked_up += len(self._recent)
        byte, bit = a >> 3, 1 << (a & 7)
        late = [y for y, past in self._recent.items() if byte < len(past) and past[byte] & bit]
        row &= ~self._recent_row
        return row | from_positions(late, size) if late else row

    def settle(self, order: Iterable[int], successors: list[set[int]]) -> None:
        """Move the recent ones into narrow rows, in an order where each comes after its successors."""
        self._listed = sorted({*self._listed, *self._recent})
        self._recent.clear()
        self.looked_up = self._recent_row = 0
        own = self._own = {y: 1 << at for at, y in enumerate(self._listed)}
        narrow = self._narrow = [0] * len(successors)
        for v in order:
            row = 0
            for w in successors[v]:
                row |= narrow[w] | own.get(w, 0)
            narrow[v] = row
