"""Claim: committed in groups, the journal keeps at least half as many records a second as bare SQLite does.

Bare SQLite appends the same payloads to a table, in as many transactions, with a write-ahead log and
`synchronous=FULL`: no chain of hashes, no head file, so one sync where the journal has two. A record has 200
bytes. With threads each commits one record at a time, and bare SQLite is given them by the group, with no
threads to wake. The claim is for as long as the logs of both still grow: later, when they are written over,
the second sync is the larger part.
"""

from __future__ import annotations

import sqlite3
import threading
from collections.abc import Callable
from contextlib import closing
from pathlib import Path
from tempfile import TemporaryDirectory

from benchmarks.measure import Line, paired
from microcosm.replica.journal import Journal

NAME = "journal"

PAYLOAD = bytes(range(200))
THREADS = 16


def run(quick: bool = False) -> list[Line]:
    """Durable commits by the clock, syncs included, in groups of several sizes."""
    lines: list[Line] = []
    rounds = 1 if quick else 5
    for size, groups in ((1, 500), (10, 500), (100, 200), (1000, 50)):
        count = groups // 10 if quick else groups
        lines += _case(f"{count} groups of {size}", _journal(size, count), _bare(size, count), rounds)
    count = 30 if quick else 200
    case = f"{THREADS} threads, {count} records each"
    return lines + _case(case, _threads(count), _bare(THREADS, count), rounds)


def _case(case: str, ours: Callable[[], object], bare: Callable[[], object], rounds: int) -> list[Line]:
    subjects = {"journal": ours, "bare SQLite": bare}
    return paired(NAME, case, subjects, rounds=rounds, patience=60, processes=True)[0]


def _journal(size: int, groups: int) -> Callable[[], object]:
    def work() -> object:
        with TemporaryDirectory() as folder, _open(folder) as journal:
            for _ in range(groups):
                journal.commit([("event", PAYLOAD)] * size)
            return journal.last

    return work


def _threads(count: int) -> Callable[[], object]:
    def work() -> object:
        with TemporaryDirectory() as folder, _open(folder) as journal:

            def commit() -> None:
                for _ in range(count):
                    journal.commit([("event", PAYLOAD)])

            threads = [threading.Thread(target=commit) for _ in range(THREADS)]
            for thread in threads:
                thread.start()
            for thread in threads:
                thread.join()
            return journal.last

    return work


def _open(folder: str) -> Journal:
    return Journal.open(Path(folder) / "journal", application="benchmark", create=True)


def _bare(size: int, groups: int) -> Callable[[], object]:
    def work() -> object:
        with (
            TemporaryDirectory() as folder,
            closing(sqlite3.connect(Path(folder) / "bare", isolation_level=None)) as connection,
        ):
            connection.execute("PRAGMA journal_mode = WAL")
            connection.execute("PRAGMA synchronous = FULL")
            connection.execute("CREATE TABLE record (number INTEGER PRIMARY KEY, kind TEXT, payload BLOB)")
            number = 0
            for _ in range(groups):
                connection.execute("BEGIN IMMEDIATE")
                rows = ((number + n, "event", PAYLOAD) for n in range(1, size + 1))
                connection.executemany("INSERT INTO record VALUES (?, ?, ?)", rows)
                connection.execute("COMMIT")
                number += size
            return number

    return work
