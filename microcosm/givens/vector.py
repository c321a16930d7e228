"""Vectors of counts, such as vector times, each packed into one whole number.

Component c has the bits from `c * FIELD` on; its highest one, the guard, is 0, so that two vectors are
compared, and merged, in a few operations on whole numbers.
"""

from __future__ import annotations

import sys
from functools import cache
from struct import Struct

FIELD = 32
"""Bits a component."""

COMPONENT = (1 << FIELD) - 1
"""A mask of one component."""


def guards(components: int) -> int:
    """The guard bits of so many components.

    >>> hex(guards(2))
    '0x8000000080000000'
    """
    return int.from_bytes(b"\0\0\0\x80" * components, "little")


def merged(one: int, other: int, guard: int) -> int:
    """The larger of both in each component; `guard` has at least as many components as either.

    >>> hex(merged(0x5_00000002, 0x3_00000007, guards(2)))
    '0x500000007'
    """
    larger = ((one | guard) - other) & guard  # where no borrow ate the guard, `one` is at least `other`
    return other ^ ((one ^ other) & (larger - (larger >> (FIELD - 1))))


def total(vector: int) -> int:
    """The sum of all components.

    >>> total(0x5_00000002)
    7
    """
    count = -(-vector.bit_length() // FIELD)
    return sum(memoryview(vector.to_bytes(4 * count, sys.byteorder)).cast("I"))


def covering(one: int, other: int, guard: int) -> bool:
    """Whether each component of `one` is at least that of `other`; `guard` is as in `merged`.

    >>> covering(0x5_00000002, 0x5_00000001, guards(2)), covering(0x5_00000002, 0x3_00000007, guards(2))
    (True, False)
    """
    return ((one | guard) - other) & guard == guard


def components(vector: int, many: int) -> tuple[int, ...]:
    """The components of a vector that has so many.

    >>> components(0x5_00000002, 3)
    (2, 5, 0)
    """
    return _struct(many).unpack(vector.to_bytes(FIELD // 8 * many, "little"))


@cache
def _struct(many: int) -> Struct:
    return Struct(f"<{many}I")
