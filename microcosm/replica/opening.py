"""The store behind a path."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from microcosm.errors import ReplicaError
from microcosm.files import AnyPath
from microcosm.replica.store import Record, Store

APPLICATION = "microcosm replica"
"""Whose records these are: the journal of another application is refused."""


class ReadOnlyStore:
    """A journal to be read, while somebody else may write it."""

    def __init__(self, path: AnyPath) -> None:
        from microcosm.replica.journal.reader import Reader

        self._path = path
        self._reader = Reader(path, application=APPLICATION)

    def records(self, after: int = 0) -> Iterator[Record]:
        """The records above `after`, of the moment of the call."""
        return self._reader.records(after)

    def snapshot(self) -> tuple[int, bytes] | None:
        """The latest snapshot: the last record that it stands for, and its content; or None."""
        return self._reader.snapshot()

    def commit(self, records: Sequence[tuple[str, bytes]]) -> int:
        """Raises `ReplicaError`: nothing can be written."""
        raise ReplicaError(f"{self._path}: is open for reading only")

    def compact(self, through: int, content: bytes) -> None:
        """Raises `ReplicaError`: nothing can be written."""
        raise ReplicaError(f"{self._path}: is open for reading only")

    def close(self) -> None:
        """Read no more."""
        self._reader.close()


def open_store(path: AnyPath, *, create: bool = False) -> Store:
    """The journal at a path; `create` makes it where there is none. Raises `MicrocosmError`."""
    from microcosm.replica.journal import Journal

    return Journal.open(path, application=APPLICATION, create=create)
