"""The tables of a journal, how to tell one from any other file, and the way from each version to the next."""

from __future__ import annotations

import sqlite3
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
