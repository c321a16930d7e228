"""The stamp of one event, a Lamport time or an interval of a physical clock, and what two of them rule out.

A stamp proves no order; it only says of some pairs that the first event is not before the second (calculus
of seed 003, extended by negative givens).
"""

from __future__ import annotations

from typing import TYPE_CHECKING, TypeAlias

if TYPE_CHECKING:
    from microcosm.givens.exact import Number

Stamp: TypeAlias = "int | tuple[Number, Number]"
"""A Lamport time, or a physical interval [earliest, latest]; in exact numbers, as they were written."""


def too_late(first: Stamp | None, second: Stamp | None) -> bool:
    """Whether an event with the first stamp cannot be before one with the second."""
    if isinstance(first, tuple) and isinstance(second, tuple):
        return first[0] > second[1]
    return isinstance(first, int) and isinstance(second, int) and first >= second
