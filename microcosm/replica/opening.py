"""The store behind a path."""

from __future__ import annotations

from microcosm.files import AnyPath
from microcosm.replica.store import Store

APPLICATION = "microcosm replica"
"""Whose records these are: the journal of another application is refused."""


def open_store(path: AnyPath, *, create: bool = False) -> Store:
    """The journal at a path; `create` makes it where there is none. Raises `MicrocosmError`."""
    from microcosm.replica.journal import Journal

    return Journal.open(path, application=APPLICATION, create=create)
