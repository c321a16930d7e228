"""A machine that knows from the start which processes there are: 0 to n - 1."""

from __future__ import annotations

from microcosm.protocol.machine import Machine


class Group(Machine):
    """One of `size` processes."""

    __slots__ = ("size",)

    def __init__(self, me: int, size: int) -> None:
        super().__init__(me, range(size))
        self.size = size
