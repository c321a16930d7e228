"""Which versions of SQLite have the WAL-reset bug, and what that means for a journal.

From 3.7.0 to 3.51.2, but for 3.44.6 and 3.50.7, a connection that checkpoints may miss that another resets
the write-ahead log, and then leave pages out of the database (*Write-Ahead Logging*, "The WAL-Reset Bug"). It
takes two connections that write or checkpoint. A journal has one; a second program that opens the file is a
second.
"""

from __future__ import annotations

MENDED = ((3, 44, 6), (3, 50, 7))
"""Versions before the first sound one that have the correction as well."""


def wal_reset_bug(version: tuple[int, ...]) -> bool:
    """Whether a version has it.

    >>> [wal_reset_bug(v) for v in ((3, 6, 23), (3, 7, 0), (3, 44, 5), (3, 44, 6), (3, 51, 2), (3, 51, 3))]
    [False, True, True, False, True, False]
    """
    mended = any(version[:2] == since[:2] and version >= since for since in MENDED)
    return (3, 7, 0) <= version < (3, 51, 3) and not mended
