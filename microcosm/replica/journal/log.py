"""The journal: an append-only log of records in a file, of which nothing that was acknowledged is ever lost.

It is a table of SQLite with a write-ahead log, and three things more, because SQLite takes what it finds for
what was written: a chain of hashes through the records, a head file that says how far they were durable, and
a look at both before SQLite recovers (`examine`). What a commit does, in this order:

1. the records of all who wait are appended in one transaction, and the write-ahead log is synced;
2. the head file is written and synced;
3. the numbers are returned. A crash before 2 leaves the journal one transaction ahead of the head, which is
   how it is known that the transaction may stand though nobody was told.

One connection writes and checkpoints, behind one lock of the process and one file lock for all processes; so
the WAL-reset bug of SQLite before 3.51.3, which needs two that do, cannot occur. Not for network file
systems.
"""

from __future__ import annotations

import os
import sqlite3
import threading
from collections.abc import Iterator
from contextlib import AbstractContextManager, ExitStack, contextmanager, suppress
from pathlib import Path
from time import monotonic
from typing import Literal

from microcosm.errors import DamagedJournal, JournalError, ReplicaError
from microcosm.files import AnyPath
from microcosm.replica.journal import files as journal_files
from microcosm.replica.journal import schema as journal_schema
from microcosm.replica.journal.examine import backup, examine, make
from microcosm.replica.journal.files import DISK, Disk, Files, Lock
from microcosm.replica.journal.schema import Broken, JournalState, Place
from microcosm.replica.journal.writer import GroupCommit, Writer
from microcosm.replica.store import APPLICATION, LogRecord, Records

Mode = Literal["full", "normal", "off"]
"""`full`: what is acknowledged outlasts a loss of power. `normal`: a crash of the process; a loss of power
may take what came after the last checkpoint. `off`: a crash of the process; a loss of power may damage all of
it."""

LARGEST = 1 << 28
"""Bytes of a payload, or of the content of a snapshot, at most."""


class Journal(AbstractContextManager["Journal"]):
    """A `Store` in a file. All methods may be called from any thread; a forked process must not use it.

    >>> from tempfile import TemporaryDirectory
    >>> with TemporaryDirectory() as folder:
    ...     with Journal.open(f"{folder}/a", application="doc", create=True) as journal:
    ...         with journal.group():
    ...             numbers = [journal.commit([("note", word)]) for word in (b"one", b"two")]
    ...     with Journal.open(f"{folder}/a", application="doc") as journal:
    ...         numbers, list(journal.records(after=1))
    ([1, 2], [LogRecord(number=2, kind='note', payload=b'two')])
    """

    slow = True
    """Commits wait for a disk: whoever has something else to do leaves them to a thread."""

    def __init__(self, files: Files, lock: Lock, writer: Writer, reader: Reader) -> None:
        """For `open` only."""
        self._files, self._lock, self._writer = files, lock, writer
        self.reader = reader
        """Its own reader, until it is closed; also when it cannot be written any more."""
        self._turn = threading.RLock()
        """Who has it uses the writer."""
        self._commits = GroupCommit(self._turn, self._append)
        self._group: list[tuple[str, bytes]] | None = None
        self._grouping: int | None = None
        """The thread whose group that is."""
        self._process = os.getpid()

    @classmethod
    def open(
        cls, path: AnyPath, *, application: str, mode: Mode = "full", create: bool = False, disk: Disk = DISK
    ) -> Journal:
        """Open a journal for writing; with `create` a new one where there is none.

        `application` says whose records these are; the journal of another is refused. Raises `LockedJournal`
        where somebody else writes it, `DamagedJournal` (after keeping a copy) where it is not as it was left,
        `JournalError` for what is no journal, or of a newer version. Cost: all bytes are read and checked.
        """
        if mode not in journal_files.MODES:
            raise ValueError(f"no such mode: {mode}")
        files = Files(Path(path))
        if not create or files.database.exists():
            files.must_be_journal()
        lock = Lock(files.lock, files.database)
        try:
            if create and not files.database.exists():
                make(files, application, disk)
            findings = examine(files, application, disk)
            if findings.faults:
                hint = "`microcosm replica fsck` says more, and cuts with --repair; or restore a backup"
                raise DamagedJournal(findings.faults, file=str(path), copy=files.try_to_keep(), hint=hint)
            writer = Writer(files, disk, mode, application, findings.state)
            try:
                reader = Reader(files.database, application=application, disk=disk)
            except BaseException:
                writer.close()
                raise
            return cls(files, lock, writer, reader)
        except BaseException:
            lock.release()
            raise

    def __exit__(self, *_: object) -> None:
        self.close()

    @property
    def last(self) -> int:
        """The number of the last record that is durable."""
        return self._writer.state.last.number

    @property
    def instance(self) -> bytes:
        """16 random bytes of this copy: a backup has others, and so has what `fsck` cut.

        Who finds another instance than it knows works on an older state than others may have seen of it.
        """
        return self._writer.state.instance

    def commit(self, records: Records) -> int:
        """Append records; those of several threads share a transaction. In a `group` they wait for its end.

        Raises `JournalError` where they could not be written: then none of them is, unless the error says
        that the journal stopped, when only opening it again tells. Cost: two syncs, shared with who waits as
        well.
        """
        self._check_records(records)
        if self._grouping == threading.get_ident():
            assert self._group is not None
            self._group += records
            return self.last + len(self._group)
        return self._commits.commit(records)

    @contextmanager
    def group(self) -> Iterator[None]:
        """All that this thread commits within is one transaction, durable when the block ends well.

        The numbers that `commit` returns inside are those that the records will have. A block that raises
        writes nothing. Other threads wait; a group within a group is part of it.
        """
        if self._grouping == threading.get_ident():
            yield
            return
        with self._turn:
            self._check_open()
            self._group, self._grouping = [], threading.get_ident()
            try:
                yield
                self._writer.append(self._group)
            finally:
                self._group = self._grouping = None

    def records(self, after: int = 0) -> Iterator[LogRecord]:
        """The durable records above `after`, from the snapshot on; see `Store` and `Reader.records`.

        Also where a failure has stopped it: those that were acknowledged.
        """
        self._check_open(for_writing=False)
        return self.reader.records(after, self.last)

    def snapshot(self) -> tuple[int, bytes] | None:
        """The latest snapshot."""
        self._check_open(for_writing=False)
        return self.reader.snapshot()

    def compact(self, through: int, content: bytes) -> None:
        """Let `content` stand for the records up to `through`; durable on return, even in a `group`."""
        self._check_records([("snapshot", content)])
        with self._turn:
            self._check_open()
            self._writer.compact(through, content)

    def backup(self, path: AnyPath) -> int:
        """Copy the journal as it is now to `path`, where nothing may be; the number of the last record in it.

        Commits go on meanwhile. The copy is a journal like any other, of another instance.
        """
        self._check_open()
        return backup(self.reader, path)

    def close(self) -> None:
        """Bring everything into the database and let go of it."""
        with self._turn:
            if self._process == os.getpid():
                self.reader.close()
                self._writer.close()
            self._lock.release()

    def _append(self, records: Records) -> int:
        """Append records; the number of the last before them. The caller has the turn."""
        self._check_open()
        before = self._writer.state.last.number
        self._writer.append(records)
        return before

    def _check_records(self, records: Records) -> None:
        for kind, payload in records:
            if not isinstance(kind, str) or not isinstance(payload, bytes):
                raise TypeError("a record is a kind (str) and a payload (bytes)")
            if len(payload) > LARGEST:
                why = f"a record takes {LARGEST:,} bytes at most, and {kind!r} has {len(payload):,}"
                raise JournalError(why, file=str(self._files.database))

    def _check_open(self, *, for_writing: bool = True) -> None:
        if self._process != os.getpid():
            raise JournalError("was opened before a fork, by another process", file=str(self._files.database))
        if for_writing:
            self._writer.check_open()


PIECE = 1 << 20
"""Bytes of payload after which a piece ends."""


class Reader(AbstractContextManager["Reader"]):
    """What is in a journal: a `Store` that cannot be written; any number of them, beside the one who writes.

    What is read is fetched in pieces, each in a transaction of its own that ends before the piece is handed
    out: nobody who reads slowly, or stops reading, keeps the write-ahead log from being reset.

    >>> from tempfile import TemporaryDirectory
    >>> with TemporaryDirectory() as folder:
    ...     with Journal.open(f"{folder}/a", application="doc", create=True) as journal:
    ...         with Reader(f"{folder}/a", application="doc") as reader:
    ...             before = reader.last()
    ...             at = journal.commit([("note", b"one")])
    ...             before, reader.last(), list(reader.records())
    (0, 1, [LogRecord(number=1, kind='note', payload=b'one')])
    """

    def __init__(
        self, path: AnyPath, *, application: str | None = APPLICATION, max_age: float = 1.0, disk: Disk = DISK
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
