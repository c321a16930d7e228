"""Claim: committed in groups, the journal keeps at least half as many records a second as bare SQLite does.

Bare SQLite appends the same payloads to a table, in as many transactions, with a write-ahead log and
`synchronous=FULL`: no chain of hashes, no head file, so one sync where the journal has two. A record has 200
bytes. The claim is for as long as the logs of both still grow: later, when they are written over, the second
sync is the larger part.

With threads each commits one record at a time, and goes on when it is durable. Beside that stands what one
would write by hand: a thread that owns the connection takes what waits in a queue, commits it at once, and
wakes each that waits. And, as a floor, bare SQLite that is given the records by the group, with no threads to
wake: to wake a thread that waits for a lock takes some 10 µs of the interpreter.
"""

from __future__ import annotations

import sqlite3
import threading
from collections.abc import Callable, Iterator
from contextlib import closing, contextmanager
from pathlib import Path
from queue import SimpleQueue
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
        subjects = {"journal": _journal(size, count), "bare SQLite": _bare(size, count)}
        lines += _case(f"{count} groups of {size}", subjects, rounds)
    count = 30 if quick else 200
    subjects = {
        "journal": _threads(count),
        "SQLite in a thread of its own": _queued(count),
        "bare SQLite, by the group, no threads": _bare(THREADS, count),
    }
    return lines + _case(f"{THREADS} threads, {count} records each", subjects, rounds)


def _case(case: str, subjects: dict[str, Callable[[], object]], rounds: int) -> list[Line]:
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
            _at_once(lambda: journal.commit([("event", PAYLOAD)]), count)
            return journal.last

    return work


def _at_once(commit: Callable[[], object], count: int) -> None:
    """Commit so often in each of `THREADS`."""

    def often() -> None:
        for _ in range(count):
            commit()

    threads = [threading.Thread(target=often) for _ in range(THREADS)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()


def _queued(count: int) -> Callable[[], object]:
    """Who commits waits for a lock, which the thread of the connection releases."""

    def work() -> object:
        asked: SimpleQueue[threading.Lock | None] = SimpleQueue()
        number = 0

        def write(connection: sqlite3.Connection) -> None:
            nonlocal number
            while (first := asked.get()) is not None:
                batch = [first, *(found for _ in range(asked.qsize()) if (found := asked.get()) is not None)]
                _append(connection, number, len(batch))
                number += len(batch)
                for waiting in batch:
                    waiting.release()

        def commit() -> None:
            waiting = threading.Lock()
            waiting.acquire()
            asked.put(waiting)
            waiting.acquire()

        with _table() as connection:
            writer = threading.Thread(target=write, args=(connection,))
            writer.start()
            _at_once(commit, count)
            asked.put(None)
            writer.join()
        return number

    return work


def _open(folder: str) -> Journal:
    return Journal.open(Path(folder) / "journal", application="benchmark", create=True)


def _bare(size: int, groups: int) -> Callable[[], object]:
    def work() -> object:
        with _table() as connection:
            for number in range(0, groups * size, size):
                _append(connection, number, size)
        return groups * size

    return work


@contextmanager
def _table() -> Iterator[sqlite3.Connection]:
    with (
        TemporaryDirectory() as folder,
        closing(
            sqlite3.connect(Path(folder) / "bare", isolation_level=None, check_same_thread=False)
        ) as connection,
    ):
        connection.execute("PRAGMA journal_mode = WAL")
        connection.execute("PRAGMA synchronous = FULL")
        connection.execute("CREATE TABLE record (number INTEGER PRIMARY KEY, kind TEXT, payload BLOB)")
        yield connection


def _append(connection: sqlite3.Connection, number: int, size: int) -> None:
    """One transaction of so many records, whose numbers follow `number`."""
    connection.execute("BEGIN IMMEDIATE")
    rows = ((number + n, "event", PAYLOAD) for n in range(1, size + 1))
    connection.executemany("INSERT INTO record VALUES (?, ?, ?)", rows)
    connection.execute("COMMIT")
