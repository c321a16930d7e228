"""What a journal is on the disk: its tables in each version, and the chain of hashes through its records.

Each record carries H(hash of the record before it, number, kind, payload), H being BLAKE2b with 32 bytes: a
record that was changed, moved or left out breaks the chain. It begins at a hash of what the journal is; a
snapshot keeps the hash that it goes on from. The numbers and lengths are written with fixed widths, so that
no two different records are the same bytes.
"""

from __future__ import annotations

import sqlite3
import struct
from collections.abc import Iterator
from hashlib import blake2b
from pathlib import Path
from typing import NamedTuple

from microcosm.errors import JournalError, MicrocosmError
from microcosm.replica.journal.files import APPLICATION_ID, Files, Head
from microcosm.replica.store import LogRecord

TABLES = (
    "CREATE TABLE about (name TEXT PRIMARY KEY, value BLOB NOT NULL) WITHOUT ROWID",
    # `since`: the last record before the transaction that wrote this one.
    "CREATE TABLE record (number INTEGER PRIMARY KEY, since INTEGER NOT NULL, kind TEXT NOT NULL,"
    " payload BLOB NOT NULL, chain BLOB NOT NULL)",
    # One row or none; `edition` counts the snapshots, `chain` is that of the record `through`.
    "CREATE TABLE snapshot (only_one INTEGER PRIMARY KEY CHECK (only_one = 1), through INTEGER NOT NULL,"
    " edition INTEGER NOT NULL, chain BLOB NOT NULL, seal BLOB NOT NULL, content BLOB NOT NULL)",
)

STEPS: tuple[tuple[str, ...], ...] = ()
"""What brings a journal from version N to N + 1: member N - 1. The version of `TABLES` is the last."""

HASH_SIZE = 32
"""Bytes of a hash of the chain."""

_record = blake2b(digest_size=HASH_SIZE, person=b"journal record").copy
_numbers = struct.Struct(">QQ").pack


def version() -> int:
    """The version that this program writes, and the newest that it reads."""
    return len(STEPS) + 1


class About(NamedTuple):
    """What a journal is: whose, which one, which copy of it, and the version of its tables."""

    application: str
    identity: bytes
    instance: bytes
    schema: int


def create(connection: sqlite3.Connection, about: About) -> None:
    """The tables of a new journal, in a database that is empty."""
    connection.execute("PRAGMA journal_mode = WAL")
    connection.execute("PRAGMA synchronous = FULL")
    connection.execute("BEGIN IMMEDIATE")
    connection.execute(f"PRAGMA application_id = {APPLICATION_ID}")
    connection.execute(f"PRAGMA user_version = {about.schema}")
    for table in TABLES:
        connection.execute(table)
    members = (about.application.encode(), about.identity, about.instance)
    rows = zip(("application", "identity", "instance"), members, strict=True)
    connection.executemany("INSERT INTO about VALUES (?, ?)", rows)
    connection.execute("COMMIT")


def identify(connection: sqlite3.Connection, path: Path, application: str | None) -> About:
    """What a database is; `application` None takes any.

    Raises `JournalError` for what we must not touch, `Broken` where it does not say.
    """
    if _pragma(connection, "application_id") != APPLICATION_ID:
        if Files(path).head.exists():
            raise Broken("it does not say any more that it is a journal")
        raise JournalError("is not a journal", file=str(path))
    schema = _pragma(connection, "user_version")
    if schema > version():
        hint = f"this program reads up to version {version()}: use a newer one"
        raise JournalError(f"is a journal of version {schema}", file=str(path), hint=hint)
    if schema < 1:
        raise JournalError(f"is a journal of no version that there was ({schema})", file=str(path))
    found = dict(connection.execute("SELECT name, value FROM about").fetchall())
    try:
        parts = [memoryview(found[name]).tobytes() for name in ("application", "identity", "instance")]
        about = About(parts[0].decode(), parts[1], parts[2], schema)
    except (KeyError, TypeError, UnicodeDecodeError):
        raise Broken("the table `about` has no form") from None
    if application is not None and about.application != application:
        wanted = f"is the journal of another application ({about.application!r}, not {application!r})"
        raise JournalError(wanted, file=str(path))
    return about


def upgrade(connection: sqlite3.Connection, schema: int) -> None:
    """Bring the tables from version `schema` to ours, within the transaction that the caller has begun."""
    for step in STEPS[schema - 1 :]:
        for statement in step:
            connection.execute(statement)
    connection.execute(f"PRAGMA user_version = {version()}")


def _pragma(connection: sqlite3.Connection, name: str) -> int:
    return int(connection.execute(f"PRAGMA {name}").fetchone()[0])


def genesis(application: str, identity: bytes) -> bytes:
    """The hash before the first record of a journal."""
    return blake2b(identity + application.encode(), digest_size=HASH_SIZE, person=b"journal genesis").digest()


def link(before: bytes, number: int, kind: bytes, payload: bytes) -> bytes:
    """The hash that a record carries; `before` is that of the record before it. Cost: the bytes, twice."""
    hashed = _record()
    hashed.update(b"%b%b%b%b" % (before, _numbers(number, len(kind)), kind, payload))
    return hashed.digest()


def seal(through: int, edition: int, chain: bytes, content: bytes) -> bytes:
    """The hash of a snapshot; `chain` is that of the last record that it stands for."""
    hashed = blake2b(chain, digest_size=HASH_SIZE, person=b"journal snapsho")
    hashed.update(through.to_bytes(8) + edition.to_bytes(8))
    hashed.update(content)
    return hashed.digest()


APPEND = "INSERT INTO record (number, since, kind, payload, chain) VALUES (?, ?, ?, ?, ?)"
SNAPSHOT = (
    "INSERT OR REPLACE INTO snapshot (only_one, through, edition, chain, seal, content)"
    " VALUES (?, ?, ?, ?, ?, ?)"
)
ROWS = "SELECT number, since, CAST(kind AS BLOB), payload, chain FROM record"
ROW_TYPES = (int, int, bytes, bytes, bytes)
Row = tuple[int, int, bytes, bytes, bytes]
NO_SEAL = bytes(HASH_SIZE)
"""In place of the seal of a snapshot, where there is none."""


class Broken(MicrocosmError):
    """The chain does not hold, or a row is not of the form that was written; the text says where."""


BESIDE = tuple(
    f"SQLITE_{what}" for what in ("BUSY", "CANTOPEN", "FULL", "IOERR", "LOCKED", "NOMEM", "PROTOCOL")
)
"""What SQLite says of the disk, or of who else uses a database, and not of what is written in it."""


def damage(error: sqlite3.Error, path: Path) -> str:
    """What SQLite found wrong with a database. Raises `JournalError` where it could not look."""
    if getattr(error, "sqlite_errorname", "").startswith(BESIDE):
        hint = "see that its disk has room, and that no other program holds it; no damage is known"
        raise JournalError(f"cannot be read now: {error}", file=str(path), hint=hint) from None
    return f"SQLite says: {error}"


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
        return Place(0, genesis(about.application, about.identity)), 0, NO_SEAL
    through, edition, chain, sealed, content = row
    if tuple(map(type, row)) != ROW_TYPES or min(through, edition) < 0:
        raise Broken("the snapshot does not check")
    if seal(through, edition, chain, content) != sealed:
        raise Broken("the snapshot does not check")
    return Place(through, chain), edition, sealed


def rows(connection: sqlite3.Connection, start: Place, until: int | None = None) -> Iterator[Row]:
    """The rows (`ROWS`) of the records after `start` up to `until`, in order. Raises `Broken`.

    Cost: some microseconds a record; all that is read of a journal comes through here, when it is opened too.
    """
    last, before = start
    # A limit, and not a bound of the numbers: what lies beyond may be on a page that cannot be read.
    query = f"{ROWS} WHERE number > ? ORDER BY number LIMIT ?"
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


def look(connection: sqlite3.Connection, about: About) -> JournalState:
    """The state of a journal, if SQLite finds nothing wrong and the chain holds. Raises `Broken`."""
    [[verdict]] = connection.execute("PRAGMA quick_check(1)").fetchall()
    if verdict != "ok":
        raise Broken(f"SQLite says: {verdict.replace(chr(10), ' ')}")
    for (name,) in connection.execute("SELECT name FROM sqlite_master WHERE type = 'trigger'"):
        raise Broken(f"the trigger {name!r}, which is none of ours, may change what is written")
    return survey(connection, about)


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
    """Where the records begin, and the number of the last. Cost: no hash is checked, so it is small.

    Raises `Broken`.
    """
    row = connection.execute("SELECT through, chain FROM snapshot").fetchone()
    if row is not None and tuple(map(type, row)) != (int, bytes):
        raise Broken("the snapshot does not check")
    first = Place(*row) if row else Place(0, genesis(about.application, about.identity))
    [[last]] = connection.execute("SELECT max(number) FROM record").fetchall()
    return first, first.number if last is None else int(last)
