"""Whose event each position is, as far as the givens say: the chains of chain-cover labels.

It is a hint and never a judgement: events of one process are put on one chain only where a given links them.
"""

from __future__ import annotations

from collections.abc import Hashable, Iterable
from operator import attrgetter, methodcaller

from microcosm.engine.ground import Universe
from microcosm.relations.givens import Givens

INTERNAL = object()
"""The process of the internal chain."""


class Processes:
    """The process of a position: of the internal chain, of a clock, of a message, of an id `process:seq`.

    >>> from microcosm.relations.givens import Message
    >>> universe = Universe(["phone:12", "shop/phone:7", "upload", "a:b", "sent"])
    >>> processes = Processes(Givens(messages=[Message("send", "sent", "m1", "phone")]), universe)
    >>> [processes(at) for at in universe.position.values()]
    ['phone', 'shop/phone', None, None, 'phone']
    >>> processes.of_all(4)
    [None, None, 'phone', 'shop/phone']
    """

    def __init__(self, givens: Givens, universe: Universe) -> None:
        self._universe = universe
        self._stated: dict[str, Hashable] = dict(map(attrgetter("event", "process"), givens.messages))
        self._stated.update({event: clock.process for event, clock in givens.clocks.items()})
        self.add(givens.internal)

    def add(self, events: Iterable[str]) -> None:
        """These are events of the internal chain."""
        self._stated.update(dict.fromkeys(events, INTERNAL))

    def of_all(self, size: int) -> list[Hashable]:
        """The processes of all positions below `size`."""
        names = self._universe.names[:size]
        found: list[Hashable] = [*map(self._stated.get, names)]
        unstated = [at for at, process in enumerate(found) if process is None]
        for at, (process, _, seq) in zip(
            unstated, map(methodcaller("rpartition", ":"), map(names.__getitem__, unstated)), strict=True
        ):
            if process and seq.isdecimal():
                found[at] = process
        return found

    def __call__(self, position: int) -> Hashable:
        """The process, None where nothing says."""
        name = self._universe.names[position]
        stated = self._stated.get(name)
        if stated is not None:
            return stated
        process, _, seq = name.rpartition(":")
        return process if seq.isdecimal() and process else None
