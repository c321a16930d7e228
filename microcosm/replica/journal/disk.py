"""What a journal asks of the operating system, in one place, so that tests can watch it and let it fail."""

from __future__ import annotations

import os
import sqlite3
import sys
from pathlib import Path

from microcosm.errors import JournalError, LockedJournal


class Flat:
    """A small file that is written in place."""

    def __init__(self, path: Path) -> None:
        self._descriptor = os.open(path, os.O_RDWR | os.O_CREAT, 0o666)

    def write(self, offset: int, content: bytes) -> None:
        """Put `content` at `offset`."""
        if os.pwrite(self._descriptor, content, offset) != len(content):
            raise OSError("a write was cut short")

    def sync(self) -> None:
        """Return when what was written would outlast a loss of power."""
        full_sync(self._descriptor)

    def close(self) -> None:
        """Let go of the file."""
        os.close(self._descriptor)


class Disk:
    """The real one."""

    def connect(self, path: Path, access: str) -> sqlite3.Connection:
        """Open a database; `access` is that of SQLite's addresses: `ro`, `rw`, or `rwc` to create it."""
        return sqlite3.connect(
            f"{path.absolute().as_uri()}?mode={access}",
            uri=True,
            isolation_level=None,
            check_same_thread=False,
        )

    def flat(self, path: Path) -> Flat:
        """Open a file to be written in place."""
        return Flat(path)

    def rename(self, old: Path, new: Path) -> None:
        """Move a file over another, if there is one, and have the folder remember."""
        os.replace(old, new)
        self.sync_folder(new.parent)

    def sync_folder(self, folder: Path) -> None:
        """Have a folder remember which files it has."""
        descriptor = os.open(folder, os.O_RDONLY)
        try:
            os.fsync(descriptor)
        finally:
            os.close(descriptor)


DISK = Disk()


def full_sync(descriptor: int) -> None:
    """Return when what was written to a file would outlast a loss of power.

    That is `fsync`, but on macOS, where `fsync` leaves bytes in the drive.
    """
    if sys.platform == "darwin":
        import fcntl

        fcntl.fcntl(descriptor, fcntl.F_FULLFSYNC)
    elif hasattr(os, "fdatasync"):
        os.fdatasync(descriptor)
    else:
        os.fsync(descriptor)


class Lock:
    """The right to write a journal: a lock on a file beside it, which stays there. A fork shares it."""

    def __init__(self, path: Path, of: Path) -> None:
        try:
            import fcntl
        except ImportError:
            raise JournalError("journals need a POSIX system", file=str(of)) from None
        try:
            descriptor = os.open(path, os.O_RDWR | os.O_CREAT, 0o666)
        except OSError as error:
            raise JournalError(f"cannot be opened: {error.strerror}", file=str(of)) from None
        try:
            fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError:
            holder = os.read(descriptor, 20).decode("ascii", "replace").strip() or "unknown"
            os.close(descriptor)
            hint = "end that process first; it may be read meanwhile"
            raise LockedJournal(f"locked by process {holder}", file=str(of), hint=hint) from None
        os.ftruncate(descriptor, 0)
        os.pwrite(descriptor, f"{os.getpid()}\n".encode(), 0)
        self._descriptor: int | None = descriptor

    def release(self) -> None:
        """Let others write. A second call does nothing."""
        if self._descriptor is not None:
            os.close(self._descriptor)
            self._descriptor = None


MENDED = ((3, 44, 6), (3, 50, 7))
"""Versions of SQLite before the first without the WAL-reset bug that have the correction as well."""


def wal_reset_bug(version: tuple[int, ...]) -> bool:
    """Whether a version of SQLite has the WAL-reset bug.

    From 3.7.0 to 3.51.2, but for 3.44.6 and 3.50.7, a connection that checkpoints may miss that another
    resets the write-ahead log, and then leave pages out of the database (*Write-Ahead Logging*, "The
    WAL-Reset Bug"). It takes two connections that write or checkpoint. A journal has one; a second program
    that opens the file is a second.

    >>> [wal_reset_bug(v) for v in ((3, 6, 23), (3, 7, 0), (3, 44, 5), (3, 44, 6), (3, 51, 2), (3, 51, 3))]
    [False, True, True, False, True, False]
    """
    mended = any(version[:2] == since[:2] and version >= since for since in MENDED)
    return (3, 7, 0) <= version < (3, 51, 3) and not mended
