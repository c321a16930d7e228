"""Whose event each position is, as far as the givens say: the chains of chain-cover labels.

It is a hint and never a judgement: events of one process are put on one chain only where a given links them.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Hashable, Iterable
from itertools import repeat
from operator import attrgetter

from microcosm.engine.ground import Universe
from microcosm.givens.givens import Givens

INTERNAL = object()
"""The process of the internal chain."""


class Processes:
    """The process of a position: of the internal chain, of a clock, of a message, of an id `process:seq`.

    >>> from microcosm.givens.columns import Message
    >>> universe = Universe({"phone:12": 2, "shop/phone:7": 3, "upload": 4, "a:b": 5, "sent": 6})
    >>> processes = Processes(Givens(messages=[Message("send", "sent", "m1", "phone")]), universe)
    >>> [processes(at) for at in universe.position.values()]
    ['phone', 'shop/phone', None, None, 'phone']
    >>> processes.of_all(4)
    [None, None, 'phone', 'shop/phone']
    """

    def __init__(self, givens: Givens, universe: Universe) -> None:
        self._universe = universe
        self._stated: list[Hashable] = [None] * len(universe)
        for events, processes in givens.whose():
            self._state(events, processes)
        self._state(givens.clocks, map(attrgetter("process"), givens.clocks.values()))
        self.add(givens.internal)

    def add(self, events: Iterable[str]) -> None:
        """These are events of the internal chain."""
        self._stated += [None] * (len(self._universe) - len(self._stated))
        self._state(events, repeat(INTERNAL))

    def of_all(self, size: int) -> list[Hashable]:
        """The processes of all positions below `size`."""
        found = self._stated[:size]
        found += [None] * (size - len(found))
        for at in [at for at, process in enumerate(found) if process is None]:
            found[at] = self._by_name(at)
        return found

    def __call__(self, position: int) -> Hashable:
        """The process, None where nothing says."""
        stated = self._stated[position] if position < len(self._stated) else None
        return self._by_name(position) if stated is None else stated

    def _state(self, events: Iterable[str], processes: Iterable[Hashable]) -> None:
        deque(map(self._stated.__setitem__, self._universe.places(events), processes), maxlen=0)

    def _by_name(self, position: int) -> str | None:
        process, _, seq = self._universe.names[position].rpartition(":")
        return process if process and seq.isdecimal() else None
