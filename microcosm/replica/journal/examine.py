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

import sqlite3
import struct
from collections.abc import Iterator
from contextlib import closing
from dataclasses import dataclass
from pathlib import Path
from typing import NamedTuple

from microcosm.errors import JournalError, MicrocosmError
from microcosm.replica.journal import files as journal_files
from microcosm.replica.journal import schema as journal_schema
from microcosm.replica.journal.files import Disk, Files, Head
from microcosm.replica.journal.schema import About
from microcosm.replica.store import LogRecord

HEADER, FRAME = 32, 24
MAGIC = 0x377F0682
"""Of the header; its last bit says that checksums read words with the big end first."""


@dataclass(frozen=True, slots=True)
class Scan:
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


ROWS = "SELECT number, since, CAST(kind AS BLOB), payload, chain FROM record"
ROW_TYPES = (int, int, bytes, bytes, bytes)
Row = tuple[int, int, bytes, bytes, bytes]
NO_SEAL = bytes(journal_schema.HASH_SIZE)
"""In place of the seal of a snapshot, where there is none."""


class Broken(MicrocosmError):
    """The chain does not hold, or a row is not of the form that was written; the text says where."""


class Place(NamedTuple):
    """Where a chain is: at the record `number`, whose hash is `chain`."""

    number: int
    chain: bytes


class JournalState(NamedTuple):
    """How far a journal goes: its snapshot, its last record, and the record before the last transaction."""

    instance: bytes
    base: Place
    edition: int
    seal: bytes
    last: Place
    since: int


def base(connection: sqlite3.Connection, about: About) -> tuple[Place, int, bytes]:
    """Where the records begin, and the edition and seal of the snapshot before them. Raises `Broken`."""
    row = connection.execute("SELECT through, edition, chain, seal, content FROM snapshot").fetchone()
    if row is None:
        return Place(0, journal_schema.genesis(about.application, about.identity)), 0, NO_SEAL
    through, edition, chain, seal, content = row
    if tuple(map(type, row)) != ROW_TYPES or min(through, edition) < 0:
        raise Broken("the snapshot does not check")
    if journal_schema.seal(through, edition, chain, content) != seal:
        raise Broken("the snapshot does not check")
    return Place(through, chain), edition, seal


def rows(connection: sqlite3.Connection, start: Place, until: int | None = None) -> Iterator[Row]:
    """The rows (`ROWS`) of the records after `start` up to `until`, in order. Raises `Broken`.

    Cost: some microseconds a record; all that is read of a journal comes through here, when it is opened too.
    """
    last, before = start
    # A limit, and not a bound of the numbers: what lies beyond may be on a page that cannot be read.
    query = f"{ROWS} WHERE number > ? ORDER BY number LIMIT ?"
    link = journal_schema.link
    for row in connection.execute(query, (last, -1 if until is None else until - last)):
        number, since, kind, payload, chain = row
        last += 1
        if number != last or (type(number), type(since)) != (int, int):
            raise Broken(f"record {last} is missing or has no form")
        if type(kind) is not bytes or type(payload) is not bytes or type(chain) is not bytes:
            raise Broken(f"record {last} is missing or has no form")
        if not 0 <= since < number or link(before, number, kind, payload) != chain:
            raise Broken(f"the chain breaks at record {number}")
        yield row
        before = chain
    if until is not None and last != until:
        raise Broken(f"record {last + 1} is missing")


def walk(
    connection: sqlite3.Connection, start: Place, until: int | None = None
) -> Iterator[tuple[LogRecord, int, bytes]]:
    """The records after `start` up to `until`, each with its `since` and its hash. Raises `Broken`."""
    for number, since, kind, payload, chain in rows(connection, start, until):
        yield LogRecord(number, kind.decode(), payload), since, chain


def survey(connection: sqlite3.Connection, about: About) -> JournalState:
    """The state of a journal all of whose records check. Cost: all its bytes, once. Raises `Broken`."""
    start, edition, seal = base(connection, about)
    covered = "SELECT count(*) FROM record WHERE number <= ?"
    [[below]] = connection.execute(covered, (start.number,)).fetchall()
    if below:
        raise Broken(f"{below} records are there that the snapshot stands for")
    last, since, chain = start.number, start.number, start.chain
    for number, written_after, _, _, link in rows(connection, start):
        group = max(written_after, start.number)  # a snapshot may stand for a part of a transaction
        if group not in (since, last):
            raise Broken(f"record {number} is in no transaction")
        last, since, chain = number, group, link
    return JournalState(about.instance, start, edition, seal, Place(last, chain), since)


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
    return chain_at(connection, state.base, last) == state.last.chain


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
        return missing(last, head)
    if head.edition > state.edition or (head.edition == state.edition and head.seal != state.seal):
        return f"the snapshot through record {head.through}, which was durable, is missing"
    if head.number >= state.base.number:
        try:
            check_record(connection, state.base, head)
        except Broken as broken:
            return str(broken)
    if head.mode != "full" or (head.number, head.edition) == (last, state.edition):
        return None
    appended = head.edition == state.edition and state.since == head.number
    compacted = head.edition + 1 == state.edition and head.number == last
    if appended or compacted:
        return None
    return f"the head file is more than a transaction behind, at record {head.number} of {last}"


def missing(last: int, head: Head) -> str:
    """What is said where the records end before the head."""
    return f"records {last + 1} to {head.number}, which were durable, are missing"


def check_record(connection: sqlite3.Connection, start: Place, head: Head) -> None:
    """Raise `Broken` where the record of the head is another one than was durable."""
    if chain_at(connection, start, head.number) != head.chain:
        raise Broken(f"record {head.number} is not the one that was durable")


def chain_at(connection: sqlite3.Connection, start: Place, number: int) -> bytes | None:
    """The hash that a record carries, or that the records begin with; None where there is no such record."""
    if number == start.number:
        return start.chain
    row = connection.execute("SELECT chain FROM record WHERE number = ?", (number,)).fetchone()
    return row[0] if row else None


def reach(connection: sqlite3.Connection, about: About) -> tuple[Place, int]:
    """Where the records begin, and the number of the last. Cost: nothing is checked, so it is small."""
    row = connection.execute("SELECT through, chain FROM snapshot").fetchone()
    first = Place(*row) if row else Place(0, journal_schema.genesis(about.application, about.identity))
    [[last]] = connection.execute("SELECT max(number) FROM record").fetchall()
    return first, first.number if last is None else int(last)


@dataclass(frozen=True)
class Findings:
    """What was found; without `faults` there are an `about`, a `state` and a `head`."""

    wal: Scan
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
                state = look(connection, about)
                wrong = disagreement(connection, state, head)
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
    return survey(connection, about)
