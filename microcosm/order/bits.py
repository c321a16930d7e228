"""Sets of small integers as Python integers: bit b of the integer says whether b is a member.

Where gmpy2 is installed (the extra `fast`), it lists the members, five to ten times as fast, from the moment
that so many were listed without it that it was worth its import, which takes longer than most commands do.
Nothing else knows of it: every row is a Python integer, whose `|`, `&` and `^` are as fast. `x ^ x & y` takes
half the time of `x & ~y`, which is why it stands where rows are many.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import suppress
from functools import lru_cache
from typing import Any

from microcosm.tuning import (
    BITS_KEPT,
    BITS_LISTED,
    BITS_NARROW,
    BITS_WIDE,
    GMP_WANTED,
    LISTED_WITHOUT_GMP,
    ONES_UP_TO,
    TURNED_AS_TEXT,
)

_MEMBERS = tuple(tuple(bit for bit in range(8) if byte >> bit & 1) for byte in range(256))
_MARK = bytes.maketrans(b"01", b"\0\1")


_xmpz: Any = None
"""The integers of GMP, while they are in use."""
_left = LISTED_WITHOUT_GMP


def use_gmp(wanted: bool) -> bool:
    """Have the members of rows listed by GMP from now on, or never; returns whether they are.

    Unasked it is used after `LISTED_WITHOUT_GMP` wide rows, unless the variable MICROCOSM_GMP is `off`. Cost:
    the import of gmpy2, some 60 milliseconds.
    """
    global _left, _xmpz  # noqa: PLW0603
    _left, _xmpz = 0, None
    if wanted:
        with suppress(ImportError):
            from gmpy2 import xmpz as _xmpz
    return _xmpz is not None


def _count_wide() -> None:
    global _left  # noqa: PLW0603
    _left -= 1
    if _left == 0:
        use_gmp(GMP_WANTED)


def bits(row: int) -> Iterator[int]:
    """The members of `row`, ascending. Cost: O(width / 64) a member when very few, else O(width / 8) in all.

    >>> list(bits(0b101001))
    [0, 3, 5]
    """
    if _xmpz is not None:
        listed: Iterator[int] = _xmpz(row).iter_set()
        return listed
    width, count = row.bit_length(), row.bit_count()
    if width > BITS_WIDE:
        _count_wide()
    if count << 4 > width:
        return _by_bytes(row, width)
    if count <= BITS_LISTED or count << 7 > width:
        return reversed(_from_above(row))
    return _one_by_one(row)


def _by_bytes(row: int, width: int) -> Iterator[int]:
    base = 0
    for byte in row.to_bytes((width + 7) >> 3, "little"):
        if byte:
            for bit in _MEMBERS[byte]:
                yield base + bit
        base += 8


def _one_by_one(row: int) -> Iterator[int]:
    """The least first, should no other be asked for."""
    low = row & -row
    yield low.bit_length() - 1
    yield from reversed(_from_above(row ^ low))


def _from_above(row: int) -> list[int]:
    """The members, descending: the row becomes shorter on the way, which costs a third of going upwards."""
    found = []
    while row:
        at = row.bit_length() - 1
        found.append(at)
        row ^= 1 << at
    return found


def lowest(row: int) -> int:
    """The least member of a non-empty row.

    >>> lowest(0b101000)
    3
    """
    return (row & -row).bit_length() - 1


def from_positions(positions: Iterable[int], width: int) -> int:
    """The row of many positions below `width`, in time linear in both.

    >>> from_positions([0, 3, 5], 6) == 0b101001
    True
    """
    marks = bytearray((width >> 3) + 1)
    for position in positions:
        marks[position >> 3] |= 1 << (position & 7)
    return int.from_bytes(marks, "little")


@lru_cache(maxsize=1)
def singles(width: int) -> tuple[int, ...]:
    """For each position below `width` the row of it alone, for whoever needs them again and again.

    Cost: n²/16 bytes, for the last width asked for.

    >>> singles(3)
    (1, 2, 4)
    """
    return tuple([1 << at for at in range(width)])


def diagonal(width: int) -> Iterable[int]:
    """The rows of one member each, to be gone through once; wide ones are made on the way, and not kept."""
    return singles(width) if width <= ONES_UP_TO else map((1).__lshift__, range(width))


_ONE = tuple([1 << at for at in range(BITS_NARROW)])


def without(row: int, rows: Sequence[int], which: int) -> int:
    """What a row has that none of some others has: `rows` that are no wider than there are of them.

    Cost: a row operation for each of these until nothing is left; where they are narrow, a loop of its own
    takes half the time that `bits` does.

    >>> without(0b1111, [0b1000, 0b0011, 0b0100], 0b110)
    8
    """
    if len(rows) > BITS_NARROW:
        for at in bits(which):
            row ^= row & rows[at]
            if not row:
                break
        return row
    while row and which:
        at = which.bit_length() - 1
        which ^= _ONE[at]
        row ^= row & rows[at]
    return row


def meeting(row: int, rows: Sequence[int], which: int) -> int:
    """Those of some `rows`, no wider than there are of them, that have a member of one. Cost: as `without`.

    >>> meeting(0b0101, [0b1000, 0b0010, 0b0100], 0b110)
    4
    """
    found = 0
    if len(rows) > BITS_NARROW:
        for at in bits(which):
            if rows[at] & row:
                found |= 1 << at
        return found
    while which:
        at = which.bit_length() - 1
        which ^= _ONE[at]
        if rows[at] & row:
            found |= _ONE[at]
    return found


def row_of(positions: Iterable[int] | None) -> int:
    """The set of some positions; a few are set one by one. Cost: linear in them and in the highest one."""
    if not positions:
        return 0
    listed = positions if isinstance(positions, set | dict) else list(positions)
    if len(listed) <= 8:
        row = 0
        for at in listed:
            row |= 1 << at
        return row
    return from_positions(listed, max(listed) + 1)


def marks(row: int, width: int) -> bytes:
    """For each position below `width` 1 if it is a member, else 0. Cost: linear in the width.

    >>> marks(0b101, 4)
    b'\\x01\\x00\\x01\\x00'
    """
    return f"{row:0{width}b}".encode()[::-1].translate(_MARK)


def overlaid(rows: Sequence[int], width: int) -> str:
    """For each position below `width` a hexadecimal digit: bit k of it says whether row k has it.

    Up to four rows of a table are read so, position by position, without a test of a bit each. Cost: linear
    in the width, a few nanoseconds a position and row.

    >>> overlaid([0b101, 0b100], 4)
    '1030'
    """
    found = sum(int(f"{row:b}", 16) << at for at, row in enumerate(rows))
    return f"{found:0{width}x}"[::-1]


def transposed(rows: Sequence[int], width: int | None = None) -> list[int]:
    """The columns of a matrix of bits, a square unless its `width` is said: row a has b where row b had a.

    Cost: of a square n · log n row operations, else that of the squares that it is cut into. What is small
    goes through text, for cutting every n-th character out of a string costs next to nothing in Python.

    >>> transposed([0b110, 0b000, 0b011]), transposed([0b10, 0b11], 3)
    ([4, 5, 1], [2, 3, 0])
    """
    high, wide = len(rows), len(rows) if width is None else width
    least, most = sorted((high, wide))
    if most <= TURNED_AS_TEXT:
        digits = "".join([f"{row:0{wide}b}" for row in reversed(rows)])
        return [int(digits[at::wide] or "0", 2) for at in range(wide - 1, -1, -1)]
    side = 1 << (max(least, 64) - 1).bit_length()
    if most <= side:
        return _turned(rows, side)[:wide]
    columns = [0] * wide
    for top in range(0, high, side):
        for left in range(0, wide, side):
            square = [row >> left & (1 << side) - 1 for row in rows[top : top + side]]
            for at, column in enumerate(_turned(square, side)[: wide - left], left):
                columns[at] |= column << top
    return columns


def _turned(rows: Sequence[int], side: int) -> list[int]:
    """The columns of a square, whose side is a power of two; rows that are missing are zero.

    The halves of the square that are off its diagonal change places, then those of each quarter, and so on.
    """
    square = [*rows, *[0] * (side - len(rows))]
    half, mask = side >> 1, (1 << (side >> 1)) - 1
    while half:
        for start in range(0, side, 2 * half):
            for a in range(start, start + half):
                upper, lower = square[a], square[a + half]
                if (upper or lower) and (moved := (upper >> half ^ lower) & mask):
                    square[a], square[a + half] = upper ^ moved << half, lower ^ moved
        half >>= 1
        mask ^= mask << half
    return square


class Remembered(dict[int, int]):
    """Rows that are computed when first asked for; asking again is a look-up.

    Where all rows together would take more than `BUDGET` bits, they are dropped when they have.
    """

    BUDGET = BITS_KEPT

    def __init__(self, compute: Callable[[int], int]) -> None:
        super().__init__()
        self._compute = compute
        self._bits = 0
        self._all: list[int] = []  # every row, where they were made together, until one is not there

    def __missing__(self, at: int) -> int:
        self._all = []
        row = self._compute(at)
        self._bits += row.bit_length()
        if self._bits > self.BUDGET:
            self.clear()
            self._bits = row.bit_length()
        self[at] = row
        return row

    def clear(self) -> None:
        """Drop them all. Cost: linear in them."""
        super().clear()
        self._all = []

    def filled(self, rows: list[int]) -> list[int]:
        """These rows, of each position from 0, being remembered if they fit in. Cost: linear in them."""
        if len(rows) ** 2 <= self.BUDGET:
            self.update(enumerate(rows))
            self._all = rows
        return rows

    def first(self, width: int) -> list[int]:
        """The rows of so many positions from 0, that are there. Cost: none where they were `filled` in."""
        every = self._all  # another thread may let go of it
        return every if len(every) == width else [*map(self.__getitem__, range(width))]
