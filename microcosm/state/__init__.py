"""`Microcosm`, and how it changes and is read."""

from __future__ import annotations

from typing import TYPE_CHECKING

from microcosm.lazy import modules

if TYPE_CHECKING:
    from microcosm.state import forget, merge, opening

__all__ = ["forget", "merge", "opening"]
__getattr__ = modules(__name__, __all__)
