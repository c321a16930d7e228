"""Questions beyond single verdicts, about an engine and its givens."""

from __future__ import annotations

from importlib import import_module
from types import ModuleType
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from microcosm.queries import batch, conflict, diagrams, drawing, events, graph, offline, possible

__all__ = ["batch", "conflict", "diagrams", "drawing", "events", "graph", "offline", "possible"]


def __getattr__(name: str) -> ModuleType:
    """The module of a name, loaded when first asked for (PEP 562): a question that nobody asks costs nothing.

    Cost: that of the module, once.
    """
    if name not in __all__:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return import_module(f"{__name__}.{name}")
