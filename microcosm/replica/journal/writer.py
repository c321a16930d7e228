"""The one connection that writes a journal, and those who wait for it: one thread uses it at a time."""

from __future__ import annotations

import os
import sqlite3
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from itertools import pairwise
from time import perf_counter

from microcosm.errors import DamagedJournal, JournalError, LostJournal
from microcosm.replica.journal import files as journal_files
from microcosm.replica.journal import schema as journal_schema
from microcosm.replica.journal.examine import disagreement, recovered
from microcosm.replica.journal.files import Disk, Files, FilesInPlace, Head, HeadFile
from microcosm.replica.journal.schema import Broken, JournalState, Place
from microcosm.replica.store import Records, check_reach


class Writer:
    """Appends, compacts and checkpoints; `state` is what is durable, `stopped` why no more can be written."""

    CHECKPOINT = 4 << 20
    """Bytes of the write-ahead log after which it is brought into the database."""

    RESERVE = 1 << 18
    """Bytes of it after which it is made as large as it will become, and more than that."""

    def __init__(
        self, files: Files, disk: Disk, mode: str, application: str, found: JournalState | None
    ) -> None:
        """Take over a journal that `examine` found whole, in the state `found` (None: its tables are of an
        older version). The caller holds the lock.
        """
        self._files, self._disk, self._mode = files, disk, mode
        self._pending = 0
        self._reserved = False
        self._schema = journal_schema.version()
        self._watch: FilesInPlace | None = None
        self.stopped: str | None = None
        self.transactions = 0
        self._head: HeadFile | None = None
        with self._errors():
            self._connection = disk.connect(files.database, "rw")
        try:
            with self._errors():
                self.state = self._recover(disk, application, found)
        except BaseException:
            self.close()
            raise

    def append(self, records: Records) -> None:
        """Write records in one transaction; in the mode `full` they are durable on return."""
        self.check_open()
        if not records:
            return
        size = 0
        number, chain = since, _ = self.state.last
        link = journal_schema.link
        rows = []
        for kind, payload in records:
            number += 1
            chain = link(chain, number, kind.encode(), payload)
            rows.append((number, since, kind, payload, chain))
            size += len(payload)
        with self._writing():
            self._connection.executemany(journal_schema.APPEND, rows)
            self._finish(self.state._replace(last=Place(number, chain), since=since), size)
        if self._pending > self.CHECKPOINT:
            self.checkpoint()
        elif self._pending > self.RESERVE and not self._reserved:
            self._reserve()

    def compact(self, through: int, content: bytes) -> None:
        """Replace the records up to `through`; then bring the log into the database, whose pages are free."""
        self.check_open()
        state = self.state
        check_reach(through, state.base.number, state.last.number)
        with self._writing():
            chain = state.base.chain
            if through > state.base.number:
                query = "SELECT chain FROM record WHERE number = ?"
                [[chain]] = self._connection.execute(query, (through,)).fetchall()
            edition = state.edition + 1
            seal = journal_schema.seal(through, edition, chain, content)
            row = (through, edition, chain, seal, content)
            self._connection.execute(journal_schema.SNAPSHOT, (1, *row))
            self._connection.execute("DELETE FROM record WHERE number <= ?", (through,))
            base = Place(through, chain)
            since = max(state.since, through)
            self._finish(state._replace(base=base, edition=edition, seal=seal, since=since), len(content))
        self.checkpoint()

    def checkpoint(self, how: str = "PASSIVE") -> None:
        """Bring the log into the database as far as readers allow; what fails is tried again later."""
        assert self._head is not None
        self._pending = 0  # if readers are in the way, the next time is after as many bytes
        try:
            if how == "PASSIVE" and self._files.wal.stat().st_size > 4 * self.CHECKPOINT:
                how = "TRUNCATE"  # it waits for the readers: their looks are short
                self._reserved = False
            busy, frames, done = self._connection.execute(f"PRAGMA wal_checkpoint({how})").fetchone()
            if not busy and frames == done and self._mode != "full":
                self._head.advance(self.head(), sync=self._mode == "normal")
        except (sqlite3.Error, OSError) as error:
            if _name(error) not in ("SQLITE_FULL", "SQLITE_BUSY", "SQLITE_LOCKED"):
                self._stop(error)

    def head(self) -> Head:
        """What the head file has to say of the state, when it is written next."""
        assert self._head is not None
        instance, base, edition, seal, (number, chain), _ = self.state
        return Head(
            self._head.next, self._schema, self._mode, instance, number, chain, base.number, edition, seal
        )

    def check_open(self) -> None:
        """Raise `JournalError` where a failure has stopped this."""
        if self.stopped:
            raise JournalError(self.stopped, file=str(self._files.database))

    def close(self) -> None:
        """Bring everything into the database, unless stopped, and let go of it."""
        if self._head is not None:
            if self.stopped is None:
                self.checkpoint("TRUNCATE")
            self._head.close()
            self._head = None
        self.stopped = self.stopped or "is closed"
        with suppress(sqlite3.Error):
            self._connection.close()

    def _recover(self, disk: Disk, application: str, found: JournalState | None) -> JournalState:
        """Upgrade the tables, sync what a crash left unsynced, and write a head for the mode from now on."""
        execute = self._connection.execute
        execute("PRAGMA busy_timeout = 5000")
        if execute("PRAGMA journal_mode = WAL").fetchone()[0] != "wal":
            raise Broken("the database does not keep a write-ahead log")
        for pragma in ("synchronous = FULL", "fullfsync = ON", "checkpoint_fullfsync = ON"):
            execute(f"PRAGMA {pragma}")
        execute("PRAGMA wal_autocheckpoint = 0")
        execute("PRAGMA cache_spill = OFF")  # frames reach the log at a commit and at no other time
        head = journal_files.read(self._files.head)
        execute("BEGIN IMMEDIATE")
        about = journal_schema.identify(self._connection, self._files.database, application)
        if about.schema < journal_schema.version():
            journal_schema.upgrade(self._connection, about.schema)
        self.state = state = journal_schema.look(self._connection, about) if found is None else found
        if found is not None and not recovered(self._connection, found):
            raise Broken("SQLite has recovered something else than there was")
        wrong = disagreement(self._connection, state, head)
        if wrong or head is None:
            raise Broken(wrong or "the head file is missing")
        execute("COMMIT")
        busy, _, _ = execute("PRAGMA wal_checkpoint(TRUNCATE)").fetchone()
        if busy:
            raise JournalError("is being read by somebody who does not stop", file=str(self._files.database))
        self._head = HeadFile(disk, self._files.head, head)
        self._head.advance(self.head())
        execute(f"PRAGMA synchronous = {self._mode}")
        self._watch = FilesInPlace(self._files)
        execute("PRAGMA busy_timeout = 500")  # how long a checkpoint waits for readers
        return state

    def _finish(self, state: JournalState, size: int) -> None:
        """Commit, then say so in the head file; nothing is written to files that are not in their place."""
        assert self._head is not None
        assert self._watch is not None
        missing = self._watch.missing()
        if not missing:
            self._connection.execute("COMMIT")
            self.state = state
            if self._mode == "full":
                self._head.advance(self.head())
            missing = self._watch.missing()
        if missing:
            hint = "put them or their rights back, or restore a backup; what was acknowledged was in them"
            message = "its files were deleted or replaced, or may not be looked at"
            raise LostJournal(message, file=str(self._files.database), hint=hint)
        self._pending += size + 3 * 4096
        self.transactions += 1

    def _reserve(self) -> None:
        """Fill the write-ahead log with zeros as far as it will grow before it is written from its beginning.

        To sync a file that grows takes a journalling file system twice as long as one that does not. Zeros
        are no frames: SQLite passes over them, and so does `scan`. Where there is no room, it grows as usual.
        """
        self._reserved = True
        wal = self._files.wal
        size = wal.stat().st_size
        missing = self.CHECKPOINT + self.CHECKPOINT // 4 - size
        if self._mode == "off" or missing <= 0:
            return
        flat = self._disk.flat(wal)
        try:
            flat.write(size, bytes(missing))
            flat.sync()
        except OSError:
            with suppress(OSError):
                os.truncate(wal, size)
        finally:
            flat.close()

    @contextmanager
    def _writing(self) -> Iterator[None]:
        """A transaction; if it fails nobody is told that it is durable.

        For lack of space it is undone and the journal goes on. After any other failure it is not known what
        the system has written: only opening it again tells.
        """
        state = self.state
        try:
            with self._errors():
                self._connection.execute("BEGIN IMMEDIATE")
                yield
        except BaseException as error:
            cause = error.__cause__ or error
            if self.state is not state or _name(cause) != "SQLITE_FULL" or not self._undo():
                self._stop(cause)
            raise

    def _undo(self) -> bool:
        """Roll back, and leave no frames of it behind in the log; whether that succeeded."""
        try:
            if self._connection.in_transaction:
                self._connection.execute("ROLLBACK")
            return not self._connection.execute("PRAGMA wal_checkpoint(TRUNCATE)").fetchone()[0]
        except (sqlite3.Error, OSError):
            return False

    def _stop(self, error: BaseException) -> None:
        self.stopped = f"stopped after a failure ({error}): open it again"

    @contextmanager
    def _errors(self) -> Iterator[None]:
        """What SQLite and the system say, as one line that names the journal."""
        file = str(self._files.database)
        try:
            yield
        except Broken as broken:
            hint = "`microcosm replica fsck` says more"
            raise DamagedJournal(
                (str(broken),), file=file, copy=self._files.try_to_keep(), hint=hint
            ) from None
        except (sqlite3.Error, OSError) as error:
            room = "make room: nothing that was durable is lost" if _name(error) == "SQLITE_FULL" else None
            raise JournalError(f"cannot be written: {error}", file=file, hint=room) from error


def _name(error: BaseException) -> str:
    return getattr(error, "sqlite_errorname", "")


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
