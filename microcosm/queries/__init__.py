"""Questions beyond single verdicts, about an engine and its givens."""

from __future__ import annotations

from typing import TYPE_CHECKING

from microcosm.lazy import modules

if TYPE_CHECKING:
    from microcosm.queries import (
        batch,
        conflict,
        diagrams,
        drawing,
        events,
        graph,
        offline,
        possible,
        why_not,
    )

__all__ = [
    "batch",
    "conflict",
    "diagrams",
    "drawing",
    "events",
    "graph",
    "offline",
    "possible",
    "why_not",
]
__getattr__ = modules(__name__, __all__)
