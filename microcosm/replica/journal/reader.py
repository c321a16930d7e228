"""Reading a journal while somebody else writes it, in this process or another.

What is read is fetched in pieces, each in a transaction of its own that ends before the piece is handed out:
nobody who reads slowly, or stops reading, keeps the write-ahead log from being reset.
"""

from __future__ import annotations

import sqlite3
import threading
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager, suppress
from pathlib import Path
from time import monotonic

from microcosm.errors import DamagedJournal, JournalError, ReplicaError
from microcosm.files import AnyPath
from microcosm.replica.journal import files as journal_files
from microcosm.replica.journal import schema as journal_schema
from microcosm.replica.journal.files import DISK, Disk, Files
from microcosm.replica.journal.schema import Broken, JournalState, Place
from microcosm.replica.store import APPLICATION, LogRecord, Records

PIECE = 1 << 20
"""Bytes of payload after which a piece ends."""


class Reader:
    """What is in a journal: a `Store` that cannot be written; any number of them, beside the one who writes.

    >>> from tempfile import TemporaryDirectory
    >>> from microcosm.replica.journal import Journal
    >>> with TemporaryDirectory() as folder:
    ...     with Journal.open(f"{folder}/a", application="doc", create=True) as journal:
    ...         with Reader(f"{folder}/a", application="doc") as reader:
    ...             before = reader.last()
    ...             at = journal.commit([("note", b"one")])
    ...             before, reader.last(), list(reader.records())
    (0, 1, [LogRecord(number=1, kind='note', payload=b'one')])
    """

    def __init__(
        self,
        path: AnyPath,
        *,
        application: str | None = APPLICATION,
        max_age: float = 1.0,
        disk: Disk = DISK,
    ) -> None:
        """Open for reading; `application` None reads the journal of any.

        No look at the journal lasts longer than `max_age` seconds and one record. Raises `JournalError` for
        what is no such journal, `DamagedJournal` where less is found than was durable before.
        """
        self._files = Files(Path(path))
        self._max_age = max_age
        self._turn = threading.Lock()
        self._files.must_be_journal()
        self._copied = ExitStack()
        """A copy that is read, where nothing can be written beside the journal."""
        seen = self._copied.enter_context(self._files.readable())
        with self._errors():
            self._connection: sqlite3.Connection | None = disk.connect(seen.database, "ro")
        try:
            with self._errors():
                self._connection.execute("PRAGMA busy_timeout = 5000")
                self._about = journal_schema.identify(self._connection, self._files.database, application)
            if self._about.schema != journal_schema.version():
                hint = "open it once for writing, which upgrades it"
                raise JournalError("is of an older version", file=str(path), hint=hint)
            self._compare()
        except BaseException:
            self.close()
            raise

    def __enter__(self) -> Reader:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    @property
    def path(self) -> Path:
        """Where the journal is."""
        return self._files.database

    def last(self) -> int:
        """The number of the last record."""
        with self._look() as connection:
            return journal_schema.reach(connection, self._about)[1]

    def records(self, after: int = 0, through: int | None = None) -> Iterator[LogRecord]:
        """The records of this moment above `after`, in order, up to the number `through` if it is given.

        Their chain is checked on the way. Raises `JournalError` if they are dropped by `compact` before they
        are read: then begin again, with the snapshot.
        """
        with self._look() as connection:
            first, last = journal_schema.reach(connection, self._about)
            at = max(after, first.number)
            until = last if through is None else min(through, last)
            start = Place(at, journal_schema.chain_at(connection, first, at) or b"")
        return self._pieces(start, until)

    def snapshot(self) -> tuple[int, bytes] | None:
        """The latest snapshot, its seal checked."""
        with self._look() as connection:
            journal_schema.base(connection, self._about)
            row = connection.execute("SELECT through, content FROM snapshot").fetchone()
        return None if row is None else (row[0], row[1])

    def commit(self, records: Records) -> int:
        """Raises `ReplicaError`: nothing can be written."""
        raise ReplicaError(f"{self.path}: is open for reading only")

    def compact(self, through: int, content: bytes) -> None:
        """Raises `ReplicaError`: nothing can be written."""
        raise ReplicaError(f"{self.path}: is open for reading only")

    def copy_to(self, target: sqlite3.Connection) -> JournalState:
        """Copy the database, as of one moment, over what is in `target`; the state of it, which is checked.

        What SQLite says of the target is raised as it is.
        """
        with self._turn:
            self._open().backup(target)
            with self._errors():
                return journal_schema.look(target, self._about)

    def close(self) -> None:
        """Read no more."""
        with self._turn:
            if self._connection is not None:
                self._connection.close()
            self._connection = None
            self._copied.close()

    def _pieces(self, at: Place, until: int) -> Iterator[LogRecord]:
        while at.number < until:
            piece: list[LogRecord] = []
            with self._look() as connection:
                end, size = monotonic() + self._max_age, 0
                if journal_schema.reach(connection, self._about)[0].number > at.number:
                    hint = "begin again, with the snapshot"
                    raise JournalError("was compacted while it was read", file=str(self.path), hint=hint)
                for record, _, chain in journal_schema.walk(connection, at, until):
                    piece.append(record)
                    size += len(record.payload)
                    at = Place(record.number, chain)
                    if size >= PIECE or monotonic() >= end:
                        break
            yield from piece

    def _compare(self) -> None:
        """Hold the journal to what the head file says of a moment before."""
        head = self._head()
        with self._look() as connection:
            if head.instance != self._about.instance:
                raise Broken("the head file is that of another copy")
            first, last = journal_schema.reach(connection, self._about)
            if head.number > last:
                raise Broken(journal_schema.missing(last, head))
            if head.number >= first.number:
                journal_schema.check_record(connection, first, head)

    def _head(self) -> journal_files.Head:
        """The head file; it may be read in the middle of a write, so a bad one is read again."""
        for _ in range(5):
            try:
                head = journal_files.read(self._files.head)
            except journal_files.BadHead as bad:
                fault = str(bad)
                continue
            if head is not None:
                return head
            fault = "the head file is missing"
        raise self._damaged(fault)

    @contextmanager
    def _look(self) -> Iterator[sqlite3.Connection]:
        """A transaction that reads; what is wrong becomes an error of ours."""
        with self._turn, self._errors():
            connection = self._open()
            connection.execute("BEGIN")
            try:
                yield connection
            finally:
                with suppress(sqlite3.Error):
                    connection.execute("ROLLBACK")

    def _open(self) -> sqlite3.Connection:
        if self._connection is None:
            raise JournalError("is closed", file=str(self.path))
        return self._connection

    @contextmanager
    def _errors(self) -> Iterator[None]:
        try:
            yield
        except Broken as broken:
            raise self._damaged(str(broken)) from None
        except sqlite3.DatabaseError as error:
            raise self._damaged(journal_schema.damage(error, self._files.database)) from None

    def _damaged(self, fault: str) -> DamagedJournal:
        hint = "`microcosm replica fsck` says more"
        return DamagedJournal((fault,), file=str(self.path), copy=None, hint=hint)
