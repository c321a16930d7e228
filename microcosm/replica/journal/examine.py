"""Is what lies there what was written? Asked before SQLite may change anything.

The write-ahead log is scanned by our own code, then the database is read through a connection that cannot
write: SQLite then sees what it would recover, and recovers nothing. Only a journal that passes is opened for
writing.
"""

from __future__ import annotations

import sqlite3
from contextlib import closing
from dataclasses import dataclass

from microcosm.errors import JournalError
from microcosm.replica.journal import disk as journal_head
from microcosm.replica.journal import look as journal_look
from microcosm.replica.journal import schema as journal_schema
from microcosm.replica.journal import wal as journal_wal
from microcosm.replica.journal.disk import Disk, Files, Head
from microcosm.replica.journal.look import Broken, JournalState
from microcosm.replica.journal.schema import About


@dataclass(frozen=True)
class Findings:
    """What was found; without `faults` there are an `about`, a `state` and a `head`."""

    wal: journal_wal.Scan
    about: About | None
    state: JournalState | None
    head: Head | None
    faults: tuple[str, ...]

    @property
    def dropped(self) -> int:
        """Frames of a last transaction that a crash cut short, and that nobody was told was durable."""
        return self.wal.after


def examine(files: Files, application: str | None, disk: Disk) -> Findings:
    """Look at all of a journal, changing nothing. The caller holds the lock.

    Raises `JournalError` for what is no journal of this application or of a newer version. Cost: all bytes.
    """
    files.must_exist()
    faults: list[str] = []
    wal = journal_wal.scan(files.wal)
    try:
        head = journal_head.read(files.head)
    except journal_head.BadHead as bad:
        head = None
        faults.append(str(bad))
    bad_head = bool(faults)
    if head is None or head.mode == "full":  # in a weaker mode a loss of power may tear all but the head
        faults += wal.faults
    about = state = None
    try:
        with closing(disk.connect(files.database, "ro")) as connection:
            connection.execute("PRAGMA busy_timeout = 5000")
            connection.execute("BEGIN")
            about = journal_schema.identify(connection, files.database, application)
            if head is not None and head.schema > about.schema:
                faults.append(f"the tables are of version {about.schema}, and were of {head.schema}")
            elif about.schema == journal_schema.version():
                state = look(connection, about)
                wrong = journal_look.disagreement(connection, state, head)
                if wrong and not bad_head:
                    faults.append(wrong)
    except Broken as broken:
        faults.append(str(broken))
    except sqlite3.DatabaseError as error:
        if getattr(error, "sqlite_errorname", "") == "SQLITE_NOTADB" and head is None and not bad_head:
            raise JournalError("is not a journal", file=str(files.database)) from None
        faults.append(f"SQLite says: {error}")
    except (KeyError, UnicodeDecodeError, AttributeError, TypeError):
        faults.append("the table `about` has no form")
    return Findings(wal, about, state, head, tuple(faults))


def look(connection: sqlite3.Connection, about: About) -> JournalState:
    """The state of a journal, if SQLite finds nothing wrong and the chain holds. Raises `Broken`."""
    [[said]] = connection.execute("PRAGMA quick_check(1)").fetchall()
    if said != "ok":
        raise Broken(f"SQLite says: {said.replace(chr(10), ' ')}")
    return journal_look.survey(connection, about)
