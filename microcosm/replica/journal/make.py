"""How a journal comes to be: new and empty, as a backup, or as what `fsck` could save of a damaged one.

It is built beside its place. Once it is durable its head file is put there, and then the database itself: so
where there is a database there is a head file, and half a journal is never seen.
"""

from __future__ import annotations

import os
import sqlite3
from collections.abc import Callable
from contextlib import closing
from pathlib import Path

from microcosm.errors import JournalError
from microcosm.files import AnyPath
from microcosm.replica.journal import disk as journal_head
from microcosm.replica.journal import schema as journal_schema
from microcosm.replica.journal import wal as journal_look
from microcosm.replica.journal.disk import DISK, Disk, Files, Head, HeadFile
from microcosm.replica.journal.reader import Reader
from microcosm.replica.journal.schema import About
from microcosm.replica.journal.wal import JournalState

Fill = Callable[[sqlite3.Connection], None]


def make(files: Files, application: str, disk: Disk) -> None:
    """A new journal, empty. Raises `JournalError` where there are traces of one that is gone."""
    try:
        head = journal_head.read(files.head)
        gone = head is not None and (head.number, head.edition) != (0, 0)
    except journal_head.BadHead:
        gone = True
    if gone or (files.wal.exists() and files.wal.stat().st_size):
        hint = "restore a backup, or move what is left of it away"
        raise JournalError("is gone, but what lies beside it is there", file=str(files.database), hint=hint)
    about = About(application, os.urandom(16), os.urandom(16), journal_schema.version())
    build(files, lambda connection: journal_schema.create(connection, about), disk)


def backup(reader: Reader, path: AnyPath) -> int:
    """Copy what a reader sees, as a new instance; the number of its last record.

    Raises `JournalError` where something is there.
    """
    files = Files(Path(path))
    if files.database.exists() or files.head.exists():
        hint = "choose another place: a backup replaces nothing"
        raise JournalError("exists already", file=str(files.database), hint=hint)

    def fill(connection: sqlite3.Connection) -> None:
        reader.copy_to(connection)
        rename(connection)

    return build(files, fill, DISK).last.number


def rename(connection: sqlite3.Connection) -> None:
    """Make a copy known as one."""
    connection.execute("UPDATE about SET value = ? WHERE name = 'instance'", (os.urandom(16),))


def build(files: Files, fill: Fill, disk: Disk) -> JournalState:
    """Put a journal at `files` that `fill` writes; what lies there is replaced. The state of it."""
    new = files.new()
    try:
        with closing(disk.connect(new.database, "rwc")) as connection:
            fill(connection)
            connection.execute("PRAGMA journal_mode = WAL")
            connection.execute("PRAGMA wal_checkpoint(TRUNCATE)")
            about = journal_schema.identify(connection, files.database, None)
            state = journal_look.survey(connection, about)
        head = Head(
            *(0, about.schema, "full", about.instance, *state.last),
            *(state.base.number, state.edition, state.seal),
        )
        HeadFile.create(disk, new.head, head).close()
        files.wal.unlink(missing_ok=True)
        files.shm.unlink(missing_ok=True)
        disk.rename(new.head, files.head)
        disk.rename(new.database, files.database)
    except (sqlite3.Error, OSError) as error:
        raise JournalError(f"cannot be written: {error}", file=str(files.database)) from None
    finally:
        files.new()
    return state
