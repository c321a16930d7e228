"""Vector times as one integer each: a component every 32 bits, compared and merged all at once.

A component is below 2³¹; the highest bit of each field is a guard that arithmetic over whole integers may
use. An absent component is 0, so that a vector never grows before it has to.
"""

from __future__ import annotations

import sys

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
