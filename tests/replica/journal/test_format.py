"""The bytes of version 1, written here by hand: whatever reads journals later must still read these."""

from __future__ import annotations

import sqlite3
import struct
from contextlib import closing
from hashlib import blake2b
from pathlib import Path

from microcosm.replica.store import LogRecord
from tests.replica.invariants import check
from tests.replica.journal.journals import content, journal

TABLES = """
PRAGMA journal_mode = WAL;
PRAGMA application_id = 1835231852;
PRAGMA user_version = 1;
CREATE TABLE about (name TEXT PRIMARY KEY, value BLOB NOT NULL) WITHOUT ROWID;
CREATE TABLE record (number INTEGER PRIMARY KEY, since INTEGER NOT NULL, kind TEXT NOT NULL,
    payload BLOB NOT NULL, chain BLOB NOT NULL);
CREATE TABLE snapshot (only_one INTEGER PRIMARY KEY CHECK (only_one = 1), through INTEGER NOT NULL,
    edition INTEGER NOT NULL, chain BLOB NOT NULL, seal BLOB NOT NULL, content BLOB NOT NULL);
INSERT INTO about VALUES ('application', CAST('test' AS BLOB));
INSERT INTO about VALUES ('identity', x'000102030405060708090a0b0c0d0e0f');
INSERT INTO about VALUES ('instance', x'f0f1f2f3f4f5f6f7f8f9fafbfcfdfeff');
"""


def hashed(person: bytes, *parts: bytes) -> bytes:
    return blake2b(b"".join(parts), digest_size=32, person=person).digest()


def number(n: int) -> bytes:
    return struct.pack(">Q", n)


def test_a_journal_of_version_1(tmp_path: Path) -> None:
    path = tmp_path / "journal"
    before = hashed(b"journal genesis", bytes(range(16)), b"test")
    sealed = hashed(b"journal snapsho", before, number(0), number(1), b"nothing yet")
    one = hashed(b"journal record", before, number(1), number(4), b"note", b"first")
    two = hashed(b"journal record", one, number(2), number(2), "é".encode(), b"")
    with closing(sqlite3.connect(path)) as connection, connection:
        connection.executescript(TABLES)
        connection.execute("INSERT INTO snapshot VALUES (1, 0, 1, ?, ?, ?)", (before, sealed, b"nothing yet"))
        connection.execute("INSERT INTO record VALUES (1, 0, 'note', ?, ?)", (b"first", one))
        connection.execute("INSERT INTO record VALUES (2, 1, 'é', ?, ?)", (b"", two))
    head = b"".join(
        (
            *(b"mc head\n", number(6), struct.pack(">I", 1), b"\x00", bytes(range(240, 256))),
            *(number(2), two, number(0), number(1), sealed),
        )
    )
    last = struct.pack(">Q", 5).join((b"mc head\n", head[16:]))
    slots = [slot + blake2b(slot, digest_size=16).digest() for slot in (head, last)]
    path.with_name("journal-head").write_bytes(b"".join(slot.ljust(4096, b"\0") for slot in slots))
    with journal(path) as opened:
        assert content(opened) == (
            (0, b"nothing yet"),
            [LogRecord(1, "note", b"first"), LogRecord(2, "é", b"")],
        )
        assert opened.instance == bytes(range(240, 256))
        check(opened)
