"""Is what lies there what was written? Asked before SQLite may change anything.

SQLite takes the frames of its write-ahead log up to the first that does not check and forgets the rest
without a word, which is right for a transaction that a crash cut short and wrong for one that was durable. So
the log is scanned by our own code first, after "The Write-Ahead Log" in *SQLite File Format*: a header of 32
bytes, then frames of a header of 24 bytes and a page; a frame counts if it has the salts of the header and
its checksum continues that of the frame before. Then the database is read through a connection that cannot
write: SQLite sees what it would recover, and recovers nothing. Only a journal that passes is opened for
writing.
"""

from __future__ import annotations

import os
import sqlite3
import struct
from collections.abc import Callable
from contextlib import closing
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

from microcosm.errors import DamagedJournal, JournalError
from microcosm.files import AnyPath
from microcosm.replica.journal import files as journal_files
from microcosm.replica.journal import schema as journal_schema
from microcosm.replica.journal.files import DISK, Disk, Files, Head, HeadFile, Lock
from microcosm.replica.journal.schema import NO_SEAL, About, Broken, JournalState, Place

if TYPE_CHECKING:
    from microcosm.replica.journal.log import Reader

HEADER, FRAME = 32, 24
MAGIC = 0x377F0682
"""Of the header; its last bit says that checksums read words with the big end first."""


class Scan(NamedTuple):
    """What a log holds. Frames after the last good commit belong to no transaction that SQLite will see."""

    header: str = "none"
    """`good`, `none` (there is no log, or one that was begun and not written), or `bad`."""

    committed: int = 0
    """How many frames lie up to the last commit mark of those that check."""

    after: int = 0
    """How many whole frames after them carry the salts of the header."""

    marks: int = 0
    """How many of those carry a commit mark."""

    @property
    def faults(self) -> tuple[str, ...]:
        """What no crash explains: only the last transaction can be torn, and it has one commit mark."""
        if self.header == "bad":
            return ("the header of the write-ahead log does not check",)
        if self.marks > 1:
            where = f"frame {self.committed + 1} of the write-ahead log or one soon after"
            return (f"{where} does not check, and {self.marks} transactions follow it",)
        return ()


def scan(path: Path) -> Scan:
    """Read a log. Cost: its size, and some 25 MB a second for the frames that are in use."""
    try:
        content = path.read_bytes()
    except FileNotFoundError:
        return Scan()
    return scan_bytes(content)


def scan_bytes(content: bytes) -> Scan:
    """What a write-ahead log of this content holds.

    >>> scan_bytes(b"").header, scan_bytes(bytes(4128)).header, scan_bytes(b"x" * 99).header
    ('none', 'none', 'bad')
    """
    if not any(content[:HEADER]) or len(content) < HEADER:
        return Scan()
    magic, version, size, _, _, _, first, second = struct.unpack(">8I", content[:HEADER])
    order = ">" if magic & 1 else "<"
    if magic & ~1 != MAGIC or version != 3_007_000 or size < 512 or size > 65_536 or size & (size - 1):
        return Scan("bad")
    running = _checksum(content[: HEADER - 8], order, (0, 0))
    if running != (first, second):
        return Scan("bad")
    return _frames(content, size, order, running)


def _frames(content: bytes, size: int, order: str, running: tuple[int, int]) -> Scan:
    salts = content[16:24]
    view = memoryview(content)
    good, committed, after, marks = True, 0, 0, 0
    for index, at in enumerate(range(HEADER, len(content) - FRAME - size + 1, FRAME + size)):
        page, mark = struct.unpack_from(">2I", content, at)
        ours = content[at + 8 : at + 16] == salts
        if good:
            good = ours and page != 0
            if good:
                running = _checksum(view[at : at + 8], order, running)
                running = _checksum(view[at + FRAME : at + FRAME + size], order, running)
                good = running == struct.unpack_from(">2I", content, at + 16)
        if good and mark:
            committed, after, marks = index + 1, 0, 0
        elif ours:
            after += 1
            marks += mark != 0
    return Scan("good", committed, after, marks)


def _checksum(content: bytes | memoryview, order: str, running: tuple[int, int]) -> tuple[int, int]:
    """Two sums modulo 2**32 over pairs of words, each adding the other: Fibonacci-weighted."""
    one, two = running
    words = struct.unpack(f"{order}{len(content) // 4}I", content)
    for i in range(0, len(words), 2):
        one = (one + words[i] + two) & 0xFFFFFFFF
        two = (two + words[i + 1] + one) & 0xFFFFFFFF
    return one, two


def recovered(connection: sqlite3.Connection, state: JournalState) -> bool:
    """Whether a journal that was found in a state, and has since been recovered by SQLite, is in that state.

    Cost: that of counting; the records are not read again.
    """
    row = connection.execute("SELECT through, chain, edition, seal FROM snapshot").fetchone()
    base, seals = (Place(*row[:2]), row[2:]) if row else (Place(0, state.base.chain), (0, NO_SEAL))
    [ends] = connection.execute("SELECT count(*), min(number), max(number) FROM record").fetchall()
    first, last = state.base.number, state.last.number
    if base != state.base or seals != (state.edition, state.seal):
        return False
    if ends != ((last - first, first + 1, last) if last > first else (0, None, None)):
        return False
    return journal_schema.chain_at(connection, state.base, last) == state.last.chain


def disagreement(connection: sqlite3.Connection, state: JournalState, head: Head | None) -> str | None:
    """What is wrong with a state, given what was durable; None if nothing is.

    In the mode `full` a crash between the two syncs of a commit leaves the journal one transaction ahead of
    the head, and nothing else does; in the weaker modes it may be ahead by any number.
    """
    if head is None:
        return "the head file is missing"
    if head.instance != state.instance:
        return "the head file is that of another copy"
    last = state.last.number
    if head.number > last:
        return journal_schema.missing(last, head)
    if head.edition > state.edition or (head.edition == state.edition and head.seal != state.seal):
        return f"the snapshot through record {head.through}, which was durable, is missing"
    if head.number >= state.base.number:
        try:
            journal_schema.check_record(connection, state.base, head)
        except Broken as broken:
            return str(broken)
    if head.mode != "full" or (head.number, head.edition) == (last, state.edition):
        return None
    appended = head.edition == state.edition and state.since == head.number
    compacted = head.edition + 1 == state.edition and head.number == last
    if appended or compacted:
        return None
    return f"the head file is more than a transaction behind, at record {head.number} of {last}"


class Findings(NamedTuple):
    """What was found; without `faults` there are an `about`, a `state` and a `head`."""

    wal: Scan
    about: About | None
    state: JournalState | None
    head: Head | None
    faults: tuple[str, ...]


def examine(files: Files, application: str | None, disk: Disk) -> Findings:
    """Look at all of a journal, changing nothing. The caller holds the lock.

    Raises `JournalError` for what is no journal of this application or of a newer version. Cost: all bytes.
    """
    files.must_exist()
    faults: list[str] = []
    wal = scan(files.wal)
    try:
        head = journal_files.read(files.head)
    except journal_files.BadHead as bad:
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
                state = journal_schema.look(connection, about)
                wrong = disagreement(connection, state, head)
                if wrong and not bad_head:
                    faults.append(wrong)
    except Broken as broken:
        faults.append(str(broken))
    except sqlite3.DatabaseError as error:
        faults.append(journal_schema.damage(error, files.database))
    return Findings(wal, about, state, head, tuple(faults))


Fill = Callable[[sqlite3.Connection], JournalState | None]
"""Writes a journal; its state, if that is known by then."""


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

    Raises `JournalError` where something is there, `LockedJournal` where somebody else makes it.
    """
    files = Files(Path(path))
    _must_be_free(files)

    def fill(connection: sqlite3.Connection) -> JournalState:
        state = reader.copy_to(connection)
        rename(connection)
        return state

    lock = Lock(files.lock, files.database)  # as whoever begins a journal there
    try:
        _must_be_free(files)
        try:
            return build(files, fill, DISK).last.number
        except BaseException:
            files.remove()
            raise
    finally:
        files.lock.unlink(missing_ok=True)
        lock.release()


def _must_be_free(files: Files) -> None:
    if files.database.exists() or files.head.exists():
        hint = "choose another place: a backup replaces nothing"
        raise JournalError("exists already", file=str(files.database), hint=hint)


def rename(connection: sqlite3.Connection) -> None:
    """Make a copy known as one."""
    connection.execute("UPDATE about SET value = ? WHERE name = 'instance'", (os.urandom(16),))


def build(files: Files, fill: Fill, disk: Disk) -> JournalState:
    """Put a journal at `files` that `fill` writes; what lies there is replaced. The state of it."""
    new = files.new()
    try:
        with closing(disk.connect(new.database, "rwc")) as connection:
            state = fill(connection)
            connection.execute("PRAGMA journal_mode = WAL")
            connection.execute("PRAGMA wal_checkpoint(TRUNCATE)")
            about = journal_schema.identify(connection, files.database, None)
            state = state or journal_schema.survey(connection, about)
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
        why = getattr(error, "strerror", None) or error
        raise JournalError(f"cannot be written: {why}", file=str(files.database)) from None
    finally:
        files.new()
    return state


class FsckReport(NamedTuple):
    """What a check found, and what a repair did.

    `first` and `last` are the numbers of the records that check (`last < first`: there are none), `snapshot`
    that of the last one before them, None without one. `dropped` counts the frames of a last transaction that
    a crash cut short, of which nobody was told: no fault. `lost` is the last number that is known to have
    been durable and is no more.
    """

    application: str
    version: int
    snapshot: int | None
    first: int
    last: int
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
            version=about.schema,
            snapshot=first.number or None,
            first=first.number + 1,
            last=good.number,
            dropped=findings.wal.after,
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
                first = good = journal_schema.base(connection, about)[0]
                for record, _, chain in journal_schema.walk(connection, first):
                    good = Place(record.number, chain)
        except Broken:
            pass
        except sqlite3.DatabaseError as error:
            journal_schema.damage(error, files.database)
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
            row = damaged.execute(
                "SELECT only_one, through, edition, chain, seal, content FROM snapshot"
            ).fetchone()
            connection.execute("BEGIN IMMEDIATE")
            if row is not None:
                connection.execute(journal_schema.SNAPSHOT, row)
            start = journal_schema.base(connection, about)[0]
            whole = journal_schema.walk(damaged, start, good.number) if good != start else ()
            for record, since, chain in whole:
                values = (record.number, since, record.kind, record.payload, chain)
                connection.execute(journal_schema.APPEND, values)
            connection.execute("COMMIT")

    build(files, fill, disk)
