"""Which representation of happens-before suits a set of edges: rows, or labels where chains are few."""

from __future__ import annotations

from collections.abc import Iterable

from microcosm import tuning
from microcosm.order.chain_cover import Process, Wide
from microcosm.order.happens_before import HappensBefore
from microcosm.order.labels import Labels
from microcosm.order.rows import Rows


def happens_before(
    size: int, edges: Iterable[tuple[int, int]], process: Process | None = None
) -> HappensBefore:
    """The order that the edges generate. Raises `Cycle`. Cost: linear in size and edges, at first.

    >>> type(happens_before(3, [(0, 1), (1, 2)])).__name__
    'Rows'
    """
    if size > tuning.ROWS_UP_TO:
        if iter(edges) is edges:  # to be gone through but once
            edges = list(edges)
        try:
            least = tuning.EVENTS_A_CHAIN
            return Labels(size, edges, process, size // least if least else None)
        except Wide:
            pass
    return Rows(size, edges)
