"""How a journal comes to be: new and empty, as a backup, or as what `fsck` could save of a damaged one.

It is built beside its place. Once it is durable its head file is put there, and then the database itself: so
where there is a database there is a head file, and half a journal is never seen. `fsck` says what is wrong
with a journal, and, if asked to, cuts it back to what can be trusted.
"""

from __future__ import annotations

import os
import sqlite3
from collections.abc import Callable
from contextlib import closing
from dataclasses import dataclass
from pathlib import Path

from microcosm.errors import DamagedJournal, JournalError
from microcosm.files import AnyPath
from microcosm.replica.journal import examine as journal_examine
from microcosm.replica.journal import files as journal_files
from microcosm.replica.journal import schema as journal_schema
from microcosm.replica.journal.examine import Broken, JournalState, Place, examine
from microcosm.replica.journal.files import DISK, Disk, Files, Head, HeadFile, Lock
from microcosm.replica.journal.reader import Reader
from microcosm.replica.journal.schema import About

Fill = Callable[[sqlite3.Connection], None]


def make(files: Files, application: str, disk: Disk) -> None:
    """A new journal, empty. Raises `JournalError` where there are traces of one that is gone."""
    try:
        head = journal_files.read(files.head)
        gone = head is not None and (head.number, head.edition) != (0, 0)
    except journal_files.BadHead:
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
            state = journal_examine.survey(connection, about)
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


@dataclass(frozen=True)
class FsckReport:
    """What a check found, and what a repair did.

    `first` and `last` are the numbers of the records that check (`last < first`: there are none), `through`
    that of the snapshot before them, None without one. `dropped` counts the frames of a last transaction that
    a crash cut short: no fault. `lost` is the last number that is known to have been durable and is no more.
    """

    application: str
    schema: int
    first: int
    last: int
    through: int | None
    dropped: int
    faults: tuple[str, ...]
    lost: int | None
    copy: str | None
    repaired: bool


def fsck(path: AnyPath, *, repair: bool = False, disk: Disk = DISK) -> FsckReport:
    """Check all of a journal; with `repair` cut it where it stops being what was written.

    Without `repair` nothing is changed. A repair first keeps a copy of all files, then puts in their place a
    journal, of a new instance, of the snapshot and of the records after it as far as their chain holds.
    Raises `LockedJournal` while somebody writes it, `JournalError` for what is no journal, `DamagedJournal`
    where nothing can be saved. Cost: all bytes are read.
    """
    files = Files(Path(path))
    files.must_be_journal()
    lock = Lock(files.lock, files.database, reading=not repair)
    try:
        with files.readable() as seen:
            findings = examine(seen, None, disk)
            about, (first, good) = findings.about, _good(seen, disk, findings.about)
        durable = findings.head.number if findings.head else good.number
        if about is None or first is None or (repair and findings.faults and not good.number and durable):
            faults = findings.faults or ("the snapshot does not check",)
            hint = "nothing can be saved of it: restore a backup"
            raise DamagedJournal(
                faults, file=str(path), copy=files.try_to_keep() if repair else None, hint=hint
            )
        copy = None
        if repair and findings.faults:
            copy = files.keep()
            _cut(files, disk, about, good)
        return FsckReport(
            application=about.application,
            schema=about.schema,
            first=first.number + 1,
            last=good.number,
            through=first.number or None,
            dropped=findings.dropped,
            faults=findings.faults,
            lost=durable if durable > good.number else None,
            copy=copy,
            repaired=copy is not None,
        )
    finally:
        lock.release()


def _good(files: Files, disk: Disk, about: About | None) -> tuple[Place | None, Place]:
    """Where the records begin (None: nowhere), and the last of them up to which the chain holds."""
    first, good = None, Place(0, b"")
    if about is not None:
        try:
            with closing(disk.connect(files.database, "ro")) as connection:
                first = good = journal_examine.base(connection, about)[0]
                for record, _, chain in journal_examine.walk(connection, first):
                    good = Place(record.number, chain)
        except (Broken, sqlite3.DatabaseError):
            pass
    return first, good


def _cut(files: Files, disk: Disk, about: About, good: Place) -> None:
    """Build the journal anew from what is good."""
    if about.schema != journal_schema.version():
        hint = "repair it with the version of this program that wrote it"
        raise JournalError(f"is of the older version {about.schema}", file=str(files.database), hint=hint)

    def fill(connection: sqlite3.Connection) -> None:
        journal_schema.create(connection, about)
        rename(connection)
        with closing(disk.connect(files.database, "ro")) as damaged:
            row = damaged.execute("SELECT * FROM snapshot").fetchone()
            connection.execute("BEGIN IMMEDIATE")
            if row is not None:
                connection.execute("INSERT INTO snapshot VALUES (?, ?, ?, ?, ?, ?)", row)
            start = journal_examine.base(connection, about)[0]
            whole = journal_examine.walk(damaged, start, good.number) if good != start else ()
            for record, since, chain in whole:
                values = (record.number, since, record.kind, record.payload, chain)
                connection.execute("INSERT INTO record VALUES (?, ?, ?, ?, ?)", values)
            connection.execute("COMMIT")

    build(files, fill, disk)
