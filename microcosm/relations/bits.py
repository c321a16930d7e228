"""Sets of small integers as Python integers: bit b of the integer says whether b is a member."""

from __future__ import annotations

from collections.abc import Iterable, Iterator


def bits(row: int) -> Iterator[int]:
    """The members of `row`, ascending. Cost: O(width / 64) a member when few, O(width) in all when many.

    >>> list(bits(0b101001))
    [0, 3, 5]
    """
    width = row.bit_length()
    if width <= 512 or row.bit_count() <= width >> 8:
        while row:
            low = row & -row
            yield low.bit_length() - 1
            row ^= low
        return
    digits = bin(row)[:1:-1]
    at = digits.find("1")
    while at >= 0:
        yield at
        at = digits.find("1", at + 1)


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
