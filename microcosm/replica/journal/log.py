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
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from itertools import pairwise
from pathlib import Path
from time import perf_counter
from typing import Literal

from microcosm.errors import DamagedJournal, JournalError
from microcosm.files import AnyPath
from microcosm.replica.journal import files as journal_files
from microcosm.replica.journal.examine import backup, examine, make
from microcosm.replica.journal.files import DISK, Disk, Files, Lock
from microcosm.replica.journal.reader import Reader
from microcosm.replica.journal.writer import Writer
from microcosm.replica.store import LogRecord, Records

Mode = Literal["full", "normal", "off"]
"""`full`: what is acknowledged outlasts a loss of power. `normal`: a crash of the process; a loss of power
may take what came after the last checkpoint. `off`: a crash of the process; a loss of power may damage all of
it."""

LARGEST = 1 << 28
"""Bytes of a payload, or of the content of a snapshot, at most."""


class Journal:
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
        cls,
        path: AnyPath,
        *,
        application: str,
        mode: Mode = "full",
        create: bool = False,
        disk: Disk = DISK,
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

    def __enter__(self) -> Journal:
        return self

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


@dataclass(slots=True, eq=False)
class Commit:
    """Records that somebody wants to have committed, and what became of that."""

    records: Records
    done: bool = False
    leads: bool = False
    """Whether it is its turn to write, for all who wait."""
    gone: bool = False
    """Whether who wanted it does not wait for it any more."""
    number: int = 0
    error: BaseException | None = None
    following: Commit | None = None
    """Whom to wake, once it is done."""
    wake: threading.Lock = field(default_factory=threading.Lock)
    """Held until it is done, or leads."""

    def __post_init__(self) -> None:
        self.wake.acquire()


class GroupCommit:
    """Those who wait for a commit. `append` writes records in one transaction, and returns the number of the
    last record before them; it is called by who has the `turn`.

    Who is woken, with its records written, wakes the next one: were all of them woken at once, they would
    stand in line for the interpreter.
    """

    def __init__(self, turn: threading.RLock, append: Callable[[Records], int]) -> None:
        self._turn, self._append = turn, append
        self.queue = threading.Condition()
        """Who has it uses the four below; notified when as many wait as last time."""
        self.waiting: list[Commit] = []
        self._leading = False
        self._crowd = 1
        self._patience = 0.0

    def commit(self, records: Records) -> int:
        """Wait until records are written, or write them; the number of the last.

        Raises what `append` does.
        """
        mine = Commit(records)
        with self.queue:
            self.waiting.append(mine)
            if len(self.waiting) >= self._crowd:
                self.queue.notify_all()
            mine.leads, self._leading = not self._leading, True
        try:
            if not mine.leads:
                mine.wake.acquire()
            if not mine.done:
                self._write()
        finally:
            if not mine.done:  # interrupted
                self._withdraw(mine)
            if mine.following is not None:
                mine.following.wake.release()
        if mine.error is not None:
            raise mine.error
        return mine.number

    def _write(self) -> None:
        """Write all that anybody waits for as one transaction; each learns its number, or all the error.

        Those who waited last time will be back in a moment, and are worth waiting for: not longer than a
        quarter of what a transaction takes. Then the next of those who wait is woken to do the same.
        """
        with self._turn:
            with self.queue:
                self.queue.wait_for(lambda: len(self.waiting) >= self._crowd, self._patience)
                batch, self.waiting = self.waiting, []
            began, number, error = perf_counter(), 0, None
            try:
                number = self._append([record for each in batch for record in each.records])
            except BaseException as stopped:
                error = stopped
        with self.queue:
            others = [each for each in batch if not (each.leads or each.gone)]
            for each, following in pairwise(others):
                each.following = following
            for each in batch:
                number += len(each.records)
                each.number, each.error, each.done = number, error, True
            self._crowd = len(batch) + len(self.waiting)
            self._patience = min(0.25 * (perf_counter() - began), 0.01)
            self._pass_on()
        for each in others[:1]:
            each.wake.release()

    def _pass_on(self) -> None:
        """Let the next of those who wait lead. The caller has the queue."""
        self._leading = bool(self.waiting)
        for following in self.waiting[:1]:
            following.leads = True
            following.wake.release()

    def _withdraw(self, mine: Commit) -> None:
        """Wait no more."""
        with self.queue:
            mine.gone = True
            if mine in self.waiting:
                self.waiting.remove(mine)
                if mine.leads:
                    self._pass_on()
