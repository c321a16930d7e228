"""What a journal is on the disk: its tables in each version, and the chain of hashes through its records.

Each record carries H(hash of the record before it, number, kind, payload), H being BLAKE2b with 32 bytes: a
record that was changed, moved or left out breaks the chain. It begins at a hash of what the journal is; a
snapshot keeps the hash that it goes on from. The numbers and lengths are written with fixed widths, so that
no two different records are the same bytes.
"""

from __future__ import annotations

import sqlite3
import struct
from hashlib import blake2b
from pathlib import Path
from typing import NamedTuple

from microcosm.errors import JournalError

APPLICATION_ID = 0x6D636A6C
"""In the header of the database: it is a journal of ours."""

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
    """What a database is; `application` None takes any. Raises `JournalError` for what we must not touch."""
    if _pragma(connection, "application_id") != APPLICATION_ID:
        raise JournalError("is not a journal", file=str(path))
    schema = _pragma(connection, "user_version")
    if schema > version():
        hint = f"this program reads up to version {version()}: use a newer one"
        raise JournalError(f"is a journal of version {schema}", file=str(path), hint=hint)
    if schema < 1:
        raise JournalError(f"is a journal of no version that there was ({schema})", file=str(path))
    found = dict(connection.execute("SELECT name, value FROM about").fetchall())
    about = About(found["application"].decode(), found["identity"], found["instance"], schema)
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
